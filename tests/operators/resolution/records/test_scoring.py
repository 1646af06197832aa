"""Records made up with errors, of which it is known who is who."""

import dataclasses
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.metrics.distance import edit_distance

from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.resolution.records.columns import prepare
from tiltmeter.operators.resolution.records.labelled_pairs import draw_labelled, training_clusters
from tiltmeter.operators.resolution.records.linkage import MISSING, estimate_agreement
from tiltmeter.operators.resolution.records.scorer import ComparedField, Scorer
from tiltmeter.operators.resolution.records.scoring import score_pairs, train_scorer

NAMES = ["Anna", "Bruno", "Clara", "David", "Elena", "Frank", "Greta", "Henri", "Irene", "Jonas", "Karla", "Louis"]
FAMILIES = ["Abel", "Berger", "Conti", "Duval", "Engel", "Ferrari", "Garcia", "Hansen", "Ivanov", "Jansen", "Keller"]
SETTINGS = {
    "id": "key",
    "fields": {
        "Full name": {"kind": "string"},
        "phone": {"kind": "code"},
        "city": {"kind": "exact"},
        "height": {"kind": "number", "within": [1, 5]},
        "born": {"kind": "date", "within": [1, 31]},
    },
    "blocking": [{"phone": 3}, {"Full name": 2, "city": None}],
}
CONFIG = Scorer(**SETTINGS)


def _mistyped(text, rng):
    at = int(rng.integers(len(text)))
    return text[:at] + str(rng.choice(list("aeiou0123"))) + text[at + 1 :]


def _seen(person, rng):
    """A record of a person, with an error in every third value, and every tenth left out."""
    first, family = person["Full name"].split()
    seen: dict[str, str | None] = person | {
        "Full name": rng.choice([f"{first} {family}", f"  {family.upper()}  {first}"])
    }
    for name in ("Full name", "phone"):
        if rng.random() < 0.3:
            seen[name] = _mistyped(person[name], rng)
    for name in ("phone", "city", "height", "born"):
        if rng.random() < 0.1:
            seen[name] = None
    return seen


@pytest.fixture(scope="module")
def people():
    """240 records of 80 people, and the clusters."""
    rng = np.random.default_rng(1)
    rows, gold = [], []
    for number in range(80):
        person = {
            "Full name": f"{rng.choice(NAMES)} {rng.choice(FAMILIES)}",
            "phone": str(rng.integers(10**6, 10**7)),
            "city": str(rng.choice(["Rome", "Oslo", "Bern"])),
            "height": str(rng.integers(150, 200)),
            "born": f"{rng.integers(1950, 2000)}-0{rng.integers(1, 10)}-1{rng.integers(0, 10)}",
        }
        for copy in range(3):
            rows.append({"key": f"{number}.{copy}", **_seen(person, rng)})
            gold.append((f"{number}.{copy}", f"p{number}"))
    return pl.DataFrame(rows), pl.DataFrame(gold, schema=["record", "cluster"], orient="row")


@pytest.fixture(scope="module")
def labelled(people):
    return draw_labelled(*people, CONFIG, seed=0)


@pytest.fixture(scope="module")
def trained(people, labelled):
    return train_scorer(people[0], labelled, CONFIG)


@pytest.fixture(scope="module")
def scored(people, trained):
    return score_pairs(people[0], trained, CONFIG)


def test_pairs_are_those_that_share_a_key_each_once_and_in_order(people, scored):
    records = people[0].with_columns(
        pl.col("Full name").str.to_lowercase().str.strip_chars().str.head(2), pl.col("phone").str.head(3)
    )
    rows = {row["key"]: row for row in records.to_dicts()}
    expected = {
        (left, right)
        for left in rows
        for right in rows
        if left < right
        and any(
            all(rows[left][name] is not None and rows[left][name] == rows[right][name] for name in keys)
            for keys in (["phone"], ["Full name", "city"])
        )
    }
    assert list(scored.select("left", "right").iter_rows()) == sorted(expected)


