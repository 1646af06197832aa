"""What each text has of a measure, who said it, resamples of a corpus, and intervals over them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tiltmeter.jobs.classifiers.intervals import Resampled, resampled_by, resampled_texts, with_interval
from tiltmeter.jobs.classifiers.privacy import tables
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.operators.classifiers.privacy.attacker import weighted_recalls
from tiltmeter.operators.classifiers.privacy.spoken import Spoken
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.intervals import FISHER, LINEAR, LOGIT, Scale
from tiltmeter.operators.statistics.text_intervals import below
from tiltmeter.operators.statistics.units import Inferred, Units, kish, units_of
from tiltmeter.storage.store.ledger import Store, TableRef

Frames = Mapping[str, pl.DataFrame]


class Said(NamedTuple):
    """A sentence, and who said it; None: nobody knows."""

    text: str
    speaker: str | None


Texts = Mapping[int, Said]
"""All sentences by their numbers."""

SCALES: Mapping[str, Scale] = dict.fromkeys(tables.MEASURES, LOGIT) | {
    "ep": LINEAR,
    "ep_random": LINEAR,
    "eg": below(1.0),
}
"""Of the measures: shares, but for EP, which has no borders, and EG, which is 1 less a mean of sizes."""

DIFFERENCE_SCALES: Mapping[str, Scale] = {name: FISHER if scale is LOGIT else LINEAR for name, scale in SCALES.items()}
"""Of differences of the measures."""


def said_texts(store: Store, refs: Sequence[TableRef]) -> Texts:
    """Sentences of tables ``texts``, and of ``noisy_texts``, whose copies are by whoever said the original."""
    texts: dict[int, Said] = {}
    for row in (row for ref in refs for row in store.read(ref).to_pylist()):
        speaker = texts[row["original"]].speaker if "original" in row else row["group"]
        texts[row["sentence"]] = Said(row["text"], speaker)
    return texts


def select_said(ref: TableRef) -> TableRef:
    """What :func:`said_texts` reads of a table ``texts`` or ``noisy_texts``."""
    return ref.select("sentence", "text", "original" if "original" in ref.columns else "group")


def speakers(sentences: Sequence[int], texts: Texts) -> Units:
    """What was drawn independently: speakers, or texts where nothing says who speaks."""
    names = [texts[number].speaker for number in sentences]
    return units_of(names, "text" if all(name is None for name in names) else "speaker")


class TextValues(NamedTuple):
    """Of one measure and corpus.

    Attributes:
        spoken: what each text has of it.
        drawn: resamples of the texts, or of whoever said them; the same for all models.
    """

    spoken: Spoken
    drawn: Resampled

    def __sub__(self, other: "TextValues") -> "TextValues":
        return self._replace(spoken=self.spoken - other.spoken)

    def inferred(self, config: Mapping[str, Any], scale: Scale) -> Inferred:
        """The measure with its interval."""
        return self.spoken.inferred(config["intervals"].level, scale)

    def columns(self, name: str, result: Inferred, config: Mapping[str, Any], scale: Scale) -> Row:
        """The measure, the ends of its interval and its draws."""
        values, units = self.spoken.influence + result.value, self.spoken.units
        weights = self.spoken.weights
        num = None if weights is None else kish(units.sums(weights))
        estimate = resampled_by(values, self.drawn, units, num)._replace(value=result.value)
        return with_interval(name, result, estimate, config["intervals"], scale, self.drawn.scheme)


Estimates = Mapping[tuple[int | None, str], TextValues]


def estimates(
    frames: Frames, corpus: str, texts: Texts, config: Mapping[str, Any]
) -> dict[tuple[int | None, str], TextValues]:
    """By seed, and None for each text's mean over the seeds that give it a value, and measure.

    Args:
        frames: ``samples`` of all seeds of a model, and ``outcomes`` if it was tested.
        corpus: one of those that they have.
        texts: all sentences.
        config: of the unit, with the seed and the intervals.
    """
    return dict(_explained(frames["samples"], corpus, texts, config)) | (
        dict(_recalls(frames["outcomes"], corpus, texts, config)) if "outcomes" in frames else {}
    )


def _explained(
    samples: pl.DataFrame, corpus: str, texts: Texts, config: Mapping[str, Any]
) -> Iterator[tuple[tuple[int | None, str], TextValues]]:
    rows = samples.filter(corpus=corpus).sort("seed", "sentence")
    seeds = rows["seed"].unique(maintain_order=True).to_list()
    sentences = rows["sentence"].unique().sort().to_list()
    units, drawn = speakers(sentences, texts), resampled_sentences(sentences, corpus, texts, config)
    for name in tables.EXPLAINED:
        values = rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy().reshape(len(seeds), -1)
        for seed, part in [(None, values), *zip(seeds, np.split(values, len(seeds)), strict=True)]:
            yield (seed, name), TextValues(Spoken(part, mean_of_seeds(part), units), drawn)


def mean_of_seeds(values: FloatArray) -> FloatArray:
    """``[seeds, texts]`` to ``[texts]``, over the seeds that have a value; NaN without any."""
    counts = (~np.isnan(values)).sum(axis=0)
    return np.where(counts > 0, np.nansum(values, axis=0) / np.maximum(counts, 1), np.nan)


def _recalls(
    outcomes: pl.DataFrame, corpus: str, texts: Texts, config: Mapping[str, Any]
) -> Iterator[tuple[tuple[int | None, str], TextValues]]:
    """Where texts are drawn, every class and gender keeps its number of texts; speakers have theirs, of any class."""
    rows = outcomes.filter(corpus=corpus).sort("seed", "sentence")
    seeds = rows["seed"].unique(maintain_order=True).to_list()
    first = rows.filter(seed=seeds[0])
    numbers = {name: first[name].rank("dense").cast(pl.Int64).to_numpy() - 1 for name in ("valence", "gender")}
    cells = np.unique(np.column_stack([*numbers.values()]), axis=0, return_inverse=True)[1]
    units = speakers(first["sentence"].to_list(), texts)
    has_speakers = units.kind == "speaker"
    sentence = [
        [texts[number].text, *cell] for number, *cell in first.select("sentence", "valence", "gender").iter_rows()
    ]
    drawn = resampled_texts(sentence, corpus, config, units, None if has_speakers else cells)
    for name, classes in numbers.items():
        right = (rows[f"found_{name}"] == rows[name]).to_numpy().reshape(len(seeds), -1)
        shares = np.stack([weighted_recalls(is_right, classes) for is_right in right])
        made = Spoken(
            shares,
            shares.mean(axis=0),
            units,
            classes if has_speakers else cells,
            has_speakers and name == "gender",
            weighted_recalls(np.ones(len(classes), dtype=bool), classes),
        )
        for seed, part in [(None, shares), *zip(seeds, np.split(shares, len(seeds)), strict=True)]:
            yield (seed, f"{name}_uar"), TextValues(made._replace(by_seed=part, values=part.mean(axis=0)), drawn)


def resampled_sentences(sentences: Sequence[int], corpus: str, texts: Texts, config: Mapping[str, Any]) -> Resampled:
    """Resamples of the explained sentences of a corpus, or of whoever said them."""
    sentence = [texts[number].text for number in sentences]
    return resampled_texts(sentence, f"{corpus} explained", config, speakers(sentences, texts))
