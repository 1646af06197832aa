"""`word_influence`: probes, students, masked words and ratios, of teachers that judged all or a sample.

Flags, contexts and texts as the last stages read them are made up, with teachers and students who answer by table.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.calibration.registry import Claim, Experiment, Held, Outcome, holds
from tiltmeter.jobs.classifiers.influence.config import Masking
from tiltmeter.jobs.classifiers.influence.probes import SumUpProbes
from tiltmeter.jobs.classifiers.influence.questions import (
    METHODS,
    Checks,
    EvaluateStudent,
    Judged,
    MaskWords,
    Replacements,
    ReplaceWords,
)
from tiltmeter.jobs.classifiers.influence.students import LoadedStudent, LoadedTeacher
from tiltmeter.jobs.classifiers.influence.tables import Flags, Masked, Prepared, UnlikeRatios
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.operators.classifiers.influence.calibration import confidence_bins
from tiltmeter.operators.classifiers.influence.records import MASK, Context, Words
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings

JOB = "word_influence"
INTERVALS = KeyedResampleSettings(num_resamples=20)
CLASSES = ("negative", "positive")
PAIR = ("lovely", "red")
NUM_RANDOM = 60

Labels = Callable[[Sequence[Words]], NDArray[np.int64]]


class Contexts(NamedTuple):
    """Made-up contexts: the sentence of each, and the words that are positive there, to teacher and student."""

    codes: NDArray[np.int64]
    teacher: Mapping[str, NDArray[np.bool_]]
    student: Mapping[str, NDArray[np.bool_]]
    rng: np.random.Generator


def _sentences(rng: np.random.Generator, num_contexts: int, mean_size: float, spread: float = 0.0) -> Any:
    """Sentences of as many contexts as it takes, some much longer than others if they spread."""
    sizes = 1 + rng.poisson((mean_size - 1) * rng.lognormal(-(spread**2) / 2, spread, num_contexts))
    return np.repeat(np.arange(num_contexts), sizes)[:num_contexts]


def interchanged(
    repetition: int,
    num_contexts: int,
    *,
    side: float = 0.5,
    differing: float = 0.3,
    size: float = 3.0,
    spread: float = 0.0,
) -> Contexts:
    """A coin per sentence says which of two words is the positive one, where they differ; a student sees 80 % of it."""
    rng = np.random.default_rng([repetition, num_contexts, 5])
    codes = _sentences(rng, num_contexts, size, spread)

    def drawn() -> NDArray[np.int64]:
        sides = np.where(rng.random(int(codes.max()) + 1) < side, 1, -1)
        return sides[codes] * (rng.random(num_contexts) < differing)

    truth = drawn()
    said = np.where(rng.random(num_contexts) < 0.8, truth, drawn())
    return Contexts(codes, *({PAIR[0]: of >= 0, PAIR[1]: of <= 0} for of in (truth, said)), rng)


def among_random(repetition: int, num_contexts: int, offset: float) -> Contexts:
    """Words that each move all contexts by a number of their own: any two differ, and these no more if offset is 0."""
    rng = np.random.default_rng([repetition, num_contexts, 6])
    codes = _sentences(rng, num_contexts, 3.0)
    levels = rng.standard_normal(num_contexts)[codes] + 0.5 * rng.standard_normal(num_contexts)
    words = [*PAIR, *(f"word{number}" for number in range(NUM_RANDOM))]
    moves = 0.7 * rng.standard_normal(len(words)) + [offset, -offset, *[0.0] * NUM_RANDOM]
    teacher = {word: levels + move > 0 for word, move in zip(words, moves.tolist(), strict=True)}
    student = {word: np.where(rng.random(num_contexts) < 0.9, said, ~said) for word, said in teacher.items()}
    return Contexts(codes, teacher, student, rng)


def _teacher(contexts: Contexts) -> Any:
    """Who reads the number of a context and the word that stands beside it."""

    def labels(texts: Sequence[Words]) -> NDArray[np.int64]:
        return np.array([contexts.teacher[text[1]][int(text[0])] for text in texts], dtype=np.int64)

    loaded = SimpleNamespace(teacher=SimpleNamespace(labels=labels, classes=CLASSES))
    return SimpleNamespace(name="0", load=lambda _: loaded)


def _student(teacher: Any, student: Any = None) -> Any:
    """A student and its teacher that are in memory."""
    loaded = LoadedStudent(LoadedTeacher(teacher, None), student, SimpleNamespace(convention="masked"))
    return SimpleNamespace(teacher=SimpleNamespace(name="0"), load=lambda _: loaded)


def probed(
    contexts: Contexts, *, whole: bool, num_checked: int = 1000, unit: str = "sentence", level: float = 0.95
) -> dict[str, Any]:
    """The row of the pair."""
    num, random = contexts.codes.size, [word for word in contexts.teacher if word not in PAIR]
    students = np.stack([contexts.student[word] for word in PAIR], axis=1).tolist()
    teachers = np.stack([contexts.teacher[word] for word in (*PAIR, *random)], axis=1)
    flags = {
        "context": np.arange(num),
        "cluster": contexts.codes,
        "step": ["changeable"] * num,
        "student": students,
        "teacher": teachers[:, :2].tolist() if whole else [None] * num,
        "odds": contexts.rng.standard_normal((num, 2)).tolist(),
        "random": teachers[:, 2:].tolist(),
    }
    texts = [[str(number), "red"] for number in range(num)]
    made = {"context": range(num), "text": [" ".join(text) for text in texts], "words": texts, "place": [1] * num}
    known = [*PAIR, *random]
    vocabulary = {"word": known, "written": known, "count": [1] * len(known), "status": ["ok"] * len(known)}
    tables = {
        "flags": pa.table(flags, schema=Flags.schema()),
        "contexts": pa.table(made),
        "vocabulary": pa.table(vocabulary | {"part_of_speech": ["ADJ"] * len(known)}),
    }
    work = SumUpProbes(
        teacher=_teacher(contexts),
        flags=["flags"],
        contexts=["contexts"],
        vocabulary="vocabulary",
        control=PAIR[:1],
        probe=PAIR[1:],
        words={"probed": PAIR},
        positive="positive",
        tag="ADJ",
        kind=unit,
        max_words=500,
        num_random=500,
        num_random_checked=len(random),
        num_checked=num_checked,
        max_claims=100,
        intervals=replace(INTERVALS, level=level),
        seed=0,
    )
    [row] = dict(work.tables(Held(tables)))["probes"].to_pylist()
    return dict(row)


def _probes(num_contexts: int, repetition: int, *, whole: bool = False, **how: Any) -> dict[str, Outcome]:
    """Of the size of a test, and what it finds where the one word is the positive one in 64 % of the sentences."""
    differing = how.get("differing", 0.3)
    row = probed(interchanged(repetition, num_contexts, **how), whole=whole)
    is_moved = not repetition % 4  # for the time that it takes
    other = probed(interchanged(repetition, num_contexts, side=0.64, **how), whole=whole) if is_moved else None
    claim = 0.8 + 0.2 * differing / 2  # of the student's, the share that the teacher makes too
    return {
        "p_value": row["p_holm"],
        "rate": holds(row, "", differing / 2),
        "difference": holds(row, "difference", 0.0),
        "moved": holds(other, "difference", differing * 0.28) if other else None,
        "claims": holds(row, "accuracy_joint", claim),
        "power": other["p_holm"] if other else None,
    }


def _unusual(num_contexts: int, repetition: int, *, whole: bool) -> dict[str, Outcome]:
    found = (
        probed(among_random(repetition, num_contexts, offset), whole=whole, num_checked=200) for offset in (0.0, 2.0)
    )
    return {name: row["p_random_holm"] for name, row in zip(("p_random", "power"), found, strict=True)}


class Texts(NamedTuple):
    """Made-up texts of five words, with what is true of each and of each of its places, by sentence or group."""

    rows: list[dict[str, Any]]
    codes: NDArray[np.int64]
    rng: np.random.Generator

    def flags(self, rate: float, places: int, rho: float = 0.3) -> NDArray[np.bool_]:
        """Whether something is so, ``[texts, places]``, alike in a sentence."""
        shared = self.rng.beta(rate * (1 / rho - 1), (1 - rate) * (1 / rho - 1), int(self.codes.max()) + 1)
        return np.asarray(self.rng.random((self.codes.size, places)) < shared[self.codes][:, None])


NUM_WORDS = 5


def texts_of(repetition: int, num_texts: int, size: float) -> Texts:
    """All of the test part."""
    rng = np.random.default_rng([repetition, num_texts, 8])
    codes = _sentences(rng, num_texts, size)
    words = [[str(number), *"abcd"] for number in range(num_texts)]
    rows = [
        {"row": number, "part": "test", "label": "positive", "cluster": int(code), "tags": ["NOUN"] * NUM_WORDS}
        | {"words": text, "text": " ".join(text)}
        for number, (code, text) in enumerate(zip(codes, words, strict=True))
    ]
    return Texts(rows, codes, rng)


RIGHT, FOLLOWED, KEPT = 0.8, 0.9, 0.7
"""Texts that the teacher gets right, and places where the student, and the context alone, have its class."""


def followed(texts: Texts) -> dict[tuple[str, str], dict[str, Any]]:
    """Rows of the student by split and measure."""
    num = len(texts.rows)
    given = texts.flags(RIGHT, 1)[:, 0].astype(int)
    said, alone = (
        np.where(texts.flags(share, NUM_WORDS), given[:, None], 1 - given[:, None]) for share in (FOLLOWED, KEPT)
    )

    def states(asked: Sequence[Words]) -> NDArray[np.float32]:
        """Of a text as it is, or without the word in a place; texts are asked about in their order."""
        places = [list(text).index(MASK) if MASK in text else None for text in asked]
        rows = np.arange(num) if len(asked) == num else np.repeat(np.arange(num), NUM_WORDS)
        labels = [given[row] if place is None else alone[row, place] for row, place in zip(rows, places, strict=True)]
        return np.eye(2, dtype=np.float32)[labels]

    def changes(_: Any, __: Any) -> NDArray[np.float32]:
        """To logits of which the first and the second are 0 to 4 apart."""
        margins = 4.0 * texts.rng.random((said.size, 1))
        return (margins * np.eye(2)[said.ravel()] - np.eye(2)[alone.ravel()]).astype(np.float32)

    teacher = SimpleNamespace(
        states=states,
        logits=lambda states: states,
        labels=lambda asked: states(asked).argmax(axis=1),
        classes=CLASSES,
    )
    student = SimpleNamespace(
        contexts=lambda _: None, words=lambda _: None, changes=changes, network=SimpleNamespace(margin_error=0.5)
    )
    rows = [*texts.rows, *({**row, "part": "development"} for row in texts.rows)]
    work = EvaluateStudent(
        student=_student(teacher, student),
        texts="texts",
        intervals=INTERVALS,
        kind="sentence",
        run_seed=0,
        seed=0,
    )
    table = dict(work.tables(Held({"texts": pa.Table.from_pylist(rows, Prepared.schema())})))["students"]
    return {(row["split"], row["measure"]): row for row in table.to_pylist()}


def _students(num_texts: int, size: float, repetition: int) -> dict[str, Outcome]:
    rows = followed(texts_of(repetition, num_texts, size))
    return {
        "per_word": holds(rows["test", "per_word"], "", FOLLOWED),
        "context_only": holds(rows["test", "per_word_context_only"], "", KEPT),
        "all_correct": holds(rows["test", "all_correct"], "", _all_of(FOLLOWED)),
        "teacher": holds(rows["test", "teacher_accuracy"], "", RIGHT),
        "calibration": holds(rows["test", "calibration_error_published"], "", _calibration_error()),
    }


@cache
def _calibration_error() -> float:
    """Of sureness 1 / (1 + e^-m), m uniform in 0..4, of a student that is right in 9 of 10 places whatever m is."""
    sureness = expit(np.linspace(0.0, 4.0, 200_001))
    sums = np.bincount(confidence_bins(sureness), weights=sureness - FOLLOWED)
    return float(np.abs(sums).sum() / sureness.size)


def _all_of(rate: float, rho: float = 0.3) -> float:
    """E of the share's power, of a beta distribution."""
    first, second = rate * (1 / rho - 1), (1 - rate) * (1 / rho - 1)
    return float(np.prod([(first + step) / (first + second + step) for step in range(NUM_WORDS)]))


