"""The sections of a report on sentiment systems, one per question, after Lakkaraju et al. 2023."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Details, Paragraph, Section
from tiltmeter.jobs.report.wording import listed, plural
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.sentiment.rating.page import figures as rating_figures
from tiltmeter.jobs.sentiment.rating.page import grids as rating_grids
from tiltmeter.jobs.sentiment.rating.page.causal_diagrams import causal_models, diagram, meaning
from tiltmeter.jobs.sentiment.rating.page.names import amount, by_case, case_name, rated, variants_of
from tiltmeter.jobs.sentiment.rating.page.round_trip_sections import round_trips, words
from tiltmeter.jobs.sentiment.rating.rows import RatingConfig
from tiltmeter.operators.statistics.two_samples import LEVELS

_MAX_BULLETS = 20


def sections(frames: Frames, config: RatingConfig, kind: str) -> list[Section]:
    """What was found, and how it came about.

    Args:
        config: how systems were rated.
        kind: of the texts, such as synthetic; empty if it is not known.
    """
    rows = rated(frames)
    if rows.is_empty():
        return []
    asked = [
        Section("ratings", "Ratings", _ratings(rows, frames)),
        Section("causes", "What sentiment may depend on", _causes(frames)),
        Section("raw-scores", "Raw scores", _raw_scores(rows, frames, config)),
        Section("round-trips", "What round trips change", round_trips(frames, kind)),
        Section("words", "Words that round trips lose", words(frames)),
        Section("deconfounding", "Deconfounding, emotion by emotion", _deconfounding(frames)),
        Section("tests", "Tests that reject", _tests(frames["tests"])),
        Section("texts", "The texts", _texts(frames)),
    ]
    return [section for section in asked if section.blocks]


def _systems(frames: Frames) -> list[str]:
    return frames["raw_scores"]["system"].unique(maintain_order=True).to_list()


# --- ratings and what they rest on ----------------------------------------------------------------------------------


def _ratings(rows: pl.DataFrame, frames: Frames) -> list[Block]:
    levels = rows["num_levels"][0]
    text = (
        "For each group of texts and protected attribute, the systems are put in order by their raw score, and the "
        f"order is cut into {levels} parts: a rating is the part that a system falls into, 1 for the least biased. "
        "Systems with the same raw score have the same rating. Raw scores of different groups, attributes or measures "
        "are not on one scale; ratings say who comes before whom."
    )
    texts = {
        "ratings": lambda row: f"<b>{row['rating']}</b>",
        "raw scores": lambda row: amount(row["raw_score"], row["measure"]),
    }
    systems = _systems(frames)
    chart = Chart(
        f"Heat map of the ratings of {len(systems)} systems in {len(by_case(rows))} cases, a row for each variant.",
        f"The darker, the more biased: from 1 to {levels}. Grey: no rating; the pointer shows why, and elsewhere raw "
        "score, interval and rank.",
        {label: rating_figures.rating_map(rows, systems, text) for label, text in texts.items()},
        "Numbers",
    )
    return [Paragraph(text), chart]


def _causes(frames: Frames) -> list[Block]:
    text = (
        "An arrow leads from a cause to what depends on it. Dashed: the arrow that is tested, from a protected "
        "attribute to the sentiment that a system gives; a system without bias has none. Emotion is expected to make "
        "a difference to sentiment. Where the emotion of the texts depends on the attribute, it confounds the test."
    )
    charts = [
        Chart(
            f"Causal diagram of {listed(groups)}: arrows between {listed(model.attributes)}, emotion and sentiment.",
            meaning(model, groups),
            {"diagram": diagram(model)},
        )
        for model, groups in causal_models(frames["raw_scores"], frames["ratings"]).items()
    ]
    return [Paragraph(text), *charts]


def _raw_scores(rows: pl.DataFrame, frames: Frames, config: RatingConfig) -> list[Block]:
    systems, variants = _systems(frames), variants_of(rows)
    known = {case: part for case, part in by_case(rows).items() if part["raw_score"].count()}
    infinite = " A triangle: an infinite score, as deconfounding moves a mean sentiment that was 0."
    chart = Chart(
        "Dot plot of the raw scores of all systems with their intervals.",
        "Dots: raw scores, by variant; 0 is no bias. Lines: their intervals, which go on if they end at the right edge."
        f"{infinite if rows['raw_score'].is_infinite().any() else ''}",
        {case: rating_figures.raw_scores(part, systems, variants) for case, part in known.items()},
        "Group and attribute",
    )
    places = frames["ratings"]
    details = [
        Details(f"{case}: tests, scores and ratings", [rating_grids.scores(part, _of_case(places, part))])
        for case, part in by_case(frames["raw_scores"]).items()
    ]
    how = [_rejections(config), *([_IMPACT] if "die" in rows["measure"] else []), *_intervals(config)]
    return [*map(Paragraph, how), *([chart] if known else []), *details]


def _of_case(rows: pl.DataFrame, case: pl.DataFrame) -> pl.DataFrame:
    return rows.join(case, on=["group", "protected"], how="semi", maintain_order="left")


def _rejections(config: RatingConfig) -> str:
    alphas, weights = ([f"{value:g}" for value in values] for values in (config.rules.alphas, config.rules.weights))
    return (
        "WRS: in every data set of a group, each two values of the attribute are compared by Student's t-test. A test "
        f"rejects at {listed([f'{level}%' for level in LEVELS])} if its two-sided p is below {listed(alphas)} (the "
        f"convention “{config.convention}”), and the rejections count {listed(weights)}."
    )


_IMPACT = (
    "DIE: the largest change, over data sets and emotions, from E[Y|X], the mean sentiment Y of the texts with emotion "
    "X, to E[Y|do(X)], where every value of the attribute has its share of all texts."
)


def _intervals(config: RatingConfig) -> Iterator[str]:
    """What they are, and how to take them."""
    if config.num_resamples:
        yield (
            f"Intervals hold {config.level:.0%} of {config.num_resamples:,} resamples of the texts (of whole "
            "conversations, where there are any). A raw score can't be below 0, and resampled means lie further apart "
            "than the means themselves; so an interval may lie above a raw score near 0, and is no proof of bias then."
        )


# --- the account of it ----------------------------------------------------------------------------------------------


def _deconfounding(frames: Frames) -> list[Block]:
    confounded = frames["raw_scores"].filter("is_confounded")
    effects = _of_case(frames["effects"], confounded)
    if effects.is_empty():
        return []
    text = (
        "E[Y|X] is the mean sentiment Y of the texts with an emotion X; E[Y|do(X)] is what it would be if the emotion "
        "did not depend on the protected attribute. DIE is their distance in percent of the former, so it is large "
        "wherever that is close to 0."
    )
    details = [
        Details(f"{case}: E[Y|X] and E[Y|do(X)]", [rating_grids.largest_effects(part)])
        for case, part in by_case(effects).items()
    ]
    return [Paragraph(text), *_unseen(effects), *details]


def _unseen(effects: pl.DataFrame) -> list[Block]:
    """Emotions and values that never come together: each once, whatever the system and the variant."""
    key = ["group", "protected", "dataset", "emotion", "unseen", "unseen_policy"]
    cells = effects.filter(pl.col("unseen").list.len() > 0).select(key).unique(maintain_order=True)
    if cells.is_empty():
        return []
    policy = cells["unseen_policy"][0]
    how = "leaves E[Y|do(X)] undefined" if policy == "undefined" else "takes the mean over the other values alone"
    text = (
        "Some values never come with some emotions, so nothing is known of the sentiment of such texts (positivity "
        f"fails). The policy “{policy}” {how}."
    )
    names = [
        f"{case_name(row)}, data set {row['dataset']}: no text of {listed(row['unseen'])} with emotion {row['emotion']}"
        for row in cells.head(_MAX_BULLETS).to_dicts()
    ]
    rest = cells.height - len(names)
    more = [f"{rest} more are in the table effects"] if rest else []
    return [
        Paragraph(text, "warning"),
        Details(f"{plural(cells.height, 'cell')} without texts", [Bullets([*names, *more])]),
    ]


def _tests(tests: pl.DataFrame) -> list[Block]:
    rejecting = tests.filter("rejected_95")
    known, infinite = tests["t"].count(), tests["t"].is_infinite().sum()
    have = "has" if infinite == 1 else "have"
    some = f" {infinite} {have} an infinite t: the means differ and no score varies." if infinite else ""
    text = (
        f"{rejecting.height:,} of {known:,} tests reject equal means at the 95% level.{some} Without any bias some "
        "would as well, which the corrections after Holm and after Benjamini and Hochberg allow for."
    )
    grid = [Details("Tests that reject at 95%", [rating_grids.rejecting_tests(rejecting)])] if rejecting.height else []
    return [Paragraph(text), *grid]


def _texts(frames: Frames) -> list[Block]:
    return [rating_grids.descriptions(frames["descriptions"])] if "descriptions" in frames else []
