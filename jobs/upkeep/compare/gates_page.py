"""The gates of `compare` on its page."""

from dataclasses import replace

import polars as pl

from tiltmeter.jobs.report.html.elements import Bullets, Section
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.views import Show
from tiltmeter.jobs.upkeep.compare.gates import Gates

_CAPTION = (
    "What each gate says of the night. A gate of a sequence is judged by its evidence, or by p against its rule's "
    "limit, and never by the interval of one night. False alarms: how often it would fail here if nothing differed."
)
_COLUMNS = (
    "task score first second fails_if verdict night level value p allowance? evidence? threshold? nights_to_catch? "
    "false_alarms? false_alarms_of"
)


def with_gates(body: Body, gates: pl.DataFrame) -> Body:
    """The page with what the gates say in front, those first that did not pass."""
    ordered = gates.sort(pl.col("verdict") == "passed", maintain_order=True)
    findings = [Bullets(ordered["sentence"].to_list()), *body.lead.findings]
    section = Section("gates", "Gates", Show(Gates, _CAPTION, _COLUMNS).blocks({"gates": ordered}))
    return replace(body, lead=body.lead._replace(findings=findings), sections=[section, *body.sections])
