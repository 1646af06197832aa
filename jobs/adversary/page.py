"""The page of `gender_adversary`: what was found, in sentences, the tables, and texts before and after."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl
import regex

from tiltmeter.jobs.adversary.augmentation_page import retrained, sections
from tiltmeter.jobs.adversary.config import MASKED, GenderAdversaryRun, ReportConfig
from tiltmeter.jobs.adversary.tables import (
    FLIPPED,
    GENDERS,
    LADDER,
    Attacks,
    Characters,
    Controls,
    Substitutions,
    Summary,
    direction_label,
)
from tiltmeter.jobs.report.grids import cell, count, grid, number
from tiltmeter.jobs.report.html.elements import Bullets, Chart, Grid, Paragraph, Passage, Passages, Token
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.plots.style import FEMALE, MALE, NEUTRAL, Look, lines
from tiltmeter.jobs.report.views import Draw, Part, Show, section, shown
from tiltmeter.jobs.report.wording import SIGNIFICANCE, interval, p_equals, percent, plural
from tiltmeter.jobs.report.wording import number as written
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.statistics.multiplicity import least_possible
from tiltmeter.storage.files.redaction import redacted

Row = Mapping[str, Any]

_ASKED = (
    "Does a classifier change its verdict on a text when what is gendered in it changes, more than when other words "
    "change as much? Words are replaced by what is near to them once their vectors are shifted from men to women, or "
    "back, and along directions that have nothing to do with gender; gendered words are also swapped one by one."
)
_ALSO_ASKED = (
    " Words are also replaced by what a masked language model has in their place, beside random words as frequent, "
    "which asks whether words that fit matter more, and nothing of gender."
)
_NOTHING = "No direction of the embedding was searched, so there are no controls and there is no excess."
_WITHOUT_GENDER = "directions that have nothing to do with gender"
_GENDER, _CONTROL, _FIT = "gender", "controls", "words that fit"
_LOOKS = {_CONTROL: Look(NEUTRAL), _GENDER: Look(MALE), _FIT: Look(FEMALE)}
_POINTS = 100.0
_ROUNDING = 1e-9
_FEWER = 0.95
_PALEST = 0.3
_MOST_WORDS = 60
_CUT = Token("…")
_WORDS = regex.compile(r"[\p{L}\p{N}]+")


def page(run: Run[GenderAdversaryRun, Any], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    config, summary = run.config, frames["summary"]
    excesses = [*headline(summary, config.controls.number)] or [_NOTHING]
    return Body(
        "Does changing gender change the verdict?",
        _facts(config),
        Lead(
            [Paragraph(_ASKED + _ALSO_ASKED * (MASKED in config.direction.kinds))],
            [Bullets([*excesses, *asymmetries(summary), *released(summary), *unfairness(summary), *_beside(frames)])],
            [Bullets([*doubts(summary, config.controls.number), _how_sure(config)])],
        ),
        list(shown(_sections(config, frames), frames)),
    )


def _beside(frames: Frames) -> Iterator[str]:
    """Of studies that a run may leave out."""
    for name, sentences in (("retraining", retrained), ("characters", spelling)):
        if name in frames:
            yield from sentences(frames[name])


def _facts(config: GenderAdversaryRun) -> dict[str, str]:
    return {
        "job": config.job.name,
        "from": redacted(config.data.path).rsplit("/", 1)[-1],
        "victims": ", ".join(config.victim),
        "controls": f"{config.controls.number:,}",
        "words that may change": f"{percent(config.search.max_share, 0)} of a text",
        "seed": str(config.seed),
    }


def _how_sure(config: GenderAdversaryRun) -> str:
    return (
        f"Intervals ({percent(config.job.level, 0)}) are of other texts of this kind, drawn by group where the data "
        "name one, and of other embeddings where it has replicas. P-values rank the direction among its controls, "
        "which share texts and victim with it and replace as many words at each place; those of falls, of equal size "
        "and of strata are not corrected, and no sentence names anything by them."
    )


# --- findings -------------------------------------------------------------------------------------------------------


def headline(summary: pl.DataFrame, num_controls: int) -> Iterator[str]:
    """The excess of every victim and direction that has controls, what could have been shown, and what it means."""
    rows = _overall(summary).drop_nulls("excess")
    for row in rows.iter_rows(named=True):
        others = "random words as frequent" if row["direction"] == MASKED else _WITHOUT_GENDER
        yield (
            f"{row['victim']}, {direction_label(row['direction'])}: {percent(row['flip_rate'])} of "
            f"{plural(row['num_texts'], 'verdict')} flip. The excess over {others} is {_points(row)}; "
            f"{p_equals(row['p_value'])}, {p_equals(row['p_adjusted'])} after Holm. "
            f"{_meaning(row, num_controls, rows.height)}"
        )


def _reaches(p_value: float | None) -> bool:
    """Whether it is at most 0.05: of 20 m - 1 controls the least of m tests is just that.

    >>> all(_reaches(least_possible("controls", 20 * number - 1, number)) for number in range(1, 50))
    True
    """
    return p_value is not None and p_value <= SIGNIFICANCE + _ROUNDING


def _overall(summary: pl.DataFrame) -> pl.DataFrame:
    return summary.filter(stratum="all", search=LADDER)


def _points(row: Row) -> str:
    """In points, with the interval."""
    names = ("excess", "excess_low", "excess_high")
    points = {name: None if row[name] is None else _POINTS * row[name] for name in names}
    return f"{written(points['excess'], 1)} points {interval(points, 'excess', 1)}"


def _meaning(row: Row, num_controls: int, num_tests: int) -> str:
    """Whether that is evidence of anything; the adjusted p-value decides.

    >>> row = {"p_adjusted": 0.3, "excess": 0.1, "definitional_share": 0.9, "associated_share": 0.0}
    >>> _meaning(row, 99, 2)
    'With 99 controls and 2 tests p could have come down to 0.02: that is no evidence that gender matters.'
    >>> _meaning(row, 99, 6)
    'With 99 controls and 6 tests no p-value could have been below 0.06, so that nothing could have been shown.'
    >>> _meaning(row | {"p_adjusted": 0.01}, 99, 2)
    'Gender matters: 90% of the fall lies on replacements that change or suggest it.'
    >>> _meaning(row | {"direction": "masked"}, 99, 2)
    'With 99 controls and 2 tests p could have come down to 0.02: that is no evidence that words which fit matter more.'
    """
    is_masked = row.get("direction") == MASKED
    claim = "words which fit matter more" if is_masked else "gender matters"
    if not _reaches(row["p_adjusted"]):
        least = least_possible("controls", num_controls, num_tests)
        beside = f"With {plural(num_controls, 'control')} and {plural(num_tests, 'test')}"
        if not _reaches(least):
            return f"{beside} no p-value could have been below {least:.2g}, so that nothing could have been shown."
        return f"{beside} p could have come down to {least:.2g}: that is no evidence that {claim}."
    if _has_more_chances(row) and not _reaches(row["size_p_value"]):
        beside = f"at equal size {p_equals(row['size_p_value'])}"
        return f"But its controls have fewer words to choose from, and {beside}: that is no evidence that {claim}."
    if is_masked:
        return "Words that fit flip more verdicts than others as frequent, which says nothing of gender."
    share = (row["definitional_share"] or 0.0) + (row["associated_share"] or 0.0)
    if share <= 0.5:
        return f"But only {percent(share, 0)} of the fall lies on replacements that change or suggest gender."
    return f"Gender matters: {percent(share, 0)} of the fall lies on replacements that change or suggest it."


def _has_more_chances(row: Row) -> bool:
    """Whether controls lack words, so that they have clearly fewer than the direction."""
    beside = row.get("mean_control_candidates")
    return beside is not None and beside < _FEWER * row["mean_candidates"]


def asymmetries(summary: pl.DataFrame) -> Iterator[str]:
    """Which of two ways flips more, of directions that have both.

    A side is named if the test by texts, or their groups, after Holm over all of these sentences, and the rank among
    the controls both are significant: the first says that it is these texts, the second that it is not any two ways.
    """
    rows = _overall(summary).drop_nulls("asymmetry")
    for row in rows.filter(pl.col("direction").str.ends_with("_to_female")).iter_rows(named=True):
        kind, control = row["direction"].removesuffix("_to_female"), row["asymmetry_control_p"]
        beside = "there are no controls of it" if control is None else f"{p_equals(control)} among the controls"
        yield (
            f"{row['victim']}, {kind}: the two ways differ by {written(_POINTS * abs(row['asymmetry']), 1)} points "
            f"({_signs(row)}; {beside}), {_side(row)}."
        )


def _signs(row: Row) -> str:
    """The test by texts or groups, or why there is none."""
    if row["asymmetry_p"] is None:
        lacking = [part.partition(": ")[2] for part in row["reason"].split("; ") if part.startswith("asymmetry: ")]
        return f"no test, as {lacking[0]}" if lacking else "no test"
    return f"{p_equals(row['asymmetry_p_adjusted'])} by signs of texts or their groups, after Holm"


def _side(row: Row) -> str:
    if not (_reaches(row["asymmetry_p_adjusted"]) and _reaches(row["asymmetry_control_p"])):
        return "which names neither"
    return f"with more flips to {GENDERS['female' if row['asymmetry'] > 0.0 else 'male']}"


def released(summary: pl.DataFrame) -> Iterator[str]:
    """The one claim of the project that came with a direction, by its own search."""
    rows = summary.filter(stratum="all", search="greedy").drop_nulls("asymmetry")
    both = {(row["victim"], row["direction"]): row for row in rows.iter_rows(named=True)}
    for (victim, direction), row in both.items():
        if direction == "pair_to_female":
            back = both[victim, "pair_to_male"]
            yield (
                f"{victim}, the released search: {percent(row['flip_rate'])} of the verdicts flip to women, "
                f"{percent(back['flip_rate'])} to men ({_signs(row)}). The project reports substantially more to "
                f"women, without a number: {_seen(row)}."
            )


def _seen(row: Row) -> str:
    if not _reaches(row["asymmetry_p_adjusted"]):
        return "that is not seen here"
    return "that is seen here, with no controls beside it" if row["asymmetry"] > 0.0 else "here it is the reverse"


def unfairness(summary: pl.DataFrame) -> Iterator[str]:
    """What swapping all gendered words at once does, which should do nothing, to texts that have any."""
    rows = summary.filter(stratum="all", search="swap").drop_nulls("flip_rate")
    for row in rows.iter_rows(named=True):
        lead = f"{row['victim']}, {direction_label(row['direction'])}, all of a text at once"
        able, num_others = row["num_changeable"], row["num_texts"] - row["num_changeable"]
        if not able:
            yield f"{lead}: {plural(num_others, 'text')}, and none has a word to swap, so that nothing was tried."
            continue
        low, high = row["changeable_rate_low"], row["changeable_rate_high"]
        ends = "" if low is None else f" [{percent(low)}, {percent(high)}]"
        yield (
            f"{lead}: {percent(row['changeable_rate'])}{ends} of {plural(able, 'verdict')} on texts that have a word "
            f"to swap flip; {plural(num_others, 'other text')} can't change."
        )


def spelling(rows: pl.DataFrame) -> Iterator[str]:
    """Of each victim, what the fewest changes of characters flip, by kind."""
    bare = rows.filter(defence="none", number=rows["number"].min())
    for [victim], part in bare.group_by("victim", maintain_order=True):
        columns = part.select("kind", "flip_rate", "random_rate").iter_rows()
        rates = (f"{percent(most)} by {kind} ({percent(random)})" for kind, most, random in columns)
        yield (
            f"{victim}, misspelt by {plural(part['number'][0], 'character')} where it matters most (at random): of "
            f"{plural(part['num_texts'][0], 'verdict')} flip {', '.join(rates)}. That says nothing of gender."
        )


def doubts(summary: pl.DataFrame, num_controls: int) -> Iterator[str]:
    """What to take with care."""
    rows = _overall(summary)
    num_open = int(rows["num_unproven"].sum())
    if num_tests := rows.drop_nulls("p_value").height:
        least = least_possible("controls", num_controls, num_tests)
        yield (
            "Rates along gender have their controls: words that are replaced along any direction flip some verdicts. "
            f"With {plural(num_controls, 'control')} and {plural(num_tests, 'test')} no p-value after Holm is below "
            f"{least:.2g}."
        )
    if num_open:
        yield f"Of {plural(num_open, 'text')} it is open whether a flip was missed; all others are proven."
    if any(map(_has_more_chances, rows.iter_rows(named=True))):
        yield (
            "Some controls find fewer words than the direction beside them has, and so have fewer chances; read the "
            "excess at equal size."
        )


# --- sections -------------------------------------------------------------------------------------------------------


def _sections(config: GenderAdversaryRun, frames: Frames) -> Iterator[Part]:
    overall, controls = _overall(frames["summary"]), frames["controls"]
    beside = [Draw(Controls, lambda rows: [_chart(config, rows, overall)])] if controls.height else []
    title = "Beside directions that have nothing to do with gender"
    yield section("excess", title, *beside, _OVERALL, *([_SIZES] if controls.height else []))
    yield section("strata", "By the words that a text has", _STRATA)
    yield section("kinds", "What flipped them", _KINDS)
    yield section("texts", "Before and after", Draw(Attacks, lambda _: passages(config.report, frames)))
    yield section("searches", "What is proven", Draw(Attacks, _searches))
    yield section("words", "What words were replaced by", Draw(Substitutions, partial(_words, config.report)))
    yield from sections()
    yield section("characters", "When it is misspelt", _RATES, _DEFENCES)


_OVERALL = Show(
    Summary,
    "Flipped is the share of the verdicts that some change within the limit flips; at most counts those too of which "
    "it is open. Excess is over the mean of the controls. Fall is of the probability, by one change.",
    "victim direction flip_rate flip_rate_most excess p_value p_adjusted one_change_rate unflagged_rate fall "
    "fall_excess fall_p_value",
    _overall,
)
_SIZES = Show(
    Summary,
    "More candidates are more chances. The slope: by how much flip rates rise, over a direction and its controls, "
    "where a text can become ten times as many; at equal size, what that gives is taken off the excess.",
    "victim direction mean_candidates mean_control_candidates size_slope size_excess size_p_value",
    lambda rows: _overall(rows).drop_nulls("size_excess"),
)
_STRATA = Show(
    Summary,
    "Texts with women's words, with men's, and with neither: how often a direction can apply depends on them. "
    "Asymmetry is the rate less that of the way to the other gender.",
    "victim direction stratum num_texts flip_rate excess p_value asymmetry asymmetry_p asymmetry_control_p",
    lambda rows: rows.filter(search=LADDER),
)
_KINDS = Show(
    Summary,
    "Shares of the fall of flipped verdicts, by Shapley values: on words replaced by words of the other gender, on "
    "replacements that lean to one as few controls do, and on others. A flip on others is no evidence of bias.",
    "victim direction definitional_share associated_share other_share",
    _overall,
)
_RATES = Show(
    Characters,
    "Verdicts that flip when single characters change, all kinds in the same words: in those whose deletion lowers the "
    "verdict's probability most, or in words at random; the excess is what the first flip more. No probability moves "
    "where the tokenizer folds a change away, as most fold capitals. Each interval stands for itself, over texts.",
    "victim kind number num_texts flip_rate random_rate excess unmoved pieces? unknown? unknown_before?",
    lambda rows: rows.filter(defence="none"),
)
_DEFENCES = Show(
    Characters,
    "The same changes of the words that matter most, read in normal forms (NFKC, nothing invisible), or as skeletons "
    "(look-alikes as the letters that they look like too). Averted is how many flip less. Nobody looked for changes "
    "that pass these.",
    "victim kind number defence num_texts flip_rate averted",
    lambda rows: rows.filter(pl.col("defence") != "none"),
)


def _chart(config: GenderAdversaryRun, controls: pl.DataFrame, overall: pl.DataFrame) -> Chart:
    has_others = len(config.victim) > 1

    def mark(row: Row, kind: str, words: str) -> tuple[str, str, str, float]:
        return f"{row['victim']}: " * has_others + direction_label(row["direction"]), kind, words, row["flip_rate"]

    marks = [mark(row, _CONTROL, masked(row["words"], config.report)) for row in controls.iter_rows(named=True)]
    marks += [
        mark(row, _FIT if row["direction"] == MASKED else _GENDER, _pairs(config, row["direction"]))
        for row in overall.drop_nulls("excess").iter_rows(named=True)
    ]
    figure = dots(
        pl.DataFrame(marks, ["line", "kind", "words", "flip_rate"], orient="row", infer_schema_length=None),
        "flip_rate",
        "line",
        by="kind",
        looks=_LOOKS,
        title="share of verdicts that flip",
        hover=lambda row: lines(row["line"], f"{row['kind']}: {row['words']}", f"flips {percent(row['flip_rate'])}"),
        row_height=40,
    )
    fit = " An orange dot is of words that a masked language model has in their place, beside random words as frequent."
    return Chart(
        "Dot plot of the share of verdicts that flip, along gender and along each control direction.",
        "Each pale dot is a control direction. Only a blue dot right of nearly all of them tells of gender."
        + fit * (MASKED in config.direction.kinds),
        {"all": figure},
    )


def _pairs(config: GenderAdversaryRun, direction: str) -> str:
    """That a direction of the embedding is made of; of masks, none."""
    if direction == MASKED:
        return "candidates of the masked language model"
    pairs = config.direction.pairs_of("pair" if direction.startswith("pair") else "component")
    return ", ".join(f"{female} − {male}" for male, female in pairs)


def _searches(attacks: pl.DataFrame) -> Iterator[Grid]:
    statuses = ("flipped_minimal", "flipped", "robust_proven", "not_found", "no_candidate", "unreadable")
    rows = attacks.group_by("victim", "direction", "search", maintain_order=True).agg(
        *((pl.col("status") == status).sum().alias(status) for status in statuses),
        pl.col("num_queries").mean(),
    )
    yield grid(
        "The ladder reads all texts with one change, then with two, and so on: a flip has the fewest changes, and a "
        "text without one is proven robust. What the budget does not reach is searched by a genetic algorithm.",
        rows.sort("victim", "direction", "search"),
        *Show(Attacks, "", "victim direction search").grid_columns(),
        count("flipped_minimal", "flipped, fewest changes proven"),
        count("flipped"),
        count("robust_proven", "proven robust"),
        count("not_found", "open"),
        count("no_candidate", "nothing to replace"),
        number("num_queries", "queries", digits=0),
    )


def _words(config: ReportConfig, substitutions: pl.DataFrame) -> Iterator[Grid]:
    flips = substitutions.filter("is_flip", search=LADDER)
    rows = flips.with_columns(pl.col("word", "replacement").str.to_lowercase())
    counted = rows.group_by("direction", "word", "replacement", "kind").agg(
        pl.len().alias("num_flips"), pl.col("shapley").mean()
    )
    yield grid(
        "Replacements that are part of most flips, with the mean fall that lies on them.",
        counted.sort("num_flips", "direction", "word", "replacement", descending=[True, False, False, False]),
        *Show(Substitutions, "", "direction").grid_columns(),
        cell("word", lambda row: masked(row["word"], config)),
        cell("replacement", lambda row: masked(row["replacement"], config)),
        "kind",
        count("num_flips", "flips"),
        number("shapley", "mean fall"),
        most=40,
        table="substitutions",
    )


# --- texts before and after -----------------------------------------------------------------------------------------


def masked(text: str, config: ReportConfig) -> str:
    """A text as the page has it: words that begin like a slur have their first letter alone, also within a token.

    >>> config = ReportConfig(mask=True, slurs=("darn",), num_texts=1)
    >>> masked("Darned!", config), masked("barn", config), masked("so-darned", config)
    ('D•••••!', 'barn', 'so-d•••••')
    """

    def hidden(match: regex.Match[str]) -> str:
        word: str = match.group()
        return word[0] + "•" * (len(word) - 1) if word.lower().startswith(config.slurs) else word

    hidden_words: str = _WORDS.sub(hidden, text)
    return hidden_words if config.mask else text


def passages(config: ReportConfig, frames: Frames) -> Iterator[Passages]:
    """The first texts that flip, each once."""
    texts = {(row["row"], row["victim"]): row for row in frames["texts"].iter_rows(named=True)}
    changes = frames["substitutions"].filter(search=LADDER)
    attacks = _chosen(frames["attacks"], config.num_texts).iter_rows(named=True)
    rows = [_row(attack, texts[attack["row"], attack["victim"]], changes, config) for attack in attacks]
    caption = (
        "The first texts that flip with the fewest changes. Replaced words are orange before and blue after, the "
        "deeper the more of the fall lies on them; the number is that share."
    )
    if rows:
        yield Passages(f"{caption}{' Slurs are masked (report.mask=false shows them).' if config.mask else ''}", rows)


def _chosen(attacks: pl.DataFrame, num_texts: int) -> pl.DataFrame:
    """Directions in turn, so that the first does not take all places."""
    flips = attacks.filter(pl.col("status").is_in(FLIPPED), search=LADDER)
    turns = flips.with_columns(pl.col("row").rank("ordinal").over("victim", "direction").alias("turn"))
    turns = turns.sort("turn", "victim", "direction")
    return turns.unique("row", keep="first", maintain_order=True).head(num_texts)


def _row(attack: Row, text: Row, changes: pl.DataFrame, config: ReportConfig) -> list[Passage]:
    key = {name: attack[name] for name in ("row", "victim", "direction")}
    changed = {row["position"]: row for row in changes.filter(**key).iter_rows(named=True)}
    total = sum(row["shapley"] or 0.0 for row in changed.values()) or 1.0
    shares = {place: (row["shapley"] or 0.0) / total for place, row in changed.items()}
    before = [Token(masked(token, config)) for token in text["text"].split()]
    after = before.copy()
    for place, share in shares.items():
        weight = max(_PALEST, min(abs(share), 1.0)) * (1.0 if share > 0.0 else -1.0) if share else 0.0
        before[place] = before[place]._replace(weight=-weight)
        number = percent(share, 0) if share else ""
        after[place] = Token(masked(changed[place]["replacement"], config), weight, number)
    first = min(changed, default=0)
    name = f"{text['predicted']}, p {written(attack['probability_before'], 2)}"
    along = f"{attack['victim']}, {direction_label(attack['direction'])}"
    outcome = f"no longer, p {written(attack['probability_after'], 2)}; {along}"
    return [Passage(name, _cut(before, first)), Passage(outcome, _cut(after, first))]


def _cut(tokens: Sequence[Token], first: int) -> list[Token]:
    """As many words as are shown, around the first that changes."""
    start = min(max(0, first - _MOST_WORDS // 2), max(0, len(tokens) - _MOST_WORDS))
    end = start + _MOST_WORDS
    return [*([_CUT] if start else []), *tokens[start:end], *([_CUT] if end < len(tokens) else [])]
