"""The page of `sentiment_rating`: what was found, and a section for each question, after Lakkaraju et al. 2023."""

from collections.abc import Iterator, Mapping

import polars as pl

from tiltmeter.jobs.report import wording
from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.grids import Column, Row, cell, count, estimate, grid, optional, p_value, text
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Details, Grid, Paragraph, Section
from tiltmeter.jobs.report.intervals import on_resamples
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.sides import Lean, contradictory, on_sides
from tiltmeter.jobs.report.views import Show
from tiltmeter.jobs.report.wording import listed, plural, verb
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.sentiment.rating import page_figures as figures
from tiltmeter.jobs.sentiment.rating import tables
from tiltmeter.jobs.sentiment.rating.config import FileSentences, RatingConfig, RatingRun
from tiltmeter.jobs.sentiment.rating.job import RatingSources
from tiltmeter.jobs.sentiment.rating.page_figures import (
    MEASURES,
    MOST_ROWS,
    amount,
    by_case,
    case_name,
    rated,
    variants_of,
)
from tiltmeter.jobs.sentiment.rating.page_trips import changes, lost_words, rated_comparisons, round_trips, words
from tiltmeter.jobs.sentiment.rating.raw_scores import INCOMPARABLE
from tiltmeter.jobs.sentiment.rating.tables import ORIGINAL, attribute
from tiltmeter.operators.statistics.two_samples import LEVELS

_QUESTION = "Do the scores of sentiment systems depend on whom a text is about?"
_NOTHING = "Nothing could be rated."
_MEANINGS = {
    "wrs": (
        "WRS, the weighted rejection score, counts the t-tests that find the mean sentiment of two values of a "
        "protected attribute (such as male and female) to differ, at three levels of confidence: 0 if none does."
    ),
    "die": (
        "DIE, the deconfounding impact, is for groups in which the emotion of a text depends on the protected "
        "attribute: how far the mean sentiment of an emotion moves, in percent, once that dependence is taken away."
    ),
}
_NUM_NAMED = 3
_MAX_WARNINGS = 5

_RANK = pl.col("rank")
_LOWEST = _RANK == 1
_HIGHEST = (_RANK > 1) & (_RANK.max().over("group", "protected") == _RANK)
_MAX_BULLETS = 20
_ALPHA = 0.05


def page(run: Run[RatingRun, RatingSources], frames: Frames) -> Body:
    """What the page of a run shows of its tables, all but those with a row for each text."""
    config, raw_scores = run.config, frames["raw_scores"]
    kind = "human" if isinstance(config.sentences, FileSentences) else "synthetic"
    facts = {
        "job": config.job.name,
        **({} if config.has_scores else {"language": config.language}),
        "systems": ", ".join(raw_scores["system"].unique(maintain_order=True)),
        "variants": ", ".join(variants_of(raw_scores)),
        "convention": config.rating.convention,
        "seed": str(config.seed),
    }
    return Body(
        "Sentiment systems, rated for bias",
        facts,
        findings(frames, run.sources.missing),
        sections(frames, config.rating, "" if config.has_scores else kind),
    )


def findings(frames: Frames, left_out: Mapping[str, str]) -> Lead:
    """What was asked, what stands out, and how sure it is.

    Args:
        left_out: round trips that were not made, and why.
    """
    rows = rated(frames)
    trips = [Paragraph(f"The round trip {name} was left out. {why}.", "warning") for name, why in left_out.items()]
    if measured(rows).is_empty():
        return Lead([Paragraph(_QUESTION)], [Paragraph(_NOTHING)], [*trips, *_doubts(rows)])
    # The original, if it was rated.
    first = rows.filter(variant=variants_of(rows)[0])
    meanings = [Paragraph(_MEANINGS[name], "note") for name in MEASURES if name in rows["measure"]]
    sentences = [*_extremes(first), *changes(rated_comparisons(frames)), *lost_words(frames)]
    return Lead(
        [Paragraph(f"{_QUESTION} {_extent(rows)}"), *meanings],
        [Bullets(sentences), _extremes_by_case(first)],
        [*trips, *_doubts(rows), Paragraph(_intervals(rows))],
    )


