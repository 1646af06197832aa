"""A ranking of embeddings: every number from the tables of measures, what can't be told apart, and what WEFE does."""

import html
import json
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import spearmanr, t

from tiltmeter.operators.association.ranking import as_wefe, distance_from_ideal

MODELS = ("a", "b", "c")
SIDES = {
    "target_x": ["enaa", "enba", "enca", "enda"],
    "target_y": ["enea", "enfa", "enga", "enha"],
    "attribute_a": ["enia", "enja", "enka"],
    "attribute_b": ["enla", "enma", "enna"],
}
RARE = SIDES | {"target_x": ["enrare", "enrarer"]}
"""Words that the last corpus lacks."""

MEASURES = ("weat", "rnd", "rnsb", "rnsb_splits", "mac", "ect", "nas")


@pytest.fixture(scope="module")
def ranked(run_here, made_up, write_lines, word_lists, word_sets, tmp_path_factory):
    """Three corpora with four replicas each; the last lacks words of a query."""
    folder, documents = tmp_path_factory.mktemp("ranking"), made_up("en")
    files = {name: write_lines(folder / f"{name}.jsonl", _part(documents, name)) for name in MODELS}
    corpora = ["corpus=file", "corpus.language=en", f"corpus.path={files['a']}", "corpus.name=a"]
    corpora += [f"+corpus.{name}={{name: {name}, language: en, path: {files[name]}}}" for name in MODELS[1:]]
    tests = {"usual": word_sets(**SIDES), "rare": word_sets(**RARE)}
    return run_here(
        *("job=association", *corpora, *word_lists("en", associations=tests, wefats=None)),
        *("embedding.num_replicas=4", "embedding.trainer.dimensions=6", "embedding.trainer.epochs=2"),
        *("job.similarities=[cosine]", "job.statistics=[mean]", f"measures=[{','.join(MEASURES)}]"),
        *(f"store={folder}/store", f"run_dir={folder}/run"),
    )


def _part(documents, name):
    kept = [document | {"text": f"enrare enrarer {document['text']}"} for document in documents]
    return {"a": kept, "b": kept[::-1][:30], "c": documents[10:]}[name]


def _numbers(ranked, measure):
    """``[1 + replicas]`` of each model, by query, groups, attributes and word."""
    draws = {
        tuple(json.loads(row["key"])[name] for name in ("model", "query", "groups", "attributes", "word")): row[
            "values"
        ]
        for row in ranked.rows("draws", table="measures", column="value")
        if json.loads(row["key"])["measure"] == measure
    }
    numbers = {}
    for row in ranked.rows("measures", measure=measure):
        key = tuple(row[name] for name in ("model", "query", "groups", "attributes", "word"))
        if row["value"] is not None:
            numbers.setdefault(key[1:], {})[key[0]] = np.array([row["value"], *draws[key]])
    return numbers


IDEAL = {
    "weat": abs,
    "rnd": abs,
    "nas": abs,
    "rnsb": lambda value: abs(value) / np.log(8),
    "mac": lambda value: abs(value - 1),
    "ect": lambda value: 1 - value,
}


def _distances(ranked, measure):
    """``[models, 1 + replicas]`` of the query that all answer; it compares one thing, or four, or eight words."""
    numbers = [by_model for key, by_model in _numbers(ranked, measure).items() if key[0] == "usual"]
    assert len(numbers) == {"rnd": 4, "ect": 4, "nas": 8}.get(measure, 1)
    return np.array([np.mean([IDEAL[measure](one[name]) for one in numbers], axis=0) for name in MODELS])


@pytest.mark.parametrize("measure", IDEAL)
def test_distances_ranks_and_pairs_are_made_again_from_the_measures(ranked, measure):
    distances, rows = _distances(ranked, measure), ranked.rows("ranking", measure=measure)
    assert [row["model"] for row in rows] == [*MODELS]
    assert [row["distance"] for row in rows] == pytest.approx(distances[:, 0])
    spread = distances[:, 1:].std(axis=1, ddof=1) * t.ppf(0.975, 3)
    assert [row["distance_high"] for row in rows] == pytest.approx(distances[:, 0] + spread)
    assert [row["rank"] for row in rows] == (np.argsort(np.argsort(distances[:, 0])) + 1).tolist()
    assert {(tuple(row["left_out"]), row["num_queries"], row["num_replicas"]) for row in rows} == {(("rare",), 1, 4)}
    # Of two words ECT has no order.
    assert [row["num_lost"] for row in rows] == {"rnd": [0, 0, 4], "ect": [1, 1, 4]}.get(measure, [0, 0, 1])
    pairs = ranked.rows("rank_pairs", measure=measure)
    assert [(row["model"], row["other"]) for row in pairs] == list(combinations(MODELS, 2))
    for row, (i, j) in zip(pairs, combinations(range(3), 2), strict=True):
        difference = distances[i] - distances[j]
        assert row["difference"] == pytest.approx(difference[0])
        assert row["first"] == (difference[1:] < 0).mean()
        assert row["difference_high"] + row["difference_low"] == pytest.approx(2 * difference[0])
        single = 2 * t.sf(abs(difference[0]) / difference[1:].std(ddof=1), 3)
        assert single - 0.02 <= row["p_max_t"] <= 3 * single + 0.02
        assert row["is_told_apart"] == (row["p_max_t"] <= 0.05)


