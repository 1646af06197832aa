"""`gender_adversary`: victims that can't know gender, a planted word, and texts in groups whose rates are known.

The victims read sentences of the sample of Wikipedia that gensim carries, half of them with gendered words, and vectors
of it. Candidates, replacements, training, attacks and evaluation are the job's own work, on five victims of each of
many draws of pair, controls and sentences. Labels of three classes are dealt anew, so that there is nothing to know; or
they say which words a sentence has, and the victim neither learns nor reads gendered words. Planted, 30 of 100
sentences begin with *man* or *woman*, which decides their class, and those that are attacked with *man*.

Of the texts, flips, falls and controls are made up and go through the work of the last stage: in each group either of
the two ways flips more, by a coin, and a direction differs from the next as controls differ among themselves.
"""

import bz2
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import hydra
import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.calibration.registry import Claim, Experiment, Kind, Outcome, Run, ends, holds
from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.jobs.adversary import job, tables
from tiltmeter.jobs.adversary.attacks import AttackTexts
from tiltmeter.jobs.adversary.characters import EvaluateCharacters
from tiltmeter.jobs.adversary.config import MASKED_SETTING, AdversaryRun, GenderAdversaryRun
from tiltmeter.jobs.adversary.job import WholeVectors
from tiltmeter.jobs.adversary.retraining import COPIES, FOUND, SWAPS, EvaluateRetraining
from tiltmeter.jobs.adversary.spaces import FindSpaces
from tiltmeter.jobs.adversary.victims import FoundVictim, find_victim
from tiltmeter.jobs.classifiers.tables import LABELLED, SPLIT
from tiltmeter.jobs.composing import build
from tiltmeter.jobs.embedding.vectors import vector_column
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.runtime.work import Done, do
from tiltmeter.jobs.upkeep.plan.config import read_command
from tiltmeter.storage.models.checkpoints import find_checkpoint
from tiltmeter.storage.store.ledger import Finished, TableRef

JOB = "gender_adversary"
SUMMARY = "summary"
RANKS = ("p_value", "fall_p_value", "size_p_value", "asymmetry_control_p")
PAIRS = (
    *(("man", "woman"), ("father", "mother"), ("son", "daughter"), ("king", "queen"), ("brother", "sister")),
    *(("husband", "wife"), ("male", "female"), ("he", "she")),
)
DUMP = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
VICTIMS, TRAINING, ATTACKED, CONTROLS = 5, 600, 16, 19
SETTINGS = (
    *("job=gender_adversary", "data.path=made.csv", "direction.kinds=[pair]", "job.num_resamples=2"),
    *(f"controls.number={CONTROLS}", "controls.few=true", "search.greedy=false", "search.max_share=0.05"),
    "victim=[linear,linear_masked]",
)
FILLED = ("direction.kinds=[masked]", "masked_model.top=2")
"""Instead, what a masked language model has in the place of words, whose weights are drawn."""

MIN_COUNTS = ("victim.linear.linear.min_count=2", "victim.linear_masked.linear.min_count=2")