def masked(texts: Texts, differ: bool) -> dict[str, dict[str, Any]]:
    """Rows by method, of a budget of 2: the place that holds the class is among the first two of so many texts."""
    rates = {name: 0.6 if name in ("lime", "hybrid") or not differ else 0.4 for name in METHODS}
    key = texts.rng.integers(1, NUM_WORDS, len(texts.rows))
    supports = {}
    for name, rate in rates.items():
        early = texts.flags(rate, 1)[:, 0]
        values = np.tile(np.linspace(0.5, 0.1, NUM_WORDS), (len(key), 1))
        values[np.arange(len(key)), key] = np.where(early, 1.0, 0.0)
        supports[name] = list(values)

    def labels(asked: Sequence[Words]) -> NDArray[np.int64]:
        """The class changes where the word is left out that holds it; texts without their number had it left out."""
        known = [text[0] != MASK and text[key[int(text[0])]] == MASK for text in asked]
        return np.array(known, dtype=np.int64)

    masking = Masking(max_texts=400, budget=2, num_samples=200, max_words=500, by_word=True)
    student = _student(SimpleNamespace(labels=labels))
    work = MaskWords(
        student=student,
        texts="texts",
        vocabulary="vocabulary",
        masking=masking,
        bias=False,
        intervals=INTERVALS,
        kind="sentence",
        run_seed=0,
        seed=0,
    )
    rows = tables_of(work.coverages([Prepared(**row) for row in texts.rows], supports, student.load(None)), [Masked])
    return {row["method"]: row for row in dict(rows)["masking"].to_pylist() if row["budget"] == 2}


