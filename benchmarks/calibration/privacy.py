"""`privacy_metrics`: models, orderings, words and artificial words, over speakers and seeds, and over texts.

Tables as the last stages read them are made up: speakers differ from each other and so do trainings, and what a text
has is the sum of both and of its own. Truths are means over other speakers and trainings.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from benchmarks.calibration.made import Held
from benchmarks.calibration.registry import Claim, Experiment, Outcome
from tiltmeter.jobs.classifiers.privacy import tables
from tiltmeter.jobs.classifiers.privacy.comparing import adjusted
from tiltmeter.jobs.classifiers.privacy.estimates import Said
from tiltmeter.jobs.classifiers.privacy.measuring import GENERAL
from tiltmeter.jobs.classifiers.privacy.noise import noise_rows
from tiltmeter.jobs.classifiers.privacy.summing import _sum_up
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings
from tiltmeter.storage.store.ledger import Unit

JOB = "privacy_metrics"
MODEL = "PrivAdv"
INTERVALS = KeyedResampleSettings(num_resamples=2)
_SPEAKER, _SEED, _TEXT = 0.8, 0.3, 0.5
_OTHERS = "mean of other speakers and trainings"


class Case(NamedTuple):
    """What is special about an experiment.

    Attributes:
        speakers: how many; 0: nothing says who speaks, and each text is somebody else's.
        size: texts of each on average.
        seeds: trainings of each model.
        spread: of speakers' sizes, as a standard deviation of logarithms.
        effect: what the model has more than General, in EP, and fewer recognised genders.
        is_skewed: whether a few speakers lie far off.
    """

    speakers: int = 12
    size: int = 6
    seeds: int = 3
    spread: float = 0.5
    effect: float = 0.0
    is_skewed: bool = False


class World(NamedTuple):
    """Who says what: the speaker of each text, and draws."""

    speakers: IntArray
    case: Case
    rng: np.random.Generator

    def effects(self) -> FloatArray:
        """``[seeds, texts]``: of speakers, trainings and texts, of mean 0 and about unit variance."""
        num = int(self.speakers.max()) + 1
        of_speakers = self.rng.exponential(1.0, num) - 1.0 if self.case.is_skewed else self.rng.standard_normal(num)
        of_seeds = self.rng.standard_normal((self.case.seeds, 1)) * (_SEED if self.case.seeds > 1 else 0.0)
        texts = self.rng.standard_normal(self.speakers.size)
        again = 0.3 * self.rng.standard_normal((self.case.seeds, self.speakers.size))
        alone = 0.0 if self.case.speakers == 0 else _SPEAKER
        return np.asarray(alone * of_speakers[self.speakers] + of_seeds + _TEXT * texts + again)


def world(repetition: int, case: Case) -> World:
    """Of one repetition."""
    rng = np.random.default_rng([repetition, case.speakers, case.seeds, 31])
    if not case.speakers:
        return World(np.arange(case.size), case, rng)
    sizes = np.maximum(2, np.rint(case.size * rng.lognormal(-(case.spread**2) / 2, case.spread, case.speakers)))
    return World(np.repeat(np.arange(case.speakers), sizes.astype(int)), case, rng)


def share(effects: FloatArray, level: float = 0.0) -> FloatArray:
    """Between 0 and 1."""
    return np.asarray(1.0 / (1.0 + np.exp(-(level + effects))))


@cache
def share_truth(case: Case, level: float = 0.0) -> float:
    """Mean of :func:`share` over other speakers and trainings."""
    wide = case._replace(speakers=20_000 if case.speakers else 0, size=2 if case.speakers else 40_000, seeds=1)
    made = World(np.repeat(np.arange(20_000), 2), wide, np.random.default_rng(5))
    effects = made.effects() + (_SEED * made.rng.standard_normal((1, 40_000)) if case.seeds > 1 else 0.0)
    return float(share(effects, level).mean())


def outcomes(made: World, model: str, valences: IntArray, genders: IntArray, level: float) -> pa.Table:
    """Of both attackers, right with chances of speakers and trainings."""
    rows = []
    for name, classes in (("valence", valences), ("gender", genders)):
        right = made.rng.random((made.case.seeds, classes.size)) < share(
            made.effects(), level if name == "gender" else 0.0
        )
        rows.append((classes, np.where(right, classes, 1 - classes)))
    frames = [
        {"sentence": np.arange(valences.size), "valence": rows[0][0], "gender": rows[1][0]}
        | {"found_valence": rows[0][1][seed], "found_gender": rows[1][1][seed]}
        for seed in range(made.case.seeds)
    ]
    return _stacked(frames, model, tables.OUTCOMES)


def samples(made: World, model: str, ep: FloatArray, own: Mapping[str, FloatArray]) -> pa.Table:
    """What explanations have of each measure."""
    ok = {name: ["ok"] * ep.shape[1] for name in ("status", "ep_status", "eg_status")}
    frames = [
        {"sentence": np.arange(ep.shape[1]), "ep": ep[seed]} | {name: these[seed] for name, these in own.items()} | ok
        for seed in range(made.case.seeds)
    ]
    return _stacked(frames, model, tables.SAMPLES)


def words(model: str, shares: FloatArray) -> pa.Table:
    """Of one listed word."""
    num = shares.shape[1]
    frames = [
        {"sentence": np.arange(num), "word": ["sorry"] * num, "list": ["hedges"] * num, "num": np.ones(num, int)}
        | {"share": these}
        for these in shares
    ]
    return _stacked(frames, model, tables.WORD_SHARES)


def _stacked(frames: list[dict[str, Any]], model: str, schema: pa.Schema) -> pa.Table:
    parts = []
    for seed, columns in enumerate(frames):
        num = len(columns["sentence"])
        full = columns | {"model": [model] * num, "corpus": ["within"] * num, "seed": np.full(num, seed)}
        arrays = [
            pa.array(
                [str(value) for value in full[field.name]] if field.type == pa.string() else full[field.name],
                field.type,
            )
            if field.name in full
            else pa.nulls(num, field.type)
            for field in schema
        ]
        parts.append(pa.Table.from_arrays(arrays, schema=schema))
    return pa.concat_tables(parts)


def summed(repetition: int, case: Case) -> dict[str, list[dict[str, Any]]]:
    """Rows of the stage that sums up, of a model and General, and of that which adjusts."""
    made = world(repetition, case)
    num = made.speakers.size
    genders = made.speakers % 2
    valences = made.rng.permuted(np.arange(num) % 2)
    measured = [name for name in tables.EXPLAINED if name not in ("ep", "eg")]
    held = {}
    for role, model in (("own", MODEL), ("general", GENERAL)):
        shift = case.effect if role == "own" else 0.0
        ep = shift + 0.3 * made.effects() if role == "own" else np.full((case.seeds, num), np.nan)
        shares = {name: share(made.effects()) for name in measured} | {"eg": 1.0 - 0.2 * share(made.effects())}
        held[f"{role}_samples"] = samples(made, model, ep, shares)
        held[f"{role}_outcomes"] = outcomes(made, model, valences, genders, -3.0 * shift)
        held[f"{role}_words"] = words(model, 0.2 * share(made.effects()))
    held["texts"] = pa.table(
        {
            "sentence": np.arange(num),
            "text": [f"text {at}" for at in range(num)],
            "group": pa.array([f"speaker {who}" if case.speakers else None for who in made.speakers], pa.string()),
        }
    )
    config = {"model": MODEL, "seed": 0, "intervals": INTERVALS}
    unit = Unit("made/1", "made", config, {name: [name] for name in held})  # type: ignore[list-item]
    made_tables = {name: table.to_pylist() for name, table in _sum_up(Held(held), unit)}  # type: ignore[arg-type]
    return made_tables | {"orderings": adjusted(made_tables["orderings"])}


def holds(row: Mapping[str, Any], name: str, truth: float) -> bool | None:
    """Whether an interval holds the truth; None without one."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return None if low is None or high is None else bool(low <= truth <= high)