def _alike(one, other):
    """By Jaro and Winkler: letters that are near each other, their order, and the first ones."""
    reach, taken, letters = max(len(one), len(other)) // 2 - 1, set(), []
    for place, letter in enumerate(one):
        near = range(max(0, place - reach), min(len(other), place + reach + 1))
        if found := [at for at in near if at not in taken and other[at] == letter]:
            taken.add(found[0])
            letters.append(letter)
    num, same = max(1, len(letters)), 0
    turned = sum(letter != other[at] for letter, at in zip(letters, sorted(taken), strict=True)) // 2
    similarity = (len(letters) / len(one) + len(letters) / len(other) + (len(letters) - turned) / num) / 3
    while same < 4 and one[same : same + 1] == other[same : same + 1]:
        same += 1
    return similarity + (same * 0.1 * (1 - similarity) if similarity > 0.7 else 0.0)


def _degree_of_names(one, other):
    one, other = (" ".join(name.lower().split()) for name in (one, other))
    letters, words = _alike(one, other), (set(one.split()), set(other.split()))
    share = len(words[0] & words[1]) / len(words[0] | words[1])
    degrees = [one == other, letters >= 0.95, letters >= 0.9, share >= 0.6, letters >= 0.8, share >= 0.4, share >= 0.2]
    return 8 - [*degrees, letters >= 0.7, True].index(True)


def _degrees(one, other):
    """How far the fields agree."""
    found: dict[str, int | None] = dict.fromkeys(CONFIG.fields)
    found["Full name"] = _degree_of_names(one["Full name"], other["Full name"])
    if one["phone"] and other["phone"]:
        edits = edit_distance(one["phone"], other["phone"])
        found["phone"] = 4 if edits == 0 else 3 if edits == 1 else 2 if edits == 2 else 1 if edits <= 4 else 0
    if one["city"] and other["city"]:
        found["city"] = int(one["city"] == other["city"])
    if one["height"] and other["height"]:
        apart = abs(float(one["height"]) - float(other["height"]))
        found["height"] = 3 if apart == 0 else 2 if apart <= 1 else 1 if apart <= 5 else 0
    if one["born"] and other["born"]:
        days = abs((np.datetime64(one["born"]) - np.datetime64(other["born"])).astype(int))
        found["born"] = 3 if days == 0 else 2 if days <= 1 else 1 if days <= 31 else 0
    return found


@pytest.mark.long
@pytest.mark.parametrize("prior", [None, 0.5])
def test_probabilities_are_those_of_fellegi_and_sunter(people, labelled, prior):
    config = dataclasses.replace(CONFIG, prior=prior)
    trained = train_scorer(people[0], labelled, config)
    rows = {row["key"]: row for row in people[0].to_dicts()}
    for left, right, is_match in labelled.iter_rows():
        assert is_match == (left.split(".")[0] == right.split(".")[0])
    pairs = [_degrees(rows[left], rows[right]) | {"is_match": yes} for left, right, yes in labelled.iter_rows()]
    for row in trained.to_dicts():
        for is_match, column in ((True, "num_matches"), (False, "num_distinct")):
            counted = [pair for pair in pairs if pair[row["field"]] == row["degree"] and pair["is_match"] == is_match]
            assert row[column] == len(counted)
    ends = {name: rows["agreement"].to_list()[:: rows.height - 1] for (name,), rows in trained.group_by("field")}
    assert ends == {name: ["different", "equal"] for name in CONFIG.fields}
    prior = prior or float(np.mean([pair["is_match"] for pair in pairs]))
    weights = {(row["field"], row["degree"]): math.log(row["m"] / row["u"]) for row in trained.to_dicts()}
    for left, right, probability in score_pairs(people[0], trained, config).head(50).iter_rows():
        agreed = _degrees(rows[left], rows[right])
        log_odds = math.log(prior / (1 - prior)) + sum(weights.get(key, 0.0) for key in agreed.items())
        assert probability == pytest.approx(1 / (1 + math.exp(-log_odds)), rel=1e-9)


