"""Texts in parts, teachers, the words that they know, and students that learn to follow them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.config import EncoderSources
from tiltmeter.jobs.classifiers.influence.config import Located, WordInfluenceRun
from tiltmeter.jobs.classifiers.influence.tables import Prepared, Words
from tiltmeter.jobs.classifiers.models import described_model
from tiltmeter.jobs.classifiers.networks import Encoders
from tiltmeter.jobs.classifiers.splits import SHARES, check_parts, part_of
from tiltmeter.jobs.classifiers.tables import Tagged
from tiltmeter.jobs.classifiers.training import LabelledText, trained
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Found
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.jobs.runtime.work import Subject, Work
from tiltmeter.operators.classifiers.attribution.attribute import transformers_classifier
from tiltmeter.operators.classifiers.attribution.records import TextClassifier
from tiltmeter.operators.classifiers.influence import nested_texts, parts_of_speech, records
from tiltmeter.operators.classifiers.influence.nested_texts import containment_clusters
from tiltmeter.operators.classifiers.influence.parts_of_speech import (
    brought_tags,
    tagged,
    tagged_vocabulary,
    tags_fault,
    usual_spellings,
)
from tiltmeter.operators.classifiers.influence.records import Context, StudentConfig, Teacher
from tiltmeter.operators.classifiers.small import PADDING, SmallEncoderConfig, Vocabulary, initial_vectors
from tiltmeter.operators.classifiers.trained import SmallModel, small_classifier
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.text.tokenised import TokenisedText, word_spans
from tiltmeter.storage.models.checkpoints import find_checkpoint
from tiltmeter.storage.models.load import load_classifier
from tiltmeter.storage.store.ledger import Store, TableRef

if TYPE_CHECKING:
    from tiltmeter.operators.classifiers.influence.student import Student
    from tiltmeter.operators.classifiers.networks import HeadedNetwork

InfluenceRun = Run[WordInfluenceRun, Found]

_MASKED = 5


# --- texts ----------------------------------------------------------------------------------------------------------


class DivideTexts(Work, unit="influence_texts/3", stage="divide texts", makes=[Prepared, Tagged]):
    """Texts as words with their parts of speech, in parts of which no sentence is in two.

    Attributes:
        max_words: of a text; the rest is left out.
    """

    texts: TableRef
    max_words: int
    seed: int
    shares: Mapping[str, float] = field(default_factory=lambda: SHARES)
    operators: Sequence[str] = (nested_texts.VERSION, parts_of_speech.VERSION)

    def rows(self, store: Store) -> Iterator[Prepared | Tagged]:
        """Those that have a class and a word, and all, with what is wrong with some.

        Raises:
            ValueError: if there are too few, or all are of one class.
        """
        has_tags = "tags" in self.texts.columns
        rows = [_checked(row) if has_tags else row for row in Tagged.read(store, self.texts)]
        given = {row.part for row in rows}
        spans = [word_spans(row.text)[: self.max_words] for row in rows]
        kept = [number for number, row in enumerate(rows) if row.status == "ok" and spans[number]]
        chosen = [rows[number] for number in kept]
        words = [[rows[number].text[start:end] for start, end in spans[number]] for number in kept]
        tags, clusters = _given_tags(chosen, words) if has_tags else tagged(words), _clusters(chosen, words)
        shares = {part: share for part, share in self.shares.items() if part not in given}
        prepared = [
            Prepared(
                row=number,
                part=part_of(row.part, f"{self.seed}\nsentence\n{cluster}", shares),
                label=str(row.label),
                text=row.text[spans[number][0][0] : spans[number][-1][1]],
                words=row_words,
                tags=list(row_tags),
                cluster=kept[cluster],
            )
            for number, row, row_words, row_tags, cluster in zip(kept, chosen, words, tags, clusters, strict=True)
        ]
        check_parts([vars(row) for row in prepared])
        yield from prepared
        yield from rows


def _checked(row: Tagged) -> Tagged:
    """With what is wrong with its parts of speech, if something is."""
    fault = tags_fault(row.text, row.tags or "") if row.status == "ok" else ""
    return row.fail("tags", fault) if fault else row


def _given_tags(rows: Sequence[Tagged], texts: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    given = [brought_tags(row.text, row.tags or "") for row in rows]
    return [tags[: len(words)] for tags, words in zip(given, texts, strict=True)]


def _clusters(rows: Sequence[Tagged], texts: Sequence[Sequence[str]]) -> list[int]:
    """By the group that the file gives, or by which texts are parts of others."""
    if all(row.group is None for row in rows):
        return [int(number) for number in containment_clusters(texts)]
    names = [row.group or f"\n{number}" for number, row in enumerate(rows)]
    first: dict[str, int] = {}
    return [first.setdefault(name, number) for number, name in enumerate(names)]


def texts_of(store: Store, prepared: TableRef, part: str) -> list[Prepared]:
    """The texts of a part."""
    return [row for row in Prepared.read(store, prepared) if row.part == part]


# --- teachers -------------------------------------------------------------------------------------------------------


class LoadedTeacher(NamedTuple):
    """Attributes:
    teacher: its states and last layer.
    classifier: as attributions need it.
    network, vocabulary: of a small one, which is local; None of a checkpoint.
    vectors: what a checkpoint reads words as, in so many dimensions at most; None of a small one, whose network has it.
    """

    teacher: Teacher
    classifier: TextClassifier
    network: "HeadedNetwork | None" = None
    vocabulary: Vocabulary | None = None
    vectors: Callable[[Sequence[str], int], Mapping[str, FloatArray]] | None = None


@dataclass(frozen=True)
class TeacherModel(Subject):
    """A teacher: a checkpoint, or one that a unit has trained.

    Attributes:
        version: of a checkpoint; empty of one that was trained.
        located: where the checkpoint is.
        trained: the table of a model that a unit has trained.
    """

    name: str
    version: str = ""
    located: Located | None = None
    on_gpu: bool = False
    trained: TableRef | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """Settings of every unit that is about it."""
        return {"teacher": self.name, "version": self.version, "on_gpu": self.on_gpu, "operator": records.VERSION}

    @property
    def inputs(self) -> dict[str, list[TableRef]]:
        """Of a trained one, its model."""
        return {} if self.trained is None else {"model": [self.trained]}

    def load(self, store: Store) -> LoadedTeacher:
        """In a worker."""
        from tiltmeter.operators.classifiers.influence.teachers import small_teacher, transformers_teacher, word_vectors

        if self.trained is None:
            if self.located is None:
                raise ValueError(f"teacher {self.name} is neither trained nor a checkpoint")
            folder = find_checkpoint(self.located.checkpoint, self.version, self.located.setting).folder
            model, tokenizer = load_classifier(folder, "cuda" if self.on_gpu else "cpu", self.located.setting)
            teacher, vectors = transformers_teacher(model, tokenizer), partial(word_vectors, model, tokenizer)
            return LoadedTeacher(teacher, transformers_classifier(model, tokenizer), vectors=vectors)
        described, weights = described_model(self.trained, store)
        if not isinstance(described, SmallModel):
            raise TypeError(f"a teacher that is trained is small, not {type(described).__name__}")
        classifier, words = small_classifier(described, weights), Vocabulary(described.vocabulary, described.config)
        network = cast("HeadedNetwork", classifier.network)
        return LoadedTeacher(small_teacher(network, words, classifier.classes), classifier, network, words)


class TrainTeacher(Work, unit="influence_teacher/1", stage="train teachers"):
    """A small classifier that sees some texts without some words, as a text without a word later is nothing new."""

    texts: TableRef
    encoders: Encoders
    masked: float
    seed: int

    def tables(self, store: Store) -> Tables:
        """Its model."""
        training, development = (
            [LabelledText(" ".join(row.words), row.label) for row in texts_of(store, self.texts, part)]
            for part in ("training", "development")
        )
        yield "model", trained(self.encoders, training, development, self.seed, self._masked)

    def _masked(self, texts: Sequence[TokenisedText]) -> list[TokenisedText]:
        generator, result = keyed_generator(self.seed, Stream.INFLUENCE, _MASKED), []
        for text in texts:
            ids = np.array(text.inputs["input_ids"])
            ids[generator.random(ids.size) < self.masked] = PADDING
            result.append(text._replace(inputs={**text.inputs, "input_ids": ids.tolist()}))
        return result


def find_teachers(run: InfluenceRun, prepared: TableRef) -> list[TeacherModel]:
    """All that the run is about."""
    models = run.config.models
    if located := models.located:
        on_gpu = uses_gpus(models.device, run.runner.pool.num_gpus, "models.device")
        return [TeacherModel(name, run.sources.versions[name], where, on_gpu) for name, where in located.items()]
    texts = prepared.select("part", "label", "words")
    encoders = Encoders(models.trained, EncoderSources(None, None), on_gpu=False)
    done = run.do(
        TrainTeacher(
            label=f"teacher {number}",
            group=str(number),
            texts=texts,
            encoders=encoders,
            masked=models.masked,
            seed=run.config.seed + number,
        )
        for number in range(models.number)
    )
    return [TeacherModel(work.group, trained=unit.tables["model"]) for work, unit in done.pairs]


class ListWords(Work, unit="influence_vocabulary/2", stage="list words", makes=[Words]):
    """The words of training texts, and whether a teacher knows them."""

    teacher: TeacherModel
    texts: TableRef
    tagger: str = parts_of_speech.VERSION

    def rows(self, store: Store) -> Iterator[Words]:
        """A row for each word as each part of speech, the most frequent first."""
        teacher, texts = self.teacher.load(store).teacher, texts_of(store, self.texts, "training")
        for word in tagged_vocabulary([row.spaced for row in texts], [row.tags for row in texts]):
            row = Words(model=self.teacher.name, part_of_speech=word.tag, word=word.word)
            row.written, row.count = word.written, word.num
            if not teacher.is_known(word.written):
                reason = "the teacher has no vector of its own for the word, and would judge any such alike"
                row.fail("unknown_word", reason)
            yield row


def known_words(store: Store, vocabulary: TableRef) -> dict[str, list[str]]:
    """Words that the teacher knows, as texts write them, by part of speech, the most frequent first."""
    result: dict[str, list[str]] = {}
    for row in Words.read(store, vocabulary):
        if row.status == "ok":
            result.setdefault(row.part_of_speech, []).append(row.written)
    return result


# --- students -------------------------------------------------------------------------------------------------------


class LoadedStudent(NamedTuple):
    """Attributes:
    taught: its teacher.
    student: itself.
    config: as it was trained.
    """

    taught: LoadedTeacher
    student: "Student"
    config: StudentConfig

    @property
    def teacher(self) -> Teacher:
        """Its teacher's states and last layer."""
        return self.taught.teacher

    def own_changes(self, contexts: Sequence[Context]) -> NDArray[np.float32]:
        """What the student says that each context's own word adds, ``[contexts, size]``."""
        words = self.student.words([context.word for context in contexts])
        return self.student.changes(self.student.contexts(contexts), words)


