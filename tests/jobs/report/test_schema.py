"""What pages draw is what plotly knows: its own schema checks every figure of every kind of page."""

import pytest

from tests.fixtures.figures import drawn
from tiltmeter.jobs.report.html.elements import Chart, Details, Part
from tiltmeter.jobs.report.plots.figure import figure


def figures(blocks):
    for block in blocks:
        if isinstance(block, Chart):
            yield from block.figures.values()
        elif isinstance(block, Details | Part):
            yield from figures(block.blocks)


def test_plotly_knows_every_setting_of_every_figure(pages):
    for page in (make() for make in pages.values()):
        for shown in figures([*page.lead, *(block for section in page.sections for block in section.blocks)]):
            assert len(drawn(shown).data) == len(shown.data)


@pytest.mark.parametrize("trace", [{"type": "scatter", "colour": "#000000"}, {"type": "bar", "orientation": "x"}])
def test_a_setting_that_plotly_does_not_know_is_found(trace):
    with pytest.raises(ValueError, match="Invalid"):
        drawn(figure(trace))
