"""Sections of the page on messy records, and on what has become of records and clusters since the previous run."""

import math
from collections.abc import Iterable, Iterator

import polars as pl

from tiltmeter.jobs.report.grids import Column, Row, count, grid, small
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Grid, Paragraph
from tiltmeter.jobs.report.plots import style
from tiltmeter.jobs.report.plots.bars import bars
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.style import Look
from tiltmeter.jobs.report.views import Show
from tiltmeter.jobs.report.wording import listed, number, percent, plural, quoted
from tiltmeter.jobs.resolution.config import RecordScorer
from tiltmeter.jobs.resolution.extracts import Extracts
from tiltmeter.jobs.resolution.tables import (
    Agreements,
    Blocking,
    GapCounts,
    Ledger,
    LedgerCounts,
    LedgerPairs,
    MovedRecords,
)
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.runtime.table import Table

_HALF = (0.35, 0.65)
_MATCHES = (0.01, 0.99)
"""Between these shares of matches among a session's pairs, EM tells them from others."""
_MOST_BITS, _MOST_RATIO, _LEAST_SHARE = 0.01, 2.0, 0.05
"""Divergence of the model for two fields, and ratio of a session's m to another's, from which on the page says so; of m
only where the larger is no smaller than a share."""
_EVENTS, _NUM_SHOWN, _IDS = ("merged", "split", "vanished", "new", "kept"), 20, "before=id_before after=id_after"
_LOOKS = dict(zip(("matches", "others", "precision", "recall"), map(Look, (style.MALE, style.FEMALE) * 2), strict=True))
_GAPS = Show(
    GapCounts,
    "Within components of positive pairs, those that no rule proposes were scored too, so that clusters rest on all.",
    "most num_pairs num_positive num_kept num_large num_left",
)


def record_parts(extracts: Extracts) -> dict[str, tuple[str, Iterable[Block]]]:
    """By their anchor title and blocks of sections; none where scored pairs were given."""
    frames, scorer = extracts.frames, extracts.scorer
    if scorer is None or "agreements" not in frames:
        return {}
    most = "Pairs that each rule proposes, counted before they are made; a rule's block is the records of one key."
    return {
        "blocking": ("Which pairs are looked at", [*_blocking(frames, most), *_GAPS.blocks(frames)]),
        "learning": ("What agreements mean", _learning(frames, scorer, int(extracts.counts["num_records"][0]))),
        "thresholds": ("What a threshold does", _thresholds(frames)),
    }


def _blocking(frames: Frames, caption: str) -> list[Block]:
    return Show(Blocking, caption, "rule num_pairs num_new largest num_records").blocks(frames)


def _learning(frames: Frames, scorer: RecordScorer, num_records: int) -> Iterator[Block]:
    rows = frames["agreements"]
    prior, is_random = rows["prior"][0], scorer.unlabelled is not None
    which = "all pairs" if is_random else "the pairs that are looked at"
    yield Paragraph(
        f"The prior: {percent(prior, 4 if is_random else 1)} of {which} are taken for matches. An agreement adds its "
        "match weight to the log odds, in bits: log2 m / u, for the share m of matches and u of others that agree so."
    )
    if doubts := [*_doubts(frames, scorer, num_records, prior)]:
        yield Bullets(doubts)
    rows = rows.with_columns(label=pl.format("{}: {}", "field", "agreement"), place=pl.col("field").rle_id())
    rows = rows.sort("place", "degree", descending=[False, True])
    shares = [
        rows.select("label", pl.col(name).alias("share"), kind=pl.lit(kind))
        for name, kind in (("m", "matches"), ("u", "others"))
    ]
    figures = {
        "match weights": bars(rows, "match_weight", "label", titles=("match weight (bits)", "")),
        "m and u": bars(pl.concat(shares), "share", "label", by="kind", looks=_LOOKS, titles=("share of pairs", "")),
    }
    words = "Bars of each degree of agreement of each field: match weights, and shares m and u."
    yield Chart(words, "What each degree of agreement speaks for, and how often it is seen.", figures, "Chart")
    counts = "field agreement num_matches=matches? num_distinct=others?"
    columns: list[str | Column] = [counts, small("m"), small("u"), "match_weight"]
    yield Show(Agreements, "What was learnt.", columns).grid(rows)


