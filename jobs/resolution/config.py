"""The config of `entity_resolution`: where scored pairs come from, and how they are partitioned."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

import pydantic
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from tiltmeter.jobs.resolution.records.config import RecordScorer
from tiltmeter.jobs.runtime.config import CommonConfig, each_once
from tiltmeter.operators.resolution.baselines.packing import ENGINE, Packing
from tiltmeter.operators.resolution.clustering import Solver
from tiltmeter.operators.resolution.problem import Missing
from tiltmeter.operators.resolution.solvers import PACKINGS, check_solver
from tiltmeter.operators.text.normalisation import as_labels

T = TypeVar("T")

_CHECKED = ConfigDict(extra="forbid", allow_inf_nan=False)
_Path = Annotated[str, Field(min_length=1)]
_Some = Annotated[tuple[T, ...], Field(min_length=1), AfterValidator(each_once)]
"""One or more, each once."""

_Limit = Annotated[int, Field(ge=1)] | None

_QUADRATIC = ("quadratic_set_packing",)
_CONSTRAINTS = ("must_link", "cannot_link", "one_per_source")
_CONSTRAINED: Sequence[Solver] = ("cutting_plane", "local_search")
"""The solvers that obey them."""

_USED_BY = {"engine": PACKINGS, "max_cliques": PACKINGS, "max_parts": _QUADRATIC, "max_constraints": _QUADRATIC}
"""The solvers that a setting is about."""


def _text(value: object) -> object:
    """Ids of records are text; those that are whole numbers need no quotes."""
    return value if isinstance(value, bool) else as_labels(value)


def _known(solver: object) -> object:
    check_solver(solver)
    return solver


_Id = Annotated[str, BeforeValidator(_text), Field(min_length=1)]

_Pairs = _Path | Annotated[tuple[tuple[_Id, _Id], ...], Field(min_length=1, examples=[[["a", "b"], ["a", "c"]]])]
"""A file of pairs, or the pairs themselves."""


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class EntityResolutionJob:
    """``job=entity_resolution``"""

    name: Literal["entity_resolution"] = "entity_resolution"


@pydantic.dataclasses.dataclass(frozen=True, config=_CHECKED)
class Question:
    """Why a record is with another one, or in a cluster, or not.

    Attributes:
        record: the record that is asked about.
        other: another one.
        cluster: or the number of a cluster, as in the table ``clusters``.
    """

    record: _Id
    other: _Id | None = None
    cluster: Annotated[int, Field(ge=0)] | None = None

    @pydantic.model_validator(mode="after")
    def _about_one_thing(self) -> Self:
        if (self.other is None) == (self.cluster is None):
            raise ValueError(f"record {self.record!r}: give either other=<record> or cluster=<number>, one of them")
        if self.record == self.other:
            raise ValueError(f"record {self.record!r} and other are the same: name two records, or a cluster")
        return self


_QUESTIONS = [{"record": "a", "other": "b"}, {"record": "a", "cluster": 3}]


@pydantic.dataclasses.dataclass(frozen=True, config=_CHECKED)
class MentionStudy:
    """Mentions with gold chains, whose pairs get synthetic scores, as in the threshold study of Vadrevu et al. 2021.

    Attributes:
        path: CSV or Parquet with ``topic, mention_id, mention_class, chain_id``, and ``document`` if ids are unique
            there only; every topic and class is a graph.
        topics: which to take; None: all.
        classes: of mentions, such as event and entity; None: all.
        seeds: of the scores; each gives a graph.
        thresholds: under which a pair counts as never scored; each gives a graph, None is no threshold.
        mean, sd: scores are normal, around ``mean`` for pairs of one chain and ``-mean`` for the others. With a
            ``mean`` of 1 and an ``sd`` of 0, scores are the ground truth, +1 and -1.
    """

    path: _Path
    topics: _Some[str] | None = None
    classes: _Some[str] | None = None
    seeds: _Some[Annotated[int, Field(ge=0, lt=2**63)]] = (0,)
    thresholds: _Some[float | None] = (None,)
    mean: Annotated[float, Field(gt=0)] = 0.5
    sd: Annotated[float, Field(ge=0)] = 0.3


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CHECKED)
class ResolutionRun(CommonConfig):
    """A run of ``entity_resolution``.

    Attributes:
        pairs: file of scored pairs: ``left, right`` and ``weight`` or ``match_probability``.
        records: messy records to be scored in pairs instead.
        mentions: a study on mentions instead.
        gold: file of true clusters: ``record, cluster``.
        must_link: pairs of records that are one entity: a file ``left, right``, or a list.
        cannot_link: pairs that are not, likewise.
        one_per_source: column that says which source a record is from, of which a cluster has one record at most.
        sources: file with ``record`` and that column; None: it is one of the records themselves.
        previous: run directory of this job, whose clusters hand on their ids and whose unchanged components are taken
            over; None: ids begin.
        missing: what holds for pairs without a score: they may not share a cluster, or weigh 0.
        threshold: pairs of less weight count as never scored; None: all count.
        solver: what partitions each connected component.
        time_limit: seconds for each component.
        engine: that solves the set packings, by PuLP's name.
        max_parts: M of the paper: parts that may be taken from a maximal clique; None: as many as an optimum can have.
        max_cliques, max_constraints: limits of the set packings; None: the usual ones of the solver.
        explain: records of which it is asked why they are with another one, or in a cluster, or not.
        drawn: numbers of the components whose graph the report draws.
    """

    job: EntityResolutionJob
    pairs: _Path | None = None
    records: RecordScorer | None = None
    mentions: MentionStudy | None = None
    gold: _Path | None = None
    must_link: _Pairs | None = None
    cannot_link: _Pairs | None = None
    one_per_source: _Path | None = None
    sources: _Path | None = None
    previous: _Path | None = None
    missing: Missing = "forbid"
    threshold: float | None = None
    solver: Annotated[Solver, BeforeValidator(_known)] = "cutting_plane"
    time_limit: Annotated[float, Field(gt=0)] = 60.0
    engine: Annotated[str, Field(min_length=1)] = ENGINE
    max_parts: _Limit = None
    max_cliques: _Limit = None
    max_constraints: _Limit = None
    explain: Annotated[tuple[Question, ...], Field(examples=[_QUESTIONS])] = ()
    drawn: Annotated[tuple[Annotated[int, Field(ge=0)], ...], AfterValidator(each_once)] = ()

    @pydantic.model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [name for name in ("pairs", "records", "mentions") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"pairs: {' and '.join(given) or 'nothing'} is given to be resolved: set pairs=<file of scored pairs>, "
                "+records=csv for messy records, or +mentions=study for a study on gold chains, one of them"
            )
        if self.mentions is not None and (self.threshold is not None or self.gold is not None):
            raise ValueError("threshold, gold: a study has its own; set mentions.thresholds, and leave out gold")
        return self

    @pydantic.model_validator(mode="after")
    def _used_settings(self) -> Self:
        for name, solvers in _USED_BY.items():
            if self.solver not in solvers and getattr(self, name) not in (None, ENGINE):
                fitting = " or ".join(solvers)
                raise ValueError(
                    f"{name}: solver={self.solver} has no use for it; leave it out, or set solver={fitting}"
                )
        return self

    @pydantic.model_validator(mode="after")
    def _obeyed_constraints(self) -> Self:
        given = [name for name in _CONSTRAINTS if getattr(self, name) is not None]
        if given and self.mentions is not None:
            raise ValueError(f"{given[0]}: a study of mentions knows no constraints; leave it out")
        if given and self.solver not in _CONSTRAINED:
            raise ValueError(
                f"{given[0]}: solver={self.solver} does not obey it; set solver={' or '.join(_CONSTRAINED)}"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _leaves_the_previous_run_alone(self) -> Self:
        # A run begins by removing what is in its directory.
        places = [Path(path).expanduser().resolve() for path in (self.previous, self.run_dir) if path is not None]
        if len(places) > len(set(places)):
            raise ValueError(f"previous={self.previous}: is the run_dir of this run; choose another run_dir=<path>")
        return self

    @pydantic.model_validator(mode="after")
    def _known_sources(self) -> Self:
        if self.sources is not None and (self.one_per_source is None or self.records is not None):
            raise ValueError("sources: is for one_per_source=<its column> with pairs=<file>; leave it out")
        if self.one_per_source is not None and self.pairs is not None and self.sources is None:
            raise ValueError("one_per_source: set sources=<file with record and this column>, as pairs have none")
        return self

    @property
    def has_constraints(self) -> bool:
        """Whether clusters have to obey anything beside the weights."""
        return any(getattr(self, name) is not None for name in _CONSTRAINTS)

    @property
    def packing(self) -> Packing | None:
        """What is set of a set packing; None for other solvers."""
        if self.solver not in PACKINGS:
            return None
        return Packing(self.engine, self.max_parts, self.max_cliques, self.max_constraints)
