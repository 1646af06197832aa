"""How many pairs of a context and a word are judged in a second."""

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.word_influence.students import MAX_WORDS
from tiltmeter.operators.classifiers.influence.folded import Folded, margin_labels
from tiltmeter.operators.classifiers.influence.records import StudentConfig, Teacher
from tiltmeter.operators.classifiers.influence.student import StudentNetwork
from tiltmeter.operators.compute.arrays import IntArray


def rate(work: Callable[[], object], num: int, seconds: float = 4.0) -> float:
    """How many a second of the processor, of so many at a time, after a first time that does not count."""
    work()
    start, times = time.process_time(), 0
    while time.process_time() - start < seconds:
        work()
        times += 1
    return num * times / (time.process_time() - start)


class Drawn(NamedTuple):
    """A student and the last layer of a teacher of random numbers, and what these are given."""

    network: StudentNetwork
    teacher: Teacher
    contexts: NDArray[np.float32]
    states: NDArray[np.float32]
    words: NDArray[np.float32]

    @classmethod
    def of(cls, hidden: int, num_contexts: int, num_words: int) -> "Drawn":
        torch.manual_seed(0)
        rng = np.random.default_rng(0)
        network = StudentNetwork(np.zeros((4, 8), np.float32), hidden, StudentConfig(dimensions=8, hidden=hidden))
        numbers = [
            rng.normal(size=(num, hidden)).astype(np.float32) for num in (2, num_contexts, num_contexts, num_words)
        ]
        teacher = Teacher(lambda _: numbers[1], numbers[0], np.zeros(2, np.float32), ("0", "1"), bool)
        return cls(network.train(False), teacher, *numbers[1:])

    def folded(self) -> Callable[[], list[IntArray]]:
        """Decisions by the folded form."""
        folded = Folded(self.network, self.teacher)
        asked = self.contexts, self.states, self.words
        return lambda: [margin_labels(margins) for margins in folded.margins(*asked)]

    def direct(self) -> list[IntArray]:
        """Decisions by equation 3 as it stands, and C of what it gives."""
        tokens, weight = torch.from_numpy(self.words), torch.from_numpy(self.teacher.weight)
        decisions = []
        for context, state in zip(torch.from_numpy(self.contexts), torch.from_numpy(self.states), strict=True):
            with torch.inference_mode():
                logits = (state + self.network.combined(context.expand_as(tokens), tokens)) @ weight.T
            decisions.append(logits.numpy().argmax(axis=1))
        return decisions


def speed(num_words: int = MAX_WORDS) -> None:
    speeds = {}
    for hidden, num in ((64, 100), (768, 4)):
        drawn = Drawn.of(hidden, num, num_words)
        folded = drawn.folded()
        is_same = all(map(np.array_equal, folded(), drawn.direct()))
        speeds[hidden], plain = rate(folded, num * num_words), rate(drawn.direct, num * num_words)
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            both = sum(pool.map(folded_rate, [(hidden, num, num_words)] * 2))
        print(
            f"H = {hidden}: {speeds[hidden]:,.0f} pairs a second and core, of two processes at once {both:,.0f}, "
            f"directly {plain:,.0f} ({speeds[hidden] / plain:.2f} times as many); decisions "
            f"{'identical' if is_same else 'DIFFER'}"
        )
    texts = rate(roberta(), 32)
    print(f"a teacher of RoBERTa base's size: {texts:.1f} texts of 12 tokens a second and core")
    print(f"  a student of H = 768 judges {speeds[768] / texts:,.0f} times as many")


def folded_rate(sizes: tuple[int, int, int]) -> float:
    """Pairs a second of the processor, in a process of its own."""
    torch.set_num_threads(1)
    _, num, num_words = sizes
    return rate(Drawn.of(*sizes).folded(), num * num_words)


def roberta(num_texts: int = 32, num_tokens: int = 12) -> Callable[[], object]:
    from transformers import RobertaConfig, RobertaModel

    torch.manual_seed(0)
    model = RobertaModel(RobertaConfig(vocab_size=50265, max_position_embeddings=514)).train(False)
    ids = torch.randint(5, 50000, (num_texts, num_tokens))

    def judge() -> object:
        with torch.inference_mode():
            return model(input_ids=ids, attention_mask=torch.ones_like(ids))

    return judge
