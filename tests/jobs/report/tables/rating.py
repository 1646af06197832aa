"""Small tables of rated sentiment systems made by hand."""

import math

import polars as pl
import pyarrow as pa

from tiltmeter.jobs.sentiment.rating import tables

TAGGED = "<b>&"
OK = {"status": "ok", "reason": ""}
UNSEEN = {"status": "undefined", "reason": "an emotion and a value never come together"}
REJECTIONS = {"rejections_95": 1, "rejections_70": 2, "rejections_60": 3}
REJECTIONS |= {"holm_rejections_95": 0, "holm_rejections_70": 0, "holm_rejections_60": 1}
REJECTIONS |= {"bh_rejections_95": 0, "bh_rejections_70": 1, "bh_rejections_60": 1}


def key(system, *, variant="original", group="plain", protected="gender", measure="wrs"):
    return {"variant": variant, "group": group, "protected": protected, "system": system, "measure": measure}


def raw_score(system, score, *, confounded=False, warning="", reach=1.0, **of):
    """A row of ``raw_scores``; its interval ends ``reach`` above the score, and at no score if that is None."""
    row = key(system, **of)
    row |= {"num_tests": 3, "is_confounded": confounded, "warning": warning} | (
        REJECTIONS if row["measure"] == "wrs" else {}
    )
    if score is None:
        return row | UNSEEN
    ends = {} if reach is None else {"raw_score_low": 0.0, "raw_score_high": score + reach}
    return row | {"raw_score": score} | ends | OK


def rating(raw, rank, level):
    """The row of ``ratings`` of a raw score, at one of 2 levels."""
    places = {"rank": rank, "rating": level, "num_levels": 2}
    return {name: raw.get(name) for name in tables.RATINGS.names} | places


def comparison(system, before, after, ratings, ends=(None, None), **of):
    """A row of ``comparisons``; undefined where a score is."""
    row = key(system, **{"variant": "es"} | of) | {"original_score": before, "raw_score": after}
    row |= dict(zip(("original_rating", "rating"), ratings, strict=True))
    if not all(score is not None and math.isfinite(score) for score in (before, after)):
        return row | {"status": "undefined", "reason": "a raw score is undefined or infinite"}
    relative = 100.0 * (after - before) / before if before else None
    change = {"change": after - before, "change_low": ends[0], "change_high": ends[1], "percent_change": relative}
    return row | change | OK


def means_test(system, t, p, *, variant="original", group="plain"):
    """A row of ``tests``, of men and women."""
    row = {"variant": variant, "group": group, "dataset": "E1", "protected": "gender", "system": system}
    row |= {"value_1": "male", "value_2": "female", "num_1": 8, "num_2": 8, "mean_1": -0.5, "mean_2": 0.25}
    row |= {"sd_1": 0.0, "sd_2": 0.0, "t": t, "degrees_of_freedom": 14.0, "p_value": p, "p_holm": min(1.0, 3 * p)}
    return row | {"p_benjamini_hochberg": p} | {f"rejected_{level}": p < 0.05 for level in (95, 70, 60)} | OK


def effect(system, emotion, given, do, percent, *, unseen=(), variant="original"):
    """A row of ``effects`` of the confounded group."""
    row = {"variant": variant, "group": "mixed", "dataset": "E1", "protected": "gender", "system": system}
    row |= {"emotion": emotion, "num_texts": 12, "mean_given": given, "mean_do": do, "die_percent": percent}
    row |= {"unseen": list(unseen), "unseen_policy": "renormalise" if unseen else ""}
    return row | (OK if percent is not None else {"status": "unseen", "reason": "no positive text of female"})


def protected_word(word, num_lost, *, variant="es", group="plain", dataset="E1"):
    row = {"variant": variant, "group": group, "dataset": dataset, "word": word, "num_texts": 50}
    return row | {"num_lost": num_lost, "percent_lost": 2.0 * num_lost}


def description(group):
    words = {"num_words": 1200, "words_per_text": 5.0, "num_stop_words": 480, "stop_words_per_text": 2.0}
    return {"group": group, "dataset": "E1", "num_texts": 240} | words


def table(name, *rows):
    return pl.DataFrame(pa.Table.from_pylist(list(rows), getattr(tables, name.upper())))


def rated_run():
    """Two systems in a group by WRS and a confounded one by DIE, before and after a round trip.

    The score of wild is infinite before, that of calm undefined after it.
    """
    die = {"group": "mixed", "measure": "die", "confounded": True}
    by_rating = [
        (raw_score("calm", 0.0), 1, 1),
        (raw_score("wild", 24.0), 2, 2),
        (raw_score("calm", 6.5, **die), 1, 1),
        (raw_score("wild", math.inf, **die), 2, 2),
        (raw_score("calm", 4.8, variant="es"), 1, 1),
        (raw_score("wild", 24.0, variant="es"), 2, 2),
        (raw_score("calm", None, variant="es", **die), None, None),
        (raw_score("wild", 42.9, variant="es", **die), 1, 1),
    ]
    others = [
        raw_score(system, 0.0, variant=variant, group=group, measure=measure, confounded=group == "mixed")
        for group, measure in (("plain", "die"), ("mixed", "wrs"))
        for variant in ("original", "es")
        for system in ("calm", "wild")
    ]
    die = {"group": "mixed", "measure": "die"}
    comparisons = [
        comparison("calm", 0.0, 4.8, (1, 1), (0.6, 7.8)),
        comparison("wild", 24.0, 24.0, (2, 2), (0.0, 0.0)),
        comparison("calm", 6.5, None, (1, None), **die),
        comparison("wild", math.inf, 42.9, (2, 1), **die),
        comparison("calm", 0.0, 5.0, (None, None), (1.0, 9.0), measure="die"),
    ]
    effects = [
        effect("calm", "negative", -0.5, -0.4675, 6.5),
        effect("calm", "positive", 0.5, 0.5, 0.0, unseen=["female"]),
        effect("wild", "positive", 0.0, -0.25, math.inf, unseen=["female"]),
        effect("calm", "positive", 0.5, None, None, unseen=["female"], variant="es"),
    ]
    return {
        "raw_scores": table("raw_scores", *(raw for raw, *_ in by_rating), *others),
        "ratings": table("ratings", *(rating(*row) for row in by_rating)),
        "comparisons": table("comparisons", *comparisons),
        "tests": table("tests", means_test("wild", -math.inf, 0.0), means_test("calm", -0.5, 0.6)),
        "effects": table("effects", *effects),
        "protected_words": table(
            "protected_words",
            protected_word("girl", 10),
            protected_word("girl", 20, dataset="E2"),
            protected_word("boy", 0),
        ),
        "descriptions": table("descriptions", description("plain"), description("mixed")),
    }


def only(frames, **values):
    """The rows that have these values."""
    return {
        name: rows.filter(pl.lit(value=True), *(pl.col(of) == value for of, value in values.items()))
        if set(values) <= set(rows.columns)
        else rows
        for name, rows in frames.items()
    }


def original_only():
    """A run without round trips, which has fewer tables."""
    frames = only(rated_run(), variant="original")
    return {name: rows for name, rows in frames.items() if name != "protected_words"}


def from_scores():
    """A run on a file of scores, which says nothing of texts."""
    return {name: rows for name, rows in rated_run().items() if name not in ("protected_words", "descriptions")}
