"""Every number that a run publishes, by hand: from its files and its config, and of tables from other tables."""

import json
from collections import Counter

import numpy as np
import pytest

from benchmarks.calibration.adversary import Held, run_of
from tiltmeter.jobs.adversary.config import find_sources
from tiltmeter.jobs.adversary.job import train_victims
from tiltmeter.jobs.adversary.victims import find_victim
from tiltmeter.jobs.classifiers.labelled_data import read_labelled_data
from tiltmeter.jobs.classifiers.splits import split_texts
from tiltmeter.operators.classifiers.adversary.controls import asymmetry, excess, two_sided
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
from tiltmeter.storage.models.load import load_classifier

from .by_hand import BARRED, NOISE_OF_NEIGHBOURS, ByHand
from .conftest import words_and_vectors

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


@pytest.fixture(scope="session", params=["usual", "otherwise", "every victim"])
def case(request):
    """The settings of a run, and the run."""
    if request.param == "every victim":
        return request.getfixturevalue("every_victim"), request.getfixturevalue("victims")
    usual = request.getfixturevalue("adversary")
    if request.param == "usual":
        return usual, request.getfixturevalue("attacked")
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
        if direction.startswith(("swap", "names")):
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


def test_texts_are_as_the_victim_reads_them(run, by_hand):
    for name in by_hand.linear:
        reader = by_hand.reader(name)
        rows = {row["row"]: row for row in run.rows("texts", victim=name)}
        assert [*rows] == [text["row"] for text in by_hand.attacked]
        for text in by_hand.attacked:
            row, tokens = rows[text["row"]], text["text"].split()
            [shares] = reader.open(tokens, [])({})(np.zeros((1, 0), dtype=np.int64))
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
        assert row["kind"] == kinds.get((row["direction"], word, candidate), "definitional")
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
    reader, made = by_hand.reader(name), {}
    for direction in by_hand.directions:
        has_controls = direction.startswith(("pair", "component"))
        replicas = len(by_hand.embeddings) if has_controls or direction == "neighbours" else 1
        along = [
            [
                by_hand.outcome(
                    reader, text, by_hand.case(text, direction, replica), by_hand.key(text, direction, -1, replica)
                )
                for text in by_hand.attacked
            ]
            for replica in range(replicas)
        ]
        beside = [
            [
                by_hand.outcome(
                    reader,
                    text,
                    by_hand.control_case(text["row"], direction, control),
                    by_hand.key(text, direction, control),
                )
                for text in by_hand.attacked
            ]
            for control in range(by_hand.config.controls.number if has_controls else 0)
        ]
        made[direction] = _numbers(along, len(by_hand.attacked)), _numbers(beside, len(by_hand.attacked))
    return made


def _numbers(outcomes, num_texts):
    flips = [[one is not None and one["attack"].status in FLIPPED for one in row] for row in outcomes]
    rest = {
        name: np.array([[0.0 if one is None else one[name] for one in row] for row in outcomes])
        for name in ("fall", "num_candidates", "log10_size")
    }
    made = {"flips": np.array(flips, dtype=float), **rest}
    return made if outcomes else {name: np.zeros((0, num_texts)) for name in made}


@pytest.fixture(scope="session")
def outcomes(by_hand):
    return {name: outcomes_of(by_hand, name) for name in by_hand.linear}


def test_controls_are_pairs_without_gender_and_what_they_come_to(run, by_hand, outcomes):
    embedding = by_hand.embeddings[0]
    for name, of_each in outcomes.items():
        for direction, (_, beside) in of_each.items():
            rows = run.rows("controls", victim=name, direction=direction)
            assert len(rows) == len(beside["flips"])
            has_words = bool(rows) and by_hand.config.controls.kind != "sphere"
            pairs = embedding.control_pairs(direction.partition("_")[0], len(rows)) if has_words else []
            for row, (first, second) in zip(rows if has_words else (), pairs, strict=True):
                assert row["words"] == f"{embedding.words[second]} \u2212 {embedding.words[first]}"
            for column, values in zip(
                ("flip_rate", "fall", "num_candidates", "log10_size"), beside.values(), strict=True
            ):
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
            sides = [
                [side[:, kept] for side in (part["flips"] for part in outcomes[one])]
                for one in (direction, back)
                if one
            ]
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
                flips = _flipped(run, name, direction, search, members)
                row = _rates(flips[None].astype(float), np.zeros((0, len(members))), units, counts)
                row |= _of_attacks(run, name, direction, search, members, units, counts)
                if back:
                    row |= _asymmetry(flips, _flipped(run, name, back, search, members), units)
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


def _attacks(run, name, direction, search, members):
    rows = {row["row"]: row for row in run.rows("attacks", victim=name, direction=direction, search=search)}
    return [rows.get(text["row"], {"status": "no_candidate"}) for text in members]


def _flipped(*about):
    return np.array([row["status"] in FLIPPED for row in _attacks(*about)])


def _asymmetry(first, second, units):
    found = asymmetry(first, second, units)
    return {"asymmetry": found.difference, "asymmetry_p": found.p_value, "no asymmetry": found.too_few}


def _of_attacks(run, name, direction, search, members, units, counts):
    attacks = _attacks(run, name, direction, search, members)
    able = np.array([row["status"] != "no_candidate" for row in attacks])
    flips = np.array([row["status"] in FLIPPED for row in attacks])
    changes = run.rows("substitutions", victim=name, direction=direction, search=search)
    flagged = {row["row"] for row in changes if row["is_flagged"]}
    numbers = {text["row"] for text in members}
    row = {"num_texts": len(members), "num_changeable": able.sum()}
    row |= {
        "unflagged_rate": np.mean(
            [flip and text["row"] not in flagged for flip, text in zip(flips, members, strict=True)]
        )
    }
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
            [row] = run.rows("summary", victim=name, direction=direction, stratum=stratum, search=search)
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
        _check_holm(
            [row for row in rows if row["direction"].endswith("_female")], "asymmetry_p", "asymmetry_p_adjusted"
        )
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
