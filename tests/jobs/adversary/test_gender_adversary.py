"""The job `gender_adversary`: every number that runs publish, by hand, from their files and config and other tables."""

import csv
import json
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from benchmarks.calibration.adversary import Held, run_of
from tests.jobs.test_layouts import survive
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.adversary.config import find_sources
from tiltmeter.jobs.adversary.job import train_victims
from tiltmeter.jobs.adversary.victims import LinearVictim, SentimentVictim, find_victim
from tiltmeter.jobs.classifiers.labelled_data import read_labelled_data
from tiltmeter.jobs.classifiers.splits import split_texts
from tiltmeter.operators.classifiers.adversary.controls import asymmetry, excess, two_sided
from tiltmeter.operators.classifiers.adversary.fitting import LinearConfig
from tiltmeter.operators.classifiers.adversary.kinds import leaning_limits, replacement_kind
from tiltmeter.operators.classifiers.adversary.rates import flip_rates, resampled_rates, sized_excess
from tiltmeter.operators.classifiers.adversary.shares import shares_of_fall
from tiltmeter.operators.classifiers.adversary.victims import class_weights
from tiltmeter.operators.classifiers.adversary.words import gender_of
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.sentiment.lexicons import vader_scores
from tiltmeter.operators.sentiment.transformer_scores import ClassifierConfig, classify, score_texts
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.resampling import resampled_counts
from tiltmeter.operators.statistics.units import each, units_of
from tiltmeter.storage.bad_records import collected
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.models.checkpoints import CheckpointError
from tiltmeter.storage.models.load import load_classifier

from .by_hand import BARRED, NOISE_OF_NEIGHBOURS, ByHand
from .conftest import SMALL, words_and_vectors

KEYS = {"victim", "direction", "stratum", "search", "status", "reason"}
FLIPPED = ("flipped", "flipped_minimal")
OTHERWISE = [
    *("direction.kinds=[pair, swap, neighbours]", "direction.both=false", "direction.unit_vectors=true"),
    *("victim=linear", "victim.linear.linear.min_count=2", "max_texts=null", "unit_texts=null", "report.mask=false"),
    *("candidates.keep_counterparts=false", "candidates.min_cosine=null", "candidates.inflections=true"),
    *(f"candidates.{name}=null" for name in ("antonyms", "synonyms", "parts_of_speech")),
    *("controls.kind=word_pairs", "controls.few=false", "controls.number=27", "language_model.context=prefix"),
    *("direction.pair=[father, mother]", "candidates.exclude=4", "seed=8", "data.group=null"),
    *("search.greedy=false", "search.genetic.crossover=uniform"),
]


@pytest.fixture(scope="session", params=["usual", "otherwise", "every victim", "masked"])
def case(request):
    """The settings of a run, and the run."""
    if request.param == "every victim":
        return request.getfixturevalue("every_victim"), request.getfixturevalue("victims")
    usual = request.getfixturevalue("adversary")
    if request.param == "usual":
        return usual, request.getfixturevalue("attacked")
    if request.param == "masked":
        return request.getfixturevalue("masked"), request.getfixturevalue("filled")
    place = request.getfixturevalue("tmp_path_factory").mktemp("otherwise")
    vectors = request.getfixturevalue("write_vectors")(place / "n.bin", *words_and_vectors(NOISE_OF_NEIGHBOURS))
    settings = [setting for setting in usual if not setting.startswith("victim")]
    settings += [*OTHERWISE, f"candidates.neighbour_vectors={vectors}"]
    run_here = request.getfixturevalue("run_here")
    return settings, run_here(*settings, f"store={place}/store", f"run_dir={place}/run")


@pytest.fixture(scope="session")
def run(case):
    return case[1]


@pytest.fixture(scope="session")
def by_hand(configured, case, labelled):
    return ByHand(configured(*case[0]), labelled)


def words_of(by_hand):
    """Those of attacked texts that have vectors."""
    words = {token.strip("().,!").lower() for text in by_hand.attacked for token in text["text"].split()}
    return sorted(words - BARRED & by_hand.embeddings[0].rows.keys())


def limits_of(by_hand, words):
    """How far the nearest along controls lean, by their cosines."""
    near = [
        (cosine, by_hand.embeddings[0].leaning(word, candidate))
        for direction in by_hand.shifts
        for control in range(by_hand.config.controls.number)
        for word in words
        for candidate, cosine in by_hand.candidates(direction, word, control)[0][: by_hand.config.candidates.top]
    ]
    return leaning_limits(*np.array(near).T)


