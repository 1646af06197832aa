"""Every number of a rating is what its sentence says, counted again from the published scores."""

import hashlib
import json
from collections import Counter
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from scipy import stats

from tiltmeter.operators.sentiment.deconfounding import deconfounding_impact, dependence, largest_impact
from tiltmeter.operators.sentiment.mean_tests import Origins, mean_tests
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg, holm
from tiltmeter.operators.statistics.resampling import Estimate, resampled_counts
from tiltmeter.operators.statistics.text_intervals import cut, resampled_interval
from tiltmeter.operators.statistics.two_samples import DEFINITION, moments, pairwise_tests
from tiltmeter.operators.statistics.units import units_of

SEED, NUM = 7, 40
WEIGHTS, ALPHAS, LEVELS = (3.0, 2.0, 0.5), (0.04, 0.2, 0.5), (95, 70, 60)
SETTINGS = [
    *(f"seed={SEED}", f"rating.num_resamples={NUM}", "rating.level=0.8", "rating.num_levels=2"),
    *(f"rating.weights={list(WEIGHTS)}", f"rating.alphas={list(ALPHAS)}", "rating.design={crossed: independent}"),
    "rating.leave_out.gender=[unknown]",
]
PROTECTED = {"gender": ["gender"], "race": ["race"], "gender_race": ["gender", "race"]}
SYSTEMS = {"fair": (0.0, 0.0), "mild": (0.3, -0.1), "wild": (0.9, 0.5)}
"""How much lower women's scores are, before and after a round trip."""


def crossed():
    """Two data sets of unlike size, with a race; every gender feels both emotions alike, women more often."""
    for dataset, sizes in (("long", (4, 6, 3)), ("short", (3, 4, 2))):
        for gender, size in zip(("male", "female", "neutral"), sizes, strict=True):
            for at, emotion in enumerate(["joy", "fear"] * size):
                yield {
                    "group": "crossed",
                    "dataset": dataset,
                    "gender": gender,
                    "race": "xy"[at % 5 < 2],
                    "emotion": emotion,
                }
        yield {"group": "crossed", "dataset": dataset, "gender": "unknown", "race": "x", "emotion": "joy"}


def talks():
    """Conversations of one turn to three, with men or women, who are more often glad; one turn has no emotion."""
    for talk in range(30):
        gender = "male" if talk < 11 else "female"
        for turn in range(talk % 3 + 1):
            emotion = "joy" if (talk % 10 < 8) == (gender == "female") else "fear"
            emotion = emotion if talk or turn else ""
            yield {
                "group": "talks",
                "dataset": "all",
                "gender": gender,
                "race": "",
                "emotion": emotion,
                "conversation": f"t{talk}",
            }


@pytest.fixture(scope="module")
def scored():
    """Rows of a file of scores; one system lacks some."""
    rng, rows = np.random.default_rng(0), []
    for variant in range(2):
        for system, lower in SYSTEMS.items():
            for at, row in enumerate([*crossed(), *talks()]):
                score = 0.3 - lower[variant] * (row["gender"] == "female") + 0.2 * (row["emotion"] == "joy")
                score = float(np.clip(score + rng.normal(0, 0.3), -1, 1))
                of = {"variant": ("original", "es")[variant], "system": system, "conversation": ""}
                rows.append(of | row | {"sentiment": None if system == "mild" and at % 9 == 4 else score})
    return rows


@pytest.fixture(scope="module")
def rated(run_here, scored, tmp_path_factory):
    place = tmp_path_factory.mktemp("numbers")
    pl.DataFrame(scored, infer_schema_length=None).write_parquet(place / "scores.parquet")
    run = ("job=sentiment_rating", f"scores={place}/scores.parquet", f"store={place}/store", f"run_dir={place}/run")
    return run_here(*run, *SETTINGS)


class Data(NamedTuple):
    """The scored texts of a data set."""

    name: str
    values: list[str]
    scores: Any
    cells: Any
    emotions: list[str]
    felt: Any
    talks: list[str] | None
    about: int

    def counts(self):
        """Resamples of texts of one gender and emotion where these are crossed, else of conversations of one gender."""
        if self.talks is None:
            return np.concatenate(list(resampled_counts(2 * self.cells + self.felt, SEED, self.about, NUM)))
        names = list(dict.fromkeys(self.talks))
        talk = np.array([names.index(name) for name in self.talks])
        strata = np.array([self.cells[self.talks.index(name)] for name in names])
        return np.concatenate(list(resampled_counts(strata, SEED, self.about, NUM, talk)))

    def impact(self, counts=None):
        has = self.felt >= 0
        drawn = None if counts is None else counts[:, has]
        return deconfounding_impact(self.scores[has], self.felt[has], self.cells[has], drawn)


def code(values):
    names = [name for name in dict.fromkeys(values) if name]
    return names, np.array([names.index(value) if value else -1 for value in values])


