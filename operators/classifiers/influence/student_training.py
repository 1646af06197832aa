"""Training a student on what its teacher makes of texts with and without a word (Kumar et al. 2021, section 3.1).

Beside each context's own word, random ones may stand in its place: what the teacher makes of these texts costs as many
passes more, and the student learns what it is asked later. The context itself is processed once for all of them. The
loss is

    mean ||z - z''||^2 / H + w mean_k (m_k . (z - z''))^2,   m_k the unit vector along C_k - C_0,

with w = 0 as published: as decisions depend on the state by C z alone, what is wrong along C counts more by w.

This module imports torch, which takes seconds: import it where it is needed.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tiltmeter.operators.classifiers.influence.calibration import MarginErrors
from tiltmeter.operators.classifiers.influence.records import Context, StudentConfig, Teacher, Words
from tiltmeter.operators.classifiers.influence.student import Student, StudentNetwork, context_inputs
from tiltmeter.operators.classifiers.small import Vocabulary
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator, one_thread, torch_random
from tiltmeter.operators.compute.philox import Stream

_WEIGHTS, _ORDER, _DRAWN = 1, 2, 3

Replacement = Callable[[Context, float], str]
"""A word in the place of a context's, by a number drawn from [0, 1)."""


class Lesson(NamedTuple):
    """What one context teaches.

    Attributes:
        context: with its own word.
        words: its own, and random ones if the student learns from these.
    """

    context: Context
    words: tuple[str, ...]


def draw_lessons(
    texts: Sequence[Words], replacement: Replacement, config: StudentConfig, seed: int, epoch: int
) -> list[Lesson]:
    """Different places of each text, each with its own word and random ones.

    Args:
        texts: each with a word at least.
        replacement: draws a random one.
        config: of the student.
        seed, epoch: what the draw depends on, beside the text's number.
    """
    drawn = keyed_generator(seed, Stream.INFLUENCE, _DRAWN, epoch)
    num_random = config.random_words if config.replacements else 0
    lessons = []
    for text in texts:
        num = min(config.contexts_per_text, len(text))
        for place in drawn.permutation(len(text))[:num].tolist():
            context = Context(text if isinstance(text, tuple) else tuple(text), place)
            others = [replacement(context, share) for share in drawn.random(num_random)]
            lessons.append(Lesson(context, (context.word, *others)))
    return lessons


def train_student(
    teacher: Teacher,
    vocabulary: Vocabulary,
    vectors: NDArray[np.float32],
    lessons: Callable[[int], Sequence[Lesson]],
    config: StudentConfig,
    seed: int,
    held_out: Sequence[Lesson] = (),
) -> tuple[Student, list[float]]:
    """A student, and the mean loss of each epoch.

    Args:
        teacher: to be learnt.
        vocabulary: words that the student has vectors for.
        vectors: ``[numbers, dims]``, these before training.
        lessons: of an epoch, by its number; the same list again is not passed through the teacher again.
        config: of the student.
        seed: of its first weights and the order of lessons.
        held_out: lessons that tell how wrong it is in the end; none: that is left 0.

    Raises:
        ValueError: if training diverges.
    """
    with one_thread(), torch_random(seed, Stream.INFLUENCE, _WEIGHTS):
        network = StudentNetwork(vectors, teacher.weight.shape[1], config)
        student = Student(network, vocabulary)
        losses = _Training(teacher, student, config, seed).run(lessons)
        network.train(False)
        if held_out:
            wrong = margin_errors(teacher, student, held_out, config)
            network.margin_error.fill_(wrong.rms)
            network.error_growth.copy_(torch.tensor(wrong.growth))
    return student, losses


def margin_errors(teacher: Teacher, student: Student, lessons: Sequence[Lesson], config: StudentConfig) -> MarginErrors:
    """Errors of the student's differences of logits, y_k - y_0, with words that are not the text's.

    Args:
        teacher: that is right.
        student: of it.
        lessons: with random words, or, if they have none, their own.
        config: of the student.
    """
    contexts = [lesson.context for lesson in lessons]
    vectors, base = student.contexts(contexts), base_states(teacher, contexts, config)
    errors, moved = [], []
    for column in range(1 if len(lessons[0].words) > 1 else 0, len(lessons[0].words)):
        words = [lesson.words[column] for lesson in lessons]
        truth = teacher.states([context.replaced(word) for context, word in zip(contexts, words, strict=True)])
        logits = teacher.logits(base + student.changes(vectors, student.words(words)))
        errors.append(_differences(logits - teacher.logits(truth)))
        moved.append(_differences(logits - teacher.logits(base)))
    return MarginErrors(np.concatenate(errors), np.concatenate(moved))


