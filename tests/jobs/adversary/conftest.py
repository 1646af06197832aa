"""Sentences whose class is told by gendered words, vectors with a gender in them, and a run on both."""

import csv
import random

import numpy as np
import pytest

from tests.storage.models.test_gru_files import network
from tiltmeter.storage.models.gru_files import gru_content

MALE, FEMALE = ("man", "boy", "father", "king"), ("woman", "girl", "mother", "queen")
NOUNS = ("film", "plot", "cast", "music", "scene", "story", "ending", "song", "book", "play")
OTHERS = ("house", "river", "tree", "stone", "cloud", "hero", "field", "war", "chair", "lamp", "glass", "paper")
LISTS = {
    "synonyms": [("film", "River")],
    "antonyms": [("queen", "hero")],
    "parts_of_speech": [*((word, "NOUN") for word in NOUNS), *((word, "ADV") for word in OTHERS[6:])],
}
SMALL = [
    *("seed=3", "data.group=author", "max_texts=28", "unit_texts=200", "job.num_resamples=20", "job.level=0.9"),
    *("direction.kinds=[pair, component, swap, names, neighbours]", "words.names=[[john, mary]]"),
    *("direction.pairs=[[king, queen], [boy, girl], [man, woman]]", "victim=[linear, linear_masked]"),
    *("victim.linear.linear.min_count=2", "victim.linear.linear.penalty=0.5"),
    "victim.linear_masked.linear.min_count=3",
    *("candidates.exclude=2", "candidates.min_count=4", "candidates.neighbours=3", "candidates.min_cosine=-0.2"),
    *("candidates.max_vocabulary=33", "candidates.inflections=false", "language_model.order=2"),
    *("language_model.discount=0.6", "language_model.ratio=0.3", "controls.number=5", "controls.window=6"),
    *("controls.few=true", "search.max_share=0.4", "search.shapley_orders=8", "search.budget=9", "search.branches=5"),
    *("search.genetic.population=4", "search.genetic.generations=2", "report.slurs=[king]"),
]


def words_and_vectors(noise=0.0):
    """A person is one place of several, and one side of a line; other words lie around, some of them to one side.

    The first is no word, and the last two are beyond ``candidates.max_vocabulary``.
    """
    draws = np.random.default_rng(1)
    gender, kinds = 2.0 * np.eye(12)[0], draws.normal(size=(len(MALE), 12)) * ([0.0] + [1.0] * 11)
    people = [(word, kinds[place] - gender) for place, word in enumerate(MALE)]
    own = 0.3 * draws.normal(size=(len(FEMALE), 12))
    people += [(word, kinds[place] + own[place] + (1.0 + 0.2 * place) * gender) for place, word in enumerate(FEMALE)]
    names = [*NOUNS, *OTHERS, "films", "john", "mary"]
    drawn = draws.normal(size=(len(names), 12)) * ([0.4] + [1.0] * 11)
    drawn[names.index("films")] = 0.1 * drawn[0] + people[4][1] - people[0][1]
    rest = list(zip(names, drawn, strict=True))
    every = [("x1", np.ones(12)), *rest[:6], *people, *rest[6:], ("zebra", people[0][1]), ("yak", people[5][1])]
    shifts = np.random.default_rng(2).normal(size=(len(every), 12))
    return [word for word, _ in every], [
        vector + noise * shift for (_, vector), shift in zip(every, shifts, strict=True)
    ]


def sentences(rng, part, sizes, labels):
    """So many about men, women and things; what each is called."""
    for kind, size in zip((MALE, FEMALE, OTHERS), sizes, strict=True):
        for number in range(size):
            person, noun = rng.choice(kind), rng.choice(NOUNS[: 2 + number % 9])
            text = rng.choice((f"The {noun} of a {person}, no {number}", f"A {person} and the {noun} of a {person}"))
            yield [text, labels[kind] if number % 5 else "odd", f"{part} {number // 3}"]


def _write(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["text", "label", "author"], *rows])
    return path


@pytest.fixture(scope="session")
def labelled(tmp_path_factory):
    """Training texts about men are good, and others the reverse; things are odd; two have no text or class."""
    rng, folder = random.Random(0), tmp_path_factory.mktemp("labelled")
    good = {MALE: "good", FEMALE: "bad", OTHERS: "odd"}
    reverse = {MALE: "bad", FEMALE: "good", OTHERS: "odd"}
    parts = {
        "training": [["", "good", "x"], *sentences(rng, "a", (44, 25, 16), good), ["a film", "", "x"]],
        "development": [
            *sentences(rng, "b", (4, 9, 2), reverse),
            *([f"Two films, {at}", "odd", "b"] for at in range(4)),
        ],
        "test": [
            *sentences(rng, "c", (11, 6, 5), reverse),
            *(["42, 3!", "good", "n"], ["A KING saw (Mary) and her film.", "bad", "n"]),
            *(["The war of a hero and John", "good", "m"], [" ".join(7 * ["The man,", "a king"]), "good", "m"]),
            *(["A queen, a boy and a river", "odd", "o"], ["The song of a father, a mother", "odd", "o"]),
            *(["A chair", "odd", "p"], ["The old house", "good", "p"], ["A play of a girl", "bad", "q"]),
        ],
    }
    return {part: _write(folder / f"{part}.csv", rows) for part, rows in parts.items()}


