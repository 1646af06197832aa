"""Every number of a rating is what its sentence says, counted again from the published scores."""

import hashlib
import json
from collections import Counter
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

from tests.jobs.sentiment.conftest import Traced
from tiltmeter.operators.sentiment.deconfounding import deconfounding_impact, dependence, largest_impact
from tiltmeter.operators.sentiment.mean_tests import Origins, mean_tests
from tiltmeter.operators.sentiment.rejection import weighted_rejections
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg, holm
from tiltmeter.operators.statistics.resampling import Estimate, resampled_counts
from tiltmeter.operators.statistics.text_intervals import cut, resampled_interval
from tiltmeter.operators.statistics.two_samples import DEFINITION, PUBLISHED, moments, pairwise_tests
from tiltmeter.operators.statistics.units import units_of

SEED, NUM = 7, 40
WEIGHTS, ALPHAS, LEVELS = (3.0, 2.0, 0.5), (0.04, 0.2, 0.5), (95, 70, 60)
SETTINGS = [
    *(f"seed={SEED}", f"rating.num_resamples={NUM}", "rating.level=0.8", "rating.num_levels=2"),
    *(f"rating.weights={list(WEIGHTS)}", f"rating.alphas={list(ALPHAS)}", "rating.design={crossed: independent}"),
    "rating.leave_out.gender=[unknown]",
]
PROTECTED = {"gender": ["gender"], "race": ["race"], "gender_race": ["gender", "race"]}
KEY = ("variant", "group", "protected", "system")
NAMES = (*KEY, "measure")
SYSTEMS = {"fair": (0.0, 0.0), "mild": (0.3, -0.1), "wild": (0.9, 0.5)}
"""How much lower women's scores are, before and after a round trip."""


def crossed():
    """Two data sets of unlike size, with a race; every gender feels both emotions alike, women more often."""
    for dataset, sizes in (("long", (4, 6, 3)), ("short", (3, 4, 2))):
        for gender, size in zip(("male", "female", "neutral"), sizes, strict=True):
            for at, emotion in enumerate(["joy", "fear"] * size):
                row = {"group": "crossed", "dataset": dataset, "gender": gender}
                yield row | {"race": "xy"[at % 5 < 2], "emotion": emotion}
        yield {"group": "crossed", "dataset": dataset, "gender": "unknown", "race": "x", "emotion": "joy"}


def talks():
    """Conversations of one turn to three, with men or women, who are more often glad; one turn has no emotion."""
    for talk in range(30):
        gender = "male" if talk < 11 else "female"
        for turn in range(talk % 3 + 1):
            emotion = "joy" if (talk % 10 < 8) == (gender == "female") else "fear"
            emotion = emotion if talk or turn else ""
            row = {"group": "talks", "dataset": "all", "gender": gender, "race": ""}
            yield row | {"emotion": emotion, "conversation": f"t{talk}"}


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


class Rules(NamedTuple):
    """Settings of a run beside those of all runs."""

    measure: str = "auto"
    convention: str = "definition"
    empty_cells: str = "renormalise"
    interval: str = "centred"
    decimals: int | None = None

    @property
    def is_published(self):
        return self.convention == "published"

    @property
    def tests(self):
        return (PUBLISHED if self.is_published else DEFINITION)._replace(weights=WEIGHTS, alphas=ALPHAS)


class Rated(NamedTuple):
    run: Traced
    rules: Rules


RUNS = {
    "usual": Rules(),
    "impacts": Rules("die", empty_cells="undefined", interval="percentile", decimals=1),
    "published": Rules("wrs", "published", interval="reflected"),
}


@pytest.fixture(scope="module")
def rated_by(run_here, scored, tmp_path_factory):
    """A run by some of the rules; what it shares with others is done once."""
    place = tmp_path_factory.mktemp("numbers")
    pl.DataFrame(scored, infer_schema_length=None).write_parquet(place / "scores.parquet")

    @cache
    def rated_by(name):
        settings = [f"rating.{key}={value}" for key, value in RUNS[name]._asdict().items() if value is not None]
        run = ("job=sentiment_rating", f"scores={place}/scores.parquet", f"store={place}/store")
        return Rated(run_here(*run, f"run_dir={place}/{name}", *SETTINGS, *settings), RUNS[name])

    return rated_by


@pytest.fixture(params=RUNS)
def rated(request, rated_by):
    return rated_by(request.param)


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
    empty_cells: str

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
        return deconfounding_impact(self.scores[has], self.felt[has], self.cells[has], drawn, self.empty_cells)


def code(values):
    names = [name for name in dict.fromkeys(values) if name]
    return names, np.array([names.index(value) if value else -1 for value in values])


def data_sets(scored, row, rules):
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
        scores = scores if rules.decimals is None else np.round(scores, rules.decimals)
        yield Data(name, values, scores, cells, emotions, felt, conversations, about, rules.empty_cells)