def over(case: Case) -> Any:
    """A repetition of a case."""

    def repetition(number: int) -> dict[str, Outcome]:
        made = summed(number, case)
        [model] = [row for row in made["models"] if row["seed"] is None]
        rows = {(row["against"], row["measure"]): row for row in made["orderings"]}
        ep, gender = rows[GENERAL, "ep"], rows[GENERAL, "gender_uar"]
        [word] = made["ep_words"]
        level = share_truth(case)
        return {
            "p of EP": ep["p"],
            "p after Holm of EP": ep["p_holm"],
            "p of gender": gender["p"],
            "valence UAR": holds(model, "valence_uar", level),
            "gender UAR": holds(model, "gender_uar", level) if not case.effect else None,
            "EP": holds(model, "ep", case.effect),
            "EG": holds(model, "eg", 1.0 - 0.2 * level),
            "shares": holds(model, "listed_share", level),
            "difference of EP": holds(ep, "difference", case.effect),
            "difference of UAR": holds(gender, "difference", 0.0) if not case.effect else None,
            "change": holds(word, "change", 0.0),
        }

    return repetition


def noisy(case: Case) -> Any:
    """A repetition of artificial words."""

    def repetition(number: int) -> dict[str, Outcome]:
        made = world(number, case)
        shares, num = share(made.effects(), 0.5), made.speakers.size
        first = made.rng.random((case.seeds, num)) < share(made.effects(), 0.5)
        frame = pl.concat(
            [
                pl.DataFrame(
                    {"sentence": np.arange(num), "share": shares[seed], "first": first[seed].astype(float)}
                ).with_columns(seed=pl.lit(seed), word=pl.lit("zx0"), even_share=pl.lit(0.2))
                for seed in range(case.seeds)
            ]
        )
        texts = {
            at: Said(f"text {at}", f"speaker {who}" if case.speakers else None) for at, who in enumerate(made.speakers)
        }
        config = {"model": "ArtNoise", "words": [["zx0"]], "seed": 0, "intervals": INTERVALS}
        row = next(iter(noise_rows(frame, texts, config)))
        truth = share_truth(case, 0.5)
        return {"share": holds(row, "share", truth), "first": holds(row, "first", truth)}

    return repetition


