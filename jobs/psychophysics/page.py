"""The page of `psychophysics`."""

import polars as pl

from tiltmeter.jobs.embedding.page import Measure, page_of
from tiltmeter.jobs.embedding.sections import Compared
from tiltmeter.jobs.psychophysics.findings import PSE, cue_pair
from tiltmeter.jobs.psychophysics.sections import findings, sections
from tiltmeter.jobs.report.findings import in_model, measured
from tiltmeter.jobs.report.html.elements import Paragraph
from tiltmeter.jobs.report.intervals import NamedSides
from tiltmeter.jobs.runtime.published import Frames

_PSE = (
    "PSE, the point of subjective equality of an occupation: how much of the second cue, such as “man”, a mixture with "
    "the first, such as “woman”, must have until the occupation leans to neither. Above 0.5 it leans to the first one."
)
_OTHER_INTERVALS = (
    " A PSE is the mean of the replicas' flips; how well so many replicas fix that mean is its Monte Carlo interval, "
    "which shrinks with their number, whatever the corpus, and names no side. A pooled PSE has an interval for other "
    "cue words too. A JND is itself how far replicas spread: its interval says how far other replicas of this corpus "
    "would move it, and not how it differs between corpora."
)


def measures(frames: Frames) -> list[Measure]:
    """What the psychophysics says on a page; nothing where it was not measured."""
    if "psychometrics" not in frames:
        return []
    rows = frames["psychometrics"]
    results = measured(rows)
    sides = NamedSides(
        "PSE",
        results,
        PSE,
        in_model(results, lambda row: f"{row['word']} ({cue_pair(row['cue_1'], row['cue_2'])})", frames),
        dispute=" The original corpus itself may flip on the other side of 0.5.",
        note=_OTHER_INTERVALS,
    )
    terms = [Paragraph(_PSE, "note")]
    return [Measure(rows, findings(frames), sections(frames), sides, terms=terms, compared=_compared(frames))]


def _compared(frames: Frames) -> list[Compared]:
    compared = []
    if "validation" in frames:
        usual = frames["validation"].filter(pl.col("cue_1").is_null(), measure="pse", against="share_men")
        labelled = usual.with_columns(what=pl.lit("PSE and share of men"))
        compared.append(Compared("Correlation of PSE with the share of men", "r", labelled, "pearson", "what", 0.0))
    if "pooled_psychometrics" in frames:
        compared.append(
            Compared("PSE of occupations over all cue pairs", "PSE", frames["pooled_psychometrics"], "pse", "word", 0.5)
        )
    return compared


page = page_of(
    "Occupations between two cues",
    "To which of two cues, such as “woman” and “man”, does each occupation lean in the word vectors, and how firmly?",
    measures,
)
