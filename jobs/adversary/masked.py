"""What a masked language model has in the place of the words of a text, and random words as frequent beside it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.jobs.adversary.candidates import constraints_of, stop_words
from tiltmeter.jobs.adversary.config import MASKED, MASKED_SETTING, CandidateConfig, Controls
from tiltmeter.jobs.adversary.spaces import ORDER, FindSpaces, Further, Tokens
from tiltmeter.jobs.adversary.tables import MaskedCandidates, Spaces
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.jobs.runtime.work import Subject
from tiltmeter.operators.classifiers import masked_words
from tiltmeter.operators.classifiers.adversary.constraints import Constraints
from tiltmeter.operators.classifiers.adversary.words import replaceable_word, replaced
from tiltmeter.operators.classifiers.masked_words import NONE, MaskedReader, Pool, drawn_words, most_probable
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.storage.models.checkpoints import find_checkpoint
from tiltmeter.storage.models.load import load_masked_model
from tiltmeter.storage.store.ledger import Store

_AS_FREQUENT = 20
"""Likely words that one is drawn from beside a candidate: of ``controls.window`` those whose counts are nearest."""

_PLACE = ["row", "position"]
_WORD = {"row": pl.Int64, "control": pl.Int64, "position": pl.Int32, "rank": pl.Int32, "candidate": pl.String}


@dataclass(frozen=True)
class MaskedModel(Subject):
    """A masked language model: a folder or a name on the hub, and the version that was found."""

    model: str
    version: str
    on_gpu: bool = False

    @property
    def identity(self) -> Mapping[str, Any]:
        """Whatever decides what it says."""
        return {"masked_model": {"version": self.version, "on_gpu": self.on_gpu, "operator": masked_words.VERSION}}

    def ready(self) -> AbstractContextManager[MaskedReader]:
        """In a worker, in which it stays until another is asked for."""
        return resident(("masked model", self.version, self.on_gpu), lambda _: self._load())

    def _load(self) -> MaskedReader:
        folder = find_checkpoint(self.model, self.version, MASKED_SETTING).folder
        return MaskedReader(*load_masked_model(folder, "cuda" if self.on_gpu else "cpu", MASKED_SETTING))


class FindMaskedSpaces(FindSpaces, unit="adversary_spaces/2", makes=[Spaces, MaskedCandidates]):
    """The same, and what the model has in the place of each word, with as many random words for each control.

    Attributes:
        masked: the model.
        top: candidates of a word.
        candidates: what leaves some out; lists: the files of that.
        controls: how many there are; words of like frequency are drawn.
    """

    masked: MaskedModel
    top: int
    candidates: CandidateConfig
    lists: Mapping[str, Mapping[str, Any]]
    controls: Controls
    seed: int

    def further(self, store: Store, texts: Tokens, counts: Mapping[str, int]) -> Further:
        """Along the direction of masks and its controls, and the table of what the model proposes."""
        with self.masked.ready() as reader:
            named = {word for word in reader.words if counts.get(word, 0) >= self.candidates.min_count} - stop_words()
            rows = list(self._proposed(reader, texts, named))
        none = pl.DataFrame(MaskedCandidates.schema().empty_table())
        proposed = pl.DataFrame(rows, schema=none.schema, orient="row")
        kept = proposed.filter(removed_by="").with_columns(control=pl.lit(-1, pl.Int64))
        along = self.judged(store, texts, self._written(texts, kept))
        pool = Pool.of([(word, counts.get(word, 0)) for word in named - self.words.gendered().genders.keys()])
        windows = self._windows(along.filter("is_likely"), proposed, counts, pool)
        beside = self._written(texts, self._drawn(self.judged(store, texts, windows), counts, pool))
        drawn = beside.with_columns(is_likely=pl.lit(value=True)).select(along.columns)
        return [along, drawn], {MaskedCandidates.table_name: proposed}

    def _proposed(self, reader: MaskedReader, texts: Tokens, named: Collection[str]) -> Iterator[tuple[Any, ...]]:
        """Rows of the table, of the words that may be proposed."""
        constraints, barred = self._constraints(), stop_words()
        place_of, is_named = _places(reader.words), np.array([word in named for word in reader.words])
        for row, tokens in texts.items():
            named_at = enumerate(replaceable_word(token, barred) for token in tokens)
            words = {position: word for position, word in named_at if word is not None}
            values = reader.log_probabilities(tokens, list(words))
            for (position, word), scores in zip(words.items(), values, strict=True):
                hidden = place_of.get(word, NONE)
                best = most_probable(scores, is_named & (np.arange(scores.size) != hidden), self.top)
                for rank, place in enumerate(best.tolist()):
                    candidate, ratio = reader.words[place], None if hidden == NONE else scores[place] - scores[hidden]
                    removed_by = constraints(word, candidate, 1.0)
                    yield row, position, rank, word, candidate, scores[place], ratio, removed_by

    def _windows(
        self, along: pl.DataFrame, proposed: pl.DataFrame, counts: Mapping[str, int], pool: Pool
    ) -> pl.DataFrame:
        """Words about as frequent as each candidate; none that the model proposes there, or that constraints bar."""
        constraints, window, made = self._constraints(), self.controls.window, list[tuple[Any, ...]]()
        at_place = proposed.group_by(_PLACE).agg("word", "candidate").iter_rows()
        barred = {(row, position): (words[0], {*words, *others}) for row, position, words, others in at_place}
        for row, position, rank, candidate in along.select(*_PLACE, "rank", "candidate").iter_rows():
            word, others = barred[row, position]
            count = counts.get(candidate, 0)
            for place in pool.around(count, window).tolist():
                other = pool.words[place]
                if other not in others and not constraints(word, other, 1.0):
                    distance = abs(float(np.log((1 + pool.counts[place]) / (1 + count))))
                    made.append((row, -1, position, rank, other, candidate, distance))
        return pl.DataFrame(made, schema=_WORD | {"beside": pl.String, "distance": pl.Float64}, orient="row")

    def _drawn(self, windows: pl.DataFrame, counts: Mapping[str, int], pool: Pool) -> pl.DataFrame:
        """For each control, one of the nearest likely words beside each candidate."""
        likely = windows.filter("is_likely").sort(*_PLACE, "rank", "distance", "candidate")
        chosen = likely.group_by(*_PLACE, "rank", "beside", maintain_order=True)
        nearest = chosen.agg(pl.col("candidate").head(_AS_FREQUENT))
        place_of, made = _places(pool.words), list[tuple[Any, ...]]()
        for [row, position], part in nearest.group_by(_PLACE, maintain_order=True):
            choices = [np.array([place_of[word] for word in words]) for words in part["candidate"].to_list()]
            asked = zip(part["beside"].to_list(), choices, strict=True)
            keys = [
                self._keys(pool.around(counts.get(word, 0), self.controls.window), word, few) for word, few in asked
            ]
            drawn, ranks = drawn_words(choices, keys), part["rank"].to_list()
            made += [
                (row, int(control), position, ranks[number], pool.words[drawn[control, number]])
                for control, number in np.argwhere(drawn != NONE)
            ]
        return pl.DataFrame(made, schema=_WORD, orient="row")

    def _keys(self, window: IntArray, candidate: str, chosen: IntArray) -> FloatArray:
        """``[controls, chosen]`` of some words of a window, which depend on the candidate and not on the place."""
        draws = keyed_generator(self.seed, Stream.MASKED_CANDIDATES, document_key(candidate))
        keys: FloatArray = draws.random((self.controls.number, window.size))[:, np.searchsorted(window, chosen)]
        return keys

    def _written(self, texts: Tokens, words: pl.DataFrame) -> pl.DataFrame:
        """As they read in their tokens, with all columns of options."""
        rows = words.select(*_PLACE, "candidate").iter_rows()
        written = [replaced(texts[row][position], candidate) for row, position, candidate in rows]
        named = words.with_columns(
            pl.Series("option", written, pl.String), direction=pl.lit(MASKED), replica=pl.lit(0, pl.Int64)
        )
        return named.select(*ORDER, "candidate", "option")

    def _constraints(self) -> Constraints:
        return constraints_of(self.candidates, self.lists)._replace(min_cosine=None)


def _places(words: Sequence[str]) -> dict[str, int]:
    return {word: place for place, word in enumerate(words)}