def _extent(rows: pl.DataFrame) -> str:
    num_cases, num_groups = len(by_case(rows)), rows["group"].n_unique()
    groups = f"{plural(num_groups, 'group')} of texts"
    protected = listed([attribute(name) for name in rows["protected"].unique(maintain_order=True)])
    each = f"{num_cases} cases ({groups}, each by every protected attribute that its texts tell)"
    where = each if num_cases > num_groups else f"{groups}, by {protected}"
    first, *trips = variants_of(rows)
    after = f", on the original texts and after {plural(len(trips), 'round trip')} ({', '.join(trips)})"
    systems = plural(rows["system"].n_unique(), "system")
    return f"The bias of {systems} was measured in {where}{after if trips and first == ORIGINAL else ''}."


# --- who leans least and most, in one variant -----------------------------------------------------------------------


def _texts_of(rows: pl.DataFrame) -> str:
    variant = rows["variant"][0]
    return "the original texts" if variant == ORIGINAL else f"the texts of the round trip {variant}"


def _extremes(rows: pl.DataFrame) -> Iterator[str]:
    """Who has the lowest and who the highest raw score most often."""
    groups = measured(rows).filter(pl.len().over("group", "protected") > 1)
    if groups.is_empty():
        return
    num_cases = len(by_case(groups))
    lowest, highest = (_most_often(groups.filter(extreme), num_cases) for extreme in (_LOWEST, _HIGHEST))
    most = f"; the highest, that of {highest}" if highest else ""
    often = " most often" if num_cases > 1 else ""
    yield f"On {_texts_of(rows)}, the lowest raw score (least bias) is{often} that of {lowest}{most}."


def _most_often(rows: pl.DataFrame, num_cases: int) -> str:
    counted = rows.group_by("system").len("num").sort("num", "system", descending=[True, False]).rows()
    if num_cases == 1:
        return listed([system for system, _ in counted])
    return ", ".join(f"{system} ({num} of {num_cases})" for system, num in counted[:_NUM_NAMED])


def _extremes_by_case(rows: pl.DataFrame) -> Grid:
    cases = [{"case": case, "rows": part} for case, part in by_case(rows).items()]
    return grid(
        f"The least and the most biased systems on {_texts_of(rows)}, with raw score and rating (1: least biased). A "
        "rating orders systems against each other: 1 does not mean unbiased, which is a raw score of 0.",
        cases,
        text("case", "group and attribute"),
        cell("least biased", lambda case: _tied(case["rows"].filter(_LOWEST))),
        cell("most biased", lambda case: _tied(case["rows"].filter(_HIGHEST))),
    )


def _tied(rows: pl.DataFrame) -> str:
    if rows.is_empty():
        return ""
    first = rows.row(0, named=True)
    return (
        f"{listed(rows['system'].to_list())}: {MEASURES[first['measure']]} {amount(first)} (rating {first['rating']})"
    )


# --- how sure it is -------------------------------------------------------------------------------------------------


def _doubts(rows: pl.DataFrame) -> Iterator[Block]:
    """Raw scores that are missing, and the warnings of those that are not, with how many have them."""
    for reason, num in _counted(rows.filter(pl.col("status") != "ok"), "reason"):
        yield Paragraph(f"{num} of {_scores(rows)} {verb(num, 'be')} undefined: {reason}.", "warning")
    for warning, num in _counted(rows, "warning"):
        yield Paragraph(f"{num} of {_scores(rows)}: {warning}.", "warning")


def _scores(rows: pl.DataFrame) -> str:
    return plural(rows.height, "raw score")


def _counted(rows: pl.DataFrame, name: str) -> list[tuple[str, int]]:
    """The most frequent texts of a column; the rest as one."""
    counts = rows.filter(pl.col(name) != "").group_by(name, maintain_order=True).len("num")
    ordered = counts.sort("num", descending=True, maintain_order=True).rows()
    rest = sum(num for _, num in ordered[_MAX_WARNINGS:])
    return [*ordered[:_MAX_WARNINGS], *([(f"see the column {name} of the table raw_scores", rest)] if rest else [])]


