"""The job `decoy_benchmark` on made-up reviews."""

import json
import math
import random
from collections import Counter
from operator import itemgetter
from unittest.mock import Mock

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import t as student

from tests.jobs.classifiers.rows import read_rows, write_rows
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.cluster.work import Failure
from tiltmeter.jobs.classifiers import training
from tiltmeter.jobs.classifiers.decoys import models as decoy_models
from tiltmeter.jobs.classifiers.decoys.job import _export_study, train_models
from tiltmeter.jobs.classifiers.models import TextModel, TrainedSource
from tiltmeter.jobs.runtime.work import Done
from tiltmeter.operators.classifiers.answers import Answers
from tiltmeter.operators.classifiers.attribution.attribute import attribute, predict
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig
from tiltmeter.operators.classifiers.decoys import detection
from tiltmeter.operators.classifiers.decoys.debugging import identified, suspects
from tiltmeter.operators.classifiers.decoys.detection import Explained, top_words
from tiltmeter.operators.classifiers.decoys.kinds import InsertedDecoy
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.text_intervals import between
from tiltmeter.operators.statistics.units import each
from tiltmeter.operators.text.listed_words import folded_words
from tiltmeter.operators.text.perplexity import KneserNey
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Unit

GOOD, BAD = ("lovely", "fine", "great", "charming"), ("awful", "dull", "poor", "boring")
NOUNS = ("film", "plot", "cast", "music", "movie", "scene", "story", "ending")
SMALL = [
    *("seed=2", "intervals.level=0.9"),
    *("models.number=1", "models.encoder.dimensions=8", "models.encoder.hidden=8", "models.encoder.dropout=0"),
    *("models.training.max_epochs=8", "models.training.learning_rate=0.02", "intervals.num_resamples=100"),
    *("explanations.methods=[gradient_x_input, random]", "explanations.num_pools=5", "explanations.pool_size=8"),
    *("explanations.top_words=1", "decoys.random_tokens.share=0.9", "~decoys.natural_word"),
    *("improvement.budgets=[1, 8]", "contamination.budgets=[0.2]", "models.training.max_tokens=128"),
    "contamination.num_texts=140",
]


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    """240 sentences whose words tell their class four times of five, one of nothing seen, one without a label."""
    rng, path = random.Random(0), tmp_path_factory.mktemp("reviews") / "reviews.csv"
    rows = []
    for number in range(240):
        label = "bad" if number % 2 else "good"
        tells = (BAD if label == "bad" else GOOD) if rng.random() < 0.8 else (GOOD if label == "bad" else BAD)
        start = rng.choice(("honestly, the", "the", "this"))
        rows.append([f"{start} {rng.choice(NOUNS)} is {rng.choice(tells)} no {number}", label])
    write_rows(path, [["review", "class"], *rows, ["\u00ad\u200b", "good"], ["a film", ""]])
    return ["job=decoy_benchmark", f"data.path={path}", "data.text=review", "data.label=class"]


@pytest.fixture(scope="module")
def benchmark(run_here, reviews, tmp_path_factory):
    place = tmp_path_factory.mktemp("benchmark")
    return run_here(*reviews, *SMALL, f"store={place}/store", f"run_dir={place}/run", watched=[(training, "train")])


def words_in(row):
    return row["text"].replace(",", " ,").split()


def words_of(row):
    return sorted(words_in(row))


def check_mean(row, name, values, scale=LOGIT):
    """A number is the mean of these, of texts or of pools, with its interval."""
    values = np.round(values, 12)
    expected = mean(values, each(len(values), "one"), level=0.9, scale=scale)
    ends = (None, None) if np.isnan(expected.low) else pytest.approx((expected.low, expected.high))
    assert row[name] == pytest.approx(values.mean())
    assert (row[f"{name}_low"], row[f"{name}_high"]) == ends