@pytest.mark.long
def test_candidates_are_those_of_the_original_with_the_share_of_replicas_that_have_them(run, by_hand):
    words, embedding = words_of(by_hand), by_hand.embeddings[0]
    rows, limits = run.rows("candidates"), limits_of(by_hand, words)
    if len(by_hand.linear) == 2:
        assert {row["removed_by"] for row in rows} == {"", "min_cosine", "inflection", "antonym", "part_of_speech"}
        assert {row["kind"] for row in rows} == {"definitional", "associated", "other"}
        assert len({row["stability"] for row in rows}) > 2
    made = {}
    for row in rows:
        made.setdefault((row["direction"], row["word"]), []).append(row)
    for direction in by_hand.directions:
        if direction.startswith(("swap", "names", "masked")):
            continue
        fitted = direction == "neighbours"
        for word in words:
            found, num_near = by_hand.candidates(direction, word)
            replicas = range(1, len(by_hand.embeddings))
            of_replicas = [dict(by_hand.candidates(direction, word, replica=replica)[0]) for replica in replicas]
            for row, (candidate, cosine) in zip(made.pop((direction, word), []), found, strict=True):
                assert (row["candidate"], row["num_near"]) == (candidate, num_near)
                assert row["cosine"] == pytest.approx(cosine, abs=1e-5)
                leaning = embedding.leaning(word, candidate, fitted=fitted)
                assert row["leaning"] == pytest.approx(leaning, abs=1e-5)
                assert row["removed_by"] == embedding.removed_by(word, candidate, fitted=fitted)
                assert row["kind"] == replacement_kind((word, candidate), by_hand.words, leaning, cosine, limits)
                shares = [candidate in of_replica for of_replica in of_replicas]
                assert row["stability"] == (np.mean(shares) if shares else None)
    assert not made


@pytest.mark.long
def test_texts_are_as_the_victim_reads_them(run, by_hand):
    for name in by_hand.linear:
        reader = by_hand.reader(name)
        rows = {row["row"]: row for row in run.rows("texts", victim=name)}
        assert [*rows] == [text["row"] for text in by_hand.attacked]
        for text in by_hand.attacked:
            row, tokens = rows[text["row"]], text["text"].split()
            [shares] = reader.for_text(tokens, [])({})(np.zeros((1, 0), dtype=np.int64))
            predicted = reader.classes[int(shares.argmax())]
            group = text["author"] if by_hand.config.data.group else None
            assert [row[column] for column in ("text", "label", "group")] == [text["text"], text["label"], group]
            assert (row["predicted"], row["is_correct"]) == (predicted, predicted == text["label"])
            assert row["margin"] == pytest.approx(np.diff(np.sort(shares))[-1])
            genders = {gender_of(token, by_hand.words) for token in tokens}
            assert (row["has_female"], row["has_male"]) == ("female" in genders, "male" in genders)
            places = {place for direction in by_hand.directions for place in by_hand.case(text, direction).space}
            assert (row["num_words"], row["num_eligible"]) == (len(tokens), len(places))
            assert row["status"] == ("ok" if places else "no_candidate")


@pytest.mark.long
def test_attacks_are_those_of_each_search_on_each_space(run, by_hand):
    for name in by_hand.linear:
        check_attacks(run, by_hand, name)


def check_attacks(run, by_hand, name):
    reader, rows = by_hand.reader(name), {}
    for row in run.rows("attacks", victim=name):
        rows[row["row"], row["direction"], row["search"]] = row
    changes = Counter((row["row"], row["direction"], row["search"]) for row in run.rows("substitutions", victim=name))
    for text in by_hand.attacked:
        for direction in by_hand.directions:
            case = by_hand.case(text, direction)
            outcome = by_hand.outcome(reader, text, case, by_hand.key(text, direction))
            row = rows.pop((text["row"], direction, "ladder"))
            if outcome is None:
                assert (row["status"], row["num_queries"]) == ("no_candidate", None)
                continue
            for column in ("fall", "log10_size", "num_candidates"):
                assert row[column] == pytest.approx(outcome[column])
            _check_attack(row, outcome["attack"], outcome["queries"], text, case, changes)
            for search in by_hand.searches(direction):
                attack, queries = by_hand.beside(reader, text, case, search)
                row = rows.pop((text["row"], direction, search))
                assert (row["fall"], row["log10_size"]) == (None, None)
                _check_attack(row, attack, queries, text, case, changes)
    assert not rows


def _check_attack(row, attack, queries, text, case, changes):
    chosen = zip(case.space.items(), attack.choices, strict=True)
    changed = {place: options[choice - 1] for (place, options), choice in chosen if choice}
    tokens = [changed.get(place, token) for place, token in enumerate(text["text"].split())]
    assert (row["status"], row["num_changes"], row["changed_text"]) == (attack.status, len(changed), " ".join(tokens))
    assert row["is_minimal"] == (attack.status == "flipped_minimal")
    assert [row["probability_before"], row["probability_after"]] == pytest.approx([attack.before, attack.after])
    assert (row["num_queries"], row["num_distinct"]) == (attack.num_queries, queries.num_distinct)
    assert (row["num_candidates"], row["num_unlikely"]) == (sum(case.sizes), case.num_unlikely)
    assert changes[row["row"], row["direction"], row["search"]] == len(changed)