def raw_scores(run, measure):
    rows = [row for row in run.rows("raw_scores", measure=measure) if row["status"] == "ok"]
    cases = [*(("crossed", protected) for protected in PROTECTED), ("talks", "gender")]
    assert Counter((row["group"], row["protected"]) for row in rows) == dict.fromkeys(cases, 6)
    return rows


def test_scores_are_those_of_the_file(rated_by, scored):
    names = ("variant", "system", "group", "dataset", "gender", "race", "emotion", "conversation", "sentiment")
    expected = [tuple(row[name] or None for name in names) for row in scored]
    run = rated_by("usual").run
    assert pl.DataFrame(run.table("scores")).select(names).rows() == expected
    assert run.published == {"scores", "tests", "effects", "raw_scores", "ratings", "comparisons", "draws"}


def test_tests_are_of_every_two_values_and_their_corrections_over_a_raw_score(rated, scored):
    run, rules = rated
    for raw in raw_scores(run, "wrs"):
        rows = run.rows("tests", **{name: raw[name] for name in KEY})
        counted, by_unit = [], []
        for data in data_sets(scored, raw, rules):
            samples = moments(data.scores, data.cells, len(data.values))
            pairs = list(combinations(range(len(data.values)), 2))
            origins = Origins(conversations=data.talks)
            tests = mean_tests(data.scores, data.cells, len(data.values), origins, seed=SEED, about=data.about)
            for (first, second), *tested, test in zip(pairs, *pairwise_tests(samples, rules.tests), tests, strict=True):
                row, (t, df, p) = rows[len(counted)], tested
                num = sum(np.isin(data.cells, (first, second)))
                by_unit.append((p, "text", num) if rules.is_published else (test.p, test.kind, test.num_units))
                counted.append(p)
                values = data.name, data.values[first], data.values[second]
                assert (row["dataset"], row["value_1"], row["value_2"]) == values
                for side, cell in zip("12", (first, second), strict=True):
                    scores = data.scores[data.cells == cell]
                    numbers = [row[f"{name}_{side}"] for name in ("num", "mean", "sd")]
                    assert numbers == pytest.approx([len(scores), scores.mean(), scores.std(ddof=1)])
                assert [row["t"], row["degrees_of_freedom"]] == pytest.approx([t, df])
                assert [row[f"rejected_{level}"] for level in LEVELS] == [p < alpha for alpha in ALPHAS]
        p_values = np.array([p for p, *_ in by_unit])
        after_holm, after_bh = holm(p_values), benjamini_hochberg(p_values)
        for name, p in {"p_value": p_values, "p_holm": after_holm, "p_benjamini_hochberg": after_bh}.items():
            assert [row[name] for row in rows] == [None if np.isnan(value) else pytest.approx(value) for value in p]
        assert [(row["unit"], row["num_units"]) for row in rows] == [(kind, num) for _, kind, num in by_unit]
        score = weighted_rejections(np.array(counted), rules.tests).score
        assert (raw["raw_score"], raw["num_tests"]) == (pytest.approx(score), len(counted))
        for prefix, p in (("", np.array(counted)), ("holm_", after_holm), ("bh_", after_bh)):
            rejections = weighted_rejections(p, rules.tests).by_level.tolist()
            assert [raw[f"{prefix}rejections_{level}"] for level in LEVELS] == rejections


def test_impacts_adjust_the_mean_of_each_emotion(rated, scored):
    run, rules = rated
    for raw in raw_scores(run, "die"):
        rows, largest = run.rows("effects", **{name: raw[name] for name in KEY}), []
        assert raw["num_tests"] == len(rows)
        for data in data_sets(scored, raw, rules):
            of, impact = [row for row in rows if row["dataset"] == data.name], data.impact()
            assert [row["emotion"] for row in of] == data.emotions
            nums = [sum(data.felt == number) for number in range(len(data.emotions))]
            expected = np.column_stack([nums, *impact[:3]])
            names = ("num_texts", "mean_given", "mean_do", "die_percent")
            assert np.array([[row[name] for name in names] for row in of]) == pytest.approx(expected)
            largest.append(max(impact.percent))
        assert raw["raw_score"] == pytest.approx(max(largest))


def test_a_group_of_an_unknown_design_is_tested_by_conversations(rated_by):
    rated, rows = rated_by("usual").run, list(talks())
    felt = [row for row in rows if row["emotion"]]
    units = units_of([row["conversation"] for row in felt], "conversation")
    about = int.from_bytes(hashlib.blake2b(b'["talks", "all", "gender"]', digest_size=8).digest(), "little")
    codes = [code([row[name] for row in felt])[1] for name in ("emotion", "gender")]
    p, _ = dependence(*codes, units, seed=SEED, about=about)
    for row in rated.rows("raw_scores", group="talks"):
        assert (row["design"], row["is_confounded"]) == ("tested", True)
        assert row["dependence_p"] == pytest.approx(p)
        assert p < 0.05
    crossed = rated.rows("raw_scores", group="crossed")
    assert {(row["design"], row["is_confounded"]) for row in crossed} == {("independent", False)}


