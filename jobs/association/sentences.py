"""What was published of tests of sentences (SEAT, CEAT), beside what their words say."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from tiltmeter.jobs.association.config import AssociationConfig, AssociationRun
from tiltmeter.jobs.association.tables import SentenceTests
from tiltmeter.jobs.association.weat import SIDES, chosen_tests, num_needed
from tiltmeter.jobs.embedding.encoders.sentences import encoded
from tiltmeter.jobs.embedding.encoders.settings import InSentences
from tiltmeter.jobs.embedding.models import Model
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.rows import Row, failed
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.association import sentences
from tiltmeter.operators.association.sentences import Sentences, of_contexts, of_sentences, of_words, spreads
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.sentences import unit_rows
from tiltmeter.operators.text.wordsets import Association
from tiltmeter.storage.store.ledger import Store, TableRef


class MeasureSentences(Work, unit=sentences.VERSION, stage="sentence tests", makes=[SentenceTests]):
    """One test of one model; ``kind``: of its sentences, ``templates`` (SEAT) or ``contexts`` (CEAT)."""

    model: str
    language: str
    test_name: str
    test: Association
    kind: str
    min_words: int
    min_share: float
    num_draws: int
    seed: int
    sentences: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[SentenceTests]:
        key = {"model": self.model, "language": self.language, "test": self.test_name}
        table, config = (
            encoded(store, self.sentences),
            AssociationConfig(min_words=self.min_words, min_share=self.min_share),
        )
        yield from measured(table, key, self.test, self.kind, config, self.num_draws, self.seed)


def measured(
    table: pl.DataFrame, key: Row, test: Association, kind: str, config: AssociationConfig, num_draws: int, seed: int
) -> Iterator[SentenceTests]:
    """A row by words, and one as published.

    Args:
        table: sentences of a model, by word and draw.
        key: the model, its language and the test.
        test: the sets of words.
        kind: of sentences.
        config: how many words of a set must be left.
        num_draws: of partitions, or of contexts.
        seed: of the draws.
    """
    sets = [getattr(test, side).words for side in SIDES]
    known = set(table["word"].unique())
    words = [[word for word in dict.fromkeys(listed) if word in known] for listed in sets]
    method = "seat" if kind == "templates" else "ceat"
    if any(len(left) < num_needed(len(listed), config) for left, listed in zip(words, sets, strict=True)):
        few = failed("too_few_words", "a set has too few words left; see associations")
        yield from (SentenceTests(**key, method=name, **few) for name in ("words", method))
        return
    listed = [(word, side) for side, left in enumerate(words) for word in left]
    order = pl.DataFrame(listed, ["word", "side"], orient="row").with_row_index("number")
    rows = order.join(table, on="word", maintain_order="left_right")
    given = Sentences(unit_rows(rows["vector"].to_numpy()), rows["number"].to_numpy(), order["side"].to_numpy())
    size: Row = {"num_words": order.height, "num_sentences": rows.height}
    row = SentenceTests(**key, method="words", effect_size=of_words(given, np.ones(rows.height)), **size)
    row.sd_words, row.sd_sentences = spreads(given)
    if kind == "templates":
        clusters = rows["cluster"].to_numpy()
        without = [of_words(given, (clusters != one).astype(float)) for one in np.unique(clusters)]
        row.least_without, row.most_without = float(np.nanmin(without)), float(np.nanmax(without))
    yield row
    rng = keyed_generator(seed, Stream.SENTENCE_TEST, document_key(key["test"]))
    made = (of_sentences if kind == "templates" else of_contexts)(given, num_draws, rng)
    row = SentenceTests(**key, method=method, effect_size=made.effect, published_p=made.p, num_draws=num_draws, **size)
    row.variance, row.tau_squared = made.variance, made.tau_squared
    yield row


def measure_sentences(
    run: Run[AssociationRun, Sources], embedding: InSentences, models: Sequence[Model], config: AssociationConfig
) -> None:
    """Test the sentences of every model, and publish the table ``sentence_tests``."""
    run.do(
        MeasureSentences(
            group=model.name,
            label=f"{model.name} {name}",
            model=model.name,
            language=model.language,
            test_name=name,
            test=test,
            kind=embedding.kind,
            min_words=config.min_words,
            min_share=config.min_share,
            num_draws=config.num_draws,
            seed=run.config.seed,
            sentences=model.sentences,
        )
        for model in models
        for name, test in chosen_tests(model.wordset, run.config.tests).items()
    )
