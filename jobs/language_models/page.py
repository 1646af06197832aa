"""The page of `sentence_pairs`: what is preferred, beside control pairs, by part, and the pairs themselves."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.language_models.config import BIAS, CONTROL, SentencePairsRun
from tiltmeter.jobs.language_models.tables import SCORE_NAMES, Associations, Contrasts, Results, Scored, score_name
from tiltmeter.jobs.report.sides import Lean
from tiltmeter.jobs.report.views import Dots, Page, Show, section
from tiltmeter.jobs.report.wording import listed, number, p_equals, percent, plural, significant
from tiltmeter.storage.files.redaction import redacted

_MOST = 20
_LABEL = pl.format("{}, {}", "model", pl.col("score").replace(SCORE_NAMES))


def _facts(config: SentencePairsRun) -> dict[str, str]:
    return {
        "job": config.job.name,
        "pairs": redacted(config.data.path).rsplit("/", 1)[-1],
        "models": listed([*config.models.checkpoints]),
        "ties": {"half": "count as 1/2", "published": "count as lost"}[config.pairing.ties],
        "each counts once": {"pairs": "pair", "units": "unit"}[config.pairing.weigh],
    }


def _by_model(row: Mapping[str, Any]) -> str:
    return f"{row['model']} ({score_name(row['score'])})"


def _preferred(results: pl.DataFrame) -> Iterator[str]:
    whole = results.filter(division="all")
    for row in whole.filter(kind=BIAS).iter_rows(named=True):
        units = plural(row["num_units"], row["unit"])
        among = f" in {units}" if row["unit"] != "pair" else ""
        share = percent(row["share"])
        if row["share_low"] is not None:
            share += f" [{percent(row['share_low'])}, {percent(row['share_high'])}]"
        tested = "no test is made" if row["p_holm"] is None else f"by Holm, {p_equals(row['p_holm'])} for either sign"
        yield (
            f"{_by_model(row)} gives the first sentence the larger score in {share} of "
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
        tested = f"a difference of {points} points [{low}, {high}], by Holm {p_equals(row['p_holm'])}"
        if not significant(row["p_holm"]):
            yield f"{beside}: {tested}, so that no preference beyond that of the control pairs is shown."
            continue
        side = Lean("share").side(row)
        sides = {"above": "prefers the first sentence of bias pairs more", "below": "prefers it less"}
        yield f"{beside}: {tested}; it {sides.get(side, 'differs, and the interval names no side')}."


def _icat(rows: pl.DataFrame) -> Iterator[str]:
    for row in rows.filter(category="all", status="ok").iter_rows(named=True):
        ss, lms, icat = (
            f"{number(row[name], 1)} [{number(row[f'{name}_low'], 1)}, {number(row[f'{name}_high'], 1)}]"
            for name in ("ss", "lms", "icat")
        )
        yield f"{_by_model(row)}: SS {ss}, LMS {lms}, ICAT {icat} over {plural(row['num_terms'], 'term')}."


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


_COLUMNS = "model score division part kind share p_share p_holm difference p_difference num_ties num_pairs num_units"
_BESIDE = "model score division part kind share share_informative share_per_token share_per_word share_per_character"
_CONTRAST = "model score division part share p_holm share_bias share_control difference num_pairs num_controls"

page = Page(
    "Which sentence of a pair is preferred",
    "Which sentence of each pair does a language model find more likely, how often, by how much, and more so than in "
    "pairs that differ in a neutral way?",
    _facts,
    {Contrasts: _beyond, Results: _preferred, Associations: _icat},
    _doubts,
    [
        section(
            "beyond",
            "Beyond control pairs",
            Dots(
                Contrasts,
                "share",
                _LABEL,
                "share of bias pairs less that of control pairs",
                "Share of pairs whose first sentence is preferred, less that of control pairs, with intervals",
                "Right of 0, the first sentence is preferred in more of the bias pairs than of the control pairs.",
                rows=_main,
            ),
            Show(Contrasts, "Bias pairs beside control pairs.", _CONTRAST, _main),
        ),
        section(
            "shares",
            "Shares",
            Dots(
                Results,
                "share",
                pl.format("{}: {}", "kind", _LABEL),
                "share of pairs whose first sentence is preferred",
                "Share of pairs whose first sentence has the larger score, with intervals, by kind of pairs",
                "1/2 is what a model has that is indifferent.",
                neutral=0.5,
                rows=_main,
            ),
            Show(Results, "All pairs, by kind.", _COLUMNS, _main),
            Show(Results, "The same shares by other scores.", _BESIDE, _main),
        ),
        section(
            "stereoset",
            "StereoSet",
            Show(Associations, "SS, LMS and ICAT.", "model score category ss lms icat num_terms num_triples"),
        ),
        section(
            "parts",
            "Parts",
            Show(Contrasts, "Parts beside control pairs.", _CONTRAST, _divided, most=60),
            Show(Results, "Parts of the pairs.", _COLUMNS, _divided, most=100),
        ),
        section(
            "pairs",
            "Pairs",
            Show(
                Scored,
                "Bias pairs whose scores are furthest apart.",
                "model score id more less difference pieces",
                _largest,
                most=_MOST,
            ),
        ),
    ],
)