@pytest.mark.parametrize("measure", IDEAL)
def test_shared_ranks_follow_from_pairs(ranked, measure):
    rows = {row["model"]: row for row in ranked.rows("ranking", measure=measure)}
    apart = {(row["model"], row["other"]) for row in ranked.rows("rank_pairs", measure=measure, is_told_apart=True)}
    for name, row in rows.items():
        others = {a if b == name else b for a, b in apart if name in (a, b)}
        before = sum(rows[other]["distance"] < row["distance"] for other in others)
        assert (row["rank_low"], row["rank_high"]) == (1 + before, 3 - (len(others) - before))
    if not apart:
        assert {row["shared_rank"] for row in rows.values()} == {"1–3"}


def test_wefe_takes_a_missing_answer_for_no_bias(ranked):
    """Of sums of sizes, the model that lost a query has fewer terms."""
    rows, numbers = ranked.rows("ranking", measure="rnd"), _numbers(ranked, "rnd")
    sums = [sum(abs(one[name][0]) for one in numbers.values() if name in one) for name in MODELS]
    assert [row["wefe_abs_sum"] for row in rows] == pytest.approx(sums)
    assert [row["rank_as_wefe"] for row in rows] == (np.argsort(np.argsort(sums)) + 1).tolist()
    means = [np.mean([one[name][0] for one in numbers.values() if name in one]) for name in MODELS]
    assert [row["wefe_avg"] for row in rows] == pytest.approx(means)
    assert {row["wefe_abs_sum"] for row in ranked.rows("ranking", measure="nas")} == {None}


def test_measures_are_correlated_over_models_and_replicas(ranked):
    rows = ranked.rows("rank_correlations")
    assert len(rows) == len(list(combinations(IDEAL, 2)))
    x, y = (_distances(ranked, measure) for measure in ("weat", "mac"))
    [row] = [row for row in rows if (row["measure"], row["other_measure"]) == ("weat", "mac")]
    assert row["spearman"] == pytest.approx(spearmanr(x[:, 0], y[:, 0]).statistic)
    assert row["num_models"] == 3


def test_a_number_without_an_ideal_is_not_ranked(ranked):
    rows = ranked.rows("ranking", measure="rnsb_splits")
    assert {(row["status"], row["reason"], row["rank"]) for row in rows} == {
        ("not_ranked", "no value is that of no bias", None)
    }
    assert not ranked.rows("rank_pairs", measure="rnsb_splits")


def test_the_page_refuses_to_rank_what_cant_be_told_apart(ranked):
    text = html.unescape((ranked.path / "report.html").read_text())
    for measure, name in {"rnd": "RND", "mac": "MAC"}.items():
        rows = sorted(ranked.rows("ranking", measure=measure), key=lambda row: row["rank"])
        first, second, third = (row["model"] for row in rows)
        said = f"no embedding is ranked: {first}, {second} and {third} can't be told apart."
        if len({row["shared_rank"] for row in rows}) > 1:
            said = f"from the nearest to no bias: {first}"
        assert f"By {name}, {said}" in text
    assert "not every embedding can answer rare in every replica" in text


def test_the_toy_of_wefes_ranking() -> None:
    """Its WEAT scores of one model, and of the same vectors without *home*: what can't be measured comes first."""
    values = np.array([[-2.271961, -1.798822], [np.nan, -1.798822]])
    assert as_wefe(values, "abs_sum") == pytest.approx([4.070783, 1.798822])
    assert as_wefe(values, "sum") == pytest.approx([-4.070783, -1.798822])
    assert as_wefe(values, "avg") == pytest.approx([-2.0353915, -1.798822])
    assert as_wefe(values, "abs_avg") == pytest.approx([2.0353915, 1.798822])
    assert np.isnan(as_wefe(np.array([[np.nan]]), "abs_avg")).all()


def test_a_distance_is_0_without_bias_and_1_for_all_of_rnsb() -> None:
    assert distance_from_ideal(np.array([0.7, 1.0, -1.0]), "ect", 1.0, 4) == pytest.approx([0.3, 0.0, 2.0])
    assert distance_from_ideal(np.array([np.log(6)]), "rnsb", 0.0, 6) == pytest.approx([1.0])
    assert distance_from_ideal(np.array([-0.5]), "rnd", 0.0, 6) == pytest.approx([0.5])