def _doubts(frames: Frames, scorer: RecordScorer, num_records: int, prior: float) -> Iterator[str]:
    """What speaks against what was learnt."""
    num_proposed = int(frames["blocking"]["num_new"].sum()) if "blocking" in frames else 0
    if (
        scorer.labelled
        and scorer.prior is None
        and _HALF[0] <= prior <= _HALF[1]
        and prior * num_proposed > num_records
    ):
        yield (
            f"{percent(prior)} of the labelled pairs are matches. Of the {num_proposed:,} proposed pairs that would be "
            f"more than one for each of {plural(num_records, 'record')}: the labels look drawn half and half, and the "
            "prior can't be read from them. Set records.prior to the share of matches among proposed pairs."
        )
    if scorer.unlabelled is None or "sessions" not in frames:
        return
    yield (
        f"The prior rests on the stated recall of {percent(scorer.unlabelled.recall)}; if the strict rules have wrong "
        "pairs it is too high, by 1 / precision."
    )
    sessions, num_matches = frames["sessions"], prior * num_records * (num_records - 1) / 2
    for name, num, share in sessions.select("session", "num_pairs", "match_share").unique(maintain_order=True).rows():
        about = f"Session {quoted(name)}: of {plural(num, 'pair')}, {percent(share)} are taken for matches"
        if share > 0.5 and share * num > num_matches:
            yield f"{about}, more than the {num_matches:,.0f} of all pairs by the prior: others may be taken for them."
        elif not _MATCHES[0] <= share <= _MATCHES[1]:
            yield f"{about}: EM is only sure between 1 % and 99 %."
    m, keys = pl.col("m"), ("field", "degree")
    apart = sessions.group_by(keys).agg(low=m.min(), high=m.max()).sort(keys)
    apart = apart.filter(pl.col("high") > _MOST_RATIO * pl.col("low"), pl.col("high") >= _LEAST_SHARE)
    for field, degree, low, high in apart.rows():
        yield f"Sessions disagree on {quoted(field)}, degree {degree}: m from {number(low, 3)} to {number(high, 3)}."
    degrees = dict(frames["agreements"].group_by("field").len().rows())
    cells = pl.col("field").replace_strict(degrees) * pl.col("other").replace_strict(degrees)
    # Twice of what chance alone makes of a model that holds.
    noise = cells / (pl.col("num_pairs") * math.log(2.0))
    worst = frames["fits"].filter(pl.col("bits") > _MOST_BITS + noise).sort("bits", descending=True)
    for row in worst.unique(["field", "other"], keep="first", maintain_order=True).to_dicts():
        both = " and ".join(quoted(row[end]) for end in ("field", "other"))
        seen, expected = percent(row["observed"]), percent(row["fitted"])
        yield (
            f"In session {quoted(row['session'])}, {both} do not agree together as the model expects, by "
            f"{number(row['bits'], 2)} bits for each pair: {seen} agree most in both, and {expected} should. If they "
            "depend on each other, what they say counts twice."
        )


def _thresholds(frames: Frames) -> Iterator[Block]:
    if "unlinkable" in frames:
        yield Chart(
            "Curve of the share of unlinkable records by the threshold.",
            "Records that are no match even of themselves, as too little is in them: no threshold above links them.",
            {"": curves(frames["unlinkable"], "threshold", "share", titles=("match probability", "share of records"))},
        )
    if "thresholds" in frames:
        long = frames["thresholds"].unpivot(["precision", "recall"], index="threshold", variable_name="kind")
        figure = curves(
            long.drop_nulls(), "threshold", "value", by="kind", looks=_LOOKS, titles=("match probability", "share")
        )
        caption = (
            "Precision and recall of pairs by themselves, before they are clustered, against gold clusters that the "
            "scorer did not learn from; recall is of all pairs within these, proposed or not."
        )
        yield Chart("Curves of precision and recall by the threshold.", caption, {"": figure})