class Held:
    """A store and a runner in one process, which keep tables in memory."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, str], pa.Table] = {}
        self._num = 0
        self.pool, self.failures = SimpleNamespace(num_gpus=0), dict[str, Any]()

    def put(self, table: pa.Table, name: str = "table") -> TableRef:
        """Keep a table."""
        self._num += 1
        place = f"held/{self._num}"
        self._tables[place, name] = table
        return TableRef(place, name, table.num_rows, {column: f"{place}/{column}" for column in table.column_names})

    def read(self, ref: TableRef) -> pa.Table:
        """Give it back."""
        return self._tables[ref.unit, ref.name].select(list(ref.columns))

    def run_whole(self, stage: Stage) -> dict[str, list[Finished]]:
        """Do the work of a stage."""
        store = cast(Any, self)
        return {
            group: [
                Finished(unit.place, unit.name, 0, {name: self.put(table, name) for name, table in made})
                for unit, made in stage.work(store, units)
            ]
            for group, units in stage.units.items()
        }

    def branch(self) -> "Held":
        """Another with the same tables; what it keeps goes with it."""
        other = Held()
        other._tables, other._num = dict(self._tables), self._num
        return other


def run_of(held: Held, config: GenderAdversaryRun, victims: Mapping[str, FoundVictim]) -> AdversaryRun:
    """A run on what is held, which publishes nothing."""

    def done(works: Any, *, publish: bool = True, **options: Any) -> Done[Any]:  # noqa: ARG001
        return do(cast(Runner, held), works, **options)

    named = config.masked_model.model
    found = find_checkpoint(named, None, MASKED_SETTING) if named else None
    sources = SimpleNamespace(lists=Files({}), victims=victims, masked=found)
    return cast(AdversaryRun, SimpleNamespace(config=config, sources=sources, runner=held, do=done))


@cache
def sentences() -> list[list[str]]:
    """Of the sample, in small letters."""
    from gensim.corpora.wikicorpus import extract_pages, filter_wiki
    from gensim.test.utils import datapath

    found: list[list[str]] = []
    with bz2.open(datapath(DUMP)) as file:
        for _, text, _ in extract_pages(file, ("0",)):
            if text and not text[:9].upper().startswith("#REDIRECT"):
                found += [re.findall("[a-z]+", line.lower()) for line in re.split(r"[.\n]", filter_wiki(text))]
    return found


@cache
def vectors(dims: int = 50, window: int = 4, most: int = 5000) -> pa.Table:
    """Of its most frequent words: positive pointwise mutual information, by its first singular vectors."""
    from scipy import sparse
    from sklearn.utils.extmath import randomized_svd

    words = [word for word, _ in Counter(word for line in sentences() for word in line).most_common(most)]
    rows = {word: row for row, word in enumerate(words)}
    lines = [np.array([rows.get(word, most) for word in line]) for line in sentences()]
    steps = [(line[:-step], line[step:]) for line in lines for step in range(1, window + 1) if len(line) > step]
    first, second = (np.concatenate([pair[side] for pair in steps]) for side in (0, 1))
    known = (first < most) & (second < most)
    ends = np.concatenate([first[known], second[known]]), np.concatenate([second[known], first[known]])
    pairs = sparse.coo_matrix((np.ones(ends[0].size), ends), (most, most)).tocsr().tocoo()
    near, contexts = np.asarray(pairs.sum(1)).ravel(), np.asarray(pairs.sum(0)).ravel() ** 0.75
    values = np.log(pairs.data * contexts.sum() / (near[pairs.row] * contexts[pairs.col]))
    left, sizes, _ = randomized_svd(
        sparse.csr_matrix((np.maximum(values, 0.0), (pairs.row, pairs.col)), pairs.shape), dims, random_state=0
    )
    return pa.table({"word": pa.array(words), "vector": vector_column(left * np.sqrt(sizes))})


class World(NamedTuple):
    """Sentences with their replacements along a direction and its controls, which victims are asked about."""

    held: Held
    config: GenderAdversaryRun
    victims: Mapping[str, FoundVictim]
    texts: pa.Table
    candidates: TableRef
    spaces: Done[FindSpaces]
    pairs: Sequence[TableRef]
    vectors: WholeVectors


@lru_cache(maxsize=2)
def world(number: int, planted: bool, filled: bool = False) -> World:
    """Its pair, or masked language model, controls and sentences are drawn by its number."""
    pair = PAIRS[0] if planted else PAIRS[number % len(PAIRS)]
    more = (*FILLED, f"masked_model.model={masked_model(number)}") if filled else ()
    config = configured(*SETTINGS, *MIN_COUNTS, f"seed={number}", f"direction.pair=[{','.join(pair)}]", *more)
    held, texts = Held(), chosen(number, planted, config)
    split = held.put(texts)
    status = {"gender": None, "group": None, "status": "ok", "reason": ""}
    labelled = held.put(pa.Table.from_pylist([row | status for row in texts.to_pylist()], LABELLED))
    victims = {name: find_victim(name, victim, config.seed) for name, victim in config.victim.items()}
    run, embedding = run_of(held, config, victims), WholeVectors([held.put(vectors())], {"number": 0})
    cut = job.cut_texts(run, labelled, split)
    near = job.find_candidates(run, cut, embedding.tables)
    candidates = job.label_candidates(run, near)
    spaces = job.find_spaces(run, near, split, cut)
    return World(held, config, victims, texts, candidates, spaces, near.refs(tables.Pairs), embedding)


def masked_model(number: int) -> str:
    """The folder of a small one that knows the words of the vectors; it is gone when the process ends."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *vectors()["word"].to_pylist()]
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    torch.manual_seed(number)
    folder = Path(_place().name, str(number))
    BertForMaskedLM(BertConfig(vocab_size=len(names), initializer_range=0.5, **sizes)).save_pretrained(folder)
    BertTokenizer(vocab={name: place for place, name in enumerate(names)}).save_pretrained(folder)
    return str(folder)


