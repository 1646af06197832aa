"""The page of `psychophysics`."""

from tiltmeter.jobs.embedding.page import Measure, page_of
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
        in_model(results, lambda row: f"{row['word']} ({cue_pair(row['cue_1'], row['cue_2'])})"),
        dispute=" The original corpus itself may flip on the other side of 0.5.",
        note=_OTHER_INTERVALS,
    )
    return [Measure(rows, findings(frames), sections(frames), sides, terms=[Paragraph(_PSE, "note")])]


page = page_of(
    "Occupations between two cues",
    "To which of two cues, such as “woman” and “man”, does each occupation lean in the word vectors, and how firmly?",
    measures,
)
