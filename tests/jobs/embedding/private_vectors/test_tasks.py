"""What private vectors are still good for: every number of the table again, by the classes, parts and keys of tasks."""

import numpy as np
import pytest

from tests.jobs.embedding.private_vectors.places import NUM_WORDS, SEED, generator, public_map, settings
from tiltmeter.jobs.embedding.private_vectors.sources import find_sources
from tiltmeter.jobs.embedding.private_vectors.utility import task_works
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release.utility import (
    TaskData,
    held_out,
    linear_result,
    mean_vectors,
    occurrences,
    private_means,
    text_hits,
)
from tiltmeter.operators.statistics.intervals import LOGIT
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.operators.text.tokens import Tokenizer

LEVEL, KEPT, RUNS, PENALTIES, FOLDS, LIMIT = 0.8, 10, 3, [0.02, 2.0], 2, 50
SETTINGS = [
    f"seed={SEED}",
    f"job.level={LEVEL}",
    f"dimensions={KEPT}",
    "mechanisms=[M2 exact,gaussian]",
    "epsilons=[20.0]",
    "audit.epsilon=20.0",
    "exact_epsilons=[100.0]",
    "audit.pairs=0",
    "distances.epsilons=[]",
    "deniability.words=0",
    f"utility.runs={RUNS}",
    f"utility.penalties={PENALTIES}",
    f"utility.folds={FOLDS}",
    f"utility.limit={LIMIT}",
    "utility.noise_per=[occurrence,word]",
]


def write(path, rows):
    path.write_text("text,label,review,grade\n" + "".join(f"{','.join(row)}\n" for row in rows))


@pytest.fixture(scope="module")
def texts(words, vectors):
    """Reviews for training and test, three of four good by the sum of their words' first numbers; words that no
    vector has stand in between."""
    rng = np.random.default_rng(4)
    rows = rng.integers(0, NUM_WORDS, (LIMIT + 30, 6))
    values = vectors[rows, -1].sum(axis=1)
    kinds = np.where(values > np.quantile(values, 0.25), "good", "bad")
    return [
        (f"{words[first].upper()} unknown " + " ".join(words[row] for row in more), kind)
        for (first, *more), kind in zip(rows, kinds, strict=True)
    ]


@pytest.fixture(scope="module")
def labelled(words, vectors):
    """Three words of four are of class a; two have no vector."""
    is_a = vectors[:, -1] > np.quantile(vectors[:, -1], 0.25)
    return [("absent", "a"), *((word, "ba"[int(kind)]) for word, kind in zip(words, is_a, strict=True)), ("none", "b")]


@pytest.fixture(scope="module")
def tasks(run_here, folder, texts, labelled):
    """Rows of the table by task, what is put to it, and measure."""
    write(folder / "words.csv", [(*row, "planted0", "good") for row in labelled])
    write(folder / "train.csv", [("planted0", "a", *row) for row in [*texts[:LIMIT], *texts[:9]]])
    write(folder / "test.csv", [("planted0", "b", *row) for row in texts[LIMIT:]])
    write(folder / "thirds.csv", [(word, "abc"[row % 3], "", "") for row, (word, _) in enumerate(labelled)])
    write(folder / "one.csv", [(*row, "", "") for row in labelled if row[1] == "a"])
    write(folder / "nothing.csv", [])
    files = {
        "lexicon": f"path: {folder}/words.csv, kind: words",
        "reviews": f"path: {folder}/train.csv, test: {folder}/test.csv, text: review, label: grade",
        "thirds": f"path: {folder}/thirds.csv, kind: words",
        "one": f"path: {folder}/words.csv, test: {folder}/one.csv, kind: words",
        "nothing": f"path: {folder}/words.csv, test: {folder}/nothing.csv, kind: words",
    }
    asked = [f"+utility.tasks.{name}={{{about}}}" for name, about in files.items()]
    return run_here(*settings(folder, "tasks", *SETTINGS, *asked))


def test_controls_stand_beside_every_mechanism(tasks):
    rows = tasks.rows("utility", task="lexicon", measure="accuracy")
    put = [(row["mechanism"], row["compared_at"], row["noise_per"], row["dimensions"]) for row in rows]
    made = [("M2 exact", kind, KEPT) for kind in ("nominal", "exact")]
    made += [("gaussian", kind, 12) for kind in ("nominal", "exact")]
    made += [("noise_only norm", "nominal", KEPT), ("noise_only gaussian", "nominal", 12)]
    expected = [("non_private", "nominal", "none", 0), ("constant", "nominal", "none", 0)]
    expected += [(name, kind, per, num) for per in ("occurrence", "word") for name, kind, num in made]
    assert put == expected