@pytest.mark.long
def test_substitutions_share_the_fall_and_say_what_they_are(run, by_hand):
    kinds = {(row["direction"], row["word"], row["candidate"]): row["kind"] for row in run.rows("candidates")}
    texts = {text["row"]: text for text in by_hand.attacked}
    readers = {name: by_hand.reader(name) for name in by_hand.linear}
    attacks = {(a["row"], a["victim"], a["direction"], a["search"]): a for a in run.rows("attacks")}
    words, made = by_hand.embeddings[0].words, {}
    signs = dict(zip(words, np.sign(vader_scores(words)), strict=True))
    for row in (row for row in run.rows("substitutions") if row["victim"] in readers):
        attack = attacks[row["row"], row["victim"], row["direction"], row["search"]]
        text, word = texts[row["row"]]["text"].split(), row["word"].strip("().,").lower()
        candidate = row["replacement"].strip("().,").lower()
        assert row["word"] == text[row["position"]]
        assert row["replacement"] == attack["changed_text"].split()[row["position"]]
        kind = kinds.get((row["direction"], word, candidate), "definitional")
        if row["direction"] == "masked":
            genders = {by_hand.words.genders.get(one) for one in (word, candidate)}
            kind = "definitional" if genders == {"female", "male"} else "other"
        assert row["kind"] == kind
        assert row["is_known"] == readers[row["victim"]].knows(row["replacement"])
        assert row["is_flip"] == (attack["status"] in FLIPPED)
        assert row["is_flagged"] == (signs.get(word, 0.0) != signs.get(candidate, 0.0))
        made.setdefault((row["row"], row["victim"], row["direction"], row["search"]), []).append(row)
    if len(readers) == 2:
        assert {row["is_flagged"] for rows in made.values() for row in rows} == {True, False}
        assert max(map(len, made.values())) == 14, "more than all of whose subsets are read"
    settings = by_hand.config
    for (number, victim, direction, _), rows in made.items():
        text = texts[number]
        case = by_hand.case(text, direction)
        queries, key = by_hand.queries(readers[victim], text["text"].split(), case), by_hand.key(text, direction)
        places = {row["position"]: row["replacement"] for row in rows}
        choices = [1 + case.space[place].index(places[place]) if place in places else 0 for place in case.space]
        shares = shares_of_fall(queries, np.array(choices), settings.search.shapley_orders, settings.seed, key)
        assert [row["shapley"] for row in rows] == pytest.approx(shares.values[np.array(choices) > 0].tolist())
        assert [row["shapley_error"] for row in rows] == pytest.approx(shares.errors[np.array(choices) > 0].tolist())


def outcomes_of(by_hand, name):
    """What each direction comes to, ``[1 + replicas, texts]``, and its controls, ``[controls, texts]``."""
    reader, texts, made = by_hand.reader(name), by_hand.attacked, {}

    def outcome(text, direction, control=-1, replica=0):
        along = by_hand.case(text, direction, replica)
        case = by_hand.control_case(text["row"], direction, control) if control >= 0 else along
        return by_hand.outcome(reader, text, case, by_hand.key(text, direction, control, replica))

    for direction in by_hand.directions:
        has_controls = direction in by_hand.shifts
        has_vectors = direction.startswith(("pair", "component", "neighbours"))
        replicas = range(len(by_hand.embeddings) if has_vectors else 1)
        along = [[outcome(text, direction, replica=number) for text in texts] for number in replicas]
        controls = range(by_hand.config.controls.number if has_controls else 0)
        beside = [[outcome(text, direction, number) for text in texts] for number in controls]
        made[direction] = _numbers(along, len(texts)), _numbers(beside, len(texts))
    return made


def _numbers(outcomes, num_texts):
    flips = [[one is not None and one["attack"].status in FLIPPED for one in row] for row in outcomes]
    made = {"flips": np.array(flips, dtype=float).reshape(-1, num_texts)}
    for name in ("fall", "num_candidates", "log10_size"):
        values = [[0.0 if one is None else one[name] for one in row] for row in outcomes]
        made[name] = np.array(values).reshape(-1, num_texts)
    return made


@pytest.fixture(scope="session")
def outcomes(by_hand):
    return {name: outcomes_of(by_hand, name) for name in by_hand.linear}


