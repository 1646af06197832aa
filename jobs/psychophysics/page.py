"""The page of `psychophysics`."""

from tiltmeter.jobs.embedding.page import Measure, page_of
from tiltmeter.jobs.psychophysics.findings import FLIPS, cue_pair
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
    " Those of the PSE and JND of a cue pair say only how well the replicas fix the number: they shrink with the "
    "number of replicas, whatever the corpus, and name no side. That of a pooled PSE says how far other cue words "
    "would move it."
)
_MONTE_CARLO_COVERAGE = {(32, 0.95): ", and for normally distributed flips that of the PSE 93% and that of the JND 89%"}
"""By replicas and level; simulated, as there is no formula for resampled moments."""


def measures(frames: Frames) -> list[Measure]:
    """What the psychophysics says on a page; nothing where it was not measured."""
    if "psychometrics" not in frames:
        return []
    rows = frames["psychometrics"]
    results = measured(rows)
    sides = NamedSides(
        "flip",
        results,
        FLIPS,
        in_model(results, lambda row: f"{row['word']} ({cue_pair(row['cue_1'], row['cue_2'])})"),
        dispute=" The original corpus itself may flip on the other side of 0.5.",
        note=_OTHER_INTERVALS,
        coverage=lambda num_replicas, level: _MONTE_CARLO_COVERAGE.get((num_replicas, level), ""),
    )
    return [Measure(rows, findings(frames), sections(frames), sides, terms=[Paragraph(_PSE, "note")])]


page = page_of(
    "Occupations between two cues",
    "To which of two cues, such as “woman” and “man”, does each occupation lean in the word vectors, and how firmly?",
    measures,
)
