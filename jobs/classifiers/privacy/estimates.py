"""What each text has of a measure, who said it, and numbers of many texts with intervals over speakers and seeds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl

from tiltmeter.jobs.classifiers.intervals import Resampled, TextEstimate, resampled_by, resampled_texts, text_estimate
from tiltmeter.jobs.classifiers.privacy.explanations import values_of
from tiltmeter.jobs.classifiers.privacy.tables import EXPLAINED, MEASURES, NOISY, EpWords, Noise, NoisyTexts
from tiltmeter.jobs.classifiers.tables import Attributed
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers.privacy import noise as artificial_noise
from tiltmeter.operators.classifiers.privacy import spoken
from tiltmeter.operators.classifiers.privacy.noise import salience
from tiltmeter.operators.classifiers.privacy.spoken import Spoken, mean_of_seeds
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.statistics import means, resampling
from tiltmeter.operators.statistics.intervals import FISHER, LINEAR, LOGIT, Scale
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings, below
from tiltmeter.operators.statistics.units import Inferred, Units, kish, units_of
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.storage.store.ledger import Store, TableRef

Frames = Mapping[str, pl.DataFrame]
"""``samples`` and ``words`` of all seeds of a model, and ``outcomes`` if it was tested."""

SCALES: Mapping[str, Scale] = dict.fromkeys(MEASURES, LOGIT) | {"ep": LINEAR, "ep_random": LINEAR, "eg": below(1.0)}
"""Of the measures: shares, but for EP, which has no borders, and EG, which is 1 less a mean of sizes."""

_STOPPED = 0.5
"""Of what General makes of a word: a model that makes less of it has stopped using it."""


class Said(NamedTuple):
    """A sentence, and who said it; None: nobody knows."""

    text: str
    speaker: str | None


class TextValues(NamedTuple):
    """Of one measure and corpus.

    Attributes:
        spoken: what each text has of it.
        drawn: resamples of the texts, or of whoever said them; the same for all models.
        intervals: how they are made.
    """

    spoken: Spoken
    drawn: Resampled
    intervals: KeyedResampleSettings

    def __sub__(self, other: "TextValues") -> "TextValues":
        return self._replace(spoken=self.spoken - other.spoken)

    def inferred(self, scale: Scale) -> tuple[TextEstimate, Inferred]:
        """The measure with its draws, by the interval that is asked for, and what it rests on."""
        result = self.spoken.inferred(self.intervals.level, scale)
        values, units, weights = self.spoken.influence + result.value, self.spoken.units, self.spoken.weights
        num = None if weights is None else kish(units.sums(weights))
        resamples = resampled_by(values, self.drawn, units, num)._replace(value=result.value)
        return text_estimate(result, resamples, self.intervals, scale, self.drawn.scheme), result


Estimates = Mapping[tuple[int | None, str], TextValues]
"""By seed, and None for each text's mean over the seeds that give it a value, and measure."""


Means = Callable[[FloatArray], TextValues]
"""Makes a mean of what each sentence has, ``[seeds, sentences]``."""