@pytest.mark.long
def test_controls_are_pairs_without_gender_and_what_they_come_to(run, by_hand, outcomes):
    embedding = by_hand.embeddings[0]
    for name, of_each in outcomes.items():
        for direction, (_, beside) in of_each.items():
            rows = run.rows("controls", victim=name, direction=direction)
            assert len(rows) == len(beside["flips"])
            has_words = bool(rows) and direction != "masked" and by_hand.config.controls.kind != "sphere"
            pairs = embedding.control_pairs(direction.partition("_")[0], len(rows)) if has_words else []
            for row, (first, second) in zip(rows if has_words else (), pairs, strict=True):
                assert row["words"] == f"{embedding.words[second]} \u2212 {embedding.words[first]}"
            columns = ("flip_rate", "fall", "num_candidates", "log10_size")
            for column, values in zip(columns, beside.values(), strict=True):
                assert [row[column] for row in rows] == pytest.approx(values.mean(axis=1).tolist())


STRATA = {
    "all": lambda _: True,
    "female": lambda row: row["has_female"],
    "male": lambda row: row["has_male"],
    "neither": lambda row: not (row["has_female"] or row["has_male"]),
}
OTHER = {"female": "male", "male": "female"}


def expected_rows(run, by_hand, outcomes, name):
    """Of the table `summary`, by direction, stratum and search; not adjusted."""
    texts = sorted(run.rows("texts", victim=name), key=lambda row: row["row"])
    for stratum, is_member in STRATA.items():
        kept = np.array([bool(is_member(text)) for text in texts])
        if not kept.any():
            continue
        members = [text for text in texts if is_member(text)]
        groups = [text["group"] for text in members]
        units = units_of(groups, "group") if by_hand.config.data.group else each(len(groups), "text")
        about = document_key(f"gender adversary\n{stratum}")
        [counts] = resampled_counts(np.zeros(units.num, np.int64), by_hand.config.seed, about, 20, units.codes)
        for direction in outcomes:
            along, beside = ({key: value[:, kept] for key, value in part.items()} for part in outcomes[direction])
            kind, _, gender = direction.partition("_to_")
            back = f"{kind}_to_{OTHER.get(gender)}"
            back = back if back in outcomes else None
            ways = [one for one in (direction, back) if one]
            sides = [[part["flips"][:, kept] for part in outcomes[one]] for one in ways]
            row = _rates(along["flips"], beside["flips"], units, counts)
            row |= {"fall": along["fall"][0].mean(), "num_replicas": len(along["flips"]) - 1}
            row |= {"mean_candidates": along["num_candidates"][0].mean()}
            if len(beside["flips"]):
                beyond = excess(row["fall"], beside["fall"].mean(axis=1))
                row |= {"fall_excess": beyond.excess, "fall_p_value": beyond.p_value}
                sizes = along["log10_size"][0].mean(), beside["log10_size"].mean(axis=1)
                sized = sized_excess(row["flip_rate"], sizes[0], beside["flips"].mean(axis=1), sizes[1])
                row |= {"size_slope": sized.slope, "size_excess": sized.excess, "size_p_value": sized.p_value}
                row |= {"mean_control_candidates": beside["num_candidates"].mean()}
            if len(beside["flips"]) and back:
                differences = (sides[0][1] - sides[1][1]).mean(axis=1)
                row |= {"asymmetry_control_p": two_sided((sides[0][0] - sides[1][0])[0].mean(), differences)}
            row |= _of_attacks(run, name, direction, "ladder", members, units, counts)
            if back:
                row |= _asymmetry(*(side[0][0] > 0 for side in sides), units)
            yield (direction, stratum, "ladder"), _with_reason(row)
            for search in by_hand.searches(direction):
                flips = _flipped(run, name, direction, search, members=members)
                row = _rates(flips[None].astype(float), np.zeros((0, len(members))), units, counts)
                row |= _of_attacks(run, name, direction, search, members, units, counts)
                if back:
                    row |= _asymmetry(flips, _flipped(run, name, back, search, members=members), units)
                yield (direction, stratum, search), {"num_replicas": 0} | _with_reason(row)


def _rates(flips, beside, units, counts):
    rates = flip_rates(flips, beside, units, level=0.9)
    drawn = resampled_rates(flips, beside, counts.astype(float))
    row = {"p_value": rates.p_value} | _ends("flip_rate", rates.rate, drawn[0])
    row |= {} if rates.excess is None else _ends("excess", rates.excess, drawn[1])
    lacking = {"flip_rate": rates.rate.too_few, "excess": rates.excess and rates.excess.too_few}
    return row | {"lacking": lacking}


def _with_reason(row):
    """The status and why, of numbers that have no interval or test for want of groups."""
    lacking = row.pop("lacking") | {"asymmetry": row.pop("no asymmetry", None)}
    reasons = [f"{name}: {too_few.reason}" for name, too_few in lacking.items() if too_few]
    return row | {"status": "too_few_units" if reasons else "ok", "reason": "; ".join(reasons)}