@pytest.mark.long
def test_the_same_seed_gives_the_same_pairs_and_the_order_of_records_does_not_matter(people, labelled, trained, scored):
    records, gold = people
    shuffled = records.sample(fraction=1.0, shuffle=True, seed=3)
    again = draw_labelled(shuffled, gold.reverse(), CONFIG, seed=0)
    assert again.equals(labelled)
    assert train_scorer(shuffled, again.reverse(), CONFIG).equals(trained)
    assert score_pairs(shuffled, trained, CONFIG).equals(scored)
    assert not draw_labelled(records, gold, CONFIG, seed=1).equals(labelled)
    some = dataclasses.replace(CONFIG, num_labelled=50, train_share=0.4)
    whole = draw_labelled(records, gold, dataclasses.replace(some, num_labelled=10**6), seed=7)
    chosen = keyed_generator(7, Stream.LABELLED_PAIRS, 0, 0, 1).choice(whole.height, 50, replace=False)
    assert draw_labelled(records, gold, some, seed=7).equals(whole[np.sort(chosen)])
    order = keyed_generator(7, Stream.LABELLED_PAIRS, 0, 0, 0).permutation(80)[:32]
    assert {*training_clusters(gold, some, 7)["cluster"]} == {*gold["cluster"].unique().sort().gather(order)}


@pytest.mark.long
def test_parts_are_the_whole_and_pairs_under_the_threshold_are_left_out(people, trained, scored):
    assert score_pairs(people[0].head(1), trained, CONFIG).shape == (0, 3)
    kept = score_pairs(people[0], trained, dataclasses.replace(CONFIG, threshold=0.5))
    assert kept.equals(scored.filter(pl.col("match_probability") >= 0.5))
    config = dataclasses.replace(CONFIG, num_parts=3)
    parts = [score_pairs(people[0], trained, config, part) for part in range(3)]
    assert min(part.height for part in parts) > 0
    assert pl.concat(parts).sort("left", "right").equals(scored)


@pytest.mark.long
def test_labels_may_be_numbers_or_words_and_pairs_in_any_order(people, labelled, trained):
    turned = labelled.select(left="right", right="left", is_match=pl.col("is_match").cast(pl.Int8))
    words = labelled.with_columns(is_match=pl.when("is_match").then(pl.lit("True")).otherwise(pl.lit("false")))
    for pairs in (turned, pl.concat([words, words])):
        assert train_scorer(people[0], pairs, CONFIG).equals(trained)


def _labels(*rows):
    return pl.DataFrame(rows, schema=["left", "right", "is_match"], orient="row")


MATCH, DISTINCT = ("0.0", "0.1", True), ("0.0", "1.0", False)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (_labels(DISTINCT), "none of 1 labelled pairs is a match.*records.labelled"),
        (_labels(MATCH), "none of 1 labelled pairs is no match"),
        (_labels(MATCH, ("0.0", "9.9", False), ("8.8", "0.0", True)), "left='8.8': must be the id of a record"),
        (_labels(MATCH, ("0.0", None, False)), "right=None: must be the id of a record"),
        (_labels(MATCH, ("0.1", "0.0", False)), "'0.0' and '0.1' are labelled both"),
        (_labels(("0.0", "0.0", True)), "'0.0' with itself"),
        (_labels(("0.0", "0.1", "maybe")), "is_match='maybe': must be true or false"),
        (_labels(MATCH).drop("is_match"), "no column 'is_match'"),
    ],
)
def test_labels_that_cannot_be_learnt_from_are_refused(people, labels, message):
    with pytest.raises(ValueError, match=message):
        train_scorer(people[0], labels, CONFIG)


def _set(column, value):
    return pl.when(pl.int_range(pl.len()) == 1).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda records: records.clear(), "has no records.*records.path"),
        (lambda records: records.drop("phone"), "column 'phone' is not there.*records.fields"),
        (lambda records: records.with_columns(_set("key", "0.0")), "key='0.0' names several records.*records.id"),
        (lambda records: records.with_columns(_set("key", None)), "a record has no 'key'"),
        (lambda records: records.with_columns(_set("height", "tall")), "height='tall': must be a number"),
        (lambda records: records.with_columns(_set("born", "02.01.1980")), "born='02.01.1980': must be a date"),
    ],
)
def test_records_that_cannot_be_compared_are_refused(people, labelled, change, message):
    with pytest.raises(ValueError, match=message):
        train_scorer(change(people[0]), labelled, CONFIG)