def _differences(logits: FloatArray) -> FloatArray:
    return np.asarray((logits[:, 1:] - logits[:, :1]).ravel())


class _Batch(NamedTuple):
    inputs: dict[str, Tensor]
    words: Tensor
    base: Tensor
    targets: Tensor


class _Training:
    def __init__(self, teacher: Teacher, student: Student, config: StudentConfig, seed: int) -> None:
        self._teacher, self._student, self._config, self._seed = teacher, student, config, seed
        student.network.embedding.requires_grad_(config.tune_vectors)
        learnt = [weight for weight in student.network.parameters() if weight.requires_grad]
        self._optimizer = torch.optim.Adam(learnt, lr=config.learning_rate)
        share, num = config.replacements, config.random_words
        margins = torch.from_numpy(teacher.weight[1:] - teacher.weight[:1])
        self._margins = torch.nn.functional.normalize(margins, dim=1).T.contiguous()
        self._weights = torch.tensor([1.0 - share, *[share / num] * num] if share else [1.0])

    def run(self, lessons: Callable[[int], Sequence[Lesson]]) -> list[float]:
        losses, previous, batches = [], None, list[_Batch]()
        for epoch in range(self._config.max_epochs):
            drawn = lessons(epoch)
            if drawn is not previous:
                batches, previous = list(self._batches(drawn)), drawn
            losses.append(self._pass(batches, epoch))
        return losses

    def _pass(self, batches: Sequence[_Batch], epoch: int) -> float:
        self._student.network.train()
        order = keyed_generator(self._seed, Stream.INFLUENCE, _ORDER, epoch).permutation(len(batches))
        total = 0.0
        for step, number in enumerate(order.tolist()):
            done = (epoch + step / len(batches)) / self._config.max_epochs
            for group in self._optimizer.param_groups:
                group["lr"] = self._config.learning_rate * (1.0 - done)
            total += self._step(batches[number])
        if not np.isfinite(total):
            raise ValueError("training the student diverges: set student.learning_rate to a smaller one")
        return total / len(batches)

    def _step(self, batch: _Batch) -> float:
        network = self._student.network
        changes = network.combined(network.contexts(**batch.inputs)[:, None], network.words(batch.words))
        errors = batch.targets - batch.base - changes
        squares = errors.square().mean(dim=(0, 2))
        squares = squares + self._config.margin_weight * (errors @ self._margins).square().mean(dim=(0, 2))
        loss = (squares * self._weights).sum()
        self._optimizer.zero_grad()
        torch.autograd.backward(loss)
        self._optimizer.step()
        return loss.item()

    def _batches(self, lessons: Sequence[Lesson]) -> Iterator[_Batch]:
        """Lessons of about one length, each with what the teacher makes of it."""
        size, teacher = self._config.batch_size, self._teacher
        order = np.argsort([len(lesson.context.text) for lesson in lessons], kind="stable")
        for start in range(0, len(order), size):
            part = [lessons[row] for row in order[start : start + size].tolist()]
            contexts = [lesson.context for lesson in part]
            columns = [
                torch.from_numpy(teacher.states([lesson.context.replaced(lesson.words[column]) for lesson in part]))
                for column in range(len(self._weights))
            ]
            base = torch.from_numpy(self._base(contexts))
            numbers = [[self._student.vocabulary.number(word) for word in lesson.words] for lesson in part]
            inputs = context_inputs(contexts, self._student.vocabulary, self._student.network.mask)
            yield _Batch(inputs, torch.tensor(numbers), base[:, None], torch.stack(columns, dim=1))

    def _base(self, contexts: Sequence[Context]) -> NDArray[np.float32]:
        return base_states(self._teacher, contexts, self._config)


def base_states(teacher: Teacher, contexts: Sequence[Context], config: StudentConfig) -> NDArray[np.float32]:
    """What the student's change is added to: z' of each context, or z by the published convention."""
    is_masked = config.convention == "masked"
    return teacher.states([context.replaced() if is_masked else context.text for context in contexts])