def _ends(name, number, draws):
    ends = {name: number.value, f"{name}_low": number.low, f"{name}_high": number.high}
    return ends | ({} if np.isnan(number.low) else {f"{name} draws": draws})


@cache
def _by_search(run, table):
    """The rows of a table by victim, direction and search."""
    made = {}
    for row in run.rows(table):
        made.setdefault((row["victim"], row["direction"], row["search"]), []).append(row)
    return made


def _attacks(run, *about, members):
    rows = {row["row"]: row for row in _by_search(run, "attacks")[about]}
    return [rows.get(text["row"], {"status": "no_candidate"}) for text in members]


def _flipped(*about, members):
    return np.array([row["status"] in FLIPPED for row in _attacks(*about, members=members)])


def _asymmetry(first, second, units):
    found = asymmetry(first, second, units)
    return {"asymmetry": found.difference, "asymmetry_p": found.p_value, "no asymmetry": found.too_few}


def _of_attacks(run, name, direction, search, members, units, counts):
    attacks = _attacks(run, name, direction, search, members=members)
    able = np.array([row["status"] != "no_candidate" for row in attacks])
    flips = np.array([row["status"] in FLIPPED for row in attacks])
    changes = _by_search(run, "substitutions").get((name, direction, search), [])
    flagged = {row["row"] for row in changes if row["is_flagged"]}
    numbers = {text["row"] for text in members}
    row = {"num_texts": len(members), "num_changeable": able.sum()}
    unflagged = [flip and text["row"] not in flagged for flip, text in zip(flips, members, strict=True)]
    row |= {"unflagged_rate": np.mean(unflagged)}
    if able.any():
        drawn = (counts @ flips) / np.maximum(counts @ able, 1)
        row |= _ends("changeable_rate", share(flips[able], units.part(able), level=0.9), drawn)
        row.pop("changeable_rate draws" if not (counts @ able).all() else "", None)
    if search == "ladder":
        num_open = sum(attack["status"] == "not_found" for attack in attacks)
        one = sum(flip and attack["num_changes"] == 1 for flip, attack in zip(flips, attacks, strict=True))
        row |= {"num_unproven": num_open, "one_change_rate": one / len(members)}
        row |= {"flip_rate_most": (flips.sum() + num_open) / len(members)}
        falls = [change for change in changes if change["is_flip"] and change["row"] in numbers]
        for kind in ("definitional", "associated", "other"):
            of_kind = sum(change["shapley"] for change in falls if change["kind"] == kind)
            row[f"{kind}_share"] = of_kind / sum(change["shapley"] for change in falls) if falls else np.nan
    return row


def test_the_summary_is_made_of_texts_attacks_substitutions_and_outcomes(run, by_hand, outcomes):
    draws = {(draw["key"], draw["column"]): draw["values"] for draw in run.rows("draws", table="summary")}
    draws = {key: values for key, values in draws.items() if json.loads(key[0])["victim"] in outcomes}
    tested = {}
    for name in outcomes:
        for key, expected in expected_rows(run, by_hand, outcomes[name], name):
            direction, stratum, search = key
            [row] = [one for one in _by_search(run, "summary")[name, direction, search] if one["stratum"] == stratum]
            assert [row[column] for column in ("status", "reason")] == [expected.pop(c) for c in ("status", "reason")]
            known = {column: value for column, value in expected.items() if not column.endswith(" draws")}
            missing = {column for column in row if row[column] is not None} - known.keys() - KEYS
            assert missing <= {"p_adjusted", "asymmetry_p_adjusted"}
            for column, value in known.items():
                found = np.nan if row[column] is None else row[column]
                assert found == pytest.approx(float(value), abs=1e-9, nan_ok=True), (name, key, column)
            keys = json.dumps({"victim": name, "direction": direction, "stratum": stratum, "search": search})
            for column in ("flip_rate", "excess", "changeable_rate"):
                found = draws.pop((keys, column), None)
                assert (found is None) == (f"{column} draws" not in expected), (key, column)
                assert found is None or found == pytest.approx(expected[f"{column} draws"])
            if stratum == "all":
                tested[name, direction, search] = row
            else:
                assert (row["p_adjusted"], row["asymmetry_p_adjusted"]) == (None, None)
    assert not draws
    if len(by_hand.linear) != len(by_hand.config.victim):
        return  # other victims are of the same family
    for search in ("ladder", "greedy", "swap"):
        rows = [row for (_, _, one), row in tested.items() if one == search]
        _check_holm(rows, "p_value", "p_adjusted")
        to_women = [row for row in rows if row["direction"].endswith("_female")]
        _check_holm(to_women, "asymmetry_p", "asymmetry_p_adjusted")
        for row in rows:
            back = row["direction"].replace("_male", "_female")
            assert row["asymmetry_p_adjusted"] == tested[row["victim"], back, search]["asymmetry_p_adjusted"]