class Sampling(NamedTuple):
    """All sentences by their numbers, and how whoever said them is drawn."""

    texts: Mapping[int, Said]
    intervals: KeyedResampleSettings
    seed: int

    @classmethod
    def read(cls, store: Store, refs: Sequence[TableRef], intervals: KeyedResampleSettings, seed: int) -> Self:
        """Of tables ``texts``, and of ``noisy_texts``, whose copies are by whoever said the original."""
        texts: dict[int, Said] = {}
        for row in (row for ref in refs for row in store.read(ref).to_pylist()):
            speaker = texts[row["original"]].speaker if "original" in row else row["group"]
            texts[row["sentence"]] = Said(row["text"], speaker)
        return cls(texts, intervals, seed)

    def units(self, sentences: Sequence[int]) -> Units:
        """What was drawn independently: speakers, or texts where nothing says who speaks."""
        names = [self.texts[number].speaker for number in sentences]
        return units_of(names, "text" if all(name is None for name in names) else "speaker")

    def means(self, sentences: Sequence[int], corpus: str) -> Means:
        """What makes means over the explained sentences of a corpus, which are drawn alike for all of them."""
        units, texts = self.units(sentences), [self.texts[number].text for number in sentences]
        drawn = self._resampled(texts, f"{corpus} explained", units)
        return lambda by_seed: TextValues(Spoken.means(by_seed, units), drawn, self.intervals)

    def _resampled(self, texts: Sequence[Any], about: str, units: Units, cells: IntArray | None = None) -> Resampled:
        return resampled_texts(texts, about, self.intervals, self.seed, units, cells)

    def estimates(self, frames: Frames, corpus: str) -> dict[tuple[int | None, str], TextValues]:
        """What a model has of every measure of a corpus; see :data:`Estimates`."""
        measures = [*self._explained(frames["samples"].filter(corpus=corpus), corpus)]
        measures += self._recalls(frames["outcomes"].filter(corpus=corpus), corpus) if "outcomes" in frames else []
        return {
            (seed, name): mean(part)
            for name, by_seed, mean in measures
            for seed, part in [(None, by_seed), *enumerate(np.split(by_seed, len(by_seed)))]
        }

    def _explained(self, samples: pl.DataFrame, corpus: str) -> Iterator[tuple[str, FloatArray, Means]]:
        rows = samples.sort("seed", "sentence")
        sentences = rows["sentence"].unique().sort().to_list()
        mean = self.means(sentences, corpus)
        yield from ((name, _values(rows[name], len(sentences)), mean) for name in EXPLAINED)

    def _recalls(self, outcomes: pl.DataFrame, corpus: str) -> Iterator[tuple[str, FloatArray, Means]]:
        """Where texts are drawn, every class and gender keeps its number of texts; speakers have theirs, of any."""
        rows = outcomes.sort("seed", "sentence")
        first = rows.filter(pl.col("seed") == pl.col("seed").min())
        numbers = {name: first[name].rank("dense").cast(pl.Int64).to_numpy() - 1 for name in ("valence", "gender")}
        cells = np.unique(np.column_stack([*numbers.values()]), axis=0, return_inverse=True)[1]
        units = self.units(first["sentence"].to_list())
        keys = first.select("sentence", "valence", "gender").iter_rows()
        texts = [[self.texts[number].text, *cell] for number, *cell in keys]
        drawn = self._resampled(texts, corpus, units, None if units.kind == "speaker" else cells)

        def recalls(right: FloatArray, classes: IntArray, *, is_of_units: bool) -> TextValues:
            spoken_texts = Spoken.recalls(right > 0, classes, units, cells, is_of_units=is_of_units)
            return TextValues(spoken_texts, drawn, self.intervals)

        for name, classes in numbers.items():
            right = _values(rows[f"found_{name}"] == rows[name], first.height)
            yield f"{name}_uar", right, partial(recalls, classes=classes, is_of_units=name == "gender")


def _values(column: pl.Series, num_sentences: int) -> FloatArray:
    """``[seeds, sentences]``; NaN for null."""
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy().reshape(-1, num_sentences)


# --- words that give gender away ------------------------------------------------------------------------------------


def word_rows(model: str, frames: Frames, general: Frames, sampling: Sampling) -> Iterator[EpWords]:
    """Rows of each corpus, list and word, those first that have most of the attribution; without General, no change."""
    for corpus in dict.fromkeys(frames["samples"]["corpus"]):
        sentences = np.unique(frames["samples"].filter(corpus=corpus)["sentence"].to_numpy())
        mean, shares = sampling.means(sentences.tolist(), corpus), _shares(frames, corpus, sentences)
        others = _shares(general, corpus, sentences) if general else None
        counts = _counts(frames, corpus)
        for key in sorted(shares, key=lambda key: (-float(shares[key].mean()), key)):
            (word, name), share = key, float(shares[key].mean())
            row = EpWords(model=model, corpus=corpus, word=word, list=name, share=share, **counts[key])
            row.share_where_used = share * len(sentences) / max(row.num_sentences, 1)
            if others is not None:
                _fill_change(row, shares[key], others.get(key, np.zeros_like(shares[key])), mean)
            yield row


def _fill_change(row: EpWords, shares: FloatArray, other: FloatArray, mean: Means) -> None:
    row.change, result = mean(shares - other).inferred(FISHER)
    row.share_general = float(other.mean())
    if np.isnan(row.change.high):
        row.fail("too_few_units", result.reason)
    else:
        row.stopped = bool(row.change.high < 0 and shares.mean() <= _STOPPED * other.mean())


def _counts(frames: Frames, corpus: str) -> dict[tuple[str, str], dict[str, Any]]:
    """How often the explained sentences have each word, which models that differ read alike, and what it adds to EP.

    That is the mean over the texts of their means over the seeds with a value.
    """
    words, key = frames["words"].filter(corpus=corpus), ["word", "list"]
    num, sentences = pl.col("num").sum().cast(pl.Int64), pl.len().cast(pl.Int64)
    once = words.unique(["sentence", *key]).group_by(key)
    counted = once.agg(num.alias("num_occurrences"), sentences.alias("num_sentences"))
    defined = frames["samples"].filter(pl.col("corpus") == corpus, pl.col("ep").is_not_null())
    seeds = defined.group_by("sentence").agg(pl.len().alias("num_seeds"))
    if seeds.height:
        part = (pl.col("part") / pl.col("num_seeds")).sum() / seeds.height
        sums = [pl.col(name).sum().cast(pl.Int64) for name in ("num_avoided", "num_added")]
        rows = words.join(seeds, on="sentence", how="left").group_by(key)
        counted = counted.join(rows.agg(part.alias("part"), *sums), on=key)
    return {(row.pop("word"), row.pop("list")): row for row in counted.to_dicts()}


