"""The config of `entity_resolution`: where scored pairs come from, and how they are partitioned."""

from typing import Annotated, Literal, Self, TypeVar

import pydantic
from pydantic import AfterValidator, ConfigDict, Field

from tiltmeter.jobs.resolution.records.config import RecordScorer
from tiltmeter.jobs.runtime.config import CommonConfig, each_once
from tiltmeter.operators.resolution.problem import Missing

T = TypeVar("T")

_CHECKED = ConfigDict(extra="forbid", allow_inf_nan=False)
_Path = Annotated[str, Field(min_length=1)]
_Some = Annotated[tuple[T, ...], Field(min_length=1), AfterValidator(each_once)]
"""One or more, each once."""

Solver = Literal["cutting_plane", "local_search", "quadratic_set_packing", "set_packing", "hierarchical"]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class EntityResolutionJob:
    """``job=entity_resolution``"""

    name: Literal["entity_resolution"] = "entity_resolution"


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
        mean, sd: scores are normal, around ``mean`` for pairs of one chain and ``-mean`` for the others.
    """

    path: _Path
    topics: _Some[str] | None = None
    classes: _Some[str] | None = None
    seeds: _Some[Annotated[int, Field(ge=0, lt=2**63)]] = (0,)
    thresholds: _Some[float | None] = (None,)
    mean: Annotated[float, Field(gt=0)] = 0.5
    sd: Annotated[float, Field(gt=0)] = 0.3


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CHECKED)
class ResolutionRun(CommonConfig):
    """A run of ``entity_resolution``.

    Attributes:
        pairs: file of scored pairs: ``left, right`` and ``weight`` or ``match_probability``.
        records: messy records to be scored in pairs instead.
        mentions: a study on mentions instead.
        gold: file of true clusters: ``record, cluster``.
        missing: what holds for pairs without a score: they may not share a cluster, or weigh 0.
        threshold: pairs of less weight count as never scored; None: all count.
        solver: what partitions each connected component.
        time_limit: seconds for each component.
        drawn: numbers of the components whose graph the report draws.
    """

    job: EntityResolutionJob
    pairs: _Path | None = None
    records: RecordScorer | None = None
    mentions: MentionStudy | None = None
    gold: _Path | None = None
    missing: Missing = "forbid"
    threshold: float | None = None
    solver: Solver = "cutting_plane"
    time_limit: Annotated[float, Field(gt=0)] = 60.0
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