def _check_holm(rows, column, adjusted):
    known = sorted((row for row in rows if row[column] is not None), key=lambda row: row[column])
    least = 0.0
    for place, row in enumerate(known):
        least = max(least, min(1.0, (len(known) - place) * row[column]))
        assert row[adjusted] == pytest.approx(least)
    assert all(row[adjusted] is None for row in rows if row[column] is None)


def test_units_have_as_many_texts_as_give_every_worker_some_and_slurs_are_masked_unless_told_otherwise(run, by_hand):
    num_units = len(by_hand.attacked) if by_hand.config.unit_texts is None else 1
    assert {run.stage(f"attack {name}")["num_done"] for name in by_hand.config.victim} == {num_units}
    html = (run.path / "report.html").read_text()
    assert ("k\u2022\u2022\u2022" in html) == (by_hand.config.report.mask and len(by_hand.linear) == 2)


# --- victims of all kinds -------------------------------------------------------------------------------------------


def test_probabilities_are_those_of_each_victim_on_the_texts_themselves(victims, every_victim, configured):
    """Of those that are as they are, read by their packages, and of one that is trained, trained once more."""
    config, held = configured(*every_victim), Held()
    folder, scored = config.victim["transformer"].model, ClassifierConfig(labels={"LABEL_0": -0.5, "LABEL_1": 0.25})
    model, sources = load_classifier(folder, "cpu", "model"), find_sources(config)
    parts = split_texts(held, read_labelled_data(held, config.data, sources.labelled, 3), 3)
    encoder = train_victims(run_of(held, config, sources.victims), parts)["small_encoder"]
    readers = {
        "vader": lambda texts: class_weights(np.array(vader_scores(texts)), [-0.05, 0.05]),
        "transformer": lambda texts: classify(*model, texts, scored).probabilities,
        "rated": lambda texts: class_weights(score_texts(*model, texts, scored)[0], [0.1]),
        "gru": find_victim("gru", config.victim["gru"], 3).load(None, None, "cpu").read,
        "small_encoder": sources.victims["small_encoder"].load(held, encoder, "cpu").read,
    }
    readers["again"] = readers["transformer"]
    texts = {row["row"]: " ".join(row["text"].split()) for row in victims.rows("texts", victim="vader")}
    assert len(texts) == 6
    for name, read in readers.items():
        shares = dict(zip(texts, np.asarray(read([*texts.values()])), strict=True))
        rows = [row for row in victims.rows("attacks", victim=name) if row["changed_text"]]
        after = np.asarray(read([row["changed_text"] for row in rows]))
        for row, changed in zip(rows, after, strict=True):
            label = shares[row["row"]].argmax()
            found = [row["probability_before"], row["probability_after"]]
            assert found == pytest.approx([shares[row["row"]][label], changed[label]], rel=1e-5), name
        if name == "rated":
            predicted = {row["row"]: row["predicted"] for row in victims.rows("texts", victim=name)}
            assert predicted == {row: "lh"[of_one.argmax()] for row, of_one in shares.items()}
        margins = {row["row"]: row["margin"] for row in victims.rows("texts", victim=name)}
        assert margins == pytest.approx({row: np.diff(np.sort(of_one))[-1] for row, of_one in shares.items()}, rel=1e-4)


# --- runs ------------------------------------------------------------------------------------------------------------


def compared(run_here, before, after, store, where):
    """Rows of the table `differences` of numbers that have draws in both runs: those of too few texts have none."""
    runs = f"runs=[{before.path},{after.path}]"
    rows = run_here("job=compare", runs, f"store={store}", f"run_dir={where}").rows("differences", table="summary")
    return [row for row in rows if row["num_draws"]]


def test_draws_of_a_stratum_are_of_one_scheme_with_replicas_where_candidates_depend_on_them(attacked):
    items = {}
    for draw in attacked.rows("draws"):
        key, scheme = json.loads(draw["key"]), json.loads(draw["scheme"])
        items.setdefault(key["stratum"], set()).add(scheme["items"])
        of_embedding = key["direction"].startswith(("pair", "component", "neighbours")) and key["search"] == "ladder"
        has_replicas = of_embedding and draw["column"] != "changeable_rate"
        assert scheme.get("replicas", {}).get("number") == (2 if has_replicas else None)
    assert {len(schemes) for schemes in items.values()} == {1}
    assert len(set.union(*items.values())) == len(items) == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "paired_by"), [("candidates.top=1", "items"), ("max_texts=20", "unpaired"), ("seed=1", "unpaired")]
)
def test_a_later_run_is_judged_text_by_text_if_its_texts_are_the_same(
    attacked, run_here, adversary, tmp_path, setting, paired_by
):
    store = attacked.path.parent / "store"
    later = run_here(*adversary, setting, f"store={store}", f"run_dir={tmp_path}/later")
    rows = compared(run_here, attacked, later, store, tmp_path / "compared")
    assert {row["column"] for row in rows} == {"flip_rate", "excess", "changeable_rate"}
    assert {row["paired_by"] for row in rows} == {paired_by}
    assert {row["num_draws"] for row in rows} == {20}
    assert any(row["difference"] for row in rows)
    for row in rows:
        assert (row["low"] + row["high"]) / 2 == pytest.approx(row["difference"]), "around it, as of texts"