def _shares(frames: Frames, corpus: str, sentences: IntArray) -> dict[tuple[str, str], FloatArray]:
    """Each word's share of the attribution, ``[seeds, sentences]``."""
    rows = frames["words"].filter(corpus=corpus)
    num_seeds = frames["samples"]["seed"].n_unique()
    by_word: dict[tuple[str, str], FloatArray] = {}
    for (word, name), part in rows.partition_by("word", "list", as_dict=True).items():
        places = part["seed"].to_numpy() * len(sentences) + np.searchsorted(sentences, part["sentence"].to_numpy())
        by_word[str(word), str(name)] = np.zeros((num_seeds, len(sentences)))
        np.add.at(by_word[str(word), str(name)].reshape(-1), places, part["share"].to_numpy())
    return by_word


# --- artificial words -----------------------------------------------------------------------------------------------


class ControlNoise(Work, unit="noise_salience/5", stage="control artificial words", makes=[Noise]):
    """Whether explanations of a model highlight artificial words.

    Attributes:
        copies: of texts of the test part.
        texts: with the text and the speaker of every sentence.
        attributions: of the copies, for each seed.
    """

    name: str
    copies: TableRef
    texts: Sequence[TableRef]
    attributions: Sequence[TableRef]
    words: Sequence[Sequence[str]]
    intervals: KeyedResampleSettings
    seed: int
    operators: Sequence[str] = (artificial_noise.VERSION, spoken.VERSION, means.VERSION, resampling.VERSION)

    def rows(self, store: Store) -> Iterator[Noise]:
        """Of all artificial words together and of each, the means over the seeds and those of each seed."""
        copies = {row.sentence: row for row in NoisyTexts.read(store, self.copies)}
        samples = pl.DataFrame(
            [
                {"seed": seed, **_sample(copies[sentence], list(lines))}
                for seed, ref in enumerate(self.attributions)
                for sentence, lines in groupby(Attributed.read(store, ref), lambda line: line.sentence)
            ]
        )
        return self.means(samples, Sampling.read(store, self.texts, self.intervals, self.seed))

    def means(self, samples: pl.DataFrame, sampling: Sampling) -> Iterator[Noise]:
        """The rows.

        Args:
            samples: ``seed``, ``sentence``, ``word`` and the salience of each explained text.
            sampling: of all sentences.
        """
        samples = samples.with_columns(pl.col("share", "first", "even_share").fill_nan(None))
        words = [word for entries in self.words for word in entries]
        for word in [None, *(word for word in words if word in samples["word"].to_list())]:
            rows = samples if word is None else samples.filter(word=word)
            yield _noise_row(Noise(model=self.name, seed=None, word=word), rows, sampling)
            for (seed,), part in rows.partition_by("seed", maintain_order=True, as_dict=True).items():
                yield _noise_row(Noise(model=self.name, seed=int(str(seed)), word=word), part, sampling)


def _sample(text: NoisyTexts, lines: Sequence[Attributed]) -> dict[str, Any]:
    is_noise = np.array([folded(line.word) == folded(text.noise or "") for line in lines])
    return {"sentence": text.sentence, "word": text.noise, **salience(values_of(lines), is_noise)._asdict()}


def _noise_row(row: Noise, rows: pl.DataFrame, sampling: Sampling) -> Noise:
    rows = rows.sort("seed", "sentence")
    known = rows.drop_nulls("share").unique("sentence").sort("sentence")["sentence"].to_list()
    row.num_texts = len(known)
    if not known:
        return row.fail("no_attribution", "no word of any of the texts has an attribution other than 0")
    mean = sampling.means(known, f"{NOISY} {row.word or ''}")
    part = rows.filter(pl.col("sentence").is_in(known))
    share, first, even = (_values(part[name], len(known)) for name in ("share", "first", "even_share"))
    row.share, _ = mean(share).inferred(LOGIT)
    row.first, result = mean(first).inferred(LOGIT)
    row.num_units, row.even_share = sampling.units(known).num, float(mean_of_seeds(even).mean())
    row.highlighted = None if np.isnan(row.share.low) else bool(row.share.low > row.even_share)
    return row.fail("too_few_units", result.reason) if result.too_few else row