def _masking(num_texts: int, size: float, repetition: int) -> dict[str, Outcome]:
    rows = masked(texts_of(repetition, num_texts, size), differ=True)
    return {
        "coverage": holds(rows["influence"], "coverage", 0.4),
        "less_lime": holds(rows["influence"], "less_lime", -0.2),
        "as_lime": holds(rows["hybrid"], "less_lime", 0.0),
    }


def _ratios(repetition: int) -> dict[str, Outcome]:
    """Of these very words: 300, of which the teacher judges 40."""
    rng = np.random.default_rng([repetition, 9])
    words = [f"word{number}" for number in range(300)]
    truth = (rng.random(300) < rng.beta(1, 3)).astype(int)
    said = np.where(rng.random(300) < 0.9, truth, 1 - truth)
    by_word = dict(zip(words, truth.tolist(), strict=True))
    teacher = SimpleNamespace(labels=lambda texts: np.array([by_word[text[0]] for text in texts]))
    answer = Judged(words, np.ones(300, bool), np.zeros(2), np.zeros((300, 1), np.float32), said, None)
    row = ratio(Context(("own",), 0), answer, teacher, seed=repetition, level=0.95, num_checked=40)
    return {"ratio": holds(row, "teacher", float(truth.mean()))}


def ratio(
    context: Context, answer: Judged, teacher: Any, *, seed: int, level: float, num_checked: int
) -> dict[str, Any]:
    """The row of a context of which the teacher judges a sample of the words."""
    student = _student(teacher)
    work = ReplaceWords(
        student=student,
        vocabulary="vocabulary",
        contexts="contexts",
        ratios=Replacements(3000, 10, 0.95),
        checks=Checks("never", num_checked),
        bias=False,
        level=level,
        seed=seed,
    )
    row = UnlikeRatios(model="0", row=0, place=0)
    work.fill_ratio(row, context, 0, answer, student.load(None))
    [(_, table)] = tables_of([row], [UnlikeRatios])
    return dict(table.to_pylist()[0])