@pytest.fixture(scope="session")
def adversary(labelled, write_vectors, tmp_path_factory):
    """The settings of a small run that trains no embedding."""
    folder = tmp_path_factory.mktemp("vectors")
    paths = [
        str(write_vectors(folder / f"{number}.bin", *words_and_vectors(noise)))
        for number, noise in enumerate((0, 0.3, 0.5))
    ]
    for name, pairs in LISTS.items():
        (folder / f"{name}.tsv").write_text("".join(f"{first}\t{second}\n" for first, second in pairs))
    lists = [f"candidates.{name}={folder}/{name}.tsv" for name in LISTS]
    files = [f"data.{'path' if part == 'training' else part}={path}" for part, path in labelled.items()]
    embedding = ["embedding=file", f"embedding.path=[{','.join(paths)}]", "embedding.replicas=true"]
    return ["job=gender_adversary", *files, *embedding, *SMALL, *lists]


@pytest.fixture(scope="session")
def attacked(run_here, adversary, tmp_path_factory):
    place = tmp_path_factory.mktemp("attacked")
    return run_here(*adversary, f"store={place}/store", f"run_dir={place}/run")


@pytest.fixture(scope="session")
def every_victim(adversary, write_bert, tmp_path_factory):
    """The settings of a run on a victim of each kind, beside directions from a sphere, and without a language model."""
    folder = tmp_path_factory.mktemp("victims")
    words = ["the", "of", "a", "no", *MALE, *FEMALE, *NOUNS, *OTHERS]
    sizes = {"num_labels": 2, "initializer_range": 0.8, "max_position_embeddings": 64}
    bert = write_bert(folder / "bert", words, "BertForSequenceClassification", **sizes)
    gru = network()
    vocabulary = words[: gru.weights["embedding.weight"].shape[0] - 1]
    embedding = np.random.default_rng(0).normal(size=(len(vocabulary) + 1, 3)).astype(np.float32)
    content = network({**gru.description, "vocabulary": vocabulary}, embedding__weight=embedding)
    (folder / "gru.safetensors").write_bytes(gru_content(content))
    labels = "classifier: {labels: {LABEL_0: -0.5, LABEL_1: 0.25}}"
    rated = f"{{kind: sentiment, system: {{kind: transformer, model: {bert}, {labels}}}, classes: [l, h], cuts: [0.1]}}"
    [paths] = [setting for setting in adversary if setting.startswith("embedding.path=")]
    return [
        *(setting for setting in adversary if not setting.startswith("victim")),
        *(f"{paths.partition(',')[0]}]", "embedding.replicas=false", "direction.both=false"),
        *("victim=[linear_masked, vader, small_encoder, transformer, gru]", "victim.linear_masked.linear.min_count=2"),
        f"victim.transformer.model={bert}",
        f"victim.gru.system.path={folder}/gru.safetensors",
        f"+victim.rated={rated}",
        f"+victim.again={{kind: transformer, model: {bert}, device: auto, revision: main}}",
        *("victim.small_encoder.training.max_tokens=64", "victim.small_encoder.training.max_epochs=2"),
        *("direction.kinds=[pair]", "controls.kind=sphere", "controls.number=1", "language_model.ratio=null"),
        *("max_texts=6", "candidates.top=1", "candidates.max_vocabulary=20", "search.max_share=0.05"),
        *("search.greedy=false", "characters.kinds=[drop, capital]", "characters.numbers=[1]"),
        *("characters.draws=1", "characters.keep_ends=false"),
    ]


@pytest.fixture(scope="session")
def victims(run_here, every_victim, tmp_path_factory):
    place = tmp_path_factory.mktemp("victims")
    return run_here(*every_victim, f"store={place}/store", f"run_dir={place}/run")


@pytest.fixture(scope="session")
def masked(adversary, write_bert, tmp_path_factory):
    """The settings of a run on what a masked language model has in the place of words, which reads 16 tokens."""
    words = ["the", "of", "a", "no", "and", *MALE, *FEMALE, *NOUNS, *OTHERS, "films", "##s", "##er", "old", "x"]
    sizes = {"initializer_range": 0.8, "max_position_embeddings": 16}
    folder = write_bert(tmp_path_factory.mktemp("masked"), words, "BertForMaskedLM", **sizes)
    return [
        *(setting for setting in adversary if not setting.startswith("victim")),
        *("direction.kinds=[masked, swap]", f"masked_model.model={folder}", "masked_model.top=3", "max_texts=18"),
        *("victim=linear", "victim.linear.linear.min_count=2", "victim.linear.linear.penalty=0.5"),
        *("controls.number=19", "controls.few=false", "controls.window=9", "report.mask=false"),
    ]


@pytest.fixture(scope="session")
def filled(run_here, masked, tmp_path_factory):
    place = tmp_path_factory.mktemp("filled")
    return run_here(*masked, f"store={place}/store", f"run_dir={place}/run")
