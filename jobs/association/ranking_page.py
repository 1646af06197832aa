"""The section on the ranking of embeddings, and what it says before."""

import polars as pl

from tiltmeter.jobs.association.ranking import RankCorrelations, Ranking, RankPairs
from tiltmeter.jobs.association.tables import measure_name
from tiltmeter.jobs.report.findings import split
from tiltmeter.jobs.report.html.elements import Block, Details, Paragraph, Section
from tiltmeter.jobs.report.views import Show
from tiltmeter.jobs.report.wording import listed, some
from tiltmeter.jobs.runtime.published import Frames

_HOW = (
    "A distance is the mean over the queries that every embedding can answer, in all its replicas, of how far a "
    "measure lies from its value without bias; noise alone makes it larger, so that vectors of fewer texts lie "
    "further. Embeddings whose distances can't be told apart from chance (max-T over all pairs of a measure, at the "
    "level of the intervals) share one rank. Nothing is corrected for the number of measures, and a measure that finds "
    "no bias is no proof that there is none."
)
_WEFE = (
    "Rank by WEFE: the sum of the sizes of its values in ascending order, whatever small ones say, of ECT most "
    "bias. A query that an embedding lacks counts for nothing there, so that one that can't be measured gains by it."
)
_RANKS = Show(
    Ranking,
    lambda rows: f"{measure_name(rows['measure'][0])}, by {rows['num_queries'][0]} of the queries{_left_out(rows)}.",
    "model distance shared_rank=rank rank=interval_of_rank wefe_abs_sum? rank_as_wefe? num_lost reason?",
)
_PAIRS = Show(
    RankPairs,
    "Differences of distances.",
    "measure model other difference p_max_t=p,_all_pairs first is_told_apart",
    most=60,
)
_CORRELATIONS = Show(
    RankCorrelations,
    "Do measures order the embeddings alike? Spearman's ρ of their distances, over replicas.",
    "measure other_measure spearman num_models reason?",
)


def _left_out(rows: pl.DataFrame) -> str:
    names = rows["left_out"][0].to_list()
    return f"; not every embedding can answer {some(names)} in every replica" if names else ""


def ranking_findings(frames: Frames) -> list[str]:
    """Which embeddings come before which, by each measure; or that it can't be told."""
    if "ranking" not in frames:
        return []
    rows = frames["ranking"].filter(pl.col("distance").is_not_null())
    num_languages = rows["language"].n_unique()
    return [
        _sentence(part, num_languages) for part in split(rows, "language", "measure", label="{} {}".format).values()
    ]


def _sentence(rows: pl.DataFrame, num_languages: int) -> str:
    language, measure = rows["language"][0], measure_name(rows["measure"][0])
    by, ordered = f"By {measure} in {language}" if num_languages > 1 else f"By {measure}", rows.sort("rank")
    if not ordered["num_replicas"][0]:
        return f"{by}, no embedding is ranked: no replica has all queries, to tell differences from chance."
    groups = [(rank, part["model"].to_list()) for rank, part in split(ordered, "shared_rank").items()]
    if len(groups) == 1:
        return f"{by}, no embedding is ranked: {listed(groups[0][1])} can't be told apart."
    parts = [f"{listed(names)} ({'not told apart, ' if names[1:] else ''}rank {rank})" for rank, names in groups]
    return f"{by}, from the nearest to no bias: {'; '.join(parts)}."


def ranking(frames: Frames) -> Section:
    """What is known of the order of embeddings."""
    rows = frames["ranking"]
    grids = [
        block
        for part in split(rows, "language", "measure", label="{} {}".format).values()
        for block in _RANKS.blocks({"ranking": part})
    ]
    blocks: list[Block] = [Paragraph(_HOW), *grids, *_CORRELATIONS.blocks(frames), Paragraph(_WEFE, "note")]
    return Section("ranking", "Ranking of embeddings", [*blocks, Details("Each two of them", _PAIRS.blocks(frames))])