def data_sets(scored, row):
    """Of the system, variant, group and attribute of a row."""
    of = [part for part in scored if all(part[name] == row[name] for name in ("variant", "system", "group"))]
    for name in dict.fromkeys(part["dataset"] for part in of):
        parts = [part for part in of if part["dataset"] == name and part["sentiment"] is not None]
        parts = [part for part in parts if part["gender"] != "unknown" or row["protected"] == "race"]
        values, cells = code([" ".join(part[column] for column in PROTECTED[row["protected"]]) for part in parts])
        emotions, felt = code([part["emotion"] for part in parts])
        conversations = [part["conversation"] for part in parts] if parts[0]["conversation"] else None
        key = json.dumps([row["group"], name, row["protected"]]).encode()
        about = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")
        scores = np.array([part["sentiment"] for part in parts])
        yield Data(name, values, scores, cells, emotions, felt, conversations, about)


def score_of(p_values):
    by_level = [int((np.asarray(p_values) < alpha).sum()) for alpha in ALPHAS]
    return sum(weight * number for weight, number in zip(WEIGHTS, by_level, strict=True)), by_level


def raw_scores(rated, measure):
    rows = [row for row in rated.rows("raw_scores", measure=measure) if row["status"] == "ok"]
    assert Counter((row["group"], row["protected"]) for row in rows) == dict.fromkeys(
        [("crossed", "gender"), ("crossed", "race"), ("crossed", "gender_race"), ("talks", "gender")], 6
    )
    return rows


def test_scores_are_those_of_the_file(rated, scored):
    names = ("variant", "system", "group", "dataset", "gender", "race", "emotion", "conversation", "sentiment")
    expected = [tuple(row[name] or None for name in names) for row in scored]
    assert pl.DataFrame(rated.table("scores")).select(names).rows() == expected


def test_tests_are_of_every_two_values_and_their_corrections_over_a_raw_score(rated, scored):
    for raw in raw_scores(rated, "wrs"):
        rows = rated.rows("tests", **{name: raw[name] for name in ("variant", "system", "group", "protected")})
        counted, by_unit = [], []
        for data in data_sets(scored, raw):
            origins = Origins(conversations=data.talks)
            by_unit += mean_tests(data.scores, data.cells, len(data.values), origins, seed=SEED, about=data.about)
            for first, second in combinations(range(len(data.values)), 2):
                row, sides = rows[len(counted)], [data.scores[data.cells == cell] for cell in (first, second)]
                t, p, df = (welch := stats.ttest_ind(*sides, equal_var=False)).statistic, welch.pvalue, welch.df
                counted.append(p)
                values = data.name, data.values[first], data.values[second]
                assert (row["dataset"], row["value_1"], row["value_2"]) == values
                for side, scores in zip("12", sides, strict=True):
                    numbers = [row[f"{name}_{side}"] for name in ("num", "mean", "sd")]
                    assert numbers == pytest.approx([len(scores), scores.mean(), scores.std(ddof=1)])
                assert [row["t"], row["degrees_of_freedom"]] == pytest.approx([t, df])
                assert [row[f"rejected_{level}"] for level in LEVELS] == [p < alpha for alpha in ALPHAS]
        p_values = np.array([test.p for test in by_unit])
        corrected = {
            "p_value": p_values,
            "p_holm": holm(p_values),
            "p_benjamini_hochberg": benjamini_hochberg(p_values),
        }
        for name, p in corrected.items():
            assert [row[name] for row in rows] == [None if np.isnan(value) else pytest.approx(value) for value in p]
        assert [(row["unit"], row["num_units"]) for row in rows] == [(test.kind, test.num_units) for test in by_unit]
        score, _ = score_of(counted)
        assert (raw["raw_score"], raw["num_tests"]) == (pytest.approx(score), len(counted))
        for prefix, p in (("", counted), ("holm_", holm(p_values)), ("bh_", benjamini_hochberg(p_values))):
            assert [raw[f"{prefix}rejections_{level}"] for level in LEVELS] == score_of(p)[1]


def test_impacts_adjust_the_mean_of_each_emotion(rated, scored):
    for raw in raw_scores(rated, "die"):
        rows = rated.rows("effects", **{name: raw[name] for name in ("variant", "system", "group", "protected")})
        expected = []
        for data in data_sets(scored, raw):
            has, impact = data.felt >= 0, data.impact()
            assert [row["emotion"] for row in rows if row["dataset"] == data.name] == data.emotions
            for number in range(len(data.emotions)):
                row, of_emotion = rows[len(expected)], data.felt == number
                cells = [
                    (data.scores[of_emotion & (data.cells == cell)], (data.cells[has] == cell).sum())
                    for cell in set(data.cells)
                ]
                do = np.average(
                    [part.mean() for part, _ in cells if len(part)], weights=[num for part, num in cells if len(part)]
                )
                given = data.scores[of_emotion].mean()
                expected.append(100 * abs(do - given) / abs(given))
                numbers = [row[name] for name in ("num_texts", "mean_given", "mean_do", "die_percent")]
                assert numbers == pytest.approx([of_emotion.sum(), given, do, expected[-1]])
                assert impact.percent[number] == pytest.approx(expected[-1])
        assert (raw["raw_score"], raw["num_tests"]) == (pytest.approx(max(expected)), len(expected))


