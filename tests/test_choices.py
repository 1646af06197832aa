"""The recorder of settings sees every kind of choice, in records of runs that succeeded."""

import json
import os
from typing import Annotated, Literal

import pydantic

from tests.choices import ELSEWHERE, by_job, choices, settings_of_runs, used


@pydantic.dataclasses.dataclass(frozen=True)
class _Small:
    kind: Literal["small"] = "small"


@pydantic.dataclasses.dataclass(frozen=True)
class _Large:
    kind: Literal["large"] = "large"
    sides: Annotated[tuple[Literal["left", "right"], ...], "any"] = ()


def _as_several(name: str | tuple[str, ...]) -> tuple[str, ...]:
    return (name,) if isinstance(name, str) else name


@pydantic.dataclasses.dataclass(frozen=True)
class _Base:
    cut: float | None = None
    case: Literal["auto"] | bool = "auto"
    names: Annotated[str | tuple[str, ...], pydantic.AfterValidator(_as_several)] | None = None


@pydantic.dataclasses.dataclass(frozen=True)
class _Run(_Base):
    sizes: dict[str, _Small | _Large] | None = None
    seed: int = 0


ALL = {
    *(
        "_Base.names=null",
        '_Base.names="tuple"',
        "_Base.cut=null",
        '_Base.cut="float"',
        '_Base.case="auto"',
        "_Base.case=true",
        "_Base.case=false",
    ),
    *("_Run.sizes=null", '_Run.sizes="dict"', '_Run.sizes="_Small"', '_Run.sizes="_Large"'),
    *('_Large.sides="left"', '_Large.sides="right"'),
}


def _short(every):
    return {choice.removeprefix(f"{__name__}.") for choice in every}


def test_choices_of_every_kind_are_known():
    assert _short(choices(_Run)) == ALL


def test_a_record_uses_what_it_says_and_nothing_else():
    plain = {"cut": 1, "case": False, "names": ["x"], "sizes": {"a": {"kind": "large", "sides": ["right"]}}, "seed": 3}
    found = {'_Base.cut="float"', "_Base.case=false", '_Base.names="tuple"', '_Run.sizes="dict"'}
    assert _short(used(_Run, plain)) == found | {'_Run.sizes="_Large"', '_Large.sides="right"'}
    assert found < ALL
    assert not [*used(_Run, {"cut": 1})], "not the record of a whole config"


def test_choices_that_are_made_elsewhere_are_there():
    assert ELSEWHERE.keys() <= frozenset[str]().union(*by_job().values())


def test_only_runs_that_succeeded_count(tmp_path):
    """Nor does a pipe by the name of a record, whose reader would wait for a writer: the suite would never end."""
    settings = {"job": {"name": "survey"}}
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe/run.json")
    for status in ("succeeded", "failed", "running"):
        (tmp_path / status).mkdir()
        (tmp_path / status / "run.json").write_text(json.dumps({"status": status, "settings": settings}))
        (tmp_path / f"prune_{status}").mkdir()
        (tmp_path / f"prune_{status}/run.json").write_text(json.dumps({"status": status, "job": "prune"}))
        (tmp_path / f"prune_{status}/config.yaml").write_text("{seed: 1}")
    assert sorted(settings_of_runs(tmp_path)) == [("prune", {"seed": 1}), ("survey", settings)]
