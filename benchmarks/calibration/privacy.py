"""`privacy_metrics`: models, orderings, words and artificial words, over speakers and seeds, and over texts.

Tables as the last stages read them are made up: speakers differ from each other and so do trainings, and what a text
has is the sum of both and of its own. Truths are means over other speakers and trainings.
"""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from benchmarks.calibration.registry import Claim, Experiment, Held, Outcome, Ref, Run, ends, holds, share
from tiltmeter.jobs.classifiers.privacy import tables
from tiltmeter.jobs.classifiers.privacy.comparisons import AdjustOrderings, Measured, SumUp
from tiltmeter.jobs.classifiers.privacy.estimates import ControlNoise, Said, Sampling
from tiltmeter.jobs.classifiers.privacy.tables import GENERAL
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings

JOB = "privacy_metrics"
MODEL = "PrivAdv"
INTERVALS = KeyedResampleSettings(num_resamples=2)
_SPEAKER, _SEED, _TEXT = 0.8, 0.3, 0.5


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


@cache
def share_truth(case: Case, level: float = 0.0) -> float:
    """Mean of :func:`share` over other speakers and trainings."""
    wide = case._replace(speakers=20_000 if case.speakers else 0, size=2 if case.speakers else 40_000, seeds=1)
    made = World(np.repeat(np.arange(20_000), 2), wide, np.random.default_rng(5))
    effects = made.effects() + (_SEED * made.rng.standard_normal((1, 40_000)) if case.seeds > 1 else 0.0)
    return float(share(effects, level).mean())


def outcomes(made: World, model: str, valences: IntArray, genders: IntArray, level: float) -> pa.Table:
    """Of both attackers, right with chances of speakers and trainings."""

    def said(classes: IntArray, level: float) -> Any:
        right = made.rng.random((made.case.seeds, classes.size)) < share(made.effects(), level)
        return np.where(right, classes, 1 - classes).astype(str)

    by_seed = zip(said(valences, 0.0), said(genders, level), strict=True)
    frames = [
        {"valence": valences.astype(str), "gender": genders.astype(str), "found_valence": one, "found_gender": other}
        for one, other in by_seed
    ]
    return _stacked(frames, model, tables.Outcomes.schema())


def samples(made: World, model: str, ep: FloatArray, own: Mapping[str, FloatArray]) -> pa.Table:
    """What explanations have of each measure."""
    ok = {name: ["ok"] * ep.shape[1] for name in ("status", "ep_status", "eg_status")}
    numbers = {"ep": ep, **own}
    frames = [{name: these[seed] for name, these in numbers.items()} | ok for seed in range(made.case.seeds)]
    return _stacked(frames, model, tables.Samples.schema())


def words(model: str, shares: FloatArray) -> pa.Table:
    """Of one listed word."""
    num = shares.shape[1]
    same = {"word": ["sorry"] * num, "list": ["hedges"] * num, "num": np.ones(num, int)}
    frames = [same | {"share": these} for these in shares]
    return _stacked(frames, model, tables.WordShares.schema())


def _stacked(frames: list[dict[str, Any]], model: str, schema: pa.Schema) -> pa.Table:
    """Of all trainings; what the frames lack is missing."""
    parts = []
    for seed, columns in enumerate(frames):
        num = len(next(iter(columns.values())))
        keys = {"model": [model] * num, "corpus": ["within"] * num, "seed": np.full(num, seed)}
        full = dict.fromkeys(schema.names, [None] * num) | keys | {"sentence": np.arange(num)} | columns
        parts.append(pa.table(full, schema=schema))
    return pa.concat_tables(parts)


def summed(repetition: int, case: Case) -> dict[str, list[dict[str, Any]]]:
    """Rows of the stage that sums up, of a model and General, and of that which adjusts."""
    made = world(repetition, case)
    num = made.speakers.size
    genders = made.speakers % 2
    valences = made.rng.permuted(np.arange(num) % 2)
    measured = [name for name in tables.EXPLAINED if name not in ("ep", "eg")]
    held: dict[Any, pa.Table] = {}
    for role, model in (("own", MODEL), ("general", GENERAL)):
        shift = case.effect if role == "own" else 0.0
        ep = shift + 0.3 * made.effects() if role == "own" else np.full((case.seeds, num), np.nan)
        shares = {name: share(made.effects()) for name in measured} | {"eg": 1.0 - 0.2 * share(made.effects())}
        held[f"{role}_samples"] = samples(made, model, ep, shares)
        held[f"{role}_outcomes"] = outcomes(made, model, valences, genders, -3.0 * shift)
        held[f"{role}_words"] = words(model, 0.2 * share(made.effects()))
    groups = [f"speaker {who}" if case.speakers else None for who in made.speakers]
    about = {"sentence": np.arange(num), "text": [f"text {at}" for at in range(num)]}
    held["texts"] = pa.table({**about, "group": pa.array(groups, pa.string())})
    own, general = (_measured(role) for role in ("own", "general"))
    texts: Any = [Ref("texts")]
    work = SumUp(name=MODEL, texts=texts, own=own, general=general, intervals=INTERVALS, seed=0)
    held |= work.tables(_store(held))
    orderings: Any = [Ref("orderings")]
    held |= AdjustOrderings(orderings=orderings).tables(_store(held))
    return {name: held[name].to_pylist() for name in ("models", "orderings", "ep_words")}


def _measured(role: str) -> Measured:
    names: Any = ([Ref(f"{role}_{kind}")] for kind in ("samples", "words", "outcomes"))
    return Measured(role, *names)


