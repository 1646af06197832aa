"""Teachers and students of SST-2, with the settings of ``job=word_influence``."""

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import torch
import yaml

from benchmarks.command import DATA
from tiltmeter.operators.classifiers.attribution.records import TextClassifier
from tiltmeter.operators.classifiers.influence.parts_of_speech import tagged, tagged_vocabulary
from tiltmeter.operators.classifiers.influence.records import Context, StudentConfig, Teacher
from tiltmeter.operators.classifiers.influence.student import Student, StudentNetwork
from tiltmeter.operators.classifiers.influence.student_training import draw_lessons, train_student
from tiltmeter.operators.classifiers.influence.teachers import small_teacher
from tiltmeter.operators.classifiers.networks import HeadedNetwork, small_network, text_classifier
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.classifiers.small import PADDING, SmallEncoderConfig, Vocabulary, words_of
from tiltmeter.operators.classifiers.training import Labelled, TrainingConfig, train
from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings

SETTINGS = yaml.safe_load((Path(__file__).parents[2] / "conf/job/word_influence.yaml").read_text(encoding="utf-8"))
ENCODER = SmallEncoderConfig(**SETTINGS["models"]["encoder"])
TRAINING = TrainingConfig(**SETTINGS["models"]["training"])
STUDENT = StudentConfig(**SETTINGS["student"])
INTERVALS = KeyedResampleSettings(**SETTINGS["intervals"])
HEADS = {"label": Head(("0", "1"))}


class Texts(NamedTuple):
    """As words, with their parts of speech and classes."""

    words: list[tuple[str, ...]]
    tags: list[tuple[str, ...]]
    labels: IntArray

    @classmethod
    def of(cls, texts: Sequence[str], labels: Sequence[int]) -> "Texts":
        words = [tuple(words_of(text)) for text in texts]
        return cls(words, tagged(words), np.array(labels, dtype=np.int64))


class Trained(NamedTuple):
    """A teacher with what it is made of, and the words that it knows by part of speech."""

    teacher: Teacher
    network: HeadedNetwork
    vocabulary: Vocabulary
    known: dict[str, list[str]]

    @property
    def classifier(self) -> TextClassifier:
        return text_classifier(self.network, self.vocabulary.tokenise, HEADS)


def sst2() -> dict[str, Texts]:
    """Phrases that train, development and test sentences."""
    folder, result = DATA / "sentiment", {}
    for part, name in (("training", "train"), ("development", "dev")):
        table = pl.read_parquet(folder / f"sst2_phrases/{name}.parquet")
        result[part] = Texts.of(table["sentence"].to_list(), table["label"].to_list())
    return result | {"test": sentences("test")}


def sentences(name: str) -> Texts:
    lines = (DATA / f"sentiment/sst2/{name}.tsv").read_text(encoding="utf-8").splitlines()
    texts, labels = zip(*(line.rsplit("\t", 1) for line in lines), strict=True)
    return Texts.of(texts, [int(label) for label in labels])


def kept(path: Path, make: Callable[[], Any]) -> Any:
    """What a file of the folder has, or what is made now and told with its seconds."""
    if not path.exists():
        start = time.process_time()
        made = make()
        path.write_bytes(pickle.dumps((made, time.process_time() - start)))
    made, seconds = pickle.loads(path.read_bytes())
    print(f"{path.stem}: made in {seconds:.0f} s of the processor")
    return made


def teacher_of(training: Texts, development: Texts, path: Path, seed: int = 0) -> Trained:
    vocabulary = Vocabulary.of([" ".join(words) for words in training.words], ENCODER)
    network = small_network(vocabulary, ENCODER, HEADS, seed)

    def weights() -> dict[str, torch.Tensor]:
        labelled = [
            Labelled(vocabulary.tokenise([" ".join(words) for words in part.words]), {"label": part.labels})
            for part in (training, development)
        ]
        masked = labelled[0]._replace(texts=list(_masked(labelled[0].texts, seed)))
        train(network, HEADS, masked, labelled[1], TRAINING, seed)
        return dict(network.state_dict())

    network.load_state_dict(kept(path, weights))
    teacher = small_teacher(network, vocabulary, HEADS["label"].classes)
    known: dict[str, list[str]] = {}
    for word in tagged_vocabulary(training.words, training.tags):
        if teacher.is_known(word.word):
            known.setdefault(word.tag, []).append(word.word)
    return Trained(teacher, network, vocabulary, known)


def _masked(texts: Sequence[Any], seed: int) -> Iterator[Any]:
    generator = np.random.default_rng(seed)
    for text in texts:
        ids = np.array(text.inputs["input_ids"])
        ids[generator.random(ids.size) < SETTINGS["models"]["masked"]] = PADDING
        yield text._replace(inputs={**text.inputs, "input_ids": ids.tolist()})


def student_of(trained: Trained, training: Texts, development: Texts, path: Path, seed: int = 0) -> Student:
    tags = {words: tags for part in (training, development) for words, tags in zip(part.words, part.tags, strict=True)}
    vectors = trained.network.get_parameter("encoder.embedding.weight").detach().numpy().copy()

    def replacement(context: Context, share: float) -> str:
        choices = trained.known.get(tags[context.text][context.place]) or [context.word]
        return choices[int(share * len(choices))]

    def weights() -> dict[str, torch.Tensor]:
        lessons, held_out = (
            draw_lessons(texts.words, replacement, STUDENT, seed, number)
            for number, texts in enumerate((training, development))
        )
        asked = (trained.teacher, trained.vocabulary, vectors, lambda _: lessons, STUDENT, seed, held_out)
        made, _ = train_student(*asked)
        return dict(made.network.state_dict())

    network = StudentNetwork(vectors, trained.teacher.weight.shape[1], STUDENT)
    network.load_state_dict(kept(path, weights))
    return Student(network.train(False), trained.vocabulary)