def test_too_many_pairs_clusters_and_parts_that_are_not_there_are_refused(people, trained):
    with pytest.raises(ValueError, match=r"proposes \d+ pairs: must be 10 or fewer; set records.blocking"):
        score_pairs(people[0], trained, dataclasses.replace(CONFIG, max_pairs=10))
    gold = pl.DataFrame({"record": ["a", "a"], "cluster": [1, 2]})
    with pytest.raises(ValueError, match=r"'a' is in several clusters.*records.clusters"):
        training_clusters(gold, CONFIG, seed=0)
    with pytest.raises(ValueError, match=r"part 1: must lie in 0\.\.0"):
        score_pairs(people[0], trained, CONFIG, part=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_held_out_half_of_the_csv_example(data_file, seed):
    records = pl.read_csv(data_file("er/csv_example/records.csv"), infer_schema=False)
    gold = pl.read_parquet(data_file("er/csv_example/gold.parquet")).cast(pl.String)
    fields = {"Site name": "string", "Address": "string", "Zip": "exact", "Phone": "code"}
    config = Scorer(
        id="Id",
        fields={name: ComparedField(kind) for name, kind in fields.items()},
        blocking=({"Phone": None}, {"Address": 6}, {"Site name": 8}),
    )
    trained = train_scorer(records, draw_labelled(records, gold, config, seed), config)
    held_out = gold.join(training_clusters(gold, config, seed), on="record", how="anti")
    rest = records.filter(pl.col("Id").is_in(held_out["record"].implode()))
    scored = score_pairs(rest, trained, config)
    left, right = (
        scored.join(gold, left_on=end, right_on="record", maintain_order="left") for end in ("left", "right")
    )
    is_match, is_taken = left["cluster"] == right["cluster"], scored["match_probability"] >= 0.5
    sizes = held_out.group_by("cluster").len()["len"].cast(pl.Int64)
    num_matches = (sizes * (sizes - 1) // 2).sum()
    assert (is_match & is_taken).sum() / is_taken.sum() > 0.95
    assert (is_match & is_taken).sum() / num_matches > 0.93
    assert is_match.sum() / num_matches > 0.98
    assert ((scored["match_probability"] - is_match.cast(pl.Float64)) ** 2).mean() < 0.008


def test_names_that_look_alike_are_equal_values():
    names = ["İbrahim  O’Neil", "I\u0307BRAHİM o'neil", "i\u0307bra\u00adhim\u200d O‘Neil\u00a0"]
    records = pl.DataFrame({"key": ["a", "b", "c"], "name": names})
    config = Scorer(id="key", fields={"name": {"kind": "exact"}}, blocking=[{"name": None}])
    assert prepare(records, config)["f0"].to_list() == ["ibrahim o'neil"] * 3


# --- shares of agreements ---------------------------------------------------------------------------------------------

PAIRS = st.lists(st.tuples(st.integers(MISSING, 3), st.booleans()), max_size=30)


def test_shares_by_hand():
    # Matches: 3 equal, 1 different; others: 1 equal, 1 different, and one that lacks a value.
    degrees = np.array([1, 1, 1, 0, 1, 0, MISSING])
    found = estimate_agreement(degrees, np.array([True] * 4 + [False] * 3), 2)
    assert found.num_matches.tolist() == [1, 3]
    assert found.num_distinct.tolist() == [1, 1]
    assert found.m.tolist() == [1.5 / 5, 3.5 / 5]
    assert found.u.tolist() == [0.5, 0.5]
    assert found.weights == pytest.approx([np.log2(0.6), np.log2(1.4)])


@given(PAIRS)
def test_shares_sum_to_one_and_none_is_zero(pairs):
    degrees, is_match = np.array([pair[0] for pair in pairs], int), np.array([pair[1] for pair in pairs], bool)
    found = estimate_agreement(degrees, is_match, 4)
    assert found.num_matches.sum() + found.num_distinct.sum() == (degrees != MISSING).sum()
    for shares in (found.m, found.u):
        assert shares.min() > 0
        assert shares.sum() == pytest.approx(1.0)
    swapped = estimate_agreement(degrees, ~is_match, 4)
    assert swapped.weights == pytest.approx(-found.weights)


@pytest.mark.parametrize("degree", [-2, 2])
def test_degrees_out_of_range_are_refused(degree):
    with pytest.raises(ValueError, match=r"must lie in -1\.\.1"):
        estimate_agreement(np.array([0, degree]), np.array([True, False]), 2)
