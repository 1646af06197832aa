"""Probes: pairs of words in the contexts of training texts, shard by shard, and what all shards say together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.influence import tables
from tiltmeter.jobs.classifiers.influence.config import WordInfluenceRun
from tiltmeter.jobs.classifiers.influence.dividing import context_of, drawn_order, part_rows
from tiltmeter.jobs.classifiers.influence.evaluating import shard_units, student_refs
from tiltmeter.jobs.classifiers.influence.learning import known_words, load_student, random_words
from tiltmeter.jobs.classifiers.influence.replacing import judged
from tiltmeter.jobs.classifiers.influence.summing import listed_words, sum_up
from tiltmeter.jobs.classifiers.influence.teaching import TaughtBy, on_gpu, positive_class
from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.operators.classifiers.influence import probes as operator
from tiltmeter.operators.classifiers.influence.calibration import calibrated_odds
from tiltmeter.operators.classifiers.influence.probes import filtered
from tiltmeter.operators.classifiers.influence.records import Context
from tiltmeter.operators.classifiers.influence.scores import log_odds
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

Refs = Mapping[str, TableRef]


def probe_words(
    runner: Runner,
    config: WordInfluenceRun,
    teachers: Sequence[TaughtBy],
    prepared: TableRef,
    vocabularies: Refs,
    students: Mapping[str, Sequence[Refs]],
) -> dict[str, list[TableRef]]:
    """Tables ``probes`` and ``probe_contexts``, of each teacher's first student."""
    asked = config.probes
    drawing = Unit(
        "influence_probe_contexts/2",
        "contexts of probes",
        {"most": asked.max_contexts, "size": asked.unit_contexts, "seed": config.seed, "tag": asked.part_of_speech},
        {"texts": [prepared]},
    )
    [drawn] = runner.run_whole(Stage("draw contexts of probes", each(_draw), {"contexts": [drawing]}))["contexts"]
    settings = {
        "student": config.student,
        "language": config.models.encoder.language,
        "words": listed_words(asked),
        "class": asked.positive,
        "tag": asked.part_of_speech,
        "max_words": config.ratios.max_words,
        "num_random": asked.num_random,
        "confidence": asked.confidence,
        "exact": config.exact,
        "seed": config.seed,
    }
    units = shard_units(operator.VERSION, settings, teachers, drawn.tables, vocabularies, students)
    by_name = {taught.name: taught for taught in teachers}
    done = runner.run_whole(Stage("probe", each(_Probing(by_name)), units, on_gpu=on_gpu(teachers)))
    flags = {name: [unit.tables["flags"] for unit in finished] for name, finished in done.items()}
    return sum_up(runner, config, by_name, list(drawn.tables.values()), vocabularies, flags)


def _draw(store: Store, unit: Unit) -> Tables:
    """Contexts of training texts in shards; which ones is a matter of what they say."""
    config = unit.config
    places = [
        {"cluster": row["cluster"], "text": row["text"], "words": row["words"], "place": place}
        for row in part_rows(store, unit.input("texts"), "training")
        for place, tag in enumerate(row["tags"])
        if tag == config["tag"]
    ]
    if not places:
        raise ValueError(
            f"no training text has a word of probes.part_of_speech={config['tag']}: set it to another, or data.path"
        )
    if config["most"] is not None and len(places) > config["most"]:
        keys = [f"{' '.join(place['words'])}\n{place['place']}" for place in places]
        places = [places[number] for number in sorted(drawn_order(keys, config["seed"], "probes")[: config["most"]])]
    rows = [{"context": number, **place} for number, place in enumerate(places)]
    for start in range(0, len(rows), config["size"]):
        yield f"probe_contexts_{start:08d}", pa.Table.from_pylist(rows[start : start + config["size"]])


@dataclass(frozen=True)
class _Words:
    """Words that a shard puts into its contexts, and which of them are what.

    Attributes:
        all: each once.
        probed, positive, negative, common, random: places among them.
    """

    all: list[str]
    probed: list[int]
    positive: list[int]
    negative: list[int]
    common: list[int]
    random: list[int]


def _words(known: Mapping[str, Sequence[str]], config: Mapping[str, Any]) -> _Words:
    listed, any_known = config["words"], {folded(word) for words in known.values() for word in words}
    common = known.get(config["tag"], [])[: config["max_words"]]
    kinds = {name: [word for word in listed[name] if folded(word) in any_known] for name in listed}
    every: dict[str, str] = {}
    for word in (word for group in (*kinds.values(), common) for word in group):
        every.setdefault(folded(word), word)
    places = {word: place for place, word in enumerate(every)}
    chosen = {name: [places[folded(word)] for word in group] for name, group in kinds.items()}
    random = random_words(known, config)
    for name, words in (("common", common), ("random", random)):
        chosen[name] = [places[folded(word)] for word in words]
    return _Words([*every.values()], **chosen)


@dataclass(frozen=True)
class _Probing:
    teachers: Mapping[str, TaughtBy]

    def __call__(self, store: Store, unit: Unit) -> Tables:
        config = unit.config
        loaded = self.teachers[config["teacher"]].load(store)
        student = load_student(store, student_refs(unit), config["student"], config["language"])
        words = _words(known_words(store, unit.input("vocabulary")), config)
        positive = positive_class(loaded.teacher.classes, config["class"])
        rows = store.read(unit.input("contexts")).to_pylist()
        contexts = [context_of(row) for row in rows]
        is_positive = loaded.teacher.labels([context.text for context in contexts]) == positive
        table = self._flags(rows, contexts, is_positive, words, positive, loaded, student, config)
        yield "flags", table_of(list(table), tables.FLAGS)

    def _flags(
        self,
        rows: Sequence[Row],
        contexts: Sequence[Context],
        is_positive: Any,
        words: _Words,
        positive: int,
        loaded: Any,
        student: Any,
        config: Mapping[str, Any],
    ) -> Iterator[Row]:
        """Of contexts that are not positive, that alone."""
        from tiltmeter.operators.classifiers.influence.folded import margin_logits

        kept = np.flatnonzero(is_positive).tolist()
        for row in np.flatnonzero(~is_positive).tolist():
            yield {"context": rows[row]["context"], "cluster": rows[row]["cluster"], "step": "all"}
        answers = judged(
            [contexts[row] for row in kept], words.all, loaded, student, config["student"], config["exact"]
        )
        for row, answer in zip(kept, answers, strict=True):
            labels = answer.student == positive
            step = _step(labels, words, int((answer.student[words.common] != positive).any()))
            flags: Row = {"context": rows[row]["context"], "cluster": rows[row]["cluster"], "step": step}
            if step == "changeable":
                truth = None if answer.teacher is None else answer.teacher == positive
                odds = log_odds(margin_logits(answer.margins[words.probed]))[:, positive]
                if config["confidence"] == "calibrated":
                    odds = calibrated_odds(odds, float(student.network.margin_error))
                flags |= {
                    "student": labels[words.probed].tolist(),
                    "teacher": None if truth is None else truth[words.probed].tolist(),
                    "odds": odds.tolist(),
                    "random": (labels if truth is None else truth)[words.random].tolist(),
                }
            yield flags


def _step(labels: Any, words: _Words, num_unlike: int) -> str:
    """The last step of the filter that a context passes whose text is positive."""
    steps = filtered(
        np.ones(1, bool), labels[None, words.positive], labels[None, words.negative], np.array([num_unlike > 0])
    ).counts
    return [name for name, num in steps.items() if num][-1]