@pytest.mark.parametrize("task", ["lexicon", "reviews"])
def test_each_number_is_that_of_the_test_part_by_noise_of_its_own(tasks, texts, labelled, words, vectors, task):
    plain, is_text = vectors.astype(np.float64), task == "reviews"
    given = texts if is_text else [row for row in labelled[:LIMIT] if row[0] in words]
    rows = {word: row for row, word in enumerate(words)}
    known = occurrences([text.lower().split() for text, _ in given], rows)
    labels = np.array([kind == max(kinds for _, kinds in given) for _, kinds in given for kind in [kinds]]).astype(int)
    split = np.arange(len(given)) >= LIMIT if is_text else None
    parts = [
        split if is_text else held_out(generator(Stream.PRIVATE_STUDY, f"test part of {task}", number), len(given))
        for number in range(RUNS)
    ]
    scales = {(row["mechanism"], row["compared_at"]): row for row in tasks.rows("mechanisms")}
    table = tasks.rows("utility", task=task)
    assert len(table) == 14 * (1 if is_text else 2) - (0 if is_text else 1), "a constant has no area"
    for row in table:
        name = row["mechanism"]
        about = {key: row[key] for key in ("task", "mechanism", "dimensions", "epsilon", "compared_at", "noise_per")}
        about |= {"exact_epsilon": row["exact_epsilon"]}
        alone = {"noise_only norm": "M2 exact", "noise_only gaussian": "gaussian"}.get(name, name)
        made = scales.get((alone, row["compared_at"]))
        if name.startswith("noise_only") or made is None:
            assert (row["epsilon"], row["exact_epsilon"]) == (None, None)
        else:
            [anchored] = tasks.rows(
                "profiles", mechanism=name, compared_at=row["compared_at"], distance_kind="median", stretch="typical"
            )
            assert row["exact_epsilon"] == pytest.approx(anchored["exact_epsilon"])
        hits, measures = [], []
        for number, part in enumerate(parts):
            noise = generator(Stream.PRIVATE_NOISE, str(sorted(about.items(), key=str)), number)
            if made is None:
                features = mean_vectors(known, plain[known.rows])
            else:
                images = plain @ public_map(made["projection"], plain, KEPT).T * (alone == name)
                by_word = row["noise_per"] == "word"
                features = private_means(noise, known, images, made["law"], made["scale"], by_word=by_word)
            area = None
            if name == "constant":
                hits.append(labels[part] == int(labels[~part].mean() > 0.5))
            elif is_text:
                hits.append(text_hits(features, labels, part, PENALTIES, FOLDS, SEED))
            else:
                result = linear_result(features, labels, part)
                hits.append(result.hits)
                area = result.area
            measures.append({"accuracy": hits[-1].mean(), "area": area}[row["measure"]])
        assert (row["num_test"], row["num_runs"], row["status"]) == (parts[0].sum(), RUNS, "ok")
        assert row["value"] == pytest.approx(np.mean(measures))
        assert row["sd_training"] == pytest.approx(np.std(measures, ddof=1))
        if row["measure"] == "accuracy":
            units = units_of(np.concatenate([np.flatnonzero(part) for part in parts]), "text")
            interval = mean(np.concatenate(hits), units, level=LEVEL, scale=LOGIT, seeds=np.array(measures))
            assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))
        else:
            assert (row["low"], row["high"]) == (None, None)


def test_tasks_that_cannot_be_judged_keep_a_row_that_says_why(tasks):
    """Three classes have no area; a test part may be empty, or have one class."""
    rows = tasks.rows("utility", mechanism="M2 exact", compared_at="exact", noise_per="word")
    by_task = {(row["task"], row["measure"]): row for row in rows}
    for task in ("thirds", "one"):
        assert 0 < by_task[task, "accuracy"]["value"] <= 1
        area = by_task[task, "area"]
        assert (area["status"], area["value"]) == ("undefined", None)
        assert area["reason"] == "two classes, both in the test part, are needed"
    assert by_task["nothing", "accuracy"]["reason"].startswith("the test part has no text")
    assert ("nothing", "area") not in by_task


def test_a_random_part_that_leaves_one_class_to_learn_is_no_task():
    data = TaskData(occurrences([["a"], ["a"], ["a"]], {"a": 0}), np.array([0, 0, 1]), None)
    assert data.unusable(0, [np.array([False, False, True])]).startswith("a random training part has one class alone")
    assert data.unusable(0, [np.array([False, True, False])]) == ""


def test_units_of_tasks_name_the_tokens_that_they_are_made_of(configured, folder, tasks):
    """A text is other words where tokens are made otherwise, or in another language."""
    languages = [
        configured(*settings(folder, "x", f"+utility.tasks.t={{path: {folder}/words.csv}}", *more))
        for more in ([], ["embedding.language=tr"])
    ]
    works = [next(task_works(config, find_sources(config), None, [])) for config in languages]
    tokens = [work.unit().config["tokens"] for work in works]
    assert tokens == [Tokenizer("en").identity, Tokenizer("tr").identity]
