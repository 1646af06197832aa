"""Teachers: small classifiers that are trained, or one that was there before."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.influence.config import InfluenceSources, Located, WordInfluenceRun
from tiltmeter.jobs.classifiers.models import described_model, model_table
from tiltmeter.jobs.classifiers.networks import Encoders
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.operators.classifiers.attribution.attribute import transformers_classifier
from tiltmeter.operators.classifiers.attribution.records import TextClassifier
from tiltmeter.operators.classifiers.influence import records
from tiltmeter.operators.classifiers.influence.records import Teacher
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.classifiers.small import PADDING, Vocabulary
from tiltmeter.operators.classifiers.trained import SmallModel, small_classifier, weights_of
from tiltmeter.operators.classifiers.training import Labelled, train
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.text.tokenised import Tokenise, TokenisedText
from tiltmeter.storage.models.checkpoints import find_checkpoint
from tiltmeter.storage.models.load import load_classifier
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

if TYPE_CHECKING:
    from tiltmeter.operators.classifiers.networks import HeadedNetwork

_HEAD = "label"
_MASKED = 5


class LoadedTeacher(NamedTuple):
    """Attributes:
    teacher: its states and last layer.
    classifier: as attributions need it.
    network, vocabulary: of a small one, which is local; None of a checkpoint.
    vectors: what a checkpoint reads words as, in so many dimensions at most; None of a small one, whose network has it.
    """

    teacher: Teacher
    classifier: TextClassifier
    network: "HeadedNetwork | None"
    vocabulary: Vocabulary | None
    vectors: Callable[[Sequence[str], int], Mapping[str, FloatArray]] | None = None


@dataclass(frozen=True)
class TaughtBy:
    """A teacher that units are about.

    Attributes:
        name: of the teacher.
        version: of a checkpoint; empty of one that was trained.
        located: where the checkpoint is.
        on_gpu: whether it judges texts on a GPU.
        trained: the table of a model that a unit has trained.
    """

    name: str
    version: str = ""
    located: Located | None = None
    on_gpu: bool = False
    trained: TableRef | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """For the config of a unit."""
        return {
            "teacher": self.name,
            "version": self.version,
            "on_gpu": self.on_gpu,
            "operator": records.VERSION,
        }

    @property
    def inputs(self) -> dict[str, list[TableRef]]:
        """For the inputs of a unit."""
        return {} if self.trained is None else {"model": [self.trained]}

    def load(self, store: Store) -> LoadedTeacher:
        """In a worker."""
        from tiltmeter.operators.classifiers.influence.teachers import small_teacher, transformers_teacher, word_vectors

        if self.trained is None:
            if self.located is None:
                raise ValueError(f"teacher {self.name} is neither trained nor a checkpoint")
            folder = find_checkpoint(self.located.checkpoint, self.version, self.located.setting).folder
            model, tokenizer = load_classifier(folder, "cuda" if self.on_gpu else "cpu", self.located.setting)
            teacher = transformers_teacher(model, tokenizer)
            vectors = partial(word_vectors, model, tokenizer)
            return LoadedTeacher(teacher, transformers_classifier(model, tokenizer), None, None, vectors)
        described, weights = described_model(self.trained, store)
        if not isinstance(described, SmallModel):
            raise TypeError(f"a teacher that is trained is small, not {type(described).__name__}")
        classifier = small_classifier(described, weights)
        vocabulary = Vocabulary(described.vocabulary, described.config)
        network = cast("HeadedNetwork", classifier.network)
        return LoadedTeacher(small_teacher(network, vocabulary, classifier.classes), classifier, network, vocabulary)


def positive_class(classes: Sequence[str], name: str | None) -> int:
    """The number of the class that contexts are to have.

    Raises:
        ValueError: if the teacher has no such class.
    """
    if name is None:
        return len(classes) - 1
    if name not in classes:
        raise ValueError(
            f"probes.positive={name}: the teacher's classes are {', '.join(classes)}; set it to one of them"
        )
    return classes.index(name)


def on_gpu(teachers: Sequence[TaughtBy]) -> bool:
    """Whether workers that ask them need a GPU."""
    return any(taught.on_gpu for taught in teachers)


def find_teachers(
    runner: Runner, config: WordInfluenceRun, sources: InfluenceSources, prepared: TableRef
) -> list[TaughtBy]:
    """All that the run is about."""
    if located := config.models.located:
        on_gpu = uses_gpus(config.models.device, runner.pool.num_gpus, "models.device")
        return [TaughtBy(name, sources.checkpoints[name], where, on_gpu) for name, where in located.items()]
    encoders = Encoders(config.models.trained, sources.encoder, on_gpu=False)
    settings = {**encoders.identity, "masked": config.models.masked}
    units = {
        str(number): [
            Unit(
                "influence_teacher/1",
                f"teacher {number}",
                {"seed": config.seed + number, **settings},
                _inputs(prepared),
            )
        ]
        for number in range(config.models.number)
    }
    done = runner.run_whole(Stage("train teachers", each(_Training(encoders)), units))
    return [TaughtBy(name, trained=finished.tables["model"]) for name, [finished] in done.items()]


def _inputs(prepared: TableRef) -> dict[str, list[TableRef]]:
    return {"texts": [prepared.select("part", "label", "words")]}


@dataclass(frozen=True)
class _Training:
    encoders: Encoders

    def __call__(self, store: Store, unit: Unit) -> Tables:
        rows = store.read(unit.input("texts")).to_pylist()
        training, development = ([row for row in rows if row["part"] == part] for part in ("training", "development"))
        heads = {_HEAD: Head(tuple(sorted({row["label"] for row in training})))}
        seed = unit.config["seed"]
        made = self.encoders.made([_written(row) for row in training], heads, seed)
        parts = [_labelled(part, made.tokenise, heads[_HEAD]) for part in (training, development)]
        parts[0] = parts[0]._replace(texts=list(_masked(parts[0].texts, unit.config["masked"], seed)))
        history = train(made.network, heads, parts[0], parts[1], self.encoders.models.training, seed)
        yield "model", model_table(made.described(tuple(history)), weights_of(made.network))


def _written(row: Mapping[str, Any]) -> str:
    return " ".join(row["words"])


def _labelled(rows: Sequence[Mapping[str, Any]], read: Tokenise, head: Head) -> Labelled:
    numbers = {label: number for number, label in enumerate(head.classes)}
    labels = np.array([numbers[row["label"]] for row in rows], dtype=np.int64)
    return Labelled(read([_written(row) for row in rows]), {_HEAD: labels})


def _masked(texts: Sequence[TokenisedText], share: float, seed: int) -> Iterator[TokenisedText]:
    """Texts of which some words are not seen, as a text without a word later is not."""
    generator = keyed_generator(seed, Stream.INFLUENCE, _MASKED)
    for text in texts:
        ids = np.array(text.inputs["input_ids"])
        ids[generator.random(ids.size) < share] = PADDING
        yield text._replace(inputs={**text.inputs, "input_ids": ids.tolist()})


def model_arrays(weights: Mapping[str, Any]) -> pa.Table:
    """Weights of a student as a table: their names, shapes and numbers."""
    return pa.table(
        {
            "name": pa.array(list(weights), pa.string()),
            "shape": pa.array([list(weight.shape) for weight in weights.values()], pa.list_(pa.int64())),
            "values": pa.array([weight.ravel().tolist() for weight in weights.values()], pa.list_(pa.float32())),
        }
    )
