"""Settings of `entity_resolution`; what each means, and usually is, stands in ``conf``: job, records and mentions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar
from urllib.parse import parse_qsl

import pydantic
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, FiniteFloat

from tiltmeter.jobs.runtime.config import CommonConfig, each_once
from tiltmeter.jobs.runtime.settings.fields import Count, Least0, Text, settings
from tiltmeter.operators.resolution.baselines.packing import ENGINE, Packing
from tiltmeter.operators.resolution.clustering import Solver
from tiltmeter.operators.resolution.problem import Missing
from tiltmeter.operators.resolution.quality.estimates import Design
from tiltmeter.operators.resolution.records.canonical import Canonical
from tiltmeter.operators.resolution.records.scorer import Scorer
from tiltmeter.operators.resolution.solvers import PACKINGS, check_solver
from tiltmeter.operators.text.normalisation import as_labels

T = TypeVar("T")

_Some = Annotated[tuple[T, ...], Field(min_length=1), AfterValidator(each_once)]
"""One or more, each once."""

_QUADRATIC = ("quadratic_set_packing",)
CONSTRAINTS = ("must_link", "cannot_link", "one_per_source")
_CONSTRAINED: Sequence[Solver] = ("cutting_plane", "local_search")
"""The solvers that obey them."""

_USED_BY = {"engine": PACKINGS, "max_cliques": PACKINGS, "max_parts": _QUADRATIC, "max_constraints": _QUADRATIC}
"""The solvers that a setting is about."""


def _text(value: object) -> object:
    """Ids of records are text; those that are whole numbers need no quotes."""
    return value if isinstance(value, bool) else as_labels(value)


def _other_than_1(factor: float) -> float:
    if factor == 1.0:
        raise ValueError("a factor of 1 changes no odds, and is there in any case; leave it out")
    return factor


def _known(solver: object) -> object:
    check_solver(solver)
    return solver


_Id = Annotated[Text, BeforeValidator(_text)]

_Pairs = Text | Annotated[tuple[tuple[_Id, _Id], ...], Field(min_length=1, examples=[[["a", "b"], ["a", "c"]]])]
"""A file of pairs, or the pairs themselves."""


@settings
class JobName:
    name: Literal["entity_resolution"]


@settings
class Question:
    """Why a record is with another one, or in a cluster, or not.

    Attributes:
        record: the record that is asked about.
        other: another one.
        cluster: or the number of a cluster, as in the table ``clusters``.
    """

    record: _Id
    other: _Id | None = None
    cluster: Least0 | None = None

    @pydantic.model_validator(mode="after")
    def _about_one_thing(self) -> Self:
        if (self.other is None) == (self.cluster is None):
            raise ValueError(f"record {self.record!r}: give either other=<record> or cluster=<number>, one of them")
        if self.record == self.other:
            raise ValueError(f"record {self.record!r} and other are the same: name two records, or a cluster")
        return self

    @property
    def records(self) -> list[str]:
        """Those that it names."""
        return [self.record, *([] if self.other is None else [self.other])]


_Factor = Annotated[FiniteFloat, Field(gt=0), AfterValidator(_other_than_1)]

_QUESTIONS = [{"record": "a", "other": "b"}, {"record": "a", "cluster": 3}]


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class RecordScorer(Scorer):
    """A scorer, with its files; each unit scores a part.

    Attributes:
        second: a file of records, each of which is only compared with those of ``path``.
    """

    path: Text
    second: Text | None = None
    labelled: Text | None = None
    clusters: Text | None = None
    prior_factors: Annotated[tuple[_Factor, ...], AfterValidator(each_once)] = (0.5, 2.0)
    model: Text | None = None
    within: Annotated[int, Field(ge=2)] | None = None

    @pydantic.model_validator(mode="after")
    def _one_source_of_labels(self) -> Self:
        given = [name for name in ("labelled", "clusters", "unlabelled") if getattr(self, name) is not None]
        if self.model is None and self.unlabelled is not None and self.calibration is not None:
            if len(given) != 2:
                raise ValueError(
                    f"records.calibration={self.calibration}: has no labels, as the scorer; set records.labelled=<file "
                    "of labelled pairs> or records.clusters=<file of true clusters> for it alone, one of them"
                )
        elif self.model is None and len(given) != 1:
            raise ValueError(
                f"records.labelled: {' and '.join(given) or 'nothing'} is given to learn from: set "
                "records.labelled=<file of labelled pairs>, records.clusters=<file of true clusters> or, to learn "
                "without labels, records.unlabelled={rules: [...], recall: <share>}, one of them"
            )
        return self


@settings
class MentionStudy:
    """Mentions with gold chains, whose pairs get synthetic scores, as in the threshold study of Vadrevu et al. 2021.

    Without its group, all but the path is as the group has it.
    """

    path: Text
    topics: _Some[str] | None = None
    classes: _Some[str] | None = None
    seeds: _Some[Annotated[int, Field(ge=0, lt=2**63)]] = (0,)
    thresholds: _Some[FiniteFloat | None] = (None,)
    mean: Annotated[FiniteFloat, Field(gt=0)] = 0.5
    sd: Annotated[FiniteFloat, Field(ge=0)] = 0.3


@settings
class DatabaseExport:
    """Databases that the clusters go to; a password is never a setting, as settings are written down."""

    duckdb: Text | None
    postgres: Text | None
    schema: Text

    @property
    def extras(self) -> Mapping[str, str]:
        """PostgreSQL needs one."""
        return {"postgres": "postgres"} if self.postgres else {}

    @pydantic.model_validator(mode="after")
    def _fits(self) -> Self:
        scheme, _, rest = (self.postgres or "postgresql://").partition("://")
        if scheme not in ("postgresql", "postgres"):
            raise ValueError("export.postgres: must be a URI, such as postgresql://user@host/database")
        options = [name for name, _ in parse_qsl(rest.rpartition("?")[2], keep_blank_values=True)]
        if ":" in rest.rpartition("@")[0] or any("password" in name or "secret" in name for name in options):
            raise ValueError("export.postgres: leave the password out; libpq takes it of PGPASSWORD or ~/.pgpass")
        if self.duckdb is not None and Path(self.duckdb).stem.lower() == self.schema.lower():
            raise ValueError(f"export.duckdb: to DuckDB {self.schema!r} is the file and the schema; rename one")
        return self


@settings
class ResolutionRun(CommonConfig):
    job: JobName
    pairs: Text | None
    records: RecordScorer | None
    mentions: MentionStudy | None
    gold: Text | None
    gold_sample: Design | None
    reference_scorer: bool
    names: Text | None
    groups: Text | None
    sampled_pairs: Text | None
    num_to_label: Least0
    must_link: _Pairs | None
    cannot_link: _Pairs | None
    one_per_source: Text | None
    sources: Text | None
    previous: Text | None
    missing: Missing
    threshold: FiniteFloat | None
    solver: Annotated[Solver, BeforeValidator(_known)]
    time_limit: Annotated[FiniteFloat, Field(gt=0)]
    engine: Text
    max_parts: Count | None
    max_cliques: Count | None
    max_constraints: Count | None
    explain: Annotated[tuple[Question, ...], Field(examples=[_QUESTIONS])]
    drawn: Annotated[tuple[Least0, ...], AfterValidator(each_once)]
    canonical: Canonical | None
    export: DatabaseExport

    @pydantic.model_validator(mode="after")
    def _has_rows_to_export(self) -> Self:
        if self.canonical is not None and self.records is None:
            raise ValueError(
                "canonical: scored pairs have no columns to choose from; set +records=csv, or leave it out"
            )
        if self.mentions is not None and (self.export.duckdb or self.export.postgres):
            raise ValueError("export: a study of mentions has many partitions; leave export.duckdb and .postgres out")
        return self

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
    def _judged_clusters(self) -> Self:
        for name in ("gold_sample", "names", "groups"):
            if getattr(self, name) is not None and self.gold is None:
                raise ValueError(f"{name}: is about true clusters; set gold=<file with record and cluster>")
        if self.mentions is not None and (self.sampled_pairs is not None or self.num_to_label):
            raise ValueError("sampled_pairs, num_to_label: are for one graph; leave them out of a study")
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
        given = [name for name in CONSTRAINTS if getattr(self, name) is not None]
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
        model = None if self.records is None else self.records.model
        for name, path in {"records.model": model, "previous": self.previous}.items():
            places = [Path(place).expanduser().resolve() for place in (path, self.run_dir) if place is not None]
            if len(places) > len(set(places)):
                raise ValueError(f"{name}={path}: is the run_dir of this run; choose another run_dir=<path>")
        return self

    @pydantic.model_validator(mode="after")
    def _one_scorer(self) -> Self:
        given = [
            name for name in ("labelled", "clusters", "unlabelled") if getattr(self.records, name, None) is not None
        ]
        if self.records is not None and self.records.model is not None and given:
            raise ValueError(
                f"records.{given[0]}: nothing is learnt where records.model is given; leave one of them out"
            )
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
        return any(getattr(self, name) is not None for name in CONSTRAINTS)

    @property
    def packing(self) -> Packing | None:
        """What is set of a set packing; None for other solvers."""
        if self.solver not in PACKINGS:
            return None
        return Packing(self.engine, self.max_parts, self.max_cliques, self.max_constraints)