@pytest.mark.slow
def test_replicas_in_files_have_to_be_the_same_for_what_depends_on_them(
    attacked, run_here, adversary, write_vectors, tmp_path
):
    [path] = [setting for setting in adversary if setting.startswith("embedding.path=")]
    other = write_vectors(tmp_path / "other.bin", *words_and_vectors(0.9))
    store = attacked.path.parent / "store"
    settings = [f"{path.rpartition(',')[0]},{other}]", f"store={store}", f"run_dir={tmp_path}/later"]
    rows = compared(run_here, attacked, run_here(*adversary, *settings), store, tmp_path / "compared")
    pairing = {(*map(json.loads(row["key"]).get, ("direction", "search")), row["paired_by"]) for row in rows}
    assert ("pair_to_male", "ladder", "unpaired") in pairing
    # Counterparts are no matter of the embedding, and the released search takes the original alone.
    assert ("swap_to_male", "ladder", "items") in pairing
    assert {row[2] for row in pairing if row[1] == "greedy"} == {"items"}


@pytest.mark.slow
def test_two_workers_and_odd_units_give_the_same_tables(attacked, run_job, adversary, tmp_path):
    run = run_job(*adversary, "cluster.num_cpus=2", "unit_texts=9", f"store={tmp_path}")
    assert run.stage("attack linear")["num_done"] > 3
    assert run.digests == attacked.digests


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_tables_survive_a_kill(tiltmeter, outcome_of, tmp_path, attacked, adversary, victim):
    survive(tiltmeter, outcome_of, tmp_path, adversary, victim, attacked)


@pytest.mark.slow
def test_replicas_of_an_embedding_that_is_trained_are_searched_too(run_job, labelled, one_corpus, tmp_path):
    sentences = [row["text"] for path in labelled.values() for row in csv.DictReader(path.open())]
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(4 * sentences))
    trained = ["embedding.min_count=1", "embedding.num_replicas=2", "embedding.trainer.dimensions=8"]
    files = [f"data.{'path' if part == 'training' else part}={path}" for part, path in labelled.items()]
    settings = [*files, *one_corpus("en", corpus), "corpus.format=text", *trained, *SMALL]
    settings += ["embedding.trainer.epochs=1", f"store={tmp_path}/store"]
    run = run_job("job=gender_adversary", *settings, f"run_dir={tmp_path}/first")
    assert {row["replica"] for row in run.rows("embeddings")} == {0, 1, 2}
    assert {row["direction"] for row in run.rows("candidates")} >= {"pair_to_female", "pair_to_male"}
    later = run_job("job=gender_adversary", *settings, "candidates.top=1", f"run_dir={tmp_path}/later")
    rows = compared(run_job, run, later, tmp_path / "store", tmp_path / "compared")
    assert {row["paired_by"] for row in rows} == {"items"}
    schemes = [json.loads(draw["scheme"]) for draw in run.rows("draws")]
    [replicas] = {json.dumps(scheme["replicas"]) for scheme in schemes if "replicas" in scheme}
    assert {"number": 2, "unit": "line", "seed": 3}.items() <= json.loads(replicas).items()


@pytest.mark.long
@pytest.mark.parametrize("settings", [["controls.number=39"], ["controls.number=1", "direction.kinds=[swap, names]"]])
def test_as_many_controls_as_a_family_needs_are_enough(configured, settings):
    assert configured("job=gender_adversary", "data.path=a.csv", *settings).controls.number > 0


MISSING = {
    "direction.pair=[nobody, woman]": (InputError, r"direction\.pair: the embedding has no vectors for nobody"),
    "direction.pairs=[[no, body], [man, woman]]": (InputError, r"direction\.pairs: .* for body, no, so there is no"),
    "candidates.min_count=1000": (UnitsFailed, r"candidates\.min_count=1000: no word of the embedding occurs so"),
}


