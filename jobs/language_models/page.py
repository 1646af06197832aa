"""The page of `sentence_pairs`: what is preferred, beside control pairs, by part, and the pairs themselves."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.language_models.config import BIAS, CONTROL, SentencePairsRun
from tiltmeter.jobs.language_models.tables import SCORE_NAMES, Associations, Contrasts, Results, Scored
from tiltmeter.jobs.report.sides import Lean
from tiltmeter.jobs.report.views import Dots, Draw, Page, Show, section
from tiltmeter.jobs.report.wording import listed, number, p_equals, percent, plural, significant
from tiltmeter.storage.files.redaction import redacted

_SIDES = {
    "above": "the first sentence of bias pairs is preferred more often than that of control pairs",
    "below": "the first sentence of bias pairs is preferred less often than that of control pairs",
}


def _facts(config: SentencePairsRun) -> dict[str, str]:
    return {
        "job": config.job.name,
        "pairs": redacted(config.data.path).rsplit("/", 1)[-1],
        "models": listed([*config.models.checkpoints]),
        "level pairs": {"half": "count as 1/2", "published": "count as lost"}[config.pairing.ties],
    }


def _by_model(row: Mapping[str, Any]) -> str:
    return f"{row['model']} ({SCORE_NAMES[row['score']]})"


def _preferred(results: pl.DataFrame) -> Iterator[str]:
    whole = results.filter(division="all")
    for row in whole.filter(kind=BIAS).iter_rows(named=True):
        share, low, high = (percent(row[f"share{end}"]) for end in ("", "_low", "_high"))
        tested = "no test is made" if row["p_holm"] is None else f"by Holm, {p_equals(row['p_holm'])} for either sign"
        among = f" in {plural(row['num_units'], row['unit'])}" if row["unit"] != "pair" else ""
        yield (
            f"{_by_model(row)} gives the first sentence the larger score in {share} [{low}, {high}] of "
            f"{plural(row['num_pairs'], 'pair')}{among}: {tested}."
        )
    if not whole.is_empty() and whole.filter(kind=CONTROL).is_empty():
        yield (
            "There are no control pairs. What the shares owe to length and to single words is not known, and none is a "
            "finding about bias: set data.control to a file of neutral pairs, or name them in the column kind."
        )


def _beyond(contrasts: pl.DataFrame) -> Iterator[str]:
    for row in contrasts.filter(division="all").iter_rows(named=True):
        beside = (
            f"{_by_model(row)}: {percent(row['share_bias'])} of {plural(row['num_pairs'], 'bias pair')} and "
            f"{percent(row['share_control'])} of {plural(row['num_controls'], 'control pair')}"
        )
        if row["p_holm"] is None:
            yield f"{beside}; nothing is said about the difference, as {row['reason']}."
            continue
        points, low, high = (number(100 * row[f"share{end}"], 1) for end in ("", "_low", "_high"))
        verdict = "no preference beyond that of the control pairs is shown"
        if significant(row["p_holm"]):
            verdict = _SIDES.get(Lean("share").side(row), "they differ, and the interval names no side")
        difference = f"a difference of {points} points [{low}, {high}], by Holm {p_equals(row['p_holm'])}"
        yield f"{beside}: {difference}; {verdict}."


def _icat(rows: pl.DataFrame) -> Iterator[str]:
    for row in rows.filter(category="all", status="ok").iter_rows(named=True):
        values = ", ".join(f"{name.upper()} {number(row[name], 1)}" for name in ("ss", "lms", "icat"))
        yield f"{_by_model(row)}: {values} over {plural(row['num_terms'], 'term')}; their intervals are in the table."


def _doubts(config: SentencePairsRun) -> str:
    return (
        "A share says which sentence a model finds more likely, and nothing of why: sentences may differ in length, in "
        "how common words are, or in more than the group. Control pairs, which differ in a neutral way, show what that "
        "alone gives, and the difference to them is the result. Sums favour short sentences: parts by pieces "
        "compare pairs of like lengths, and shares per token, word and character stand beside. Intervals "
        f"({100 * config.intervals.level:g}%) are for other units of this kind, by the same model. Whether pairs are "
        "sound is not the model's matter: see the parts of valid and of pitfalls."
    )


def _main(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(division="all")


def _divided(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("division") != "all")


def _largest(rows: pl.DataFrame) -> pl.DataFrame:
    known = rows.filter(kind=BIAS).drop_nulls("difference")
    return known.sort(pl.col("difference").abs(), descending=True, maintain_order=True)


def _some(show: Show) -> Draw:
    """Nothing in place of a grid without rows."""
    return Draw(show.table, lambda rows: [show.grid(show.rows(rows))] if rows.height else [])


_SHARES = "kind share p_share p_holm difference p_difference num_ties num_pairs num_units"
_BESIDE = "model score kind share_informative share_per_token share_per_word share_per_character"
_CONTRASTS = "share p_holm share_bias share_control difference num_pairs num_controls"
_PART = "model score division part"

page = Page(
    "Which of two sentences is preferred",
    "Which sentence of each pair does a language model find more likely, how often, by how much, and more so than in "
    "pairs that differ in a neutral way?",
    _facts,
    {Contrasts: _beyond, Results: _preferred, Associations: _icat},
    _doubts,
    [
        section(
            "shares",
            "Shares",
            Dots(
                Results,
                "share",
                pl.format("{}, {}, {}", "kind", "model", "score"),
                "share of pairs whose first sentence is preferred",
                "Share of pairs whose first sentence has the larger score, with intervals, by kind of pairs",
                "1/2 is what a model has that is indifferent.",
                neutral=0.5,
                rows=_main,
            ),
            _some(Show(Contrasts, "Bias pairs beside control pairs.", f"model score {_CONTRASTS}", _main)),
            Show(Results, "All pairs, by kind.", f"model score {_SHARES}", _main),
            Show(Results, "Shares without level pairs, and by scores that are divided by lengths.", _BESIDE, _main),
            _some(Show(Associations, "StereoSet.", "model score category ss lms icat num_terms num_triples")),
        ),
        section(
            "parts",
            "Parts",
            _some(Show(Contrasts, "Parts beside control pairs.", f"{_PART} {_CONTRASTS}", _divided, most=60)),
            Show(Results, "Parts of the pairs, by kind.", f"{_PART} {_SHARES}", _divided, most=60),
        ),
        section(
            "pairs",
            "Pairs",
            Show(
                Scored,
                "Bias pairs whose scores are furthest apart.",
                "model score id more less difference pieces",
                _largest,
                most=20,
            ),
        ),
    ],
)
