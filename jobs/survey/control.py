"""The survey's control: a lean that is planted in a copy of a corpus has to be found there, and none where none is."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.config import EmbeddingConfig
from tiltmeter.jobs.embedding.corpora import Corpus, make_vocabularies
from tiltmeter.jobs.embedding.lookup import Lookup, Vectors
from tiltmeter.jobs.embedding.models import Model, select_words, trained_vectors
from tiltmeter.jobs.embedding.replicas import embed
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.embedding.vectors import Selection
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.jobs.survey.config import SurveyRun
from tiltmeter.jobs.survey.tables import Control
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.psychophysics import forced_choice, planted_lean
from tiltmeter.operators.psychophysics.planted_lean import CodedLines, Deal, deal_word
from tiltmeter.operators.psychophysics.pooling import mean_flips
from tiltmeter.operators.statistics import differences
from tiltmeter.operators.statistics.designs.contrasts import contrasts
from tiltmeter.operators.statistics.differences import smallest_paired
from tiltmeter.operators.statistics.intervals import bootstrap_interval
from tiltmeter.operators.text.wordsets import Pairs
from tiltmeter.storage.store.ledger import Store, TableRef

_MIN_PAIRS = 2
_RARE_PAIRS = f"gender cue pairs occur job.control.min_count times, and {_MIN_PAIRS} are needed: lower it"
_RARE_WORD = (
    "occurs too rarely to be two words: name a more frequent one in job.control.words, or lower job.control.min_count"
)
_FIRST_LESS_SECOND = np.array([[1.0, -1.0]])


@dataclass(frozen=True)
class Plant:
    """A word that is dealt to two made-up ones, and the share of their occurrences before which a cue is put."""

    word: str
    share: float

    @property
    def halves(self) -> tuple[str, str]:
        """What the two are called; no word of a text has a slash."""
        return f"{self.word}/1", f"{self.word}/2"


Asked = tuple[Model, Sequence[Plant]]


class Copy(NamedTuple):
    """A corpus with leans in it, and tables of how many cues were put in."""

    corpus: Corpus
    planted: Sequence[TableRef]


class PlantLeans(Work, unit=planted_lean.VERSION, stage="plant leans"):
    """In a shard of a corpus: ``lines`` and ``words`` as it had them, and ``planted``."""

    seed: int
    plants: Sequence[Plant]
    pairs: Pairs
    lines: TableRef
    words: TableRef

    def tables(self, store: Store) -> Tables:
        table, words = store.read(self.lines), store.read(self.words)["word"].to_pylist()
        coded = table["tokens"].combine_chunks()
        lengths = coded.value_lengths().to_numpy().astype(np.int64)
        keys = (table[name].to_numpy() for name in ("document", "line"))
        lines = CodedLines(coded.flatten().to_numpy(), lengths, *keys)
        codes, num_cues = {word: code for code, word in enumerate(words)}, []
        for plant in self.plants:
            dealt = deal_word(lines, self._deal(plant, codes), self.seed)
            num_cues.append(dealt.tokens.size - lines.tokens.size)
            lines = dealt
        ends = np.append(0, np.cumsum(lines.lengths)).astype(np.int32)
        tokens = pa.ListArray.from_arrays(ends, lines.tokens)
        yield "lines", pa.table([table["document"], table["line"], tokens], names=table.column_names)
        yield "words", pa.table({"word": pa.array(codes, pa.string()), "count": _counts(lines, len(codes))})
        yield "planted", pa.table({"word": [plant.word for plant in self.plants], "num_cues": num_cues})

    def _deal(self, plant: Plant, codes: dict[str, int]) -> Deal:
        """By codes of the shard, which gets some for words that it has not."""
        word, first, second = (codes.setdefault(one, len(codes)) for one in (plant.word, *plant.halves))
        cues = [[codes.setdefault(cue, len(codes)) for cue in side] for side in zip(*self.pairs, strict=True)]
        return Deal(word, document_key(plant.word), (first, second), (cues[0], cues[1]), plant.share)


def _counts(lines: CodedLines, num: int) -> pa.Array:
    return pa.array(np.bincount(lines.tokens, minlength=num), pa.int64())


class MeasureControl(Work, unit="planted_control/1", stage="control", makes=[Control]):
    """How far the two halves of each word are apart: by the PSE of the survey, pooled over gender cue pairs."""

    model: Vectors
    plants: Sequence[Plant]
    pairs: Pairs
    operators: Sequence[str] = (forced_choice.VERSION, differences.VERSION)
    planted: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[Control]:
        lookup = Lookup(store, self.model.inputs)
        num_cues: Counter[str] = Counter()
        for row in (row for ref in self.planted for row in store.read(ref).to_pylist()):
            num_cues[row["word"]] += row["num_cues"]
        for plant in self.plants:
            made = Control(**self.model.key, word=plant.word, share=plant.share, num_cues=num_cues[plant.word])
            made.num_first, made.num_second = (lookup.counts.get(half) or 0 for half in plant.halves)
            made.num_pairs, made.num_replicas = len(self.pairs), 0
            if len(self.pairs) < _MIN_PAIRS:
                yield made.fail("too_few_pairs", f"{len(self.pairs)} {_RARE_PAIRS}")
            elif lookup.missing(plant.halves):
                yield made.fail("too_rare", f"'{plant.word}' {_RARE_WORD}")
            else:
                yield self._measured(made, lookup, plant)

    def _measured(self, row: Control, lookup: Lookup, plant: Plant) -> Control:
        cues = [(lookup([first]), lookup([second])) for first, second in self.pairs]
        flips = lookup.taken_apart(mean_flips(lookup(plant.halves), cues))
        difference, judged = contrasts(flips.original, flips.replicas.T, _FIRST_LESS_SECOND)
        row.num_replicas = int(judged.num[0])
        if np.isnan(judged.p[0]):
            return row.fail("too_few_replicas", "the halves and the cues occur together in too few replicas")
        interval = bootstrap_interval(flips.original, flips.replicas.T, method="averaged")
        row.first, row.second = (
            Estimate(float(value), float(low), float(high))
            for value, low, high in zip(flips.original, interval.low, interval.high, strict=True)
        )
        row.difference, row.p = Estimate(difference[0], judged.low[0], judged.high[0]), float(judged.p[0])
        apart = flips.replicas[:, 0] - flips.replicas[:, 1]
        row.smallest = smallest_paired(float(np.nanstd(apart, ddof=1)), row.num_replicas)
        return row


def measure_controls(run: Run[SurveyRun, Sources], models: Sequence[Model]) -> None:
    """Publish the table ``control``, of a copy of each model's corpus with leans in it.

    Raises:
        UnitsFailed: if no copy could be made, trained and measured.
    """
    share = run.config.job.control.share
    asked = {
        f"{model.name}/control": (model, [Plant(word, part) for word, part in zip(words, (share, 0.0), strict=True)])
        for model in models
        for words in [run.config.control_words(model.corpus)]
    }
    pairs = {name: _frequent_pairs(run, model) for name, (model, _) in asked.items()}
    known = {name: one for name, one in asked.items() if len(pairs[name]) >= _MIN_PAIRS}
    copies = _copies(run, known, pairs) if known else {}
    vectors = _trained(run, copies) if copies else {}
    run.do(
        (
            MeasureControl(
                group=name,
                label=name,
                model=replace(vectors[name], name=model.name) if name in vectors else model.vectors,
                plants=plants,
                pairs=pairs[name],
                planted=copies[name].planted if name in copies else [],
            )
            for name, (model, plants) in asked.items()
        ),
        in_driver=True,
    )


def _frequent_pairs(run: Run[SurveyRun, Sources], model: Model) -> Pairs:
    """Gender cue pairs both of whose cues are in the vocabulary of a copy, whatever is put in."""
    counts = Lookup(run.runner.store, {"vectors": model.vectors.inputs["vectors"][:1]}).counts
    least = _embedding(run).min_count
    return tuple(pair for pair in model.wordset.cue_pairs if min(counts.get(cue) or 0 for cue in pair) >= least)


def _embedding(run: Run[SurveyRun, Sources]) -> EmbeddingConfig:
    """How copies are trained: as the corpora, on fewer words and with fewer replicas."""
    embedding, control = cast(EmbeddingConfig, run.config.embedding), run.config.job.control
    num_replicas = min(control.num_replicas, embedding.num_replicas)
    least = max(control.min_count, embedding.min_count)
    return replace(embedding, num_starts=1, num_replicas=num_replicas, min_count=least)


def _copies(run: Run[SurveyRun, Sources], asked: Mapping[str, Asked], pairs: Mapping[str, Pairs]) -> dict[str, Copy]:
    corpora = {name: cast(Corpus, model.corpus) for name, (model, _) in asked.items()}
    shards = run.do(
        PlantLeans(
            group=name,
            label=f"{name} shard {number}",
            seed=run.config.seed,
            plants=asked[name][1],
            pairs=pairs[name],
            lines=lines,
            words=words.select("word"),
        )
        for name, corpus in corpora.items()
        for number, (lines, words) in enumerate(zip(corpus.lines, corpus.words, strict=True))
    ).groups
    lists = {name: {"control": _words(asked[name][1], pairs[name])} for name in shards}
    texts = {name: replace(corpora[name].text, name=name, lists=lists[name]) for name in shards}
    copies = {name: replace(corpora[name], text=texts[name], lines=done.refs("lines")) for name, done in shards.items()}
    made = make_vocabularies(run, copies, shards, _embedding(run).min_count)
    return {name: Copy(corpus, shards[name].refs("planted")) for name, corpus in made.items()}


def _words(plants: Sequence[Plant], pairs: Pairs) -> list[str]:
    return [*(half for plant in plants for half in plant.halves), *(cue for pair in pairs for cue in pair)]


def _trained(run: Run[SurveyRun, Sources], copies: Mapping[str, Copy]) -> dict[str, Vectors]:
    """The vectors of the cues and of the made-up words in every replica of each copy."""
    small = replace(run, config=replace(run.config, embedding=_embedding(run)))
    corpora = {name: copy.corpus for name, copy in copies.items()}
    selections = {name: Selection(tuple(sorted(corpus.text.lists["control"]))) for name, corpus in corpora.items()}
    selected = select_words(small, embed(small, corpora), corpora, selections)
    return {name: trained_vectors(small, corpora[name], done)[0] for name, done in selected.items()}
