"""The page of `association`."""

from operator import itemgetter

from tiltmeter.jobs.association.findings import EFFECT, directed, preferred, with_effect
from tiltmeter.jobs.association.sections import findings, sections
from tiltmeter.jobs.embedding.page import Measure, page_of
from tiltmeter.jobs.embedding.sections import Compared
from tiltmeter.jobs.report.findings import in_model
from tiltmeter.jobs.report.intervals import NamedSides
from tiltmeter.jobs.runtime.published import Frames

_SIGNS = (
    " Score and effect size have different signs where the target sets are of unequal size, as after words were left "
    "out: the score is a sum over the targets, in which the larger set weighs more, the effect size a difference of "
    "means."
)


def measures(frames: Frames) -> list[Measure]:
    """What association tests say on a page; nothing where none was made."""
    if "associations" not in frames:
        return []
    rows = frames["associations"]
    results = directed(with_effect(preferred(rows)))
    label = in_model(results, itemgetter("test"), frames)
    sides = NamedSides("effect size", results, EFFECT, label, original="effect size", dispute=_SIGNS)
    compared = [
        Compared("Effect sizes of association tests", "d", with_effect(preferred(rows)), "effect_size", "test", 0.0)
    ]
    return [Measure(rows, findings(frames), sections(frames), sides, compared=compared)]


page = page_of(
    "Which words go with which",
    "Do groups of words, such as flowers and insects, go with other words, such as pleasant and unpleasant ones, more "
    "than chance explains?",
    measures,
)