@dataclass(frozen=True)
class StudentModel(Subject):
    """A student that a unit has trained, and its teacher.

    Attributes:
        number: among the students of the teacher, from 0.
        refs: its tables ``weights`` and ``words``.
        on_gpu: where the teacher is.
    """

    teacher: TeacherModel
    number: int
    refs: Mapping[str, TableRef]
    config: StudentConfig
    language: str
    on_gpu: bool = False

    @property
    def identity(self) -> dict[str, Any]:
        """Settings of every unit that is about both."""
        return self.teacher.identity | {"student": self.config, "language": self.language}

    @property
    def inputs(self) -> dict[str, list[TableRef]]:
        """Tables of both."""
        return self.teacher.inputs | {f"student_{name}": [self.refs[name]] for name in ("weights", "words")}

    def load(self, store: Store) -> LoadedStudent:
        """In a worker."""
        import torch

        from tiltmeter.operators.classifiers.influence.student import Student, StudentNetwork

        rows = store.read(self.refs["weights"]).to_pylist()
        weights = {row["name"]: np.array(row["values"], np.float32).reshape(row["shape"]) for row in rows}
        network = StudentNetwork(weights["embedding.weight"][:-1], len(weights["second.bias"]), self.config)
        network.load_state_dict({name: torch.from_numpy(weight) for name, weight in weights.items()})
        words = store.read(self.refs["words"])["word"].to_pylist()
        student = Student(network.train(False), Vocabulary(words, SmallEncoderConfig(language=self.language)))
        return LoadedStudent(self.teacher.load(store), student, self.config)