def _store(held: Mapping[Any, pa.Table]) -> Any:
    return Held(held)


def _over(case: Case, number: int) -> dict[str, Outcome]:
    """A repetition of a case."""
    made, level = summed(number, case), share_truth(case)
    [model] = [row for row in made["models"] if row["seed"] is None]
    rows = {(row["against"], row["measure"]): row for row in made["orderings"]}
    ep, gender = rows[GENERAL, "ep"], rows[GENERAL, "gender_uar"]
    [word] = made["ep_words"]
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


def _noisy(case: Case, number: int) -> dict[str, Outcome]:
    """A repetition of artificial words."""
    made = world(number, case)
    shares, num = share(made.effects(), 0.5), made.speakers.size
    first = made.rng.random((case.seeds, num)) < share(made.effects(), 0.5)
    frame = pl.concat(
        pl.DataFrame(
            {"sentence": np.arange(num), "share": shares[seed], "first": first[seed].astype(float)}
        ).with_columns(seed=pl.lit(seed), word=pl.lit("zx0"), even_share=pl.lit(0.2))
        for seed in range(case.seeds)
    )
    texts = {
        at: Said(f"text {at}", f"speaker {one}" if case.speakers else None) for at, one in enumerate(made.speakers)
    }
    read: Any = {"copies": Ref("copies"), "texts": [], "attributions": []}
    work = ControlNoise(name="ArtNoise", words=[["zx0"]], seed=0, intervals=INTERVALS, **read)
    made_row = next(work.means(frame, Sampling(texts, INTERVALS, 0)))
    [row], truth = dict(tables_of([made_row], [tables.Noise]))["noise"].to_pylist(), share_truth(case, 0.5)
    return {name: holds(row, name, truth) for name in ("share", "first")}


_NULL = "either model is as likely to be ahead, for each speaker and training"
_TRUTH = "mean of other speakers and trainings"
_ADJUSTED = ("p_holm", "p_benjamini_hochberg")


def _claims(unit: str, *, documented: bool = False) -> tuple[Claim, ...]:
    def size(name: str, *columns: str) -> Claim:
        return Claim(name, "orderings", columns, "size", unit, _NULL, documented=documented)

    def held(name: str, table: str, *columns: str) -> Claim:
        return Claim(name, table, ends(*columns), "coverage", unit, _TRUTH, documented=documented)

    return (
        size("p of EP", "p"),
        size("p after Holm of EP", *_ADJUSTED),
        size("p of gender", "p"),
        held("valence UAR", "models", "valence_uar"),
        held("gender UAR", "models", "gender_uar"),
        held("EP", "models", "ep", "ep_random"),
        held("EG", "models", "eg"),
        held("shares", "models", "*_share"),
        held("difference of EP", "orderings", "difference"),
        held("difference of UAR", "orderings", "difference"),
        held("change", "ep_words", "change"),
    )


def _noise_claims(unit: str, *, documented: bool = False) -> tuple[Claim, ...]:
    about = ("coverage", unit, _TRUTH, None, documented)
    return tuple(Claim(name, "noise", ends(name), *about) for name in ("share", "first"))


def _only(run: Run, claims: tuple[Claim, ...], number: int) -> dict[str, Outcome]:
    found = run(number)
    return {claim.name: found[claim.name] for claim in claims}


def _stage(name: str, repetitions: int, run: Run, claims: tuple[Claim, ...]) -> Experiment:
    return Experiment(JOB, f"privacy_metrics: {name}", repetitions, partial(_only, run, claims), claims)


TWELVE, MANY, SKEWED = Case(), Case(speakers=12, size=6, seeds=1), Case(is_skewed=True)
SIX, ALONE = Case(speakers=6, size=8, spread=0.2), Case(speakers=0, size=12, seeds=3)
WORDS = ALONE._replace(size=40)
_FEW = tuple(claim for claim in _claims("speaker") if "UAR" not in claim.name and "gender" not in claim.name)
_POWER = (
    Claim("p of EP", "orderings", ("p",), "power", "speaker", "EP is 0.5, a speaker's effect 0.24", 0.9),
    Claim("p after Holm of EP", "orderings", _ADJUSTED, "power", "speaker", "the same", 0.8),
)
_ONE_SEED, _THREE_SEEDS = (partial(_over, case._replace(effect=0.5)) for case in (MANY, TWELVE))

EXPERIMENTS = [
    _stage("12 speakers of unlike sizes, 3 seeds", 1000, partial(_over, TWELVE), _claims("speaker")),
    _stage("12 speakers, one seed", 400, partial(_over, MANY), _claims("speaker")),
    _stage("12 speakers of skewed effects", 1000, partial(_over, SKEWED), _claims("speaker", documented=True)),
    _stage("6 speakers", 400, partial(_over, SIX), _FEW),
    _stage("texts, as nothing says who speaks", 400, partial(_over, ALONE), _claims("text")),
    _stage("12 speakers, one seed, a model that differs", 200, _ONE_SEED, _POWER),
    _stage("12 speakers, 3 seeds, a model that differs", 200, _THREE_SEEDS, _POWER),
    _stage("artificial words, 12 speakers", 1000, partial(_noisy, TWELVE), _noise_claims("speaker")),
    # Three seeds that spread more than the texts: of about two degrees of freedom, whose number is estimated.
    _stage("artificial words, texts, 3 seeds", 1000, partial(_noisy, WORDS), _noise_claims("text", documented=True)),
    _stage("artificial words, texts, 5 seeds", 1000, partial(_noisy, WORDS._replace(seeds=5)), _noise_claims("text")),
]