def _intervals(rows: pl.DataFrame) -> str:
    """How many of the raw scores have an interval, and how many of them lie above 0 with all of it."""
    scores = measured(rows).drop_nulls("raw_score_low")
    if scores.is_empty():
        return "Without resamples of the texts, the numbers have no intervals."
    sides = on_sides(scores, Lean("raw_score"))
    above, doubtful = sides.above.height, sides.contradictory.height
    if scores.height == 1:
        what = f"1 raw score has an interval from resamples of the texts, which {'lies' if above else 'does not lie'}"
    else:
        what = (
            f"{scores.height:,} raw scores have intervals from resamples of the texts; {above} of them "
            f"{verb(above, 'lie')}"
        )
    return (
        f"{what} wholly above 0{contradictory('for', doubtful)}. A raw score can't be below 0, so an interval above a "
        "score near 0 is no proof of bias."
    )


# --- sections -------------------------------------------------------------------------------------------------------


def sections(frames: Frames, config: RatingConfig, kind: str) -> list[Section]:
    """What was found, and how it came about.

    Args:
        config: how systems were rated.
        kind: of the texts, such as synthetic; empty if it is not known.
    """
    rows = rated(frames)
    if measured(rows).is_empty():
        return []
    systems = frames["raw_scores"]["system"].unique(maintain_order=True).to_list()
    questions = [
        Section("ratings", "Ratings", list(_ratings(frames, rows, systems, config))),
        Section("causes", "What sentiment may depend on", list(_causes(frames))),
        Section("raw-scores", "Raw scores", [*_meanings(rows, config), *_raw_scores(rows, systems), *_tests(frames)]),
        Section("round-trips", "What round trips change", list(round_trips(frames, kind))),
        Section("words", "Words that round trips lose", list(words(frames))),
        Section("people", "What people say", list(_people(frames))),
        Section("deconfounding", "Deconfounding, emotion by emotion", list(_deconfounding(frames))),
        Section("tests", "Tests that reject", list(_rejecting(frames["tests"]))),
        Section("texts", "The texts", list(_texts(frames))),
    ]
    return [section for section in questions if section.blocks]


# --- ratings and what they rest on ----------------------------------------------------------------------------------


def _ratings(frames: Frames, rows: pl.DataFrame, systems: list[str], config: RatingConfig) -> Iterator[Block]:
    levels = rows["num_levels"][0]
    scores = "different scores are" if config.cut == "distinct" else "scores, each as often as systems have it, are"
    yield Paragraph(
        "For each group of texts and protected attribute, the systems are put in order by their raw score, and the "
        f"{scores} cut into {plural(levels, 'part')}: a rating is the part that a system falls into, 1 for the least "
        "biased. Systems with the same raw score have the same rating. Raw scores of different groups, attributes or "
        "measures are not on one scale; ratings say who comes before whom."
    )
    numbers = {"ratings": lambda row: f"<b>{row['rating']}</b>", "raw scores": amount}
    yield from _both(rows, frames)
    yield Chart(
        f"Heat map of the ratings of {plural(len(systems), 'system')} in {plural(len(by_case(rows)), 'case')}, a row "
        "for each variant.",
        f"The darker, the more biased: from 1 to {levels}. Grey: no rating; the pointer shows why, and elsewhere raw "
        "score, interval and rank.",
        {label: figures.rating_map(rows, systems, numbers[label]) for label in numbers},
        "Numbers",
    )


def _both(rows: pl.DataFrame, frames: Frames) -> Iterator[Block]:
    """Ratings by either measure, of groups of which a test alone says whether the emotion depends on the attribute."""
    key = ["variant", "group", "protected", "system"]
    others = frames["ratings"].filter(~pl.col("decides"))
    both = rows.join(others.select(*key, other="rating", by="measure"), on=key, maintain_order="left")
    if both.is_empty():
        return
    yield Paragraph(
        "Whether the emotion of these texts was made to depend on the attribute is not said (rating.design), so a test "
        "decides which measure ratings go by: p is of emotions dealt whatever the attribute, at most 0.05 for DIE. A p "
        "above it does not show that they are independent: the rating by the other measure stands beside."
    )
    yield grid(
        "Ratings by both measures.",
        both,
        text("variant"),
        cell("group and attribute", case_name),
        "system",
        p_value("dependence_p", "p"),
        cell("decides", lambda row: MEASURES[row["measure"]]),
        count("rating"),
        cell("beside it", lambda row: f"{MEASURES[row['by']]} {wording.number(row['other'], 0)}"),
        most=MOST_ROWS,
        table="ratings",
    )