_NULL = "a coin per sentence says which word is which"


def _of_probes(power: float, unit: str = "sentence", *, documented: bool = False) -> tuple[Claim, ...]:
    columns = ("p_value", "p_holm")
    return (
        Claim("p_value", "probes", columns, "size", unit, _NULL, documented=documented),
        Claim("rate", "probes", ("low", "high"), "coverage", unit, "rate of the generator"),
        Claim("difference", "probes", ("difference_*",), "coverage", unit, "no difference"),
        Claim("moved", "probes", ("difference_*",), "coverage", unit, "difference of the generator"),
        Claim("claims", "probes", ("accuracy_joint_*",), "coverage", unit, "share of the student's that are true"),
        Claim("power", "probes", columns, "power", unit, "one word in 64 % of the sentences", bound=power),
    )


def _of_random(power: float) -> tuple[Claim, ...]:
    columns, unit = ("p_random", "p_random_holm"), "random word"
    return (
        Claim("p_random", "probes", columns, "size", unit, "two words like the others, which differ"),
        Claim("power", "probes", columns, "power", unit, "two words four standard deviations apart", bound=power),
    )


_OF_STUDENTS = (
    *(
        Claim(name, "students", ("low", "high"), "coverage", "sentence", f"{what} of the generator")
        for name, what in (
            ("per_word", "share of places"),
            ("context_only", "share of places"),
            ("all_correct", "share of texts"),
            ("teacher", "share of texts"),
        )
    ),
    # What bins are off by chance does not cancel, so that it lies above the error of many texts.
    Claim("calibration", "students", ("low", "high"), "coverage", "sentence", "of many texts", documented=True),
)
_OF_MASKING = (
    Claim("coverage", "masking", ("coverage_*",), "coverage", "sentence", "share of the generator"),
    Claim("less_lime", "masking", ("less_lime_*",), "coverage", "sentence", "20 points less than LIME"),
    Claim("as_lime", "masking", ("less_lime_*",), "coverage", "sentence", "as much as LIME"),
)