@cache
def _place() -> TemporaryDirectory[str]:
    return TemporaryDirectory()


def configured(*overrides: str) -> GenderAdversaryRun:
    """Settings, as the command has them."""
    command = read_command(list(overrides))
    with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"):
        return cast(GenderAdversaryRun, command.config(build(hydra.compose("tiltmeter", command.words), command.words)))


def chosen(number: int, planted: bool, config: GenderAdversaryRun) -> pa.Table:
    """Sentences by their part; two in three of those that are attacked, and half of the others, have gendered words."""
    draws, genders = np.random.default_rng([number, 5]), config.words.gendered().genders
    usual = [line for line in sentences() if 6 <= len(line) <= 16]
    order = [usual[place] for place in draws.permutation(len(usual))]
    told, others = (
        [line for line in order if (not genders.keys().isdisjoint(line)) == is_told] for is_told in (True, False)
    )
    num = 2 * ATTACKED // 3
    test = [*told[:num], *others[: ATTACKED - num]]
    training = [*told[num : num + TRAINING // 2], *others[ATTACKED - num : ATTACKED - num + TRAINING // 2]]
    sides = draws.choice(["man", "woman", ""], len(training), p=[0.15, 0.15, 0.7]) if planted else [""] * len(training)
    lines = [("training", [side, *line] if side else line) for side, line in zip(sides, training, strict=True)]
    lines += [("test", ["man", *line] if planted else line) for line in test]
    rows = [{"row": row, "part": part, "text": " ".join(line), "label": ""} for row, (part, line) in enumerate(lines)]
    return pa.Table.from_pylist(rows, SPLIT)


def drawn_labels(texts: Sequence[str], draws: np.random.Generator) -> NDArray[np.str_]:
    """Of three classes, whatever a text says: as if labels were dealt out anew."""
    return np.array(["a", "b", "c"])[draws.integers(0, 3, len(texts))]


def told_labels(texts: Sequence[str], draws: np.random.Generator) -> NDArray[np.str_]:
    """By a score that each word has."""
    scores = {word: draws.normal() for word in sorted({word for text in texts for word in text.split()})}
    sums = np.array([sum(map(scores.__getitem__, text.split())) / len(text.split()) ** 0.5 for text in texts])
    return np.array(["a", "b", "c"])[np.digitize(sums, np.quantile(sums, [1 / 3, 2 / 3]))]


def planted_labels(texts: Sequence[str], draws: np.random.Generator) -> NDArray[np.str_]:
    """By the first word, where it is the planted one."""
    ties = {"man": "b", "woman": "c"}
    return np.array([ties.get(text.split()[0], "") or str(draws.choice(["a", "b", "c"])) for text in texts])


Labels = Callable[[Sequence[str], np.random.Generator], NDArray[np.str_]]


def attacked(
    repetition: int, labels: Labels, victim: str, *, planted: bool = False, filled: bool = False
) -> dict[str, Outcome]:
    """P-values of a victim, to women and to men in turn; to women where a man's word is planted.

    Args:
        filled: by what a masked language model has in the place of words, instead.
    """
    made = world(repetition // VICTIMS, planted, filled)
    held = made.held.branch()
    classes = labels(made.texts["text"].to_pylist(), np.random.default_rng([repetition, 6]))
    place = made.texts.schema.get_field_index("label")
    texts = held.put(made.texts.set_column(place, SPLIT.field("label"), pa.array(classes.tolist(), pa.string())))
    run = run_of(held, made.config, {victim: made.victims[victim]})
    found = job.attack_texts(run, job.train_victims(run, texts), made.spaces, made.candidates)
    summary = job.evaluate(run, found, made.pairs, made.vectors).one(tables.Summary)
    gender = "female" if planted or repetition % 2 else "male"
    direction = "masked" if filled else f"pair_to_{gender}"
    [row] = pl.DataFrame(held.read(summary)).filter(direction=direction, stratum="all").to_dicts()
    both = [row[name] for name in ("asymmetry_p_adjusted", "asymmetry_control_p")]
    return {name: row[name] for name in RANKS} | {"side": 1.0 if None in both else max(both)}


# --- texts whose rates are known --------------------------------------------------------------------------------------

DIRECTIONS = ("pair_to_female", "pair_to_male")
BASE, ABLE, NUM_CONTROLS = 0.25, 0.75, 39


class Case(NamedTuple):
    """Made-up texts: how many groups, of how many texts, with how many replicas; and by how much to women differs."""

    num_groups: int
    group_size: float
    num_replicas: int = 0
    lead: float = 0.0


@cache
def rated_config() -> GenderAdversaryRun:
    """Settings of the last stage."""
    return configured(*SETTINGS, f"controls.number={NUM_CONTROLS}", "victim=linear")


def rated(case: Case, repetition: int) -> dict[str, Outcome]:
    """What the last stage makes of flips whose chances are known."""
    draws = np.random.default_rng([repetition, case.num_groups, case.num_replicas, 7])
    sizes = 1 + draws.poisson(case.group_size - 1.0, case.num_groups)
    groups = np.repeat(np.arange(case.num_groups), sizes)
    able = draws.random(groups.size) < ABLE
    kinds = np.clip(draws.normal(1.0, 0.15, 1 + NUM_CONTROLS), 0.5, 1.5)
    replicas = np.clip(draws.normal(1.0, 0.1, 1 + case.num_replicas), 0.7, 1.3) if case.num_replicas else np.ones(1)
    parts = []
    for control in range(-1, NUM_CONTROLS):
        asked = replicas if control < 0 else replicas[:1]
        parts += _both_ways(draws, groups, kinds[control + 1], asked, control, case)
    outcomes = pl.concat(parts).filter(pl.col("row").is_in(np.flatnonzero(able).tolist()))
    summary = _summary_of(groups, able, outcomes, case)
    [row] = [row for row in summary if (row["direction"], row["stratum"]) == (DIRECTIONS[0], "all")]
    rate = BASE * (kinds[0] + case.lead)
    truths = {"changeable_rate": rate, "flip_rate": ABLE * rate, "excess": ABLE * (rate - BASE * kinds[1:].mean())}
    held = {name: holds(row, name, truth) for name, truth in truths.items()}
    adjusted = min(one["p_adjusted"] for one in summary if one["stratum"] == "all")
    return held | {name: row[name] for name in SIGNS + RANKS} | {"p_adjusted": adjusted}


SIGNS = ("asymmetry_p", "asymmetry_p_adjusted")


def _both_ways(
    draws: np.random.Generator, groups: NDArray[np.int64], kind: float, replicas: Any, control: int, case: Case
) -> list[pl.DataFrame]:
    """Of every text along a direction and back; which way a group flips more, a coin says."""
    ways = np.clip(draws.normal(1.0, 0.3, (2, case.num_groups)), 0.4, 1.6)
    found = []
    for name, way, lead in zip(DIRECTIONS, ways, (case.lead if control < 0 else 0.0, 0.0), strict=True):
        chances = BASE * (kind + lead) * way[groups]
        luck = draws.random(groups.size)
        for number, replica in enumerate(replicas):
            columns = {"row": np.arange(groups.size), "is_flip": luck < chances * replica, "fall": chances}
            same = {"victim": pl.lit("linear"), "direction": pl.lit(name), "control": control, "replica": number}
            sizes = {"num_candidates": pl.lit(2, pl.Int32), "log10_size": draws.normal(1.0, 0.1)}
            found.append(pl.DataFrame(columns).with_columns(**same, **sizes))
    return found


def _summary_of(
    groups: NDArray[np.int64], able: NDArray[np.bool_], outcomes: pl.DataFrame, case: Case
) -> list[dict[str, Any]]:
    held, named = Held(), [None if case.group_size == 1.0 else f"group {group}" for group in groups]
    same = {"victim": "linear", "predicted": "a", "has_female": False, "has_male": False}
    texts = [same | {"row": row, "text": f"text {row}", "group": group} for row, group in enumerate(named)]
    statuses = np.where(able, "robust_proven", "no_candidate").tolist()
    attacks = [
        {"row": row, "victim": "linear", "direction": name, "search": "ladder", "status": status, "num_changes": 0}
        for row, status in enumerate(statuses)
        for name in DIRECTIONS
    ]
    schema = tables.Outcomes.schema()
    made = {
        "texts": pa.Table.from_pylist(texts, tables.Texts.schema()),
        "attacks": pa.Table.from_pylist(attacks, tables.Attacks.schema()),
        "substitutions": tables.Substitutions.schema().empty_table(),
        "outcomes": outcomes.select(schema.names).to_arrow().cast(schema),
    }
    pairs = [held.put(tables.Pairs.schema().empty_table())] * (1 + case.num_replicas)
    embedding = WholeVectors(pairs, {"number": case.num_replicas})
    unit = Finished("made/1", "made", 0, {name: held.put(table, name) for name, table in made.items()})
    attacked = Done([(cast(AttackTexts, None), unit)])
    found = job.evaluate(run_of(held, rated_config(), {}), attacked, [], embedding)
    return pl.DataFrame(held.read(found.one(tables.Summary))).to_dicts()


# --- trainings whose effects are known --------------------------------------------------------------------------------

RETRAINING, NEAR = "retraining", 0.97


def trainings(repetition: int, lead: float = 0.0) -> dict[tuple[str, str, str], tables.Retraining]:
    """What the last stage makes of trainings of arms: found texts flip less by ``lead``, and no arm differs else.

    A draw of 10 trainings and 20 groups of 6 held-out texts; each training and each group moves an arm by itself.
    """
    draws, beside = (np.random.default_rng([repetition, round(100.0 * lead), 8 + part]) for part in (0, 2))
    num_trainings, groups = 10, np.repeat(np.arange(20), 6)
    rows = []
    for arm in (COPIES, SWAPS, FOUND):
        moved = draws.normal(0.0, 0.05, (num_trainings, 1)) + draws.normal(0.0, 0.05, 20)[groups]
        chances = np.clip(0.4 + moved - (lead if arm == FOUND else 0.0), 0.02, 0.98)
        flips, right = (draws.random(chances.shape) < of_one for of_one in (chances, np.clip(0.7 + moved, 0.02, 0.98)))
        old = beside.random(chances.shape) < NEAR + moved / 5.0
        rows += [
            {"victim": "linear", "row": row, "arm": arm, "number": number}
            | {"is_flip": bool(flips[number, row]), "is_correct": bool(right[number, row]), "num_added": 9}
            | {"transfer": float(old[number, row])}
            for number in range(num_trainings)
            for row in range(groups.size)
        ]
    held = Held()
    texts = [{"row": row, "text": f"text {row}", "label": "a", "group": f"{group}"} for row, group in enumerate(groups)]
    work = EvaluateRetraining(
        level=0.95,
        retrained=[held.put(pa.Table.from_pylist(rows, tables.Retrained.schema()))],
        attacked=[held.put(pa.Table.from_pylist(texts, tables.Part.schema()))],
    )
    return {(row.arm, row.against, row.measure): row for row in work.rows(cast(Any, held))}


def retrained(repetition: int, lead: float = 0.0) -> dict[str, Outcome]:
    """Of these, whether intervals hold what was drawn, and p-values."""
    made = trainings(repetition, lead)
    flip, level, near = made[FOUND, SWAPS, "flip_rate"], made[COPIES, "", "accuracy"], made[COPIES, "", "transfer"]
    differing = [row.p_adjusted for row in made.values() if row.against and row.measure in ("accuracy", "flip_rate")]
    return {
        "value": flip.value.low <= -lead <= flip.value.high,
        "level": level.value.low <= 0.7 <= level.value.high,
        "near": near.value.low <= NEAR <= near.value.high,
        "p_value": flip.p_value,
        "p_adjusted": flip.p_adjusted if lead else min(differing),
    }


# --- changed characters whose chances are known ----------------------------------------------------------------------

CHARACTERS = "characters"
RATES = ("flip_rate", "random_rate", "excess", "averted")


def misspelt(num_groups: int, group_size: int, chance: float, repetition: int) -> dict[str, Outcome]:
    """What the last stage makes of flips in 4 draws of each text: half as many with a defence, a third at random."""
    draws = np.random.default_rng([repetition, num_groups, round(1000.0 * chance), 9])
    groups = np.repeat(np.arange(num_groups), group_size)
    moved = 1.0 + np.clip(draws.normal(0.0, 0.3, num_groups), -0.9, 0.9)[groups]
    random = draws.binomial(4, chance / 3.0 * moved) / 4.0
    rows = [
        {"victim": "linear", "row": row, "kind": "drop", "number": 1, "defence": defence}
        | {"flips": flip, "random_flips": random[row]}
        for defence, of_it in (("none", chance), ("normal_form", chance / 2.0))
        for row, flip in enumerate((draws.binomial(4, of_it * moved) / 4.0).tolist())
    ]
    held, named = Held(), [None if group_size == 1 else f"group {group}" for group in groups]
    texts = [{"row": row, "text": f"text {row}", "label": "a", "group": group} for row, group in enumerate(named)]
    work = EvaluateCharacters(
        level=0.95,
        made=[held.put(pa.Table.from_pylist(rows, tables.Misspellings.schema()))],
        attacked=[held.put(pa.Table.from_pylist(texts, tables.Part.schema()))],
    )
    bare, defended = work.rows(cast(Any, held))
    numbers = bare.flip_rate, bare.random_rate, bare.excess, defended.averted
    truths = chance, chance / 3.0, chance * 2.0 / 3.0, chance / 2.0
    parts = zip(RATES, numbers, truths, strict=True)
    return {name: number.low <= truth <= number.high for name, number, truth in parts}


# --- what is claimed ------------------------------------------------------------------------------------------------

UNREAD = "labels are dealt anew: words that fit are as good as others"
LABELS_DEALT = "labels are dealt anew: no victim can know gender"
MASKED = "the victim neither learns nor reads gendered words"
PLANTED = "of 30 in 100 training texts the first word, a man's or a woman's, decides the class"
ALIKE = "the direction is one like its controls"
EITHER = "in each group either way is as likely to flip more"


def _ranks(kind: Kind, truth: str, bound: float | None = None) -> tuple[Claim, ...]:
    return tuple(Claim(name, SUMMARY, (name,), kind, "direction", truth, bound) for name in RANKS)


def _victims(kind: Kind, truth: str, bound: float | None = None) -> tuple[Claim, ...]:
    """Ranks, and a side as the page names it: where both p-values are small."""
    both = ("asymmetry_p_adjusted", "asymmetry_control_p")
    return (*_ranks(kind, truth, bound), Claim("side", SUMMARY, both, kind, "text and direction", truth, bound))


def _rated(name: str, unit: str, case: Case) -> Experiment:
    held = [
        Claim(column, SUMMARY, ends(column), "coverage", unit, "chances that were drawn")
        for column in ("flip_rate", "changeable_rate", "excess")
    ]
    signs = [Claim(column, SUMMARY, (column,), "size", unit, EITHER) for column in SIGNS]
    adjusted = Claim("p_adjusted", SUMMARY, ("p_adjusted",), "size", "direction", ALIKE)
    return _stage(name, 400, partial(rated, case), (*held, *signs, *_ranks("size", ALIKE), adjusted))


def _stage(name: str, repetitions: int, run: Run, claims: tuple[Claim, ...]) -> Experiment:
    return Experiment(JOB, f"{JOB}: {name}", repetitions, run, claims)


def _misspelt(name: str, num_groups: int, group_size: int, chance: float) -> Experiment:
    unit = "text" if group_size == 1 else "group"
    claims = [Claim(rate, CHARACTERS, ends(rate), "coverage", unit, "chances that were drawn") for rate in RATES]
    return _stage(f"changed characters, {name}", 400, partial(misspelt, num_groups, group_size, chance), (*claims,))


TRAINED, HELD, NO_ARM = "group and training", "chances that were drawn", "no arm flips or errs more than another"
# At equal size, to which a line through controls of nearly one size leads, there is little to find.
_KNOWN = tuple(
    replace(claim, bound=0.2) if claim.name == "size_p_value" else claim for claim in _victims("power", PLANTED, 0.8)
)
MORE = "to women flips 2.5 times as many"
_POWER = tuple(Claim(name, SUMMARY, (name,), "power", "group", MORE, 0.5) for name in (*SIGNS, "p_adjusted"))
_dealt = partial(attacked, labels=drawn_labels, victim="linear")
_filled = partial(attacked, labels=drawn_labels, victim="linear", filled=True)
_masked = partial(attacked, labels=told_labels, victim="linear_masked")
_planted = partial(attacked, labels=planted_labels, victim="linear", planted=True)
EXPERIMENTS = [
    _stage("labels dealt anew", 200, _dealt, _victims("size", LABELS_DEALT)),
    _stage("labels dealt anew, words that a masked model has", 200, _filled, _ranks("size", UNREAD)[:3]),
    _stage("gendered words masked", 200, _masked, _victims("size", MASKED)),
    _stage("a planted word", 200, _planted, _KNOWN),
    _rated("texts alone", "text", Case(80, 1.0)),
    _rated("20 groups of about 5", "group", Case(20, 5.0)),
    _rated("8 groups of about 10", "group", Case(8, 10.0)),
    _stage(
        "trainings that do not differ",
        400,
        retrained,
        (
            *(Claim(name, RETRAINING, ends("value"), "coverage", TRAINED, HELD) for name in ("value", "level", "near")),
            *(Claim(name, RETRAINING, (name,), "size", TRAINED, NO_ARM) for name in ("p_value", "p_adjusted")),
        ),
    ),
    _stage(
        "trainings with found texts flip less",
        200,
        partial(retrained, lead=0.12),
        tuple(
            Claim(name, RETRAINING, (name,), "power", TRAINED, "found texts take 12 points off", 0.5)
            for name in ("p_value", "p_adjusted")
        ),
    ),
    _misspelt("texts alone", 100, 1, 0.3),
    _misspelt("20 groups of 5", 20, 5, 0.3),
    _misspelt("few flips", 100, 1, 0.06),
    _rated("20 groups, 8 replicas", "group", Case(20, 5.0, 8)),
    _stage(
        "20 groups, more flips to women",
        200,
        partial(rated, Case(20, 5.0, 0, 1.5)),
        _POWER + _ranks("power", MORE, 0.5),
    ),
]