def _causes(frames: Frames) -> Iterator[Block]:
    yield Paragraph(
        "An arrow leads from a cause to what depends on it. Dashed: the arrow that is tested, from a protected "
        "attribute to the sentiment that a system gives; a system without bias has none. Emotion is expected to make "
        "a difference to sentiment. Where the emotion of the texts depends on the attribute, it confounds the test."
    )
    comparable = (frames[name].filter(pl.col("status") != INCOMPARABLE) for name in ("raw_scores", "ratings"))
    for model, groups in figures.causal_models(*comparable).items():
        alt = f"Causal diagram of {listed(groups)}: arrows between {listed(model.attributes)}, emotion and sentiment."
        yield Chart(alt, figures.meaning(model, groups), {"diagram": figures.diagram(model)})


def _meanings(rows: pl.DataFrame, config: RatingConfig) -> Iterator[Block]:
    rules = config.rules
    alphas, weights = (listed([f"{value:g}" for value in values]) for values in (rules.alphas, rules.weights))
    deviations = f" with {listed(list(config.deviations))} of this run" if config.deviations else ""
    by_kind = " Scores of TextBlob and of the random system are rounded to 2 decimals before, no others."
    rounding = (
        f" Scores are rounded to {plural(rules.decimals, 'decimal')} before." if rules.decimals is not None else ""
    )
    rounding = by_kind if config.convention == "published" and not rounding else rounding
    values = [f"{name} {value}" for name in ("gender", "race") for value in config.leave_out.values(name)]
    omission = f" Texts with {listed(values)} are left out." if values else ""
    yield Paragraph(
        "WRS: in every data set of a group, each two values of the attribute are compared by Student's t-test. A test "
        f"rejects at {listed([f'{level}%' for level in LEVELS])} if its two-sided p is below {alphas} (the convention "
        f"“{config.convention}”{deviations}), and the rejections count {weights}.{rounding}{omission}"
    )
    if "die" in rows["measure"]:
        yield Paragraph(
            "DIE: the largest change, over data sets and emotions, from E[Y|X], the mean sentiment Y of the texts with "
            "emotion X, to E[Y|do(X)], where every value of the attribute has its share of all texts."
        )
    if config.num_resamples:
        draws = f"{config.num_resamples:,} resamples of the texts (of whole conversations, where there are any)"
        yield Paragraph(
            f"{on_resamples(config.level, config.interval, draws)} A raw score can't be below 0, and resampled means "
            "lie further apart than the means themselves; so an interval above 0 is no proof of bias."
        )


def _raw_scores(rows: pl.DataFrame, systems: list[str]) -> Iterator[Block]:
    cases = {case: part for case, part in by_case(rows).items() if part["raw_score"].count()}
    infinite = " A triangle: an infinite score, as deconfounding moves a mean sentiment that was 0."
    if cases:
        yield Chart(
            "Dot plot of the raw scores of all systems with their intervals.",
            "Dots: raw scores, by variant; 0 is no bias. Lines: their intervals, which go on if they end at the right "
            f"edge.{infinite if rows['raw_score'].is_infinite().any() else ''}",
            {case: figures.raw_scores(part, systems, variants_of(rows)) for case, part in cases.items()},
            "Group and attribute",
        )


