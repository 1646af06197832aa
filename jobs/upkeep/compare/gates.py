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
    """What the second system must do; docs/compare.md has the meaning of each key.

    Attributes:
        fall, margin, limit: the size that its rule or kind needs.
        nights: over which the level holds.
    """

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
        if self.is_decision and self.judged_by != "single":
            raise ValueError(f"kind {self.kind} is one decision, of a release: leave out rule, or rule: single")
        needed = {"fall": self.judged_by == "e_detector", "margin": self.is_decision, "limit": self.is_absolute}
        for name, is_needed in needed.items():
            if is_needed and getattr(self, name) is None:
                raise ValueError(f"kind {self.kind} by rule {self.judged_by} needs {name}, such as {name}: 0.02")
            if not is_needed and getattr(self, name) is not None:
                raise ValueError(f"kind {self.kind} by rule {self.judged_by} has no {name}: leave it out")
        return self

    @property
    def is_decision(self) -> bool:
        """Whether it asks for one decision that a system is not worse, and fails where that is not shown."""
        return self.margin is not None or self.kind in ("non_inferior", "equivalent")

    @property
    def is_absolute(self) -> bool:
        """Whether it is about the second system alone."""
        return self.kind in ("at_least", "at_most")

    @property
    def judged_by(self) -> Rule:
        """Its rule."""
        return self.rule or ("single" if self.is_decision else "e_detector")

    @property
    def fails_if(self) -> str:
        """What fails it, and by what: a gate that says the same on the next night goes on.

        >>> Gate("acc", fall=0.02).fails_if, Gate("acc", kind="at_least", limit=0.6, rule="single").fails_if
        ('falls; e_detector, baseline rerun, fall to catch 0.02', 'lies below 0.6; single')
        """
        size = amount(self.limit if self.is_absolute else self.margin)
        what = {
            "worse": "falls",
            "non_inferior": f"is not shown to be less than {size} worse",
            "equivalent": f"is not shown to be within {size}",
            "at_least": f"lies below {size}",
            "at_most": f"lies above {size}",
        }[self.kind]
        baseline = "" if self.is_absolute else f", baseline {self.baseline}"
        fall = "" if self.fall is None else f", fall to catch {amount(self.fall)}"
        return f"{what}; {self.judged_by}{baseline}{fall}"


class Gates(Table, name="gates", has_status=False):
    """What each gate says of each task and score; the last columns are what the next night of the series goes on by."""

    task: str = key("that the items are of")
    score: str = key("that is judged")
    second: str = key("the system that is judged")
    fails_if: str = key("what of its score fails it, and by which rule, baseline and fall to catch")
    verdict: str = doc("passed; failed; too_few differences to show what it asks; or not_judged")
    sentence: str = doc("the same in words")
    level: float = doc("chance of a false alarm over its nights: its share of what is set, as the gates share it")
    nights: int = doc("over which the level holds; 1: one decision", "nights")
    night: int = doc("of these, which one this is", "nights")
    num_units: int | None = doc("units of the night: clusters, or items where they have none", "units")
    value: Estimate = doc(
        "second less first; of an absolute limit the second system's mean", interval="its interval of the night"
    )
    allowance: float = doc("what a stored baseline may be off by, which the score may fall by without alarm")
    stake: float = doc("lambda of the e-detector, fixed by the nights before")
    p: float = doc(
        "one-sided, of this night: no fall; of a margin, a fall by the margin; no gate of a sequence ends on it"
    )
    evidence: float = doc("R of the e-detector after this night")
    threshold: float = doc("of the evidence, at which the gate fails")
    nights_to_catch: float = doc("about how many nights with the fall to catch until it fails", "nights")
    false_alarms: float = doc("share of false alarms on these logs, where nothing differs", show="percent")
    false_alarms_of: str = doc("what that is a share of")
    squares: float = doc("sum of squared differences of units, this night's and those before")
    num_squares: int = doc("how many units that are", "units")
    items: str = doc("digest of the night's scores of both systems; the same ones are no new night")
    first_items: str = doc("digest of the first system's; the same ones are a stored run")
