"""Students: one for each teacher and seed, and the words that teachers know."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.influence.config import WordInfluenceRun
from tiltmeter.jobs.classifiers.influence.dividing import part_rows
from tiltmeter.jobs.classifiers.influence.tables import VOCABULARIES
from tiltmeter.jobs.classifiers.influence.teaching import LoadedTeacher, TaughtBy, model_arrays, on_gpu
from tiltmeter.jobs.runtime.rows import OK, failed, table_of
from tiltmeter.operators.classifiers.influence import parts_of_speech
from tiltmeter.operators.classifiers.influence.parts_of_speech import tagged_vocabulary, usual_spellings
from tiltmeter.operators.classifiers.influence.records import Context, StudentConfig
from tiltmeter.operators.classifiers.small import SmallEncoderConfig, Vocabulary, initial_vectors
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

if TYPE_CHECKING:
    from tiltmeter.operators.classifiers.influence.student import Student

_RANDOM = 7
_UNKNOWN = failed("unknown_word", "the teacher has no vector of its own for the word, and would judge any such alike")


def list_words(runner: Runner, teachers: Sequence[TaughtBy], prepared: TableRef) -> dict[str, TableRef]:
    """Tables ``vocabularies`` by teacher."""
    units = {
        taught.name: [
            Unit(
                "influence_vocabulary/2",
                f"words of teacher {taught.name}",
                {**taught.identity, "tagger": parts_of_speech.VERSION},
                {"texts": [prepared], **taught.inputs},
            )
        ]
        for taught in teachers
    }
    by_name = {taught.name: taught for taught in teachers}
    done = runner.run_whole(Stage("list words", each(_Listing(by_name)), units))
    return {name: finished.tables["vocabularies"] for name, [finished] in done.items()}


@dataclass(frozen=True)
class _Listing:
    teachers: Mapping[str, TaughtBy]

    def __call__(self, store: Store, unit: Unit) -> Tables:
        name = unit.config["teacher"]
        teacher = self.teachers[name].load(store).teacher
        rows = part_rows(store, unit.input("texts"), "training")
        words = tagged_vocabulary([row["words"] for row in rows], [row["tags"] for row in rows])
        yield (
            "vocabularies",
            table_of(
                [
                    {"model": name, "part_of_speech": word.tag, "count": word.num}
                    | {"word": word.word, "written": word.written}
                    | (OK if teacher.is_known(word.written) else _UNKNOWN)
                    for word in words
                ],
                VOCABULARIES,
            ),
        )


def known_words(store: Store, ref: TableRef) -> dict[str, list[str]]:
    """Words that the teacher knows, as texts write them, by part of speech, the most frequent first."""
    result: dict[str, list[str]] = {}
    for row in store.read(ref).to_pylist():
        if row["status"] == "ok":
            result.setdefault(row["part_of_speech"], []).append(row["written"])
    return result


def random_words(known: Mapping[str, Sequence[str]], config: Mapping[str, Any]) -> list[str]:
    """Words of a part of speech that are not asked about, drawn for pairs that are to be ranked among."""
    asked = {folded(word) for group in config["words"].values() for word in group}
    common = known.get(config["tag"], [])[: config["max_words"]]
    others = [word for word in common if folded(word) not in asked]
    generator = keyed_generator(config["seed"], Stream.INFLUENCE, _RANDOM)
    return [others[place] for place in generator.permutation(len(others))[: config["num_random"]].tolist()]


def train_students(
    runner: Runner,
    config: WordInfluenceRun,
    teachers: Sequence[TaughtBy],
    prepared: TableRef,
    vocabularies: Mapping[str, TableRef],
) -> dict[str, list[Mapping[str, TableRef]]]:
    """Tables ``weights`` and ``words`` of students by teacher, in the order of their seeds."""
    units = {
        taught.name: [
            Unit(
                "influence_student/2",
                f"student {seed} of teacher {taught.name}",
                {**taught.identity, "student": config.student, "seed": config.seed + seed, **_sizes(config)},
                {"texts": [prepared], "vocabulary": [vocabularies[taught.name]], **taught.inputs},
            )
            for seed in range(config.num_students)
        ]
        for taught in teachers
    }
    by_name = {taught.name: taught for taught in teachers}
    done = runner.run_whole(Stage("train students", each(_Learning(by_name)), units, on_gpu=on_gpu(teachers)))
    return {name: [unit.tables for unit in finished] for name, finished in done.items()}


def _sizes(config: WordInfluenceRun) -> dict[str, Any]:
    encoder = config.models.encoder
    return {"min_count": encoder.min_count, "max_vocabulary": encoder.max_vocabulary, "language": encoder.language}


@dataclass(frozen=True)
class _Learning:
    teachers: Mapping[str, TaughtBy]

    def __call__(self, store: Store, unit: Unit) -> Tables:
        from tiltmeter.operators.classifiers.influence.student_training import draw_lessons, train_student

        config = unit.config
        loaded = self.teachers[config["teacher"]].load(store)
        settings = config["student"] if loaded.vocabulary else replace(config["student"], tune_vectors=True)
        rows = part_rows(store, unit.input("texts"), "training")
        words = known_words(store, unit.input("vocabulary"))
        development = part_rows(store, unit.input("texts"), "development")
        tags = {tuple(row["words"]): row["tags"] for row in (*rows, *development)}

        def replacement(context: Context, share: float) -> str:
            choices = words.get(tags[context.text][context.place]) or [context.word]
            return choices[int(share * len(choices))]

        texts = [row["words"] for row in rows]
        lessons = draw_lessons(texts, replacement, settings, config["seed"], 0)
        vocabulary, vectors = _vocabulary(loaded, store.read(unit.input("texts"))["words"].to_pylist(), config)
        held_out = draw_lessons([row["words"] for row in development], replacement, settings, config["seed"], 1)
        student, _ = train_student(
            loaded.teacher, vocabulary, vectors, lambda _: lessons, settings, config["seed"], held_out
        )
        weights = {name: tensor.numpy() for name, tensor in student.network.state_dict().items()}
        yield "weights", model_arrays(weights)
        yield "words", pa.table({"word": pa.array(vocabulary.words, pa.string())})


def _vocabulary(
    loaded: LoadedTeacher, texts: Sequence[Sequence[str]], config: Mapping[str, Any]
) -> tuple[Vocabulary, np.ndarray[Any, np.dtype[np.float32]]]:
    """The words of a small teacher, or of all texts that a checkpoint is asked about, with the teacher's vectors."""
    if loaded.vocabulary is not None:
        weights = loaded.classifier.network.get_parameter("encoder.embedding.weight")
        return loaded.vocabulary, weights.detach().numpy().copy()
    sizes = SmallEncoderConfig(
        dimensions=config["student"].dimensions,
        min_count=config["min_count"],
        max_vocabulary=config["max_vocabulary"],
        language=config["language"],
    )
    vocabulary = Vocabulary.of([" ".join(text) for text in texts], sizes)
    written = usual_spellings(texts, vocabulary.normalised)
    vectors = loaded.vectors([*written.values()], sizes.dimensions) if loaded.vectors else {}
    of_words = {word: vectors[way] for word, way in written.items() if way in vectors}
    return vocabulary, initial_vectors(vocabulary, sizes, config["seed"], of_words)


def load_student(store: Store, refs: Mapping[str, TableRef], config: StudentConfig, language: str) -> "Student":
    """A trained student, in a worker."""
    import torch

    from tiltmeter.operators.classifiers.influence.student import Student, StudentNetwork

    rows = store.read(refs["weights"]).to_pylist()
    weights = {row["name"]: np.array(row["values"], np.float32).reshape(row["shape"]) for row in rows}
    network = StudentNetwork(weights["embedding.weight"][:-1], len(weights["second.bias"]), config)
    network.load_state_dict({name: torch.from_numpy(weight) for name, weight in weights.items()})
    words = store.read(refs["words"])["word"].to_pylist()
    return Student(network.train(False), Vocabulary(words, SmallEncoderConfig(language=language)))