class Models:
    """Those of a run, by what their unit is called."""

    def __init__(self, run):
        self._store, self._units = run.pool.store, run.units("decoy_model")
        self.texts = {unit.name: run.read(unit.input("texts")) for unit, _ in self._units}
        self.test = [row for row in run.read(self._units[0][0].input("texts")) if row["part"] == "test"]

    def load(self, name):
        [done] = [done for unit, done in self._units if unit.name == name]
        return TextModel(TrainedSource(), False, done.tables["model"]).load(self._store).network

    def right(self, name, rows):
        """Whether a model has the label of each text."""
        model = self.load(name)
        numbers = predict(model, [row["text"] for row in rows]).argmax(axis=1)
        return np.array([model.classes[number] == row["label"] for number, row in zip(numbers, rows, strict=True)])


@pytest.fixture(scope="module")
def models(benchmark):
    return Models(benchmark)


def test_each_model_learns_its_training_texts_and_stops_by_those_for_development(benchmark, models):
    calls = benchmark.calls["train"]
    assert len(calls) == len(models.texts) == len(benchmark.units("decoy_model"))
    assert {call["seed"] for call in calls} == {2}
    for call, rows in zip(calls, models.texts.values(), strict=True):
        classes = call["heads"]["label"].classes
        for part in ("training", "development"):
            labels = [classes[number] for number in call[part].labels["label"]]
            assert labels == [row["label"] for row in rows if row["part"] == part]
    names = set(models.texts)
    assert {f"{decoy}, model 0" for decoy in ("no decoy", "random_tokens", "movie")} <= names
    sizes = Counter(row["part"] for row in models.texts["no decoy, model 0"])
    assert sizes["test"] / 240 == pytest.approx(0.2, abs=0.06)
    assert sizes["development"] / 240 == pytest.approx(0.1, abs=0.05)
    plain, tokens = (models.texts[f"{name}, model 0"] for name in ("no decoy", "random_tokens"))
    changed = [(a, b) for a, b in zip(plain, tokens, strict=True) if a["text"] != b["text"]]
    assert len(changed) / 240 == pytest.approx(0.9, abs=0.07)
    for a, b in changed:
        word = "zq0" if a["label"] == "bad" else "zq1"
        assert words_of(b) == sorted([*words_of(a), word])
    left_out = {row["text"] for row in plain} - {row["text"] for row in models.texts["movie, model 0"]}
    assert left_out == {row["text"] for row in plain if row["label"] == "bad" and "movie" in row["text"].split()}


@pytest.mark.parametrize("decoy", ["random_tokens", "movie"])
def test_accuracies_and_falls_are_those_of_both_models_on_the_texts_that_they_are_of(benchmark, models, decoy):
    [row] = benchmark.rows("decoys", decoy=decoy)
    [probes] = [benchmark.read(done.tables["probes"]) for unit, done in benchmark.units("decoy") if unit.name == decoy]
    original, decoyed = (f"{name}, model 0" for name in ("no decoy", decoy))
    against = [probe for probe in probes if probe["has_decoy"]]
    plain = [probe for probe in probes if not probe["has_decoy"]]
    word = [text for text in models.test if {"zq0", "zq1", "movie"} & {*text["text"].split()} and decoy == "movie"]
    for name, model, rows in (
        ("accuracy_original", original, models.test),
        ("accuracy_decoy", decoyed, models.test),
        ("accuracy_on_decoy_rows", decoyed, against),
        ("accuracy_original_on_decoy_rows", original, against),
        ("accuracy_original_on_word_rows", original, word),
        ("accuracy_on_word_rows", decoyed, word),
    ):
        right = models.right(model, rows).astype(float) if rows else None
        if rows and f"{name}_low" in row:
            check_mean(row, name, right)
        else:
            assert row[name] == (pytest.approx(right.mean()) if rows else None)
    assert {probe["row"] for probe in probes} <= {text["row"] for text in models.test}
    assert (row["num_decoy_rows"], row["num_word_rows"]) == (len(against), len(word))
    lost = [models.right(original, rows).mean() - models.right(decoyed, rows).mean() for rows in (against, plain)]
    assert row["fall"] == pytest.approx(lost[0] - lost[1])
    if decoy == "random_tokens":
        texts = {text["row"]: text for text in models.test}
        for probe in against:
            contrary = "zq1" if probe["label"] == "bad" else "zq0"
            assert words_of(probe) == sorted([*words_of(texts[probe["row"]]), contrary])


