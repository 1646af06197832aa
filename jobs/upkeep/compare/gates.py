"""Gates of `compare`: what a user asks of a system on given items, and the table of what came of it."""

from typing import Annotated, Literal

import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.changes.wording import amount
from tiltmeter.jobs.runtime.settings.fields import Count, Text
from tiltmeter.jobs.runtime.table import Estimate, Table, doc, key
from tiltmeter.operators.statistics.gates.nightly import Rule

_Part = Annotated[float, Field(gt=0, lt=1)]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Gate:
    """What the second system must do; docs/compare.md says what each key means."""

    score: Text
    task: Text | None = None
    second: Text | None = None
    kind: Literal["worse", "non_inferior", "equivalent", "at_least", "at_most"] = "worse"
    rule: Rule | None = None
    fall: _Part | None = None
    margin: _Part | None = None
    limit: Annotated[float, Field(ge=0, le=1)] | None = None
    baseline: Literal["rerun", "stored", "exact"] = "rerun"
    level: _Part = 0.05
    nights: Count = 365

    @pydantic.model_validator(mode="after")
    def _sizes(self) -> "Gate":
        is_decision = self.kind in ("non_inferior", "equivalent")
        if is_decision and self.judged_by != "single":
            raise ValueError(f"kind {self.kind} is one decision, of a release: leave out rule {self.rule}")
        needed = {"fall": self.judged_by == "e_detector", "margin": is_decision, "limit": self.is_absolute}
        for name, is_needed in needed.items():
            if is_needed != (getattr(self, name) is not None):
                wrong = f"needs {name}, such as {name}: 0.02" if is_needed else f"has no {name}: leave it out"
                raise ValueError(f"kind {self.kind} by rule {self.judged_by} {wrong}")
        return self

    @property
    def is_absolute(self) -> bool:
        """Whether it is about the second system alone."""
        return self.kind in ("at_least", "at_most")

    @property
    def judged_by(self) -> Rule:
        """Its rule."""
        return self.rule or ("single" if self.kind in ("non_inferior", "equivalent") else "e_detector")

    @property
    def adds_nights(self) -> bool:
        """Whether nights share a baseline, whose noise would add up."""
        return not self.is_absolute and self.judged_by != "single"

    @property
    def fails_if(self) -> str:
        """What fails it, and by what: a gate that says the same on the next night goes on.

        >>> Gate("acc", fall=0.02).fails_if, Gate("acc", kind="at_least", limit=0.6, rule="single").fails_if
        ('falls by e_detector, fall to catch 0.02, baseline rerun', 'lies below 0.6 by single')
        """
        what = {
            "worse": "falls",
            "non_inferior": f"is not shown to be less than {amount(self.margin)} worse",
            "equivalent": f"is not shown to be within {amount(self.margin)}",
            "at_least": f"lies below {amount(self.limit)}",
            "at_most": f"lies above {amount(self.limit)}",
        }[self.kind]
        fall = f", fall to catch {amount(self.fall)}" if self.fall else ""
        return f"{what} by {self.judged_by}{fall}{f', baseline {self.baseline}' if self.adds_nights else ''}"


class Gates(Table, name="gates", has_status=False):
    """What each gate says; the last four columns, evidence and p are what the next night of the series goes on by."""

    task: str = key("that the items are of")
    score: str = key("that is judged")
    first: str = key("the system that it is compared with")
    second: str = key("the system that is judged")
    fails_if: str = key("what of its score fails it, by which rule, and against which baseline")
    verdict: str = doc("passed; failed; too_few that differ to show what it asks; or not_judged")
    sentence: str = doc("the same in words")
    level: float = doc("chance of a false alarm over its nights: what is set, shared by the gates of the file")
    nights: int = doc("over which the level holds; 1: one decision", "nights")
    night: int = doc("of these, which one this is", "nights")
    num_units: int | None = doc("clusters, or items where they have none", "units")
    value: Estimate = doc("second less first, or of a limit the second system's mean", interval="its interval")
    allowance: float = doc("what a stored baseline may be off by; a fall by that much is no alarm")
    stake: float = doc("lambda of the e-detector, fixed by the nights before")
    p: float = doc(
        "one-sided, of the night: its score has not fallen; of a margin: it has fallen by that", show="p_value"
    )
    evidence: float = doc("R of the e-detector after this night")
    threshold: float = doc("of the evidence, at which the gate fails", digits=0)
    nights_to_catch: float = doc("about how many nights with the fall to catch until it fails", "nights", digits=0)
    false_alarms: float = doc(
        "share of false alarms on these logs, of runs that differ by chance alone", show="percent"
    )
    false_alarms_of: str = doc("what that is a share of")
    squares: float = doc("sum of squared differences of units, of this night and those before")
    num_squares: int = doc("how many units that are", "units")
    items: str = doc("digest of the scores of both systems; the same ones are no new night")
    first_items: str = doc("digest of the first system's; the same ones are those of a stored run")