@pytest.mark.parametrize(("setting", "refused"), MISSING.items(), ids=MISSING)
def test_words_that_are_not_there_are_refused(run_here, adversary, tmp_path, setting, refused):
    error, message = refused
    with pytest.raises(error, match=message):
        run_here(*adversary, setting, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    assert json.loads((tmp_path / "run/run.json").read_text())["status"] == "failed"


@pytest.mark.long
def test_a_transformer_with_one_class_is_refused(configured, write_bert, tmp_path):
    folder = write_bert(tmp_path / "bert", ["a"], "BertForSequenceClassification", num_labels=1)
    settings = ["victim=transformer", f"victim.transformer.model={folder}"]
    victims = configured("job=gender_adversary", "data.path=a.csv", *settings).victim
    with pytest.raises(CheckpointError, match=r"victim\.transformer\.model=.*tells no classes apart"):
        find_victim("transformer", victims["transformer"], 0)


def test_vectors_that_neighbours_are_taken_from_are_no_table(configured, adversary, tmp_path):
    path = tmp_path / "fitted.txt"
    path.write_text("man 1 0.5\nwoman 1 x\nfilm 2 0.25\n")
    config = configured(*adversary, f"candidates.neighbour_vectors={path}")
    with collected() as bad:
        lists = find_sources(config).lists.files
    assert lists["neighbour_vectors"].uri == str(path)
    assert set(lists) == {"neighbour_vectors", "antonyms", "parts_of_speech", "synonyms"}
    said = [(row["reason"], row["first"]) for row in bad.rows() if row["file"] == str(path)]
    assert said == [("a field that is no number", "line 2")]
    with pytest.raises(InputError, match=r"candidates\.neighbour_vectors.*missing"):
        find_sources(replace(config, candidates=replace(config.candidates, neighbour_vectors="missing")))


# --- victims one by one ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_layout_changes_no_table_of_any_victim(victims, run_job, every_victim, tmp_path):
    run = run_job(*every_victim, "cluster.num_cpus=2", "unit_texts=5", f"store={tmp_path}")
    assert run.digests == victims.digests


@pytest.mark.long
def test_a_revision_names_the_model_of_the_hub_that_is_read(configured, hub, write_bert):
    for tag, spread in (("main", 0.5), ("second", 1.0)):
        write_bert(hub("bert", tag), ["film"], "BertForSequenceClassification", initializer_range=spread)
    settings = ["victim=transformer", "victim.transformer.model=we/bert"]
    read = []
    for revision in ("null", "second"):
        config = configured(
            "job=gender_adversary", "data.path=a.csv", *settings, f"victim.transformer.revision={revision}"
        )
        reader = find_victim("transformer", config.victim["transformer"], 0).load(None, None, "cpu")
        read.append(reader.read(["film"]))
    for tag, found in zip(("main", "second"), read, strict=True):
        model = load_classifier(str(hub("bert", tag)), "cpu", "model")
        assert found == pytest.approx(classify(*model, ["film"], ClassifierConfig()).probabilities)
    assert np.abs(read[0] - read[1]).max() > 0.01


def test_whatever_decides_what_a_victim_says_is_in_its_identity():
    linear = LinearVictim(kind="linear")
    vader = SentimentVictim(kind="sentiment", system={"kind": "vader"})
    others = replace(linear, linear=LinearConfig(min_count=3)), replace(linear, masked=True)
    others += (named := replace(vader, classes=("low", "middle", "high"))), replace(named, cuts=(-0.3, 0.5))
    others += (replace(vader, system={"kind": "textblob"}),)
    assert len({str(find_victim("mine", victim, 0).settings) for victim in (linear, vader, *others)}) == 7


@pytest.mark.long
def test_an_encoder_learns_by_the_seed(configured, adversary):
    usual = [setting for setting in adversary if not setting.startswith("victim")]
    config = configured(*usual, "victim=small_encoder", "victim.small_encoder.training.max_epochs=1")
    sources, held = find_sources(config), Held()
    texts = split_texts(held, read_labelled_data(held, config.data, sources.labelled, 0), 0)
    seeded = [run_of(held, replace(config, seed=seed), sources.victims) for seed in (0, 1, 0)]
    models = [train_victims(run, texts)["small_encoder"] for run in seeded]
    readers = [sources.victims["small_encoder"].load(held, model, "cpu") for model in models]
    first, second, same = (reader.read(["The film of a man"]) for reader in readers)
    assert first.tolist() == same.tolist() != second.tolist()
    assert readers[0].classes == ("bad", "good", "odd")


@pytest.mark.long
@pytest.mark.parametrize(
    ("label", "message"),
    [(" good ", "all texts that a victim learns are of the class 'good'"), ("", "no text has a class")],
)
def test_a_file_without_two_classes_is_refused_before_anything_is_started(
    configured, adversary, tmp_path, label, message
):
    path = tmp_path / "one.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["text", "label", "author"], *([f"film {at}", label, "a"] for at in range(9))])
    config = configured(*adversary, f"data.path={path}")
    with pytest.raises(InputError, match=rf"data\.label: {message}"):
        find_sources(config)