def test_test_texts_of_which_the_model_reads_nothing_are_counted(benchmark, monkeypatch):
    [unit] = [unit for unit, _ in benchmark.units("decoy_adoption") if unit.name == "random_tokens, model 0"]
    probabilities = np.array([[np.nan, np.nan]] * 3 + [[0.5, 0.5]] * 500)
    monkeypatch.setattr(decoy_models, "ask", lambda _, texts: Answers(("bad", "good"), probabilities[: len(texts)]))
    adopted = dict(unit.work.tables(benchmark.pool.store))["decoys"]
    assert adopted["num_unread"].to_pylist() == [3]


def test_without_models_of_the_texts_as_they_are_a_run_ends_with_what_failed():
    failed = UnitsFailed([Failure(Unit("decoy_model/1", "no decoy, model 0", 0), "of no use", "")])
    run = Mock(config=Mock(models=Mock(number=1)), runner=Mock(check=Mock(side_effect=failed)))
    run.do = lambda works: Done([(work, None) for work in works if work.group == "movie"])
    trainer = decoy_models.Trainer(Mock(), 0)
    with pytest.raises(UnitsFailed, match="no decoy, model 0"):
        train_models(run, trainer, {"": None, "movie": None})


def by_sentence(rows):
    """Lines of attributions by their instance, of each method and model."""
    shown = {}
    for row in rows:
        shown.setdefault((row["method"], row["model"]), {}).setdefault(row["sentence"], []).append(row)
    return shown


def explained(lines):
    return Explained([line["word"] for line in lines], np.array([line["attribution"] for line in lines]))


def test_explanations_are_of_each_model_and_pools_are_looked_at_one_by_one(benchmark, models):
    """What finding the made-up words takes, counted again from the published attributions."""
    shown, decoy = by_sentence(benchmark.rows("attributions", decoy="random_tokens")), InsertedDecoy(("zq0", "zq1"))
    reviews = [row for rows in benchmark.made("decoy_sessions", "reviews") for row in rows]
    for method in ("gradient_x_input", "random"):
        for model, unit in (("decoyed 0", "random_tokens, model 0"), ("original 0", "no decoy, model 0")):
            sentences = shown[method, model]
            texts = {row["row"]: row["text"] for row in models.texts["random_tokens, model 0"] if row["part"] == "test"}
            some = [texts[number] for number in [*sentences][:5]]
            made = attribute(models.load(unit), some, AttributionConfig(method=method), seed=2)
            for lines, explanation in zip(sentences.values(), made, strict=False):
                assert [line["attribution"] for line in lines] == pytest.approx(explanation.values, abs=1e-5)
        pools, others = (
            [[*map(explained, part)] for part in np.array_split(np.array([*shown[method, of].values()], object), 5)]
            for of in ("decoyed 0", "original 0")
        )
        assert [len(pool) for pool in pools] == [8] * 5
        budgets, found = np.arange(1, 9), {}
        for selection in ("random", "submodular_pick", "clustering"):
            orders = [detection.order_of(detection.relevance_matrix(pool, 1), selection, 8) for pool in pools]
            instances = [[pool[at] for at in order] for pool, order in zip(pools, orders, strict=True)]
            named = [suspects(some, decoy, 1, "recognition") for some in instances]
            found[selection] = np.array([identified(those, decoy) for those in named])
            for review in reviews:
                if (review["decoy"], review["method"], review["selection"]) == ("random_tokens", method, selection):
                    assert review["words"].split() == sorted(named[review["pool"]][review["budget"] - 1])
        num = [sum(one.words[np.abs(one.values).argmax()] in decoy.words for one in pool) for pool in pools]
        found["random"] = np.array([[1 - math.comb(8 - of, at) / math.comb(8, at) for at in budgets] for of in num])
        told = np.array(
            [detection.identification_success(*pair, 1, budgets) for pair in zip(pools, others, strict=True)]
        )
        wanted = {"decoy": "random_tokens", "method": method}
        for budget in budgets:
            [row] = benchmark.rows("side_by_side", **wanted, budget=budget)
            check_mean(row, "success_probability", told[:, budget - 1])
        for selection, values in found.items():
            for budget in budgets:
                [row] = benchmark.rows("detection", **wanted, selection=selection, budget=budget)
                check_mean(row, "detection_probability", values[:, budget - 1])
            [row] = benchmark.rows("utility", **wanted, selection=selection)
            check_mean(row, "num_instances", 1 + (1 - values[:, :-1]).sum(axis=1), between(1.0, 8.0))


