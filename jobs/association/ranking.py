"""Which of several embeddings is the least biased, measure by measure, and whether that can be told."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import get_args

import numpy as np
import polars as pl

from tiltmeter.jobs.association.measures import MeasureBias, Measured
from tiltmeter.jobs.association.tables import Measures, measure_name
from tiltmeter.jobs.embedding.config import narrowed
from tiltmeter.jobs.embedding.models import Model, common_scheme
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.embedding.tables import NUM_REPLICAS, OfModel
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.draws import NAME as DRAWS
from tiltmeter.jobs.runtime.draws import Scheme, row_key
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.table import Estimate, Int32, Table, doc, key, schemas
from tiltmeter.jobs.runtime.work import Done, Work
from tiltmeter.operators.association.ranking import RELATIVE, Aggregation, as_wefe, distance_from_ideal
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics import correlation, orders
from tiltmeter.operators.statistics.intervals import FISHER, LOG, IntervalSettings, of_size
from tiltmeter.storage.store.ledger import Finished, Store, TableRef
from tiltmeter.storage.store.tables import key_columns

_MEASURE = "name of the measure"
_MIN_MODELS = 3


class Ranking(OfModel, name="ranking"):
    measure: str = key(_MEASURE, show=measure_name)
    distance: Estimate = doc(
        "mean over the queries of the size of value - neutral, of RNSB divided by ln n; 0 without the bias",
        interval="its interval over replicas",
    )
    rank: Estimate = doc(
        "of the distance among the models, 1 the nearest to no bias",
        digits=0,
        interval="an interval that holds the ranks of all models at once: what is told apart from it stands outside",
    )
    shared_rank: str = doc("rank that it shares with all models that it can't be told apart from, such as '2–4'")
    num_queries: Int32 = doc("queries that every model can answer, in every replica", "queries", heading="queries")
    left_out: list[str] = doc("queries that are left out, as a model can't answer them, or not in every replica")
    num_lost: Int32 = doc("numbers of queries that this model lacks", heading="lost")
    wefe_sum: float | None = doc("WEFE's aggregates of values, of which a missing one counts for nothing: their sum")
    wefe_avg: float | None = doc("their mean")
    wefe_abs_sum: float | None = doc("the sum of their sizes", heading="WEFE's abs_sum")
    wefe_abs_avg: float | None = doc("the mean of their sizes; all null of measures of words")
    rank_as_wefe: int | None = doc("place by wefe_abs_sum, the smallest value first", heading="rank by WEFE")
    num_replicas: Int32 = doc(NUM_REPLICAS, "replicas")


class RankPairs(OfModel, name="rank_pairs"):
    measure: str = key(_MEASURE, show=measure_name)
    other: str = key("the other embedding")
    first: float = doc("share of replicas in which the model is nearer to no bias than the other", show="percent")
    difference: Estimate = doc(
        "distance of the model less that of the other", interval="intervals of all differences of the measure at once"
    )
    p_max_t: float = doc("of no difference, for all pairs of the measure at once, by max-T", show="p_value")
    is_told_apart: bool = doc("whether that is at most 1 - job.level", heading="told apart")


class RankCorrelations(Table, name="rank_correlations"):
    language: str = key("of the models")
    measure: str = key(_MEASURE, show=measure_name)
    other_measure: str = key("name of the other measure", heading="with", show=measure_name)
    spearman: Estimate = doc("Spearman's rho of the models' distances by both", heading="Spearman's ρ", digits=2)
    num_models: Int32 = doc("models that both rank")


TABLES = schemas(Ranking, RankPairs, RankCorrelations)


class RankModels(Work, unit="ranking/1", stage="rank", makes=[Ranking, RankPairs]):
    """By one measure, in one language.

    Attributes:
        models: in the order of the run.
        targets: by query, the words that RNSB compares.
    """

    measure: str
    language: str
    models: Sequence[str]
    targets: Mapping[str, Sequence[str]]
    operators: str = f"{orders.VERSION} {correlation.VERSION}"
    settings: IntervalSettings
    seed: int
    draws_scheme: Scheme | None
    measures: Sequence[TableRef]
    draws: Sequence[TableRef]

    @property
    def scheme(self) -> Scheme | None:
        return self.draws_scheme

    def rows(self, store: Store) -> Iterator[Ranking | RankPairs]:
        table = pl.concat([pl.DataFrame(store.read(ref)) for ref in self.measures])
        queries = table["query"].unique(maintain_order=True).to_list()
        of_all = {} if table["neutral"][0] is None else self._distances(table, _draws(store, self.draws, Measures))
        by_query = {query: part for query, part in of_all.items() if np.isfinite(part).all()} or of_all
        left_out = [query for query in queries if query not in by_query]
        made = [Ranking(model=name, language=self.language, measure=self.measure) for name in self.models]
        for row in made:
            row.num_lost = table.filter(pl.col("value").is_null(), model=row.model).height
            row.num_queries, row.left_out = len(by_query), left_out
        if by_query:
            distances = np.mean([*by_query.values()], axis=0)
            generator = keyed_generator(self.seed, Stream.RANKING, document_key(self.measure))
            judged = orders.orders(distances[:, 0], distances[:, 1:], self.settings.level, generator)
            self._fill(made, table, distances, judged)
            yield from self._pairs(distances, judged)
        for row in made:
            why = "no value is that of no bias" if table["neutral"][0] is None else "no query that all models answer"
            yield row if by_query else row.fail("not_ranked", why)

    def _distances(self, table: pl.DataFrame, draws: Mapping[str, Sequence[float]]) -> dict[str, FloatArray]:
        """``[models, 1 + replicas]`` of each query that every model answers: the mean over the sets, or the words, of
        which all have a number."""
        num = max(map(len, draws.values()), default=0)
        parts: dict[str, list[FloatArray]] = {}
        kept = table.drop_nulls("value")
        for (query, _, _, word), rows in kept.group_by("query", "groups", "attributes", "word", maintain_order=True):
            if rows.height == len(self.models):
                distances = np.stack([self._distance(row, draws, num) for row in rows.to_dicts()])
                if word is None or np.isfinite(distances).all():
                    parts.setdefault(str(query), []).append(distances)
        return {query: np.mean(part, axis=0) for query, part in parts.items()}

    def _distance(self, row: Row, draws: Mapping[str, Sequence[float]], num: int) -> FloatArray:
        drawn = draws.get(row_key({name: row[name] for name in key_columns(Measures.schema())}), [None] * num)
        compared = set(self.targets.get(row["query"], ())) - set(row["missing_words"])
        values = np.array([row["value"], *drawn], dtype=np.float64)
        return distance_from_ideal(values, self.measure, row["neutral"], len(compared))

    def _fill(self, made: Sequence[Ranking], table: pl.DataFrame, distances: FloatArray, judged: orders.Orders) -> None:
        queries = table.pivot(
            "model", index=["query", "groups", "attributes"], values="value", aggregate_function="first"
        )
        numbers = queries.select(self.models).to_numpy().T
        of_words = table["word"].null_count() < table.height
        wefe = {} if of_words else {f"wefe_{name}": as_wefe(numbers, name) for name in get_args(Aggregation)}
        ranks = _ranks(distances)[:, 1:].astype(np.float64)
        for place, row in enumerate(made):
            value, drawn = distances[place, 0], distances[place, 1:]
            low, high, _ = self.settings.around(value, drawn, of_size(LOG))
            row.distance = Estimate(float(value), float(low), float(high), drawn)
            ends = float(judged.rank_low[place]), float(judged.rank_high[place])
            row.rank = Estimate(float(judged.rank[place]), *ends, ranks[place])
            tier = dict.fromkeys([judged.tier_low[place], judged.tier_high[place]])
            row.shared_rank, row.num_replicas = "–".join(map(str, tier)), judged.num_replicas
            for name, values in wefe.items():
                setattr(row, name, float(values[place]))
            row.rank_as_wefe = int(_ranks(wefe["wefe_abs_sum"])[place]) if wefe else None

    def _pairs(self, distances: FloatArray, judged: orders.Orders) -> Iterator[RankPairs]:
        for i, j in combinations(range(len(self.models)), 2):
            value, *drawn = distances[i] - distances[j]
            ends = float(judged.low[i, j]), float(judged.high[i, j])
            yield RankPairs(
                model=self.models[i],
                language=self.language,
                measure=self.measure,
                other=self.models[j],
                first=judged.first[i, j],
                difference=Estimate(float(value), *ends, np.array(drawn)),
                p_max_t=judged.p_max_t[i, j],
                is_told_apart=bool(judged.p_max_t[i, j] <= 1.0 - self.settings.level),
            )


def _ranks(values: FloatArray) -> IntArray:
    """Along the first axis, from 1; of equal values the first given."""
    return np.argsort(np.argsort(values, axis=0, kind="stable"), axis=0, kind="stable") + 1


def _draws(store: Store, refs: Sequence[TableRef], kind: type[Table]) -> dict[str, Sequence[float]]:
    """Values in the replicas by the key of their row."""
    tables = [pl.DataFrame(store.read(ref)).filter(table=kind.table_name) for ref in refs]
    numbers = {"measures": "value", "ranking": "distance"}[kind.table_name]
    return {row["key"]: row["values"] for table in tables for row in table.filter(column=numbers).to_dicts()}


class CorrelateRankings(Work, unit="rank_correlations/1", stage="correlate rankings", makes=[RankCorrelations]):
    """Whether measures rank alike, of each two that rank three models or more."""

    language: str
    correlations: str = correlation.VERSION
    settings: IntervalSettings
    draws_scheme: Scheme | None
    rankings: Sequence[TableRef]
    draws: Sequence[TableRef]

    @property
    def scheme(self) -> Scheme | None:
        return self.draws_scheme

    def rows(self, store: Store) -> Iterator[RankCorrelations]:
        draws, numbers = _draws(store, self.draws, Ranking), dict[str, FloatArray]()
        num = max(map(len, draws.values()), default=0)
        for ref in self.rankings:
            rows = pl.DataFrame(store.read(ref)).filter(pl.col("distance").is_not_null()).to_dicts()
            keys = [row_key({name: row[name] for name in key_columns(Ranking.schema())}) for row in rows]
            drawn = [[row["distance"], *draws.get(key, [None] * num)] for row, key in zip(rows, keys, strict=True)]
            if rows:
                numbers[rows[0]["measure"]] = np.array(drawn, dtype=np.float64).T
        for (first, x), (second, y) in combinations(numbers.items(), 2):
            row = RankCorrelations(language=self.language, measure=first, other_measure=second, num_models=x.shape[1])
            rho = correlation.replicated(x, y, "spearman")
            low, high, _ = self.settings.around(rho[0], rho[1:], FISHER)
            row.spearman = Estimate(float(rho[0]), float(low), float(high), rho[1:])
            few = f"{x.shape[1]} models have no order to correlate; it takes three"
            yield (
                row if np.isfinite(rho[0]) else row.fail("undefined", few if x.shape[1] < _MIN_MODELS else "all equal")
            )


def rank_models(
    run: Run[Measured, Sources], models: Sequence[Model], done: Done[MeasureBias], config: IntervalSettings
) -> None:
    """Rank the models of a language by each measure, where there are several; publish the tables of rankings."""
    parts: dict[tuple[str, str], list[tuple[MeasureBias, Finished]]] = {}
    for work, unit in done.pairs:
        parts.setdefault((work.model.language, work.measure), []).append((work, unit))
    schemes = {
        language: common_scheme([model for model in models if model.language == language]) for language, _ in parts
    }
    settings = narrowed(IntervalSettings, config)
    ranked = run.do(
        (
            RankModels(
                group=language,
                label=f"{language} {measure}",
                measure=measure,
                language=language,
                models=names,
                targets={work.query: _targets(work) for work, _ in pairs} if measure in RELATIVE else {},
                settings=settings,
                seed=run.config.seed,
                draws_scheme=schemes[language],
                measures=Done(pairs).refs(Measures),
                draws=Done(pairs).refs(DRAWS),
            )
            for (language, measure), pairs in parts.items()
            if len(names := list(dict.fromkeys(work.model.name for work, _ in pairs))) > 1
        ),
        in_driver=True,
    )
    run.do(
        (
            CorrelateRankings(
                group=language,
                label=language,
                language=language,
                settings=settings,
                draws_scheme=schemes[language],
                rankings=made.refs(Ranking),
                draws=made.refs(DRAWS),
            )
            for language, made in ranked.groups.items()
            if len(made.pairs) > 1
        ),
        in_driver=True,
    )


def _targets(work: MeasureBias) -> list[str]:
    return [*work.test.target_x.words, *work.test.target_y.words]
