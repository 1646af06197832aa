"""Classifiers on the vectors of texts, and cues of gender that are added to texts near their borders.

There is a classifier for each fold and seed, and one of all texts for each seed, which posteriors are of.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.intervals import MOST_DRAWS, drawn_texts, estimate_of
from tiltmeter.jobs.runtime.table import Estimate, tables_of
from tiltmeter.jobs.runtime.wording import listed
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.jobs.sentiment.posterior.config import Cues
from tiltmeter.jobs.sentiment.posterior.tables import ClassifierQuality, CueEffects
from tiltmeter.jobs.sentiment.posterior.texts import WHOLE, PosteriorRun, Texts, entry_of, tokenizer, word_vectors
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.psychophysics import forced_choice
from tiltmeter.operators.psychophysics.forced_choice import curve
from tiltmeter.operators.sentiment.posterior import cues as cue_flips
from tiltmeter.operators.sentiment.posterior import networks, training
from tiltmeter.operators.sentiment.posterior.cues import Border, CueResponses
from tiltmeter.operators.sentiment.posterior.networks import Activation, Network, arrays, network_of, scores
from tiltmeter.operators.sentiment.posterior.training import ClassifierConfig, cooled, quality, temperature, trained
from tiltmeter.operators.statistics import means
from tiltmeter.storage.models.described_weights import DescribedWeights, parse_weights, weights_content
from tiltmeter.storage.store.ledger import Store, TableRef


class KnownTexts(NamedTuple):
    """Texts with a vector.

    Attributes:
        vectors: ``[texts, dimensions]``.
        num_words: ``[texts]``, with a vector.
        is_positive: ``[texts]``.
        folds: ``[texts]``.
        rows: ``[texts]``, their numbers in the table of texts.
    """

    vectors: FloatArray
    num_words: IntArray
    is_positive: BoolArray
    folds: IntArray
    rows: IntArray


def known_texts(store: Store, labels: TableRef, vectors: TableRef) -> KnownTexts:
    """Texts with a vector, of the tables ``rows`` of texts and ``texts`` of vectors."""
    averages = word_vectors(store, vectors)
    known = np.isfinite(averages).all(axis=1)
    rows = store.read(labels.select("is_positive", "fold"))
    num_words = np.asarray(store.read(vectors.select("num_words"))["num_words"], np.int64)
    is_positive, folds = np.asarray(rows["is_positive"]).astype(bool), np.asarray(rows["fold"], np.int64)
    return KnownTexts(averages[known], num_words[known], is_positive[known], folds[known], np.flatnonzero(known))


class TrainClassifier(Work, unit="posterior_training/1", stage="train classifiers"):
    """A classifier of the texts outside of a fold: its ``model``, and what it says of the ``held_out`` texts."""

    operators: Sequence[str] = (networks.VERSION, training.VERSION)
    classifier: ClassifierConfig
    seed: int
    number: int
    fold: int
    texts: TableRef
    vectors: TableRef

    def tables(self, store: Store) -> Tables:
        texts = known_texts(store, self.texts, self.vectors)
        is_held_out = texts.folds == self.fold
        network = trained(
            texts.vectors[~is_held_out],
            texts.is_positive[~is_held_out],
            self.classifier,
            self.seed,
            self.number * 1000 + self.fold + 1,
        )
        yield "model", _model(network)
        logits, labels = scores(network, texts.vectors[is_held_out]), texts.is_positive[is_held_out]
        yield "held_out", pa.table({"logit": logits, "is_positive": labels})
        yield from tables_of([_quality(self.number, self.fold, logits, labels, 1.0)], [ClassifierQuality])


class Calibrate(Work, unit="posterior_calibration/1", stage="calibrate"):
    """The ``model`` of all texts, its scores divided by the temperature that held-out texts ask for."""

    operator: str = training.VERSION
    calibrated: bool
    number: int
    activation: Activation
    model: TableRef
    held_out: Sequence[TableRef]

    def tables(self, store: Store) -> Tables:
        held_out = pa.concat_tables([store.read(ref) for ref in self.held_out])
        logits, labels = np.asarray(held_out["logit"]), np.asarray(held_out["is_positive"]).astype(bool)
        degrees = temperature(logits, labels) if self.calibrated else 1.0
        yield "model", _model(cooled(load_network(store, self.model), degrees))
        yield from tables_of([_quality(self.number, WHOLE, logits, labels, degrees)], [ClassifierQuality])


def train_classifiers(run: PosteriorRun, texts: Texts) -> list[TableRef]:
    """The model of each seed, which :func:`load_network` reads, of all texts; publishes ``classifier``.

    Raises:
        UnitsFailed: if there are too few texts.
    """
    config = run.config.classifier
    done = run.do(
        TrainClassifier(
            group="texts",
            label=f"classifier {number}, " + ("all texts" if fold == WHOLE else f"fold {fold}"),
            classifier=config.of_training,
            seed=run.config.seed,
            number=number,
            fold=fold,
            texts=texts.rows.select("is_positive", "fold"),
            vectors=texts.vectors[fold],
        )
        for number in range(config.seeds)
        for fold in [*range(config.folds), WHOLE]
    )
    by_key = {(work.number, work.fold): unit.tables for work, unit in done.pairs}
    calibrated = run.do(
        Calibrate(
            group="texts",
            label=f"classifier {number}",
            calibrated=config.calibrated,
            number=number,
            activation=config.activation,
            model=by_key[number, WHOLE]["model"],
            held_out=[by_key[number, fold]["held_out"] for fold in range(config.folds)],
        )
        for number in range(config.seeds)
    )
    rows = [tables["classifier"] for (_, fold), tables in by_key.items() if fold != WHOLE]
    run.publish("classifier", [*rows, *calibrated.refs(ClassifierQuality)])
    return calibrated.refs("model")


def load_network(store: Store, ref: TableRef) -> Network:
    """The network of a table of :func:`train_classifiers`."""
    [content] = store.read(ref)["content"].to_pylist()
    description, weights = parse_weights(content, "network")
    return network_of(weights, description["activation"])


def _model(network: Network) -> pa.Table:
    content = weights_content(DescribedWeights({"activation": network.activation}, arrays(network)), "network")
    return pa.table({"content": pa.array([content], pa.binary())})


def _quality(number: int, fold: int, logits: FloatArray, labels: BoolArray, degrees: float) -> ClassifierQuality:
    row = ClassifierQuality(seed=number, fold=fold, temperature=degrees, num_texts=len(labels))
    if labels.any() and not labels.all():
        row.auc, row.log_loss, row.calibration_error = quality(logits / degrees, labels)
    return row


class AskCues(Work, unit="posterior_cues/5", stage="ask cues", makes=[CueEffects]):
    """What each pair of cues makes of the texts near the borders of all classifiers."""

    operators: Sequence[str] = (cue_flips.VERSION, forced_choice.VERSION, means.VERSION)
    cues: Cues
    tokens: Mapping[str, Any]
    level: float
    seed: int
    models: Sequence[TableRef]
    labelled: TableRef
    texts: TableRef
    vocabulary: TableRef
    words: TableRef

    def rows(self, store: Store) -> Iterator[CueEffects]:
        texts = known_texts(store, self.labelled, self.texts)
        models = [load_network(store, ref) for ref in self.models]
        borders = [Border.of(model, texts.vectors, texts.num_words, self.cues.texts) for model in models]
        contents = store.read(self.labelled.select("text"))["text"].take(pa.array(texts.rows)).to_pylist()
        words = store.read(self.vocabulary)["word"].to_pylist()
        vectors = zip(words, word_vectors(store, self.words), strict=True)
        known = {word: vector for word, vector in vectors if np.isfinite(vector).all()}
        yield from (self.effects(borders, contents, known, pair) for pair in self.cues.pairs)

    def effects(
        self, borders: Sequence[Border], contents: Sequence[str], known: dict[str, FloatArray], pair: tuple[str, str]
    ) -> CueEffects:
        """Of one pair, given what each text says and the vectors of words."""
        row = CueEffects(first=pair[0], second=pair[1])
        one, other = (known.get(entry_of(word)) for word in pair)
        if one is None or other is None:
            missing = [word for word, vector in zip(pair, (one, other), strict=True) if vector is None]
            return row.fail("no_vector", f"there is no vector for {' and '.join(missing)}")
        borders = [border for border in borders if border.rows.size]
        responses = [
            cue_flips.cue_responses(border.network, border.vectors, border.num_words, one, other) for border in borders
        ]
        if not any((response.steps != 0.0).any() for response in responses):
            return row.fail("no_border", "the classifiers put all texts on one side, or take both cues for the same")
        self._fill_shares(row, responses, borders)
        flips = cue_flips.one_way(responses)
        if flips is None:
            shares = listed([f"{share:.0%}" for share in row.share_towards_first])
            return row.fail(
                "directions_differ",
                f"{shares} of the texts, by classifier, move towards {pair[0]}; a PSE needs 95% of each to move one "
                "way",
            )
        numbers, of_texts = cue_flips.by_text(borders, flips)
        is_known = np.isfinite(of_texts).any(axis=1)
        return self._fill_middle(row, of_texts, [contents[text] for text in numbers[is_known].tolist()])

    def _fill_shares(self, row: CueEffects, responses: Sequence[CueResponses], borders: Sequence[Border]) -> None:
        """What there is whatever the directions."""
        inferred = cue_flips.effect(responses, [border.rows for border in borders], self.level)
        row.num_texts = sum(border.rows.size for border in borders)
        row.share_towards_first = [response.towards_first for response in responses]
        row.positive_first = float(np.concatenate([response.first for response in responses]).mean())
        row.positive_second = float(np.concatenate([response.second for response in responses]).mean())
        row.effect, row.p = Estimate(inferred.value, inferred.low, inferred.high), inferred.p

    def _fill_middle(self, row: CueEffects, flips: FloatArray, texts: Sequence[str]) -> CueEffects:
        """PSE with interval and draws, and JND, where the PSE is a mixture of the cues.

        Args:
            flips: ``[texts, classifiers]``.
            texts: that have a flip. Runs with the same ones near their borders draw them alike.
        """
        inferred = cue_flips.middle(flips, self.level)
        known = flips[np.isfinite(flips)]
        row.num_flips, row.num_outside = known.size, int(((known < 0.0) | (known > 1.0)).sum())
        if not 0.0 <= inferred.value <= 1.0:
            row.pse_extrapolated = inferred.value
            return row.fail(
                "outside",
                "no mixture of the cues makes half of the texts positive: the line through both ends has to be "
                "prolonged",
            )
        row.pse = Estimate(inferred.value, inferred.low, inferred.high)
        row.jnd = float(curve(flips.reshape(1, -1)).jnd[0])
        if inferred.too_few:
            return row.fail("too_few_units", inferred.reason)
        about = f"cues {row.first} {row.second}"
        generator = keyed_generator(self.seed, Stream.RESAMPLING, document_key(about))
        middles = np.concatenate(
            [curve(block).pse for block in cue_flips.resampled_flips(flips, generator, MOST_DRAWS)]
        )
        scheme = {**drawn_texts(texts, self.seed, about), "operator": cue_flips.VERSION}
        row.pse = estimate_of(inferred.value, inferred.low, inferred.high, middles, scheme, len(texts))
        return row


def ask_cues(run: PosteriorRun, models: Sequence[TableRef], texts: Texts) -> None:
    """Publish the table ``cues``; none without pairs."""
    config = run.config
    work = AskCues(
        group="cues",
        label="cues",
        cues=config.cues,
        tokens=tokenizer().identity,
        level=config.job.level,
        seed=config.seed,
        models=models,
        labelled=texts.rows.select("text", "is_positive", "fold"),
        texts=texts.vectors[WHOLE],
        vocabulary=texts.vocabulary.select("word"),
        words=texts.word_vectors[WHOLE],
    )
    run.do([work] if config.cues.pairs else [])