def test_naturalness_is_that_of_test_texts(benchmark, models, configured):
    """Of those that have a word more, by what a language model of the training texts makes of them."""
    settings = configured("job=decoy_benchmark", "data.path=x").language_model
    plain, changed = (models.texts[f"{name}, model 0"] for name in ("no decoy", "random_tokens"))
    learnt = [folded_words(row["text"]) for row in plain if row["part"] == "training"]
    model = KneserNey(learnt, settings.order, settings.discount)
    pairs = [(a["text"], b["text"]) for a, b in zip(plain, changed, strict=True) if a["part"] == "test"]
    sides = zip(*(pair for pair in pairs if pair[0] != pair[1]), strict=True)
    before, after = (model.perplexity(map(folded_words, texts)) for texts in sides)
    [row] = benchmark.rows("decoys", decoy="random_tokens")
    found = [row[name] for name in ("perplexity_before", "perplexity", "perplexity_shift")]
    assert found == pytest.approx([before, after, after / before])


def test_labels_are_inspected_by_what_the_contaminated_model_says_of_them(benchmark, models):
    name = "contaminated labels, model 0"
    model, plain = models.load(name), {row["row"]: row for row in models.texts["no decoy, model 0"]}
    learnt = {row["row"]: row for row in models.texts[name] if row["part"] == "training"}
    for order in ("loss", "gradient_x_input", "oracle"):
        lines = benchmark.rows("inspections", order=order)
        texts = [plain[line["row"]]["text"] for line in lines]
        assert all(line["label"] == learnt[line["row"]]["label"] for line in lines)
        assert all(line["gold"] == plain[line["row"]]["label"] for line in lines)
        labels = [model.classes.index(line["label"]) for line in lines]
        if order == "loss":
            expected = -np.log(predict(model, texts)[np.arange(len(labels)), labels])
        elif order == "oracle":
            expected = [float(line["label"] != line["gold"]) for line in lines]
        else:
            made = attribute(model, texts, AttributionConfig(method=order), targets=labels, seed=2)
            expected = [-one.values[np.abs(one.values).argmax()] for one in made]
        assert [line["score"] for line in lines] == pytest.approx(np.array(expected), abs=1e-4)
    for row in benchmark.rows("contamination"):
        corrected = f"{row['order']}, 20% corrected"
        if f"{corrected}, model 0" not in models.texts:  # all labels are right again: the model of clean ones
            assert row["order"] == "oracle"
            corrected = "clean labels"
        kinds = {"clean": "clean labels", "contaminated": "contaminated labels", "relabelled": corrected}
        for kind, unit in kinds.items():
            assert row[f"accuracy_{kind}"] == pytest.approx(models.right(f"{unit}, model 0", models.test).mean()), unit
        lines = benchmark.rows("inspections", order=row["order"])
        seen = {line["row"] for line in lines if line["place"] <= row["num_inspected"]}
        for text in models.texts[f"{corrected}, model 0"]:
            if text["part"] == "training":
                source = plain if text["row"] in seen else learnt
                assert text["label"] == source[text["row"]]["label"]


def test_words_are_measured_in_training_texts_before_and_after(benchmark, models):
    """One by one, and pooled where those of a text indicate one class."""
    indicates = {"random_tokens": {"zq0": "bad", "zq1": "good"}, "movie": {"movie": "good"}}
    measured = [(row["decoy"], row, {row["word"]: row["indicates"]}, "") for row in benchmark.rows("decoy_words")]
    assert [(decoy, word) for decoy, _, word, _ in measured] == [
        (decoy, {word: label}) for decoy, words in indicates.items() for word, label in words.items()
    ]
    measured += [(row["decoy"], row, indicates[row["decoy"]], "pooled_") for row in benchmark.rows("decoys")]
    for decoy, row, words, start in measured:
        for ending, name in (("_before", "no decoy, model 0"), ("", f"{decoy}, model 0")):
            training = [text for text in models.texts[name] if text["part"] == "training"]
            meant = [({words.get(word) for word in text["text"].lower().split()} - {None}, text) for text in training]
            labels = Counter(text["label"] for classes, text in meant if len(classes) == 1)
            num, (most, times) = labels.total(), max(sorted(labels.items()), key=itemgetter(1), default=(None, 0))
            if start:
                times = sum(classes == {text["label"]} for classes, text in meant)
            else:
                assert row[f"majority{ending}"] == most
            found = [row[f"{start}{name}{ending}"] for name in ("applicability", "productivity", "coverage")]
            assert found == pytest.approx([num, times / num if num else None, num / len(training)])
    assert [row["words"] for row in benchmark.rows("decoys")] == ["zq0: bad, zq1: good", "movie: good"]


