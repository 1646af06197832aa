"""Training classifiers of texts, unit by unit."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.models import model_table
from tiltmeter.jobs.classifiers.networks import Encoders
from tiltmeter.jobs.classifiers.tables import Split
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.classifiers.trained import weights_of
from tiltmeter.operators.classifiers.training import UNLABELLED, Labelled, Penalty, train
from tiltmeter.operators.text.tokenised import Tokenise, TokenisedText
from tiltmeter.storage.store.ledger import Store, TableRef

_HEAD = "label"

Change = Callable[[Sequence[TokenisedText]], Sequence[TokenisedText]]


class LabelledText(NamedTuple):
    """A text with its class."""

    text: str
    label: str


class Lesson(NamedTuple):
    """Texts that are learnt from, or tell when to stop.

    Attributes:
        texts: as they are.
        labels: of each, by head; None for none.
    """

    texts: Sequence[str]
    labels: Mapping[str, Sequence[str | None]]


def same(texts: Sequence[TokenisedText]) -> Sequence[TokenisedText]:
    """Texts as they are."""
    return texts


def trained_heads(
    encoders: Encoders,
    heads: Mapping[str, Head],
    rounds: Sequence[Lesson],
    development: Lesson,
    seed: int,
    change: Change = same,
    penalty: Callable[[Sequence[str], Sequence[TokenisedText]], Penalty] | None = None,
) -> pa.Table:
    """A classifier of texts, as :func:`.models.model_table` has it.

    Args:
        encoders: what makes its network.
        heads: of the network.
        rounds: what it learns from, one after the other.
        development: what tells when training stops.
        seed: of its first weights, and of the order of the texts.
        change: made of the texts that it learns from.
        penalty: of the texts of a round; None: there is none.

    Raises:
        KeyError: for a label that is no class of its head.
    """
    made = encoders.made([text for lesson in rounds for text in lesson.texts], heads, seed)
    held_out = _labelled(development, made.tokenise, heads)
    history = []
    for lesson in rounds:
        learnt = _labelled(lesson, made.tokenise, heads)
        learnt = learnt._replace(texts=change(learnt.texts))
        penalised = penalty and penalty(lesson.texts, learnt.texts)
        history += train(made.network, heads, learnt, held_out, encoders.models.training, seed, penalised)
    return model_table(made.described(tuple(history)), weights_of(made.network))


def _labelled(lesson: Lesson, read: Tokenise, heads: Mapping[str, Head]) -> Labelled:
    return Labelled(read(lesson.texts), {name: _numbers(lesson.labels[name], head) for name, head in heads.items()})


def _numbers(labels: Sequence[str | None], head: Head) -> NDArray[np.int64]:
    numbers = {None: UNLABELLED} | {label: number for number, label in enumerate(head.classes)}
    return np.array([numbers[label] for label in labels], dtype=np.int64)


def trained(
    encoders: Encoders,
    training: Sequence[LabelledText],
    development: Sequence[LabelledText],
    seed: int,
    change: Change = same,
) -> pa.Table:
    """A classifier of texts with one head, for the classes that it learns from; see :func:`trained_heads`."""
    head = Head(tuple(sorted({label for _, label in training})))
    parts = [
        Lesson([text for text, _ in part], {_HEAD: [label for _, label in part]}) for part in (training, development)
    ]
    return trained_heads(encoders, {_HEAD: head}, parts[:1], parts[1], seed, change)


class TrainTexts(Work):
    """A classifier that learns the training texts of a table, of the schema ``SPLIT``; a job's own says its unit."""

    encoders: Encoders
    texts: TableRef
    seed: int

    def lessons(self, store: Store) -> tuple[Sequence[LabelledText], Sequence[LabelledText]]:
        """What it learns from, and what tells when to stop."""
        return _parts(store, self.texts)

    def tables(self, store: Store) -> Tables:
        """Its model."""
        yield "model", trained(self.encoders, *self.lessons(store), self.seed)


def _parts(store: Store, texts: TableRef) -> tuple[list[LabelledText], list[LabelledText]]:
    rows = Split.read(store, texts)
    training, development = (
        [LabelledText(row.text, row.label) for row in rows if row.part == part] for part in ("training", "development")
    )
    return training, development