def resampled(scored, raw, rules):
    """The raw score of every resample, of data sets that are resampled each by itself."""
    drawn = [(data, data.counts()) for data in data_sets(scored, raw, rules)]
    if raw["measure"] == "die":
        return np.max([largest_impact([data.impact(counts)]) for data, counts in drawn], axis=0)
    samples = [moments(data.scores, data.cells, len(data.values), counts) for data, counts in drawn]
    p_values = [pairwise_tests(of_data, rules.tests).p for of_data in samples]
    return weighted_rejections(np.concatenate(p_values, axis=1), rules.tests).score


def both_measures(run):
    return [*raw_scores(run, "wrs"), *raw_scores(run, "die")]


def test_resamples_are_those_of_texts_or_conversations(rated, scored):
    run, rules = rated
    draws = {row["key"]: row for row in run.rows("draws", table="raw_scores")}
    undefined = 0
    for raw in both_measures(run):
        drawn = draws.pop(json.dumps({name: raw[name] for name in NAMES}))
        values = np.array(drawn["values"], dtype=float)
        assert values == pytest.approx(resampled(scored, raw, rules), nan_ok=True)
        undefined += np.isnan(values).sum()
        parts = list(data_sets(scored, raw, rules))
        counts = [felt >= 0 or raw["measure"] == "wrs" for part in parts for felt in part.felt]
        turns = [talk for part in parts for talk in part.talks or range(len(part.felt))]
        num = len({turn for turn, has in zip(turns, counts, strict=True) if has}) if parts[0].talks else sum(counts)
        scheme = json.loads(drawn["scheme"])
        assert (scheme["seed"], scheme["num_items"]) == (SEED, num)
    assert not draws
    assert (undefined > 0) == (rules.empty_cells == "undefined"), "some lack an emotion of one gender"


def test_resamples_make_the_intervals_of_scores_and_of_their_changes(rated):
    run, rules = rated
    draws = {row["key"]: np.array(row["values"], dtype=float) for row in run.rows("draws", table="raw_scores")}
    by_key = {}
    for raw in both_measures(run):
        key = {name: raw[name] for name in NAMES}
        values = by_key[tuple(key.values())] = draws[json.dumps(key)]
        highest = np.inf if raw["measure"] == "die" else sum(WEIGHTS) * raw["num_tests"]
        interval = resampled_interval(Estimate(raw["raw_score"], values), 0.8, rules.interval, cut(0.0, highest))
        assert [raw["raw_score_low"], raw["raw_score_high"]] == pytest.approx([*map(float, interval[:2])])
    rows = run.rows("comparisons")
    assert len(rows) == len(by_key) // 2
    for row in rows:
        of = {name: row[name] for name in NAMES[1:]}
        key = tuple(of.values())
        [before], [after] = (run.rows("raw_scores", variant=variant, **of) for variant in ("original", "es"))
        old, new = before["raw_score"], after["raw_score"]
        assert [row["original_score"], row["raw_score"], row["change"]] == pytest.approx([old, new, new - old])
        assert row["percent_change"] == (pytest.approx(100 * (new - old) / old) if old else None)
        changes = Estimate(new - old, by_key["es", *key] - by_key["original", *key])
        interval = resampled_interval(changes, 0.8, rules.interval)
        assert [row["change_low"], row["change_high"]] == pytest.approx([*map(float, interval[:2])])
        ratings = [run.rows("ratings", variant=variant, **of) for variant in ("original", "es")]
        decides = [place["rating"] if place["decides"] else None for [place] in filter(None, ratings)]
        assert [row["original_rating"], row["rating"]] == (decides or [None, None])


def test_ratings_order_the_systems_of_a_case_by_what_decides(rated):
    run, rules = rated
    cases = dict.fromkeys(tuple(row[name] for name in NAMES if name != "system") for row in run.rows("ratings"))
    decisive = {("crossed", protected): "wrs" for protected in PROTECTED} | {("talks", "gender"): "die"}
    if rules.measure != "auto":
        decisive = dict.fromkeys(decisive, rules.measure)
    both = [("talks", "gender")] if rules.measure == "auto" else []
    assert len(cases) == 2 * (len(decisive) + len(both))
    for variant, group, protected, measure in cases:
        of = {"variant": variant, "group": group, "protected": protected, "measure": measure}
        raw = {row["system"]: row["raw_score"] for row in run.rows("raw_scores", **of)}
        levels = np.array_split(sorted(set(raw.values())), 2)
        for row in run.rows("ratings", **of):
            score = raw[row["system"]]
            level = next(number for number, part in enumerate(levels, 1) if score in part)
            assert (row["raw_score"], row["rank"]) == (score, 1 + sum(other < score for other in raw.values()))
            decides = decisive[group, protected] == measure
            assert (row["rating"], row["num_levels"], row["decides"]) == (level, 2, decides)