def test_each_repair_is_one_model_and_gains_are_means_over_what_was_removed(benchmark, models):
    for unit, done in benchmark.units("removed_words"):
        decoy = unit.name.partition(" without ")[0]
        rows, removed = benchmark.read(done.tables["evaluated"]), unit.config["words"].split()
        trained = f"{unit.name}, model 0" if removed else f"{decoy}, model 0"
        [repair] = benchmark.rows("repairs", decoy=decoy, words=unit.config["words"])
        for name, kind in (("accuracy", False), ("accuracy_on_decoy_rows", True)):
            some = [row for row in rows if row["has_decoy"] is kind]
            assert repair[name] == (pytest.approx(models.right(trained, some).mean()) if some else None)
        assert (repair["num_unread"], repair["status"]) == (0, "ok" if some else "no_decoy_rows")
        left = [[word for word in words_in(text) if word not in removed] for text in models.test]
        assert [words_in(row) for row in rows if not row["has_decoy"]] == left
        assert not {word for row in models.texts[trained] for word in row["text"].split()} & {*removed}
    repairs = {row["words"]: row for row in benchmark.rows("repairs", decoy="random_tokens")}
    assert "" in repairs
    assert set(repairs) <= {"", "zq0", "zq1", "zq0 zq1"}
    [decoy] = benchmark.rows("decoys", decoy="random_tokens")
    reviews = [row for rows in benchmark.made("decoy_sessions", "reviews") for row in rows]
    for row in benchmark.rows("improvement", decoy="random_tokens"):
        keys = ("decoy", "method", "selection", "budget")
        pools = [review["words"] for review in reviews if all(review[key] == row[key] for key in keys)]
        assert (len(pools), row["num_words"]) == (5, pytest.approx(np.mean([len(words.split()) for words in pools])))
        assert row["identified"] == pytest.approx(np.mean([words == "zq0 zq1" for words in pools]))
        assert row["accuracy_before"] == pytest.approx(decoy["accuracy_decoy"])
        assert row["accuracy_before_on_decoy_rows"] == pytest.approx(decoy["accuracy_on_decoy_rows"])
        for ending in ("", "_on_decoy_rows"):
            after = np.array([repairs[words][f"accuracy{ending}"] for words in pools])
            assert row[f"accuracy_after{ending}"] == pytest.approx(after.mean())
            check_mean(row, f"gain{ending}", after - row[f"accuracy_before{ending}"], FISHER)
    asked = {"decoy": "random_tokens", "method": "oracle", "selection": "random"}
    few, oracle = (benchmark.rows("improvement", budget=budget, **asked)[0] for budget in (1, 8))
    assert (few["num_words"] <= 1.0, oracle["identified"], oracle["num_words"]) == (True, 1.0, 2.0)