class TrainStudent(Work, unit="influence_student/2", stage="train students"):
    """A student that learns what a teacher makes of training texts with other words in a place, or none."""

    teacher: TeacherModel
    texts: TableRef
    vocabulary: TableRef
    student: StudentConfig
    seed: int
    min_count: int
    max_vocabulary: int
    language: str

    def tables(self, store: Store) -> Tables:
        """Its weights, with their names and shapes, and its words."""
        from tiltmeter.operators.classifiers.influence.student_training import draw_lessons, train_student

        loaded, known = self.teacher.load(store), known_words(store, self.vocabulary)
        settings = self.student if loaded.vocabulary else replace(self.student, tune_vectors=True)
        rows = Prepared.read(store, self.texts)
        training, development = ([row for row in rows if row.part == part] for part in ("training", "development"))
        tags = {tuple(row.words): row.tags for row in (*training, *development)}

        def replacement(context: Context, share: float) -> str:
            choices = known.get(tags[context.text][context.place]) or [context.word]
            return choices[int(share * len(choices))]

        lessons, held_out = (
            draw_lessons([row.spaced for row in part], replacement, settings, self.seed, number)
            for number, part in enumerate((training, development))
        )
        vocabulary, vectors = self.first_vectors(loaded, [row.words for row in rows])
        student, _ = train_student(
            loaded.teacher, vocabulary, vectors, lambda _: lessons, settings, self.seed, held_out
        )
        yield "weights", _weights({name: tensor.numpy() for name, tensor in student.network.state_dict().items()})
        yield "words", pa.table({"word": pa.array(vocabulary.words, pa.string())})

    def first_vectors(
        self, loaded: LoadedTeacher, texts: Sequence[Sequence[str]]
    ) -> tuple[Vocabulary, NDArray[np.float32]]:
        """The words of a small teacher, or of all texts that a checkpoint is asked about, with its vectors."""
        if loaded.vocabulary is not None:
            weights = loaded.classifier.network.get_parameter("encoder.embedding.weight")
            return loaded.vocabulary, weights.detach().numpy().copy()
        sizes = SmallEncoderConfig(
            dimensions=self.student.dimensions,
            min_count=self.min_count,
            max_vocabulary=self.max_vocabulary,
            language=self.language,
        )
        vocabulary = Vocabulary.of([" ".join(text) for text in texts], sizes)
        written = usual_spellings(texts, vocabulary.normalised)
        vectors = loaded.vectors([*written.values()], sizes.dimensions) if loaded.vectors else {}
        of_words = {word: vectors[way] for word, way in written.items() if way in vectors}
        return vocabulary, initial_vectors(vocabulary, sizes, self.seed, of_words)