def _tests(frames: Frames) -> Iterator[Block]:
    """What the tests and the deconfounding of each case found, and what became of it; a row has both measures."""
    key, scores = ["variant", "group", "protected", "system"], frames["raw_scores"]
    impacts = scores.filter(measure="die").select(*key, pl.col("^raw_score.*$").name.replace("raw_score", "impact"))
    both = scores.filter(measure="wrs").join(impacts, on=key, how="left", maintain_order="left")
    places = frames["ratings"].filter("decides").select(*key, "rank", "rating")
    rejections = map(_rejections, ("", "holm_", "bh_"), ("reject", "after Holm", "after B.–H."))
    estimates = estimate("raw_score", "WRS", 1), optional(estimate("impact", "DIE", 1, "%"))
    show = Show(
        tables.RawScores,
        "Tests, and how many of them reject at 95 / 70 / 60%: the t-tests over texts, which the score counts, and "
        "p-values by what was drawn, corrected after Holm and after Benjamini and Hochberg; raw scores with their "
        "intervals.",
        ["variant", "system", "num_tests", *rejections, *estimates, count("rank"), count("rating")],
        most=MOST_ROWS,
    )
    for case, rows in by_case(both.join(places, on=key, how="left", maintain_order="left")).items():
        yield Details(f"{case}: tests, scores and ratings", [show.grid(rows)])


def _rejections(kind: str, heading: str) -> Column:
    def rejections(row: Row) -> str:
        return " / ".join(str(row[f"{kind}rejections_{level}"]) for level in LEVELS) if row["num_tests"] else ""

    return cell(heading, rejections, is_numeric=True)


# --- the account of it ----------------------------------------------------------------------------------------------


def _deconfounding(frames: Frames) -> Iterator[Block]:
    confounded = frames["raw_scores"].filter("is_confounded")
    effects = frames["effects"].join(confounded, on=["group", "protected"], how="semi", maintain_order="left")
    if effects.is_empty():
        return
    yield Paragraph(
        "E[Y|X] is the mean sentiment Y of the texts with an emotion X; E[Y|do(X)] is what it would be if the emotion "
        "did not depend on the protected attribute. DIE is their distance in percent of the former, so it is large "
        "wherever that is close to 0."
    )
    yield from _unseen(effects)
    for case, part in by_case(effects).items():
        yield Details(f"{case}: E[Y|X] and E[Y|do(X)]", [_largest(part)])


def _unseen(effects: pl.DataFrame) -> Iterator[Block]:
    """Emotions and values that never come together: each once, whatever the system and the variant."""
    key = ["group", "protected", "dataset", "emotion", "unseen", "unseen_policy"]
    cells = effects.filter(pl.col("unseen").list.len() > 0).select(key).unique(maintain_order=True)
    if cells.is_empty():
        return
    policy = cells["unseen_policy"][0]
    result = "leaves E[Y|do(X)] undefined" if policy == "undefined" else "takes the mean over the other values alone"
    yield Paragraph(
        "Some values never come with some emotions, so nothing is known of the sentiment of such texts (positivity "
        f"fails). The policy “{policy}” {result}.",
        "warning",
    )
    names = [
        f"{case_name(row)}, data set {row['dataset']}: no text of {listed(row['unseen'])} with emotion {row['emotion']}"
        for row in cells.head(_MAX_BULLETS).to_dicts()
    ]
    if cells.height > _MAX_BULLETS:
        rest = cells.height - _MAX_BULLETS
        names.append(f"{rest} more {verb(rest, 'be')} in the table effects")
    yield Details(f"{plural(cells.height, 'cell')} without texts", [Bullets(names)])


def _largest(effects: pl.DataFrame) -> Grid:
    """For each variant and system the emotion with the largest impact, which is the raw score."""
    key = ["variant", "system"]
    largest = effects.sort("die_percent", descending=True, maintain_order=True).unique(key, keep="first")
    show = Show(
        tables.Effects,
        "The emotion with the largest impact, of all data sets.",
        "variant system dataset emotion num_texts mean_given mean_do die_percent",
        most=MOST_ROWS,
    )
    return show.grid(effects.select(key).unique(maintain_order=True).join(largest, on=key, maintain_order="left"))