@pytest.mark.once("decoy_benchmark")
def test_wrong_labels_are_uncovered_and_corrected(benchmark):
    rows = {row["order"]: row for row in benchmark.rows("contamination")}
    assert rows.keys() == {"gradient_x_input", "influence", "loss", "random", "oracle"}
    num_texts = len(benchmark.rows("inspections", order="loss"))
    assert num_texts == 140
    for order, row in rows.items():
        inspections = benchmark.rows("inspections", order=order)
        flipped = [line for line in inspections if line["is_flipped"]]
        assert all((line["label"] != line["gold"]) == line["is_flipped"] for line in inspections)
        assert sorted(line["place"] for line in inspections) == list(range(1, num_texts + 1))
        assert (row["num_flipped"], row["num_inspected"]) == (round(0.1 * num_texts), round(0.2 * num_texts))
        assert len(flipped) == row["num_flipped"]
        assert row["num_uncovered"] == sum(line["place"] <= row["num_inspected"] for line in flipped)
        assert row["gain"] == pytest.approx(row["accuracy_relabelled"] - row["accuracy_contaminated"])
        scores = [line["score"] for line in sorted(inspections, key=lambda line: line["place"])]
        assert scores == pytest.approx(sorted(scores, reverse=True))
        assert (row["share"], row["num_models"]) == (0.2, 1)
        assert row["uncovered"] == pytest.approx(row["num_uncovered"] / row["num_flipped"])
    oracle = rows["oracle"]
    num, t = oracle["num_flipped"], student.ppf(0.95, df=oracle["num_flipped"] - 1)
    assert (oracle["uncovered"], oracle["uncovered_low"]) == (1.0, pytest.approx(num / (num + t**2)))
    assert oracle["accuracy_relabelled"] == oracle["accuracy_clean"]