def test_a_group_of_an_unknown_design_is_tested_by_conversations(rated):
    rows = list(talks())
    felt = [row for row in rows if row["emotion"]]
    units = units_of([row["conversation"] for row in felt], "conversation")
    about = int.from_bytes(hashlib.blake2b(b'["talks", "all", "gender"]', digest_size=8).digest(), "little")
    codes = [code([row[name] for row in felt])[1] for name in ("emotion", "gender")]
    p, _ = dependence(*codes, units, seed=SEED, about=about)
    for row in rated.rows("raw_scores", group="talks"):
        assert (row["design"], row["is_confounded"]) == ("tested", True)
        assert row["dependence_p"] == pytest.approx(p)
        assert p < 0.05
    assert {row["design"] for row in rated.rows("raw_scores", group="crossed")} == {"independent"}
    assert {row["is_confounded"] for row in rated.rows("raw_scores", group="crossed")} == {False}


def resampled(scored, raw):
    """The raw score of every resample, of data sets that are resampled each by itself."""
    drawn = [(data, data.counts()) for data in data_sets(scored, raw)]
    if raw["measure"] == "die":
        return np.max([largest_impact([data.impact(counts)]) for data, counts in drawn], axis=0)
    rules = DEFINITION._replace(weights=WEIGHTS, alphas=ALPHAS)
    p = [pairwise_tests(moments(data.scores, data.cells, len(data.values), counts), rules).p for data, counts in drawn]
    return np.array([score_of(row)[0] for row in np.concatenate(p, axis=1)])


def test_resamples_are_those_of_texts_or_conversations_and_make_the_intervals(rated, scored):
    draws = {row["key"]: row for row in rated.rows("draws", table="raw_scores")}
    by_key = {}
    for raw in [*raw_scores(rated, "wrs"), *raw_scores(rated, "die")]:
        names = ("variant", "group", "protected", "system", "measure")
        drawn = draws.pop(json.dumps({name: raw[name] for name in names}))
        values = by_key[tuple(raw[name] for name in names)] = resampled(scored, raw)
        assert drawn["values"] == pytest.approx(values)
        highest = np.inf if raw["measure"] == "die" else sum(WEIGHTS) * raw["num_tests"]
        interval = resampled_interval(Estimate(raw["raw_score"], values), 0.8, scale=cut(0.0, highest))
        assert [raw["raw_score_low"], raw["raw_score_high"]] == pytest.approx(
            [float(interval.low), float(interval.high)]
        )
        parts = list(data_sets(scored, raw))
        has = [part for part in parts for felt in part.felt if felt >= 0 or raw["measure"] == "wrs"]
        turns = {
            talk
            for part in parts
            if part.talks
            for talk, felt in zip(part.talks, part.felt, strict=True)
            if felt >= 0 or raw["measure"] == "wrs"
        }
        scheme = json.loads(drawn["scheme"])
        assert (scheme["seed"], scheme["num_items"]) == (SEED, len(turns) or len(has))
    assert not draws
    rows = rated.rows("comparisons")
    assert len(rows) == len(by_key) // 2
    for row in rows:
        key = tuple(row[name] for name in ("group", "protected", "system", "measure"))
        of = {name: row[name] for name in ("group", "protected", "system", "measure")}
        [before], [after] = (rated.rows("raw_scores", variant=variant, **of) for variant in ("original", "es"))
        old, new = before["raw_score"], after["raw_score"]
        assert [row["original_score"], row["raw_score"], row["change"]] == pytest.approx([old, new, new - old])
        assert row["percent_change"] == (pytest.approx(100 * (new - old) / old) if old else None)
        interval = resampled_interval(Estimate(new - old, by_key["es", *key] - by_key["original", *key]), 0.8)
        assert [row["change_low"], row["change_high"]] == pytest.approx([float(interval.low), float(interval.high)])
        ratings = [rated.rows("ratings", variant=variant, **of) for variant in ("original", "es")]
        decides = [place["rating"] if place["decides"] else None for [place] in filter(None, ratings)]
        assert [row["original_rating"], row["rating"]] == (decides or [None, None])


def test_ratings_order_the_systems_of_a_case_by_what_decides(rated):
    rows = rated.rows("ratings")
    cases = dict.fromkeys((row["variant"], row["group"], row["protected"], row["measure"]) for row in rows)
    decisive = {("crossed", protected): "wrs" for protected in PROTECTED} | {("talks", "gender"): "die"}
    both = [("talks", "gender")]
    assert len(cases) == 2 * (len(decisive) + len(both))
    for variant, group, protected, measure in cases:
        of = {"variant": variant, "group": group, "protected": protected, "measure": measure}
        raw = {row["system"]: row["raw_score"] for row in rated.rows("raw_scores", **of)}
        levels = np.array_split(sorted(set(raw.values())), 2)
        for row in rated.rows("ratings", **of):
            score = raw[row["system"]]
            level = next(number for number, part in enumerate(levels, 1) if score in part)
            assert (row["raw_score"], row["rank"]) == (score, 1 + sum(other < score for other in raw.values()))
            assert (row["rating"], row["num_levels"], row["decides"]) == (
                level,
                2,
                decisive[group, protected] == measure,
            )
