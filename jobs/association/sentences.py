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
from tiltmeter.jobs.runtime.rows import failed
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.association import sentences
from tiltmeter.operators.association.sentences import Sentences, of_contexts, of_sentences, of_words, spreads
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.encoders.sentences import unit_rows
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
        """A row by words, and one as published."""
        method = "seat" if self.kind == "templates" else "ceat"
        by_words, published = (
            SentenceTests(model=self.model, language=self.language, test=self.test_name, method=name)
            for name in ("words", method)
        )
        table = encoded(store, self.sentences)
        sets, known = [getattr(self.test, side).words for side in SIDES], set(table["word"].unique())
        words = [[word for word in dict.fromkeys(listed) if word in known] for listed in sets]
        config = AssociationConfig(min_words=self.min_words, min_share=self.min_share)
        if any(len(left) < num_needed(len(listed), config) for left, listed in zip(words, sets, strict=True)):
            few = failed("too_few_words", "a set has too few words left; see associations")
            yield from (row.fail(**few) for row in (by_words, published))
            return
        numbered = [(word, side) for side, left in enumerate(words) for word in left]
        order = pl.DataFrame(numbered, ["word", "side"], orient="row").with_row_index("number")
        rows = order.join(table, on="word", maintain_order="left_right")
        vectors = unit_rows(rows["vector"].to_numpy())
        given = Sentences(vectors, rows["number"].to_numpy(), order["side"].to_numpy())
        for row in (by_words, published):
            row.num_words, row.num_sentences = order.height, rows.height
        by_words.effect_size = of_words(given, np.ones(rows.height))
        by_words.sd_words, by_words.sd_sentences = spreads(given)
        if self.kind == "templates":
            clusters = rows["cluster"].to_numpy()
            without = [of_words(given, (clusters != one).astype(float)) for one in np.unique(clusters)]
            by_words.least_without, by_words.most_without = float(np.nanmin(without)), float(np.nanmax(without))
        yield by_words
        rng = keyed_generator(self.seed, Stream.SENTENCE_TEST, document_key(self.test_name))
        made = (of_sentences if self.kind == "templates" else of_contexts)(given, self.num_draws, rng)
        published.effect_size, published.published_p, published.num_draws = made.effect, made.p, self.num_draws
        published.variance, published.tau_squared = made.variance, made.tau_squared
        yield published


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