def _stages() -> Iterator[Experiment]:
    stage = partial(Experiment, JOB)
    whole = partial(_probes, 300, whole=True)
    yield stage("probes: teacher judges all itself", repetitions=1000, run=whole, claims=_of_probes(0.3))
    for num, repetitions, power in (
        (300, 1000, 0.3),
        (900, 1000, 0.8),
        (1500, 1000, 0.8),
        (5000, 400, 0.8),
        (20000, 200, 0.8),
    ):
        name = f"probes: checkpoint or exact=never, {num:,} contexts, 1,000 judged"
        yield stage(name, repetitions=repetitions, run=partial(_probes, num), claims=_of_probes(power))
    few = partial(_probes, 5000, differing=0.01)
    yield stage("probes: 1 % of 5,000 contexts differ, 1,000 judged", repetitions=400, run=few, claims=_of_probes(0.15))
    groups = partial(_probes, 3000, size=60.0, spread=0.7)
    claims = _of_probes(0.3, "speaker", documented=True)
    yield stage("probes: about 17 speakers judged of 50", repetitions=400, run=groups, claims=claims)
    for name, is_whole in (("all judged", True), ("200 of 400 judged", False)):
        run = partial(_unusual, 400, whole=is_whole)
        yield stage(f"probes: among random words, {name}", repetitions=400, run=run, claims=_of_random(0.8))
    for name, num, size in (("300 texts of 100 sentences", 300, 3.0), ("240 texts of 12 speakers", 240, 20.0)):
        students, covered = partial(_students, num, size), partial(_masking, num, size)
        yield stage(f"students: {name}", repetitions=400, run=students, claims=_OF_STUDENTS)
        yield stage(f"masking: {name}", repetitions=400, run=covered, claims=_OF_MASKING)
    ratio = Claim("ratio", "unlike_ratios", ("teacher_*",), "coverage", "word", "ratio of these very words")
    yield stage("ratios: 40 of 300 words judged", repetitions=1000, run=_ratios, claims=(ratio,))


EXPERIMENTS = list(_stages())