def _claims(unit: str, *, documented: bool = False) -> tuple[Claim, ...]:
    null, truth = (
        "either model is as likely to be ahead, for each speaker and training",
        "mean of other speakers and trainings",
    )

    def claim(name: str, table: str, *columns: str, kind: Any = "coverage", what: str = truth) -> Claim:
        return Claim(name, table, columns, kind, unit, what, documented=documented)

    return (
        claim("p of EP", "orderings", "p", kind="size", what=null),
        claim("p after Holm of EP", "orderings", "p_holm", "p_benjamini_hochberg", kind="size", what=null),
        claim("p of gender", "orderings", "p", kind="size", what=null),
        claim("valence UAR", "models", "valence_uar_low", "valence_uar_high"),
        claim("gender UAR", "models", "gender_uar_low", "gender_uar_high"),
        claim("EP", "models", "ep_low", "ep_high", "ep_random_low", "ep_random_high"),
        claim("EG", "models", "eg_low", "eg_high"),
        claim("shares", "models", "*_share_low", "*_share_high"),
        claim("difference of EP", "orderings", "difference_low", "difference_high"),
        claim("difference of UAR", "orderings", "difference_low", "difference_high"),
        claim("change", "ep_words", "change_low", "change_high"),
    )


def _power(unit: str, bound: float) -> tuple[Claim, ...]:
    return (
        Claim("p of EP", "orderings", ("p",), "power", unit, "EP is 0.5, a speaker's effect 0.24", bound),
        Claim(
            "p after Holm of EP",
            "orderings",
            ("p_holm", "p_benjamini_hochberg"),
            "power",
            unit,
            "the same",
            bound - 0.1,
        ),
    )


def _noise_claims(unit: str, *, documented: bool = False) -> tuple[Claim, ...]:
    return tuple(
        Claim(name, "noise", (f"{name}_low", f"{name}_high"), "coverage", unit, _OTHERS, documented=documented)
        for name in ("share", "first")
    )


def _only(run: Any, claims: tuple[Claim, ...]) -> Any:
    def repetition(number: int) -> dict[str, Outcome]:
        found = run(number)
        return {claim.name: found[claim.name] for claim in claims}

    return repetition


def _experiment(name: str, repetitions: int, run: Any, claims: tuple[Claim, ...]) -> Experiment:
    return Experiment(f"privacy_metrics: {name}", JOB, "stage", repetitions, _only(run, claims), claims)


TWELVE, MANY, SKEWED = Case(), Case(speakers=12, size=6, seeds=1), Case(is_skewed=True)
SIX, ALONE = Case(speakers=6, size=8, spread=0.2), Case(speakers=0, size=12, seeds=3)
WORDS = ALONE._replace(size=40)
_FEW = tuple(claim for claim in _claims("speaker") if "UAR" not in claim.name and "gender" not in claim.name)

EXPERIMENTS = [
    _experiment("12 speakers of unlike sizes, 3 seeds", 1000, over(TWELVE), _claims("speaker")),
    _experiment("12 speakers, one seed", 400, over(MANY), _claims("speaker")),
    _experiment("12 speakers of skewed effects", 1000, over(SKEWED), _claims("speaker", documented=True)),
    _experiment("6 speakers", 400, over(SIX), _FEW),
    _experiment("texts, as nothing says who speaks", 400, over(ALONE), _claims("text")),
    _experiment(
        "12 speakers, one seed, a model that differs", 200, over(MANY._replace(effect=0.5)), _power("speaker", 0.9)
    ),
    _experiment(
        "12 speakers, 3 seeds, a model that differs", 200, over(TWELVE._replace(effect=0.5)), _power("speaker", 0.9)
    ),
    _experiment("artificial words, 12 speakers", 1000, noisy(TWELVE), _noise_claims("speaker")),
    # Three seeds that spread more than the texts: of about two degrees of freedom, whose number is estimated.
    _experiment("artificial words, texts, 3 seeds", 1000, noisy(WORDS), _noise_claims("text", documented=True)),
    _experiment("artificial words, texts, 5 seeds", 1000, noisy(WORDS._replace(seeds=5)), _noise_claims("text")),
]