def _weights(weights: Mapping[str, NDArray[np.floating]]) -> pa.Table:
    return pa.table(
        {
            "name": pa.array(list(weights), pa.string()),
            "shape": pa.array([list(weight.shape) for weight in weights.values()], pa.list_(pa.int64())),
            "values": pa.array([weight.ravel().tolist() for weight in weights.values()], pa.list_(pa.float32())),
        }
    )


def train_students(
    run: InfluenceRun, teachers: Sequence[TeacherModel], prepared: TableRef, words: Mapping[str, TableRef]
) -> list[StudentModel]:
    """Students of each teacher whose words are known, in the order of their seeds."""
    config, encoder = run.config, run.config.models.encoder
    done = run.do(
        TrainStudent(
            label=f"student {seed} of teacher {teacher.name}",
            group=teacher.name,
            teacher=teacher,
            texts=prepared,
            vocabulary=words[teacher.name],
            student=config.student,
            seed=config.seed + seed,
            min_count=encoder.min_count,
            max_vocabulary=encoder.max_vocabulary,
            language=encoder.language,
        )
        for teacher in teachers
        if teacher.name in words
        for seed in range(config.num_students)
    )
    return [
        StudentModel(work.teacher, number, unit.tables, config.student, encoder.language, work.on_gpu)
        for group in done.groups.values()
        for number, (work, unit) in enumerate(group.pairs)
    ]
