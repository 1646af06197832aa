"""What the tables of `privacy_metrics` say, in sentences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.classifiers.privacy.measuring import GENERAL, RESEEDED
from tiltmeter.jobs.classifiers.privacy.texts import CORPORA
from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.html.elements import Bullets, Paragraph
from tiltmeter.jobs.report.intervals import on_resamples
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.sides import Lean, on_sides
from tiltmeter.jobs.report.wording import estimate, listed, number, plural, quoted, significant
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.statistics.designs.groups import MIN_SIDE
from tiltmeter.operators.statistics.flips import MIN_UNITS
from tiltmeter.operators.statistics.intervals import HOLDS_ITS_ESTIMATE
from tiltmeter.operators.statistics.means import MIN_KISH
from tiltmeter.operators.statistics.multiplicity import least_possible
from tiltmeter.operators.statistics.sides import CONTRADICTORY

NAMES = {
    "valence_uar": "UAR of valence",
    "gender_uar": "UAR of gender",
    "ep": "EP",
    "ep_random": "EP of random lists",
    "eg": "EG",
    "listed_share": "listed share",
    "right_sign_share": "right-sign share",
    "lexicon_share": "share of the lexicon",
}
_NUM_WORDS = 8
_FEW_GROUPS = 10
_LEAST_SHOWN = 1e-4

_ASKED = [
    Paragraph(
        "Does a model that is trained to tell valence, from low to high, also know the speaker's gender, and does it "
        "go by the words by which people tell gender?"
    ),
    Paragraph(
        "UAR is the mean share of each class that is recognised; that of gender is of an attacker on the frozen "
        "representation, and chance is one over the number of genders. EP compares a model with General: it is above 0 "
        "where the model's explanations leave out words by which people tell gender, and below 0 where they take up "
        "others. EG is 1 less what falls on words that speak against the valence they have in a lexicon. The higher "
        "both are, the better a model is expected to do with other data."
    ),
]


def findings(frames: Frames, config: PrivacyMetricsRun) -> Lead:
    """What was asked, what was found of the orders that the paper expects, and how sure it is."""
    if "models" not in frames:
        return Lead(_ASKED, [Paragraph("No model could be measured; the failures say why.", "warning")], [])
    bullets = [*_extremes(frames["models"]), *_orderings(frames), *_chance(frames), *_stopped(frames), *_noise(frames)]
    blocks = [Bullets(bullets)]
    return Lead(_ASKED, blocks, [Bullets(list(_doubts(frames, config)))])


def _extremes(models: pl.DataFrame) -> Iterator[str]:
    means = models.filter(pl.col("seed").is_null(), pl.col("model") != RESEEDED)
    for corpus in means["corpus"].unique(maintain_order=True):
        part = means.filter(corpus=corpus)
        for measure in ("gender_uar", "ep"):
            known = part.drop_nulls(measure).sort(measure, "model")
            if known.height > 1:
                yield f"{_place(corpus)}, {_lowest_and_highest(known, measure)}."


def _lowest_and_highest(means: pl.DataFrame, measure: str) -> str:
    """Which models have the lowest number and which the highest, of rows that are sorted by it."""
    lowest, highest = (means.filter(pl.col(measure) == end) for end in (means[measure][0], means[measure][-1]))
    if lowest.height == means.height:
        return f"the {NAMES[measure]} is the same for all models, {number(means[measure][0], 3)}"
    return f"the {NAMES[measure]} is lowest for {_with(lowest, measure)} and highest for {_with(highest, measure)}"


def _with(rows: pl.DataFrame, measure: str) -> str:
    return listed([f"{row['model']} ({estimate(row, measure)})" for row in rows.to_dicts()])


_PLACES = {"within": "Within the corpus", "across": "In the other corpus", "noisy": "With artificial words"}


def _place(corpus: str) -> str:
    return _PLACES[corpus]


def _orderings(frames: Frames) -> Iterator[str]:
    """What the paper expects, and whether it was found: a sentence for each corpus and measure."""
    if "orderings" not in frames:
        return
    asked = frames["orderings"].filter(pl.col("expected").is_not_null() & pl.col("difference").is_not_null())
    for (corpus, measure), rows in asked.partition_by("corpus", "measure", maintain_order=True, as_dict=True).items():
        orders = rows.partition_by("expected", "against", maintain_order=True)
        yield f"{_place(str(corpus))}, {NAMES[str(measure)]} {'; '.join(map(_order, orders))}."


def _order(rows: pl.DataFrame) -> str:
    """One order, and of which models it was found, such as "higher than 0: found for A, not found for B and C"."""
    side, against, measure = (rows[name][0] for name in ("expected", "against", "measure"))
    other = "0" if (measure, against) == ("ep", GENERAL) else f"{against}'s"
    verdicts = rows.with_columns(verdict=pl.Series(map(verdict, rows.to_dicts())))
    models = {name: verdicts.filter(verdict=name)["model"].to_list() for name in VERDICTS}
    return f"{side} than {other}: {', '.join(f'{name} for {listed(names)}' for name, names in models.items() if names)}"


def _chance(frames: Frames) -> Iterator[str]:
    """What EP is where nothing was done to a model, and of which models it is more than that."""
    if "orderings" not in frames:
        return
    means = frames["models"].filter(pl.col("seed").is_null())
    compared = frames["orderings"].filter(pl.col("measure") == "ep", pl.col("against") == RESEEDED)
    for row in means.filter(pl.col("model") == RESEEDED, pl.col("ep").is_not_null()).to_dicts():
        rows = compared.filter(pl.col("difference_low").is_not_null(), corpus=row["corpus"])
        if rows.is_empty():
            yield (
                f"{_place(row['corpus'])}, General trained with other random numbers has an EP of "
                f"{estimate(row, 'ep')}; who has a higher one can't be told of so few speakers or texts."
            )
            continue
        above = on_sides(rows, Lean("difference")).above["model"].to_list()
        yield (
            f"{_place(row['corpus'])}, General trained with other random numbers has an EP of {estimate(row, 'ep')}; "
            f"the EP of {listed(above) if above else 'no model'} is higher than that."
        )


VERDICTS = ("found", "not found", "left open by contradictory numbers", "left open by too few speakers or texts")
"""On what is expected."""


def verdict(row: Row) -> str:
    """Whether what is expected was found: the difference and its whole interval lie on the expected side of 0.

    >>> row = {"expected": "lower", "difference": -0.2, "difference_low": -0.3, "difference_high": -0.1}
    >>> verdict(row), verdict(row | {"expected": "higher"}), verdict(row | {"difference": 0.1})
    ('found', 'not found', 'left open by contradictory numbers')
    >>> verdict(row | {"difference_low": None})
    'left open by too few speakers or texts'
    """
    confirmed, unconfirmed, contradicted, untold = VERDICTS
    if row["difference_low"] is None:
        return untold
    side = Lean("difference").side(row)
    if side in CONTRADICTORY:
        return contradicted
    return confirmed if side == {"lower": "below", "higher": "above"}[row["expected"]] else unconfirmed


def stopped_words(frames: Frames) -> Mapping[str, list[dict[str, Any]]]:
    """Words that each model stopped using within the corpus, those first whose share fell most."""
    if "ep_words" not in frames:
        return {}
    words = frames["ep_words"].filter(pl.col("corpus") == "within", pl.col("stopped")).sort("change", "word")
    return {
        str(model): rows.unique("word", keep="first", maintain_order=True).to_dicts()
        for (model,), rows in words.partition_by("model", maintain_order=True, as_dict=True).items()
    }


def _stopped(frames: Frames) -> Iterator[str]:
    for model, rows in stopped_words(frames).items():
        rest = [f"{len(rows) - _NUM_WORDS} more"] if len(rows) > _NUM_WORDS else []
        yield f"{model} stopped using {listed([*(quoted(row['word']) for row in rows[:_NUM_WORDS]), *rest])}."


def _noise(frames: Frames) -> Iterator[str]:
    """Whether explanations show what is known to be so."""
    for row in noise_of(frames, "ArtNoise"):
        method = {True: "highlight", False: "do not highlight", None: "can't be shown, by so few, to highlight"}
        result = method[row["highlighted"]]
        yield (
            f"Explanations {result} the artificial words that ArtNoise learnt: {estimate(row, 'share')} of its "
            f"attribution falls on them, where {number(row['even_share'], 3)} would if all words had as much."
        )


def noise_of(frames: Frames, model: str) -> Sequence[Row]:
    """What a model makes of all artificial words, mean over the seeds."""
    if "noise" not in frames:
        return []
    means = frames["noise"].filter(pl.col("seed").is_null(), pl.col("word").is_null(), pl.col("share").is_not_null())
    return means.filter(model=model).to_dicts()


def _intervals(frames: Frames, config: PrivacyMetricsRun) -> str:
    made = config.intervals
    subject = (
        "texts, as nothing says who speaks"
        if config.data.group is None
        else "speakers, whose texts are not independent"
    )
    if made.interval not in HOLDS_ITS_ESTIMATE:
        draws = f"{made.num_resamples:,} resamples of the texts"
        return f"{on_resamples(made.level, made.interval, draws)} Other trainings are not in them."
    num = frames["models"]["seed"].n_unique() - 1
    seeds = f"and over {num} trainings that differ in their seed" if num > 1 else "of this one training"
    return (
        f"Intervals at a nominal {100 * made.level:g}% are of Student's t, between two borders of a score test, over "
        f"{subject}, {seeds}."
    )


def _unadjusted(frames: Frames) -> Iterator[str]:
    """Orders that an interval shows and a test among many does not."""
    if "orderings" not in frames:
        return
    rows = frames["orderings"].filter(pl.col("found"))
    weak = sum(not significant(row["p_holm"]) for row in rows.to_dicts())
    if weak:
        yield (
            f"{weak:,} of the {plural(rows.height, 'order')} found by an interval would not be found by a test, with p "
            "after Holm for the tests of a corpus and measure."
        )


def _could_show(frames: Frames) -> Iterator[str]:
    """The least p that a test of each corpus could have had, before any is said to show nothing."""
    tested = frames["orderings"].drop_nulls("p") if "orderings" in frames else pl.DataFrame()
    if tested.is_empty():
        yield f"No difference has a p-value: one needs {MIN_UNITS} speakers (texts, where nobody is named) that differ."
        return
    for (corpus,), rows in tested.partition_by("corpus", maintain_order=True, as_dict=True).items():
        num, num_tests = rows["num_units"].max(), rows["measure"].value_counts()["count"].max()
        if isinstance(num, int) and isinstance(num_tests, int):
            least = least_possible("flips", num, num_tests)
            yield (
                f"{_place(str(corpus))}, {num:,} units and {plural(num_tests, 'test')} of a measure allow no p after "
                f"Holm below {number(max(least, _LEAST_SHOWN), 4)}."
            )


def _units(frames: Frames) -> Iterator[str]:
    """Who was drawn, of each corpus; too few are these people and no others."""
    for corpus, part in CORPORA.items():
        used = frames["texts"].filter(pl.col("status") == "ok", pl.col("part") == part)
        groups = used.drop_nulls("group").group_by("gender").agg(pl.col("group").n_unique()).sort("gender").rows()
        if not groups:
            continue
        few = min(num for _, num in groups) < MIN_SIDE
        who, total = listed([f"{num:,} {gender}" for gender, num in groups]), sum(num for _, num in groups)
        rest = (
            f": numbers are of these {total:,} people, and say nothing of others. An interval of the UAR of gender "
            f"needs {MIN_SIDE} of each gender, other intervals {MIN_KISH} in all, and a p-value {MIN_UNITS} that differ"
        )
        yield f"{_place(corpus)}, the speakers are {who}{rest if few else ''}."


def _doubts(frames: Frames, config: PrivacyMetricsRun) -> Iterator[str]:
    used = frames["texts"].filter(pl.col("status") == "ok")
    if config.data.group is None:
        yield "Nothing says who speaks: parts share no text, but may share a speaker."
    else:
        counts = {part: used.filter(part=part)["group"].n_unique() for part in ("training", "development", "test")}
        speakers = ", ".join(f"{num:,} in {part}" for part, num in counts.items())
        yield f"The parts share no speaker: {speakers}."
        if counts["training"] < _FEW_GROUPS:
            yield (
                "With so few speakers to learn from, gender and speaker can hardly be told apart: an attacker who does "
                "not recognise strangers need not mean that nothing is given away."
            )
    yield from _units(frames)
    yield _intervals(frames, config)
    yield from _could_show(frames)
    yield (
        "Explanations are of the class that each model itself finds most probable, by its log odds, unless "
        "explanations.explained and explanations.attribution.output say otherwise: where two models find different "
        "classes, EP and EG compare what speaks for different things."
    )
    if any(row["highlighted"] is False for row in noise_of(frames, "ArtNoise")):
        yield "Explanations that do not show the artificial words may not show what the other models go by, either."
    yield from _unadjusted(frames)
    if "PrivBias" in config.models.names and config.unbiased.path is None:
        yield (
            "No unbiased corpus was given: PrivBias was first trained with as many training texts of each gender in "
            "each class."
        )
    if config.lexicon.path is None:
        yield "No valence lexicon was given (lexicon.path), and so there is no EG."
