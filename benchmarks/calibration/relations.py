"""`relation_rules`: measures, the learning curve and rules, by sentence and document, of one training and of several.

Instances, what models predict of them, and what rules match are made up as the last stages read them, and the stages'
own work is done on them. A sentence has one pair of arguments and more by chance; a model tells a relation right with
its recall, calls it another one with 5 %, and no relation one with its share of false alarms.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.calibration.registry import Claim, Experiment, Held, Outcome, Ref, ends, holds
from tiltmeter.jobs.relations import tables as schemas
from tiltmeter.jobs.relations.measures import Guesses, MeasureRelations, Variant
from tiltmeter.jobs.relations.rules import CountRules, Evidence
from tiltmeter.jobs.relations.texts import CountInTexts
from tiltmeter.jobs.runtime.work import Work

JOB = "relation_rules"
LEVEL = 0.95
NAMES = np.array(["no_relation", "a", "b"])
RELATED, WRONG = 0.4, 0.05
ENDS = ("low", "high")
SPLITS = ("training", "development", "test")
_EMPTY = {f"{split}_matches": schemas.Matches.schema().empty_table() for split in SPLITS}
_EMPTY |= {"rules": schemas.RuleTexts.schema().empty_table()}
_EVIDENCE: Any = Evidence(
    {split: Ref(split) for split in SPLITS}, Ref("rules"), {split: [Ref(f"{split}_matches")] for split in SPLITS}
)


class Told(NamedTuple):
    """How good a model is: right of relations, and wrong of pairs without one."""

    recall: float
    alarms: float

    @property
    def f1(self) -> float:
        """Of ever so many instances."""
        predicted = RELATED * (self.recall + WRONG) + (1.0 - RELATED) * self.alarms
        return 2.0 * RELATED * self.recall / (predicted + RELATED)

    def with_f1(self, f1: float) -> "Told":
        """Of this recall, and as many false alarms as that takes."""
        predicted = 2.0 * RELATED * self.recall / f1 - RELATED
        return Told(self.recall, (predicted - RELATED * (self.recall + WRONG)) / (1.0 - RELATED))


class Pairs(NamedTuple):
    """Instances of a part: which sentence and document each is of, and what holds; numbers of :data:`NAMES`."""

    sentences: NDArray[np.int64]
    documents: NDArray[np.int64] | None
    gold: NDArray[np.int64]
    rng: np.random.Generator

    def told(self, model: Told, shifts: NDArray[np.float64] | float = 0.0) -> NDArray[np.int64]:
        """What a model predicts, with the recall of each instance shifted."""
        draws, recall = self.rng.random(self.gold.size), np.clip(model.recall + shifts, 0.0, 1.0 - WRONG)
        related = np.where(draws < recall, self.gold, np.where(draws < recall + WRONG, 3 - self.gold, 0))
        alarms = np.where(draws < model.alarms, 1 + self.rng.integers(0, 2, self.gold.size), 0)
        return np.where(self.gold > 0, related, alarms)

    def rows(self, split: str) -> Iterator[dict[str, Any]]:
        """As they are read."""
        spans = {"subject_start": 0, "subject_end": 1, "object_start": 1, "object_end": 2}
        documents = [""] * self.gold.size if self.documents is None else [f"d{one}" for one in self.documents]
        for number, (sentence, document) in enumerate(zip(self.sentences.tolist(), documents, strict=True)):
            row = {"split": split, "instance": number, "sentence": sentence, "document": document, "status": "ok"}
            tokens = {"tokens": [f"s{sentence}", f"{number}"], "relation": str(NAMES[self.gold[number]])}
            yield row | spans | tokens | {"reason": "", "tag": "no_relation"}


def pairs_of(rng: np.random.Generator, num_sentences: int, per_document: int | None = None) -> Pairs:
    """Sentences of a pair and more, some of them in documents."""
    sentences = np.repeat(np.arange(num_sentences), 1 + rng.poisson(1.0, num_sentences))
    related = rng.random(sentences.size) < RELATED
    documents = None if per_document is None else sentences // per_document
    return Pairs(sentences, documents, np.where(related, 1 + rng.integers(0, 2, sentences.size), 0), rng)


Predicted = Mapping[tuple[str, float], Sequence[NDArray[np.int64]]]
"""By model and share of the rules, of each seed."""


def measured(
    pairs: Pairs, predicted: Predicted, by_rules: NDArray[np.int64] | None = None, written: Sequence[Any] = ()
) -> dict[str, pa.Table]:
    """Tables of the last stage; the development part is the test part, where it is asked. Rules are told by tags."""
    tags = np.zeros(pairs.gold.size, dtype=np.int64) if by_rules is None else by_rules
    tables = dict(_EMPTY)
    for split in SPLITS:
        rows = pairs.rows(split)
        told = [row | {"tag": str(NAMES[tag])} for row, tag in zip(rows, tags, strict=True)]
        whole = split == "test" or (split == "development" and len({share for _, share in predicted}) > 1)
        tables[split] = pa.Table.from_pylist(told if whole else told[:1], schemas.Annotations.schema())
    guesses: dict[Any, Any] = {}
    for (model, share), runs in predicted.items():
        for seed, run in enumerate(runs):
            guesses[Variant(model, share, seed)] = Ref(f"predicted {model} {share} {seed}")
            tables[guesses[Variant(model, share, seed)]] = _predicted(run, seed)
    if written:
        tables["explanations"] = pa.Table.from_pylist(list(written), schemas.Explanations.schema())
    settings: dict[str, Any] = {"share": 1.0, "seed": 0, "level": LEVEL, "num_resamples": 2}
    explanations: Any = Ref("explanations") if written else None
    work = MeasureRelations(guesses=Guesses(guesses), evidence=_EVIDENCE, explanations=explanations, **settings)
    return done(work, tables)


def done(work: Work, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """What a unit makes of tables, which it knows by their names."""
    store: Any = Held(tables)
    return dict(work.tables(store))


def _predicted(run: NDArray[np.int64], seed: int) -> pa.Table:
    num, splits = run.size, ("development", "test")
    columns = {
        "split": [split for split in splits for _ in range(num)],
        "instance": [*range(num)] * 2,
        "seed": [seed] * 2 * num,
        "predicted": NAMES[run].tolist() * 2,
        "probability": [0.9] * 2 * num,
        "gold_probability": [None] * 2 * num,
    }
    return pa.table(columns, schemas.Predictions.schema())


def row_of(table: pa.Table, **keys: Any) -> dict[str, Any]:
    """The row of a measure; by default F1 of all relations on the test part."""
    wanted = {"split": "test", "relation": "all", "measure": "f1", "decoder": ""} | keys
    known = {name: value for name, value in wanted.items() if name in table.column_names}
    return next(row for row in table.to_pylist() if all(row[name] == value for name, value in known.items()))


def _exchanged(num_sentences: int, per_document: int | None, repetition: int) -> dict[str, Outcome]:
    """Three predictions, of a good, a middling and a bad model, dealt anew in each unit; then as they are."""
    rng = np.random.default_rng([repetition, num_sentences, 41])
    pairs = pairs_of(rng, num_sentences, per_document)
    units = pairs.sentences if pairs.documents is None else pairs.documents
    models = [Told(0.75, 0.15), Told(0.65, 0.2), Told(0.5, 0.2)]
    effects = (
        np.zeros((units.max() + 1, 3)) if per_document is None else 0.15 * rng.standard_normal((units.max() + 1, 3))
    )
    told = np.stack([pairs.told(model, effects[units, place]) for place, model in enumerate(models)])
    dealt = np.argsort(rng.random((units.max() + 1, 3)), axis=1)[units]
    mixed = np.stack([told[dealt[:, place], np.arange(units.size)] for place in range(3)])
    null = measured(pairs, {("joint", 1.0): [mixed[0]], ("no_decoder", 1.0): [mixed[1]]}, mixed[2])["measures"]
    rows = [row_of(null, model=f"joint - {name}") for name in ("no_decoder", "rules")]
    adjusted = [row["p_adjusted"] for row in rows if row["p_adjusted"] is not None]
    outcome: dict[str, Outcome] = {
        "p_value": rows[0]["p_value"],
        "p_adjusted": min(adjusted, default=None),
        "difference": holds(rows[0], "", 0.0),
        "power": None,
    }
    if repetition % 2:
        return outcome
    found = measured(pairs, {("joint", 1.0): [told[0]], ("no_decoder", 1.0): [told[2]]})["measures"]
    return outcome | {"power": row_of(found, model="joint - no_decoder")["p_adjusted"]}


_F1 = 0.6


def _unlike(num_sentences: int, repetition: int) -> dict[str, Outcome]:
    """Recall of 0.5 and of 0.75 at one F1: all pairs that are right differ, and F1 does not."""
    pairs = pairs_of(np.random.default_rng([repetition, num_sentences, 43]), num_sentences)
    careful, bold = (Told(recall, 0.0).with_f1(_F1) for recall in (0.5, 0.75))
    told = {("joint", 1.0): [pairs.told(bold)], ("no_decoder", 1.0): [pairs.told(careful)]}
    found = measured(pairs, told)["measures"]
    precision = 0.75 * RELATED / (RELATED * (0.75 + WRONG) + (1.0 - RELATED) * bold.alarms)
    return {
        "p_value": row_of(found, model="joint - no_decoder")["p_value"],
        "f1": holds(row_of(found, model="joint"), "", _F1),
        "precision": holds(row_of(found, model="joint", measure="precision"), "", precision),
        "recall": holds(row_of(found, model="no_decoder", measure="recall"), "", 0.5),
    }


_SD = 0.05
_STEPS = np.array([-1.645, -1.036, -0.674, -0.385, -0.126, 0.126, 0.385, 0.674, 1.036, 1.645])


def _trained(repetition: int) -> dict[str, Outcome]:
    """Three trainings of each model, whose recall has a standard deviation of 5 points; and what they write."""
    rng = np.random.default_rng([repetition, 47])
    pairs, model = pairs_of(rng, 300), Told(0.7, 0.15)

    def runs(recall: float) -> list[NDArray[np.int64]]:
        return [pairs.told(Told(recall, 0.15), _SD * rng.standard_normal()) for _ in range(3)]

    told = {("joint", 1.0): runs(0.7), ("no_decoder", 1.0): runs(0.7), ("joint", 0.5): runs(0.7)}
    rates = 0.7 + _SD * rng.standard_normal(3)
    found = measured(pairs, told, pairs.told(Told(0.45, 0.15)), list(_written(pairs, rates)))
    measures = found["measures"]
    truth = float(np.mean([Told(0.7 + _SD * step, model.alarms).f1 for step in _STEPS]))
    return {
        "p_value": row_of(measures, model="joint - no_decoder")["p_value"],
        "power": row_of(measures, model="joint - rules")["p_adjusted"],
        "f1": holds(row_of(measures, model="joint"), "", truth),
        "curve": holds(row_of(found["learning_curve"], share=0.5, measure="f1"), "", truth),
        "exact": holds(row_of(measures, decoder="published", measure="is_exact"), "", 0.7),
        "fall": holds(row_of(measures, decoder="published", measure="comprehensiveness"), "", 0.35),
    }


def _written(pairs: Pairs, rates: NDArray[np.float64]) -> Iterator[dict[str, Any]]:
    """Answers of three models about every third instance, exact at the rate of each."""
    for seed, rate in enumerate(rates.tolist()):
        for place in range(0, pairs.gold.size, 3):
            exact = bool(pairs.rng.random() < rate)
            keys = {"split": "test", "instance": place, "model": "joint", "seed": seed, "decoder": "published"}
            made = {"rule": 'SUBJ "x" OBJ', "parses": True, "matches": True, "is_exact": exact, "predicted": "a"}
            yield keys | made | {"comprehensiveness": 0.5 * rate + 0.4 * (pairs.rng.random() - 0.5)}


def _rules(per_document: int | None, repetition: int) -> dict[str, Outcome]:
    """A rule that is right in 80 %, in documents of its own rates: of a part, and of texts that facts tell."""
    rng = np.random.default_rng([repetition, 53, per_document or 0])
    pairs = pairs_of(rng, 240, per_document)
    units = pairs.sentences if pairs.documents is None else pairs.documents
    rates = np.full(units.max() + 1, 0.8) if per_document is None else rng.beta(4.0, 1.0, units.max() + 1)
    gold = np.where(rng.random(units.size) < rates[units], 1, 2)
    tables = dict(_EMPTY)
    rule = {"rule_id": "r", "relation": "a", "text": 'SUBJ "x" OBJ', "source": "file", "status": "ok", "reason": ""}
    tables["rules"] = pa.Table.from_pylist([rule], schemas.RuleTexts.schema())
    chosen = np.flatnonzero(rng.random(units.size) < 0.3)
    for split in SPLITS:
        tables[split] = pa.Table.from_pylist(list(pairs._replace(gold=gold).rows(split)), schemas.Annotations.schema())
    hits = [{"split": "test", "instance": int(place), "rule_id": "r"} for place in chosen]
    tables["test_matches"] = pa.Table.from_pylist(hits, schemas.Matches.schema())
    counted = done(CountRules(level=LEVEL, share=1.0, evidence=_EVIDENCE), tables)["rules"]
    outcome: dict[str, Outcome] = {"part": holds(_of_split(counted, "test"), "precision", 0.8), "texts": None}
    if per_document is None:
        return outcome
    same = {"rule_id": "r", "num": 1, "num_agreeing": 1, "num_known": 1}
    counts = [
        same | {"document": str(unit), "num_right": int(gold[place] == 1)}
        for place, unit in zip(chosen, units[chosen], strict=True)
    ]
    parts = {"counts": schemas.TextCounts, "examples": schemas.TextExamples}
    parts |= {"timeouts": schemas.Timeouts, "totals": schemas.TextTotals}
    tables = {name: table.schema().empty_table() for name, table in parts.items()}
    tables["counts"] = pa.Table.from_pylist(counts, schemas.TextCounts.schema())
    tables["rules"] = pa.Table.from_pylist([rule], schemas.Rules.schema())
    inputs: Any = {name: [Ref(name)] for name in tables}
    work = CountInTexts(level=LEVEL, most_examples=0, corpus="texts", has_facts=True, **inputs)
    found = done(work, tables)["rules"]
    return outcome | {"texts": holds(_of_split(found, "texts"), "precision", 0.8)}


def _of_split(table: pa.Table, split: str) -> dict[str, Any]:
    return next(row for row in table.to_pylist() if row["split"] == split)


def _of_differences(unit: str, power: float) -> tuple[Claim, ...]:
    dealt = f"what three models say is dealt anew in each {unit}"
    return (
        Claim("p_value", "measures", ("p_value",), "size", unit, dealt),
        Claim("p_adjusted", "measures", ("p_adjusted",), "size", unit, f"{dealt}; either difference"),
        Claim("difference", "measures", ENDS, "coverage", unit, dealt),
        Claim("power", "measures", ("p_value", "p_adjusted"), "power", unit, "recall .75 and .5", bound=power),
    )


_UNLIKE = (
    Claim("p_value", "measures", ("p_value",), "size", "sentence", "recall .5 and .75 at one F1"),
    Claim("f1", "measures", ENDS, "coverage", "sentence", "F1 of the generator"),
    Claim("precision", "measures", ENDS, "coverage", "sentence", "precision of the generator"),
    Claim("recall", "measures", ENDS, "coverage", "sentence", "recall of the generator"),
)
_SEED = "sentence and seed"
_TRAINED = (
    Claim("p_value", "measures", ("p_value",), "size", _SEED, "models of one mean recall"),
    Claim("power", "measures", ("p_adjusted",), "power", _SEED, "recall .7 and .45", bound=0.6),
    Claim("f1", "measures", ENDS, "coverage", _SEED, "F1 of the generator, mean over trainings"),
    Claim("curve", "learning_curve", ENDS, "coverage", _SEED, "the same, of half of the rules"),
    Claim("exact", "measures", ENDS, "coverage", _SEED, "rate of exact rules"),
    Claim("fall", "measures", ENDS, "coverage", _SEED, "mean fall where tokens are hidden"),
)


def _part(unit: str) -> Claim:
    return Claim("part", "rules", ends("precision"), "coverage", unit, "precision of the generator")


_FACTS = "the same, by facts, in unlabelled texts"
_TEXTS = Claim("texts", "rules", ends("precision"), "coverage", "document", _FACTS)

_stage = partial(Experiment, JOB)
EXPERIMENTS = [
    _stage("relations: 150 sentences", 1000, partial(_exchanged, 150, None), _of_differences("sentence", 0.8)),
    _stage("relations: 40 sentences", 1000, partial(_exchanged, 40, None), _of_differences("sentence", 0.2)),
    _stage("relations: 20 documents", 1000, partial(_exchanged, 120, 6), _of_differences("document", 0.5)),
    _stage("relations: unlike recall, 200 sentences", 1000, partial(_unlike, 200), _UNLIKE),
    _stage("relations: unlike recall, 40 sentences", 1000, partial(_unlike, 40), _UNLIKE),
    _stage("relations: 3 trainings, sd of 5 points", 400, _trained, _TRAINED),
    _stage("relations: rules by sentence", 1000, partial(_rules, None), (_part("sentence"),)),
    _stage("relations: rules by document", 1000, partial(_rules, 12), (_part("document"), _TEXTS)),
]