# --- since the previous run -----------------------------------------------------------------------------------------


def since_previous(extracts: Extracts) -> Iterator[Block]:
    """What went where, the largest first, and all counts; of messy records, which changed and what was scored."""
    if extracts.ledger_counts.is_empty():
        return
    yield Paragraph(
        "A cluster keeps its id where most of its records are: overlaps of clusters are looked at from the largest. A "
        "component is taken over if its records, their pairs and constraints, and the solver are what they were."
    )
    changed = extracts.ledger.filter((pl.col("event") != "kept") | (pl.col("num_before") != pl.col("num_after")))
    rank = pl.col("event").replace_strict({event: rank for rank, event in enumerate(_EVENTS)}, return_dtype=pl.Int64)
    order: list[pl.Expr | str] = [rank, -pl.col("num_records"), "before", "after"]
    chosen = changed.sort(*order).group_by("event", maintain_order=True).head(_NUM_SHOWN // len(_EVENTS))
    if (rows := chosen.collect(engine="streaming").sort(*order)).height:
        num, caption = _num(changed), "Clusters that changed: their records went from one id to another."
        rest = f" Shown: {rows.height} of {num:,}; the others are in the table ledger." if num > rows.height else ""
        columns = f"event {_IDS} num_records num_before=records_before num_after=records_after"
        yield Show(Ledger, caption + rest, columns).grid(rows)
    first = extracts.moved_records.head(_NUM_SHOWN).collect()
    if first.height:
        rest = "" if first.height < _NUM_SHOWN else " The first of them; all are in the table moved_records."
        caption = f"{plural(_num(extracts.moved_records), 'record')} moved to a cluster of another id.{rest}"
        yield Show(MovedRecords, caption, f"record {_IDS} event").grid(first)
    yield from _night(extracts)
    yield sums(
        LedgerCounts, "All clusters and components.", extracts.ledger_counts.drop("graph").sum().row(0, named=True)
    )


def sums(table: type[Table], caption: str, counts: Row) -> Grid:
    """What each count of a table says, and how much it is."""
    rows = [{"what": one.sentence, "num": counts[one.name]} for one in table.columns if one.name.startswith("num_")]
    return grid(caption, rows, "what", count("num", "how many"))


def _num(rows: pl.LazyFrame) -> int:
    return int(rows.select(pl.len()).collect().item())


def _night(extracts: Extracts) -> Iterator[Block]:
    """Which records changed, what was scored, and the pairs behind clusters that merged or split."""
    for row in extracts.night.to_dicts():
        nums = (f"{row[f'num_{event}']:,} {event}" for event in ("new", "changed", "removed"))
        pairs = plural(row["num_scored"] + row["num_kept"], "scored pair")
        yield Paragraph(
            f"Of the records, {listed(list(nums))}. Their pairs alone were scored: {row['num_scored']:,} of {pairs} "
            f"({percent(row['share_scored'])}); the others are those of the previous run, by the same scorer."
        )
    if extracts.scorer and extracts.night.is_empty():
        yield Paragraph("All pairs were scored: the previous run has another scorer, or no table of scored pairs.")
    if (behind := extracts.ledger_pairs.sort("before", "after", "rank").collect()).height:
        caption = (
            "Clusters that merged or split, and the pairs behind each: those whose match probability changed most, a "
            "dash where the pair is not scored."
        )
        columns = f"{_IDS} left=record right probability_before match_probability"
        yield Show(LedgerPairs, caption, columns, most=_NUM_SHOWN).grid(behind)
