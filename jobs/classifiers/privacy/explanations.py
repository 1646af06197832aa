"""EP and EG of every sentence that was explained, what each listed word has of it, and the lexicon that EG goes by."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.attributions import Explain
from tiltmeter.jobs.classifiers.privacy.tables import GENERAL, LexiconWords, Samples, WordShares
from tiltmeter.jobs.classifiers.tables import Attributed
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers.privacy import metrics as privacy_metrics
from tiltmeter.operators.classifiers.privacy import random_lists
from tiltmeter.operators.classifiers.privacy import shares as attribution_shares
from tiltmeter.operators.classifiers.privacy.bins import BinnedLexicon
from tiltmeter.operators.classifiers.privacy.metrics import MetricConfig
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.text import listed_words
from tiltmeter.operators.text.listed_words import WordList
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.storage.records import numbers, read_records
from tiltmeter.storage.records.cells import GIVEN, between
from tiltmeter.storage.store.ledger import Store, TableRef

_VERSIONS = (privacy_metrics.VERSION, attribution_shares.VERSION, random_lists.VERSION, listed_words.VERSION)


# --- the lexicon ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LexiconColumns:
    """What a file of a lexicon calls its columns, its scale, and the highest valence of each class but the last."""

    header: bool
    word: str
    valence: str
    low: float
    high: float
    upper_ends: Sequence[float]


class ReadLexicon(Work, unit="valence_lexicon/3", stage="read lexicon"):
    """The words of a valence lexicon that a user brings, with a valence from -1 to 1."""

    file: Mapping[str, Any]
    read: LexiconColumns

    def tables(self, _: Store) -> Tables:
        """The table ``lexicon``."""
        read, valence = self.read, self.read.valence
        rules = {valence: [GIVEN, between(read.low, read.high)]}
        names = list(dict.fromkeys([read.word, valence]))
        rows = read_records(self.file["uri"], names, header=read.header, rules=rules)
        words = rows[read.word].cast(pl.String).fill_null("").map_elements(folded, return_dtype=pl.String)
        pairs = pl.DataFrame({"word": words, "valence": numbers(rows, valence)})
        table = pairs.drop_nulls().group_by("word").mean().sort("word")
        bins = np.searchsorted(read.upper_ends, table["valence"].to_numpy(), side="left")
        scaled = (pl.col("valence") - read.low) / (read.high - read.low) * 2.0 - 1.0
        made = table.with_columns(scaled, bin=pl.Series(bins))
        yield LexiconWords.table_name, made.to_arrow().cast(LexiconWords.schema())


# --- what explanations have of each measure -------------------------------------------------------------------------


class MeasureModel(Work, unit="privacy_samples/2", stage="measure", makes=[Samples, WordShares]):
    """What the explanations of a model with one of the random numbers have of EP, EG and shares.

    Attributes:
        general: attributions by General, of the same corpora; none without it.
        lexicon: the only table, or none.
        least: how far from the middle a word is whose sign counts.
    """

    name: str
    seed: int
    corpora: Sequence[str]
    attributions: Sequence[TableRef]
    general: Sequence[TableRef]
    lexicon: Sequence[TableRef]
    classes: Sequence[str]
    explained: Explain
    lists: Mapping[str, Sequence[str]]
    metrics: MetricConfig
    num_random_lists: int
    least: float
    random_seed: int
    operators: Sequence[str] = _VERSIONS

    def rows(self, store: Store) -> Iterator[Samples | WordShares]:
        """Of every sentence, and of the words of L in each."""
        words = [word for ref in self.lexicon for word in LexiconWords.read(store, ref)]
        valences, bins = {row.word: row.valence for row in words}, {row.word: row.bin for row in words}
        lexicon = BinnedLexicon(valences, bins) if self.lexicon else None
        lists = {name: WordList(words) for name, words in self.lists.items()}
        for number, corpus in enumerate(self.corpora):
            sentences = _sentences(store, self.attributions[number])
            general = _sentences(store, self.general[number]) if self.general else {}
            read = ([line.word for line in lines] for lines in sentences.values())
            listed = ((words, _is_listed(lists, words)) for words in read)
            drawn = random_lists.random_lists(listed, self.num_random_lists, self.random_seed, corpus)
            for key, lines in sentences.items():
                sentence = Explained(lines, general.get(key), lists, lexicon, self)
                about = {"model": self.name, "seed": self.seed, "corpus": corpus, "sentence": key}
                yield sentence.sample(drawn, about)
                yield from sentence.word_rows(about)


def _sentences(store: Store, ref: TableRef) -> dict[int, list[Attributed]]:
    lines = Attributed.read(store, ref)
    return {sentence: list(rows) for sentence, rows in groupby(lines, lambda line: line.sentence)}


def _is_listed(lists: Mapping[str, WordList], words: Sequence[str]) -> BoolArray:
    entries = [word_list.entries(words) for word_list in lists.values()]
    return np.array([any(listed) for listed in zip(*entries, strict=True)], dtype=bool)


def values_of(lines: Sequence[Attributed]) -> FloatArray:
    """The attribution of each word; NaN of one that was not read."""
    return np.array([np.nan if line.attribution is None else line.attribution for line in lines], np.float64)


class Explained:
    """A sentence as a model explains it, and General where there is one; with the lists that make up L."""

    def __init__(
        self,
        lines: Sequence[Attributed],
        general: Sequence[Attributed] | None,
        lists: Mapping[str, WordList],
        lexicon: BinnedLexicon | None,
        work: MeasureModel,
    ) -> None:
        self._lines, self._general, self._lists, self._lexicon, self._work = lines, general, lists, lexicon, work
        self._words, self._values = [line.word for line in lines], values_of(lines)
        self._is_listed, self._is_silent = _is_listed(lists, self._words), not np.nan_to_num(self._values).any()
        general_values = np.zeros(len(lines)) if general is None else values_of(general)
        self._difference = privacy_metrics.attribution_difference(general_values, self._values, work.metrics)
        self._privacy = privacy_metrics.listed_difference(self._difference, self._is_listed, work.metrics)

    @property
    def ep_status(self) -> str:
        """``ok``, or why it has no EP."""
        if self._work.name == GENERAL:
            return "is_general"
        if self._general is None:
            return "no_general"
        if self._is_silent:
            return "no_attribution"
        return "ok" if self._privacy.num_general else "no_denominator"

    @property
    def eg_status(self) -> str:
        """``ok``, or why it has no EG."""
        if self._lexicon is None:
            return "no_lexicon"
        if self._general is None:
            return "no_general"
        if self._is_silent:
            return "no_attribution"
        return "ok" if self._general[0].predicted == self._lines[0].gold else "general_wrong"

    def sample(self, drawn: Sequence[frozenset[str]], about: Mapping[str, Any]) -> Samples:
        """What it has of each measure, and of EP by lists that are drawn; with the keys of the row."""
        num_read = int((~np.isnan(self._values)).sum())
        row = Samples(**about, num_words=num_read, num_unread=len(self._values) - num_read)
        row.listed_share = attribution_shares.listed_share(self._values, self._is_listed)
        row.explain(self.ep_status, self.eg_status)
        if row.ep_status in ("ok", "no_denominator"):
            self._fill_ep(row, drawn)
        if self._lexicon is not None:
            self._fill_eg(row, self._lexicon)
        if self._is_silent:
            row.fail("no_attribution", "no word of the sentence has an attribution other than 0")
        return row

    def _fill_ep(self, row: Samples, drawn: Sequence[frozenset[str]]) -> None:
        names, metrics, privacy = [folded(word) for word in self._words], self._work.metrics, self._privacy
        is_drawn = [np.array([name in words for name in names]) for words in drawn]
        eps = [privacy_metrics.listed_difference(self._difference, words, metrics).ep for words in is_drawn]
        known = [ep for ep in eps if not np.isnan(ep)]
        row.ep, row.ep_random = privacy.ep, float(np.mean(known)) if known else None
        row.num_general, row.num_avoided, row.num_added = privacy.num_general, privacy.num_avoided, privacy.num_added

    def _fill_eg(self, row: Samples, lexicon: BinnedLexicon) -> None:
        """EG, if it has one, and shares of words of the lexicon."""
        classes, line, values = list[str | None](self._work.classes), self._lines[0], self._values
        if row.eg_status == "ok":
            gold, bins = classes.index(line.gold), lexicon.bins_of(self._words)
            result = privacy_metrics.emotion_generalization(values, bins, gold, len(classes), self._work.metrics)
            row.eg, row.num_against, row.num_opposite = result
        target = line.gold if self._work.explained == "gold" else line.predicted
        if target is not None:
            direction = attribution_shares.direction_of(classes.index(target), len(classes))
            valences = lexicon.valences_of(self._words, self._work.least)
            parts = attribution_shares.lexicon_shares(values, valences, direction)
            row.right_sign_share, row.lexicon_share = parts

    def word_rows(self, about: Mapping[str, Any]) -> Iterator[WordShares]:
        """What each word of a list has of the attribution; none without one."""
        values, parts = attribution_shares.shares(self._values), self._privacy.parts
        for name, word_list in () if self._is_silent else self._lists.items():
            entries = word_list.entries(self._words)
            for entry in sorted({entry for entry in entries if entry is not None}):
                places = [place for place, other in enumerate(entries) if other == entry]
                row = WordShares(**about, word=entry, list=name, num=len(places) // (entry.count(" ") + 1))
                row.share = float(sum(values[place] for place in places))
                if self.ep_status == "ok":
                    row.part, row.num_avoided = float(parts[places].sum()), int((parts[places] > 0).sum())
                    row.num_added = int((parts[places] < 0).sum())
                yield row
