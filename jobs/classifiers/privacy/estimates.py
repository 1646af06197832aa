"""What each text has of a measure, resamples of the texts of a corpus, and intervals over them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tiltmeter.jobs.classifiers.intervals import Resampled, resampled_texts
from tiltmeter.jobs.classifiers.privacy import tables
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.operators.classifiers.privacy.attacker import weighted_recalls
from tiltmeter.operators.statistics.intervals import FISHER, LINEAR, LOGIT, Scale
from tiltmeter.operators.statistics.resampling import Estimate, effective_number, resampled_mean
from tiltmeter.operators.statistics.text_intervals import below

Frames = Mapping[str, pl.DataFrame]
Texts = Mapping[int, str]
"""What each sentence says, by its number."""

SCALES: Mapping[str, Scale] = dict.fromkeys(tables.MEASURES, LOGIT) | {
    "ep": LINEAR,
    "ep_random": LINEAR,
    "eg": below(1.0),
}
"""Of the measures: shares, but for EP, which has no borders, and EG, which is 1 less a mean of sizes."""

DIFFERENCE_SCALES: Mapping[str, Scale] = {name: FISHER if scale is LOGIT else LINEAR for name, scale in SCALES.items()}
"""Of differences of the measures."""


class TextValues(NamedTuple):
    """Of one measure and corpus.

    Attributes:
        values: ``[texts]``, whose mean is the measure; NaN where a text has none.
        counts: ``[resamples, texts]``, how often each resample has each text; the same for all models.
        num_texts: that the measure counts for; None: those that have a value.
        scheme: of the resamples.
    """

    values: NDArray[np.float64]
    counts: NDArray[np.int32]
    num_texts: float | None = None
    scheme: Scheme | None = None

    @property
    def estimate(self) -> Estimate:
        """The measure."""
        return resampled_mean(self.values, self.counts, self.num_texts)


def estimates(
    frames: Frames, corpus: str, texts: Texts, config: Mapping[str, Any]
) -> dict[tuple[int | None, str], TextValues]:
    """By seed, and None for each text's mean over the seeds that give it a value, and measure.

    Args:
        frames: ``samples`` of all seeds of a model, and ``outcomes`` if it was tested.
        corpus: one of those that they have.
        texts: of all sentences.
        config: of the unit, with the seed and the intervals.
    """
    return _explained(frames["samples"], corpus, texts, config) | (
        _recalls(frames["outcomes"], corpus, texts, config) if "outcomes" in frames else {}
    )


def _explained(
    samples: pl.DataFrame, corpus: str, texts: Texts, config: Mapping[str, Any]
) -> dict[tuple[int | None, str], TextValues]:
    rows = samples.filter(corpus=corpus).sort("sentence")
    parts: dict[int | None, pl.DataFrame] = {
        seed: part for (seed,), part in rows.partition_by("seed", maintain_order=True, as_dict=True).items()
    }
    parts[None] = rows.group_by("sentence", maintain_order=True).agg(pl.col(*tables.EXPLAINED).mean())
    drawn = resampled_sentences(parts[None]["sentence"].to_list(), corpus, texts, config)
    return {
        (seed, name): TextValues(
            part[name].cast(pl.Float64).fill_null(np.nan).to_numpy(), drawn.counts, None, drawn.scheme
        )
        for seed, part in parts.items()
        for name in tables.EXPLAINED
    }


def _recalls(
    outcomes: pl.DataFrame, corpus: str, texts: Texts, config: Mapping[str, Any]
) -> dict[tuple[int | None, str], TextValues]:
    """Every class and gender keeps its number of texts in a resample, and so its weight."""
    rows = outcomes.filter(corpus=corpus)
    by_seed = {seed: part.sort("sentence") for (seed,), part in rows.partition_by("seed", as_dict=True).items()}
    first = next(iter(by_seed.values()))
    numbers = {name: first[name].rank("dense").cast(pl.Int64).to_numpy() for name in ("valence", "gender")}
    cells = np.column_stack([numbers["valence"], numbers["gender"]])
    drawn_from = [[texts[number], *cell] for number, *cell in first.select("sentence", "valence", "gender").iter_rows()]
    drawn = resampled_texts(drawn_from, corpus, config, np.unique(cells, axis=0, return_inverse=True)[1])
    values: dict[tuple[int | None, str], TextValues] = {}
    for name, classes in numbers.items():
        right = {seed: (part[f"found_{name}"] == part[name]).to_numpy() for seed, part in by_seed.items()}
        recalls = {seed: weighted_recalls(is_right, classes) for seed, is_right in right.items()}
        num = effective_number(weighted_recalls(np.ones(len(classes), dtype=bool), classes))
        for seed, shares in {**recalls, None: np.mean(list(recalls.values()), axis=0)}.items():
            values[seed, f"{name}_uar"] = TextValues(shares, drawn.counts, num, drawn.scheme)
    return values


def resampled_sentences(sentences: Sequence[int], corpus: str, texts: Texts, config: Mapping[str, Any]) -> Resampled:
    """Resamples of the explained sentences of a corpus, which are given by their numbers."""
    return resampled_texts([texts[number] for number in sentences], f"{corpus} explained", config)