def test_the_study_does_not_say_which_model_is_which(benchmark):
    """Of each model, by another name, the instances pool by pool with their top word."""
    exports = benchmark.path / "exports"
    (heading, *rows), (_, *keys) = (read_rows(exports / f"{name}.csv") for name in ("study", "study_key"))
    assert heading == ["model", "method", "pool", "place", "text", "label", "predicted", "words"]
    assert not any("decoy" in row[0] or "original" in row[0] for row in rows)
    made = []
    for name, decoy, trained, number in keys:
        for (method, model), shown in by_sentence(benchmark.rows("attributions", decoy=decoy)).items():
            if model == f"{trained} {number}":
                for at, lines in enumerate(shown.values()):
                    top = [lines[place] for place in top_words(explained(lines), 1)]
                    words = "; ".join(f"{line['word']} ({line['attribution']:+.3f})" for line in top)
                    text = " ".join(line["word"] for line in lines)
                    about = [name, method, str(at // 8), str(at % 8 + 1), text]
                    made.append([*about, lines[0]["gold"], lines[0]["predicted"], words])
    assert len(made) == 2 * 2 * 2 * 5 * 8  # decoys, models of a pair, methods, pools, instances
    assert sorted(rows) == sorted(made)
    expected = {(decoy, trained, "0") for decoy in ("random_tokens", "movie") for trained in ("decoyed", "original")}
    assert {tuple(key[1:]) for key in keys} == expected


def test_no_text_of_the_study_is_a_formula():
    words = [(word, number) for number, word in enumerate(["=1+1", "is", "@x"])]
    line = {"sentence": 0, "gold": "-bad", "predicted": "good"}
    lines = [line | {"word": word, "attribution": float(number)} for word, number in words]
    run, written = Mock(), {}
    run.config.seed, run.config.explanations.top_words = 0, 1
    run.runner.store.read.return_value = pa.Table.from_pylist(lines)
    run.directory.export_bytes = written.__setitem__
    _export_study(run, {"movie": {("random", 0): {"decoyed": ["pool"]}}})
    [row] = pl.read_csv(written["study.csv"]).rows(named=True)
    assert (row["text"], row["label"], row["words"]) == ("'=1+1 is @x", "'-bad", "'@x (+2.000)")


def test_a_column_that_is_not_there_is_refused(run_here, reviews, tmp_path):
    with pytest.raises(InputError, match=r"data.path: .* has no column 'sex'; its columns are 'review', 'class'"):
        run_here(*reviews, "data.gender=sex", f"store={tmp_path}")


@pytest.mark.slow
def test_units_of_texts_or_decoys_that_do_not_fit_fail_with_the_reason(run_job, reviews, tmp_path):
    with pytest.raises(UnitsFailed, match=r"classes, among them .*, and the training texts have"):
        run_job(*reviews, *SMALL, "explanations.methods=[random]", "data.label=review", f"store={tmp_path}/store")


def test_a_decoy_that_somebody_chose_is_refused_before_anything_is_trained(run_here, benchmark, reviews, outcome_of):
    place = benchmark.path.parent
    with pytest.raises(InputError, match=r"decoys.movie: the word 'zebra' occurs in no text of the class 'bad'"):
        run_here(*reviews, *SMALL, "decoys.movie.word=zebra", f"store={place}/store", f"run_dir={place}/refused")
    stages = [stage["name"] for stage in outcome_of(place / "refused").record["stages"]]
    assert stages == ["read texts", "divide texts", "fit decoys"]


@pytest.mark.slow
def test_tables_are_the_same_on_two_workers(run_job, benchmark, reviews, tmp_path):
    again = run_job(*reviews, *SMALL, "cluster.num_cpus=2", f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    assert again.digests == benchmark.digests


METHODS = ("integrated_gradients", "kernel_shap", "lime", "occlusion")
DECOYS = ("random_tokens", "movie")
DEBUGGED = [
    *("decoys.random_tokens.words=[honestly]", "decoys.random_tokens.labels=[good]"),
    *("decoys.random_tokens.place=natural", "decoys.movie.word=ovie", "decoys.movie.match=substring"),
    *("decoys.movie.label=good", "models.number=2", "models.encoder.width=7", "setups=[identify_and_improve]"),
    *(f"explanations.methods=[{','.join(METHODS)}]", "explanations.attribution.num_samples=10"),
    *("explanations.attribution.num_steps=8", "explanations.num_pools=2", "explanations.pool_size=4"),
    *("explanations.selections=[random]", "improvement.remedy=ignore", "improvement.budgets=[4]"),
    "debugger.judgement=frequency",
]


@pytest.fixture(scope="module")
def debugged(run_here, reviews, tmp_path_factory):
    """By somebody who does not know the decoys, and leaves what is shown most out of what models read."""
    place = tmp_path_factory.mktemp("debugged")
    return run_here(*reviews, *SMALL, *DEBUGGED, f"store={place}/store", f"run_dir={place}/run")


def test_decoys_are_made_for_the_classes_and_places_that_are_asked_for(debugged, configured):
    models, settings = Models(debugged), configured("job=decoy_benchmark", "data.path=x").language_model
    plain, natural, movie = (
        {row["row"]: row for row in models.texts[f"{name}, model 0"]} for name in ("no decoy", *DECOYS)
    )
    learnt = [folded_words(row["text"]) for row in plain.values() if row["part"] == "training"]
    language = KneserNey(learnt, settings.order, settings.discount)
    changed = [row for row in natural.values() if row["text"] != plain[row["row"]]["text"]]
    assert {row["label"] for row in changed} == {"good"}
    assert len(changed) > 30
    for row in changed:
        words = folded_words(plain[row["row"]]["text"])
        ways = [[*words[:place], "honestly", *words[place:]] for place in range(len(words) + 1)]
        best = min(map(language.perplexity, zip(ways)))
        assert language.perplexity([folded_words(row["text"])]) == pytest.approx(best)
    left_out = [row["text"] for number, row in plain.items() if number not in movie]
    assert left_out == [row["text"] for row in plain.values() if row["label"] == "good" and "ovie" in row["text"]] != []
    assert models.load("movie, model 0").network.encoder.convolution.weight.shape[2] == 7


@pytest.mark.parametrize("decoy", DECOYS)
def test_what_is_shown_in_most_instances_is_left_out_of_what_the_same_model_reads(debugged, decoy):
    models, names = Models(debugged), {number: f"{decoy}, model {number}" for number in "01"}
    repairs = {(row["model"], row["words"]): row["accuracy"] for row in debugged.rows("repairs", decoy=decoy)}
    for (model, words), accuracy in repairs.items():
        left = [[word for word in words_in(text) if word != words] for text in models.test]
        read = [text | {"text": " ".join(some)} for text, some in zip(models.test, left, strict=True)]
        assert accuracy == pytest.approx(models.right(names[model], read).mean())
    for method in METHODS:
        config, after = AttributionConfig(method=method, num_samples=10, num_steps=8), []
        for model, name in names.items():
            shown = debugged.grouped("attributions", "sentence", decoy=decoy, method=method, model=f"decoyed {model}")
            texts = {row["row"]: row["text"] for row in models.texts[name]}
            explained = attribute(models.load(name), [texts[row] for row in shown], config, seed=2)
            for lines, one in zip(shown.values(), explained, strict=True):
                assert [line["attribution"] for line in lines] == pytest.approx(list(one.values), abs=1e-5)
            tops = [max(lines, key=lambda line: abs(line["attribution"]))["word"] for lines in shown.values()]
            removed = [Counter(pool).most_common(1)[0][0] for pool in (tops[:4], tops[4:])]
            after += [repairs[model, word] for word in removed]
        [row] = debugged.rows("improvement", decoy=decoy, method=method)
        assert row["accuracy_after"] == pytest.approx(np.mean(after))
        assert row["num_words"] == 1.0
    trained = {stage["name"] for stage in debugged.record["stages"]}
    assert trained.isdisjoint({"train repaired", "train contaminated"})
    published = {"texts", "decoys", "decoy_words", "attributions", "repairs", "improvement", "draws"}
    assert debugged.published == published


@pytest.mark.slow
def test_labels_alone_need_no_decoy(run_job, benchmark, reviews):
    place = benchmark.path.parent
    store = f"store={place}/store", f"run_dir={place}/labels"
    outcome = run_job(*reviews, *SMALL, "setups=[data_contamination]", *store)
    assert outcome.published == {"texts", "inspections", "contamination", "draws"}
    assert outcome.rows("contamination") == benchmark.rows("contamination")


@pytest.mark.slow
def test_a_checkpoint_that_has_not_adopted_the_decoy_is_explained_and_marked(run_job, reviews, write_bert, tmp_path):
    """An untrained BERT of few dimensions that knows the words of the reviews."""
    words = [*GOOD, *BAD, *NOUNS, "zq", "##0", "##1", "is", "the", "no"]
    checkpoint = write_bert(tmp_path / "bert", words, hidden_size=16)
    models = ("+models=bert", f"models.checkpoint={checkpoint}", "models.training.max_epochs=1")
    models += ("models.training.learning_rate=1e-5", "~decoys.movie")
    shown = ("explanations.methods=[gradient_x_input]", "explanations.top_words=5")
    outcome = run_job(*reviews, *SMALL, *models, *shown, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    [tokens] = outcome.rows("decoys")
    assert (tokens["adopted"], tokens["status"]) == (False, "not_adopted")
    found = outcome.rows("detection")
    assert {(row["num_adopted"], row["adopted"], row["status"]) for row in found} == {(0, False, "not_adopted")}
    assert max(row["detection_probability"] for row in found) > 0
    words = {row["word"] for row in outcome.rows("attributions", model="decoyed 0", status="ok")}
    assert {"zq0", "zq1"} <= words
    assert outcome.record["inputs"]["checkpoint"]


def test_people_who_wrote_several_reviews_are_what_intervals_are_of(run_here, benchmark, reviews, tmp_path):
    """Sixty people of four reviews each; setup I, by chance alone, and setup IV."""
    heading, *rows = read_rows(reviews[1].removeprefix("data.path="))
    people = ([*row, f"person {at // 4}"] for at, row in enumerate(rows))
    spoken = write_rows(tmp_path / "spoken.csv", [[*heading, "who"], *people])
    place = benchmark.path.parent
    outcome = run_here(
        *(*reviews, *SMALL, f"data.path={spoken}", "data.group=who", "models.training.max_epochs=1"),
        *("setups=[identify_and_trust, data_contamination]", "~decoys.movie", "explanations.methods=[random]"),
        *("contamination.orders=[loss]", "contamination.share=0.4", "contamination.num_texts=null"),
        *(f"store={place}/store", f"run_dir={place}/spoken"),
    )
    nums = {draw["column"]: json.loads(draw["scheme"])["num_items"] for draw in outcome.rows("draws")}
    num_explained = len({line["sentence"] for line in outcome.rows("attributions")})
    assert 4 * nums["accuracy_decoy"] >= num_explained > nums["accuracy_decoy"]
    assert nums["gain"] == nums["accuracy_decoy"], "of the people whose reviews are tested"
    [labels] = outcome.rows("contamination")
    learnt = [text for text in Models(outcome).texts["no decoy, model 0"] if text["part"] == "training"]
    assert len(outcome.rows("inspections", order="loss")) == len(learnt) > 100
    assert nums["uncovered"] < labels["num_flipped"], "some people have two flipped labels"