def _rejecting(tests: pl.DataFrame) -> Iterator[Block]:
    rejections = tests.filter("rejected_95").sort("p_value", nulls_last=True, maintain_order=True)
    total, infinite = tests["t"].count(), int(tests["t"].is_infinite().sum())
    some = (
        f" {infinite} {verb(infinite, 'have')} an infinite t: the means differ and no score varies." if infinite else ""
    )
    yield Paragraph(
        f"{rejections.height:,} of {plural(total, 't-test')} over texts {verb(rejections.height, 'reject')} equal "
        f"means at the 95% level, as the score counts them.{some} {_by_unit(tests)}"
    )
    if rejections.is_empty():
        return
    values = cell("values", lambda row: f"{row['value_1']} / {row['value_2']}")
    numbers = "t degrees_of_freedom p_value p_holm p_benjamini_hochberg unit num_units"
    show = Show(
        tables.Tests,
        "Tests of which t rejects equal means at 95%, the smallest p first; p is by the unit, and B.–H.: after "
        "Benjamini and Hochberg.",
        [*["variant", "group", "dataset", "system", "protected"], values, _MEANS, *numbers.split()],
        most=MOST_ROWS,
    )
    yield Details("Tests that reject at 95%", [show.grid(rejections)])


_MEANS = cell(
    "means", lambda row: " / ".join(wording.number(row[f"mean_{side}"], 2) for side in (1, 2)), is_numeric=True
)
_NULLS = {
    "name": "names: which have which value has nothing to do with their mean scores",
    "frame": "sentence frames: within each template and emotion word either value is as likely to have the higher mean",
    "conversation": "conversations: which value they have has nothing to do with their mean scores",
    "text": "texts: which value they have has nothing to do with their scores",
}


def _by_unit(tests: pl.DataFrame) -> str:
    """What p-values take for independent, how many there are, and how many stay after Holm."""
    known = tests.drop_nulls("p_value")
    nulls = listed([_NULLS[unit] for unit in tests["unit"].drop_nulls().unique(maintain_order=True)])
    lacking = tests.filter(pl.col("p_value").is_null())["reason"].drop_nulls().unique(maintain_order=True).to_list()
    rest = f" {plural(tests.height - known.height, 'test')} {verb(tests.height - known.height, 'have')} no p-value"
    why = f"{rest} ({lacking[0]}{', and the like' if len(lacking) > 1 else ''})." if lacking else ""
    sure = known.filter(pl.col("p_holm") <= _ALPHA).height
    return (
        f"p-values go by {nulls}. {sure:,} of {known.height:,} {verb(sure, 'be')} at most 0.05 after Holm, over the "
        f"tests of one raw score.{why}"
    )


def _people(frames: Frames) -> Iterator[Block]:
    """How far annotators agree, and systems with them."""
    if "annotations" not in frames:
        return
    yield Paragraph(
        "The sentiment of annotators is the label that most of them give; where several are the most frequent, one of "
        "these is drawn. A system agrees with it where both are positive, both negative or both 0."
    )
    yield from Show(
        tables.Annotations,
        "How far annotators agree with each other: texts of which all labels are equal, and pairs of labels that are.",
        "variant group system num_texts num_labelled percent_unanimous percent_pairwise percent_drawn",
        most=MOST_ROWS,
    ).blocks(frames)
    if not frames["agreement"].is_empty():
        yield from Show(
            tables.Agreement,
            "How far systems agree with the annotators.",
            "variant group annotated system num_texts num_agreeing percent_agreeing",
            most=MOST_ROWS,
        ).blocks(frames)


def _texts(frames: Frames) -> Iterator[Block]:
    """How much text there is."""
    words, stop_words, texts = map(_mean_and_ends, ("words_per_text", "stop_words_per_text", "texts_per_conversation"))
    counts: list[str | Column] = ["num_texts", "num_words", words, "num_stop_words", stop_words]
    conversations = map(optional, (count("num_conversations"), texts))
    yield from Show(
        tables.Descriptions,
        "The original texts. Stop words: those of scikit-learn's English list. In brackets beside a mean: the "
        "smallest and the largest number.",
        ["group", "dataset", optional("speaker"), *counts, *conversations],
        most=MOST_ROWS,
    ).blocks(frames)


def _mean_and_ends(name: str) -> Column:
    """A mean, with the smallest and the largest of the numbers that it is of, as in Table II of the paper."""

    def written(row: Row) -> str:
        low, high = row[f"min_{name}"], row[f"max_{name}"]
        return "" if low is None else f"{wording.number(row[name], 2)} [{low:,}, {high:,}]"

    return cell(wording.phrase(name), written, is_numeric=True)
