"""Texts, what explains them, and what each explanation is worth for one text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.attribution.config import GRADIENTS, Attributing, Measuring
from tiltmeter.jobs.classifiers.attribution.tables import (
    OWN,
    RANDOMISED,
    Explained,
    Layers,
    Prepared,
    Removed,
    TextScores,
    WordValues,
)
from tiltmeter.jobs.classifiers.brought import find_classifier
from tiltmeter.jobs.classifiers.models import TextModel
from tiltmeter.jobs.classifiers.training import TrainTexts
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers.answers import Classifier
from tiltmeter.operators.classifiers.attribution import faithfulness, games
from tiltmeter.operators.classifiers.attribution.attribute import Networked, softmax
from tiltmeter.operators.classifiers.attribution.games import Game, Removal, logits_by, words_read
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig, GradientConfig, TextClassifier
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.text.tokenised import Spans
from tiltmeter.storage.records import read_records
from tiltmeter.storage.records.cells import is_empty
from tiltmeter.storage.store.ledger import Store, TableRef

_ORDERS, _PARTS, _SHAPLEY = 1_000_001, 1_000_002, 1_000_003
"""What is drawn for a text; the last number of a key."""


class ReadTexts(Work, unit="attribution_texts/1", stage="read texts"):
    """The texts of a file that are explained, in parts."""

    file: Mapping[str, Any]
    columns: Mapping[str, str]
    header: bool
    limit: int | None
    unit_texts: int
    seed: int

    def tables(self, _: Store) -> Tables:
        rows = read_records(self.file["uri"], list(dict.fromkeys(self.columns.values())), header=self.header)
        cells = {name: self._cells(rows[called]) for name, called in self.columns.items()}
        texts = pl.DataFrame(cells).with_row_index("row").filter(pl.col("text").is_not_null()).to_dicts()
        by_key = sorted(texts, key=lambda row: (document_key(f"{self.seed}\n{row['text']}"), row["row"]))
        chosen = sorted(by_key[: self.limit], key=lambda row: row["row"])
        named = [_flags(row.get("rationale"), row["text"]) for row in chosen]
        sizes = [sum(flags) for flags in named if flags and any(flags)]
        about = {"label": None, "group": None, "words_named": float(np.mean(sizes)) if sizes else None}
        made = [
            about | row | {"id": row.get("id") or str(row["row"]), "rationale": flags}
            for row, flags in zip(chosen, named, strict=True)
        ]
        for start in range(0, len(made), self.unit_texts):
            yield f"rows_{start:08d}", pa.Table.from_pylist(made[start : start + self.unit_texts], Prepared.schema())

    def _cells(self, column: pl.Series) -> pl.Series:
        return column.cast(pl.String).str.strip_chars().set(is_empty(column), None)


def _flags(cell: str | None, text: str) -> list[bool] | None:
    """Whether each stretch between spaces is named; None where the cell does not say so of as many."""
    flags = (cell or "").split()
    if len(flags) != len(text.split()) or not {*flags} <= {"0", "1"}:
        return None
    return [flag == "1" for flag in flags]


@dataclass(frozen=True)
class PackageSource:
    """A classifier that an installed package brings."""

    name: str
    version: str

    @property
    def identity(self) -> Mapping[str, Any]:
        """Its name and version."""
        return {"package": self.name, "version": self.version}

    def load(self, _: Store, __: TableRef | None, device: str) -> Classifier:
        """Of this version."""
        return find_classifier(self.name, "classifier.package", self.version).load(device)


class TrainClassifier(TrainTexts, unit="attribution_model/1", stage="train"):
    """A network that learns labelled texts."""


@dataclass
class _Text:
    """A text that is being explained."""

    row: Prepared
    text: str
    spans: Spans
    is_cut: bool
    games: Mapping[Removal, Game]
    target: int
    key: int


class ExplainTexts(
    Work, unit="attribution/1", stage="explain", makes=[Explained, WordValues, TextScores, Removed, Layers]
):
    """What every method says of the words of texts, and what it is worth."""

    model: TextModel[Classifier]
    texts: TableRef
    mask: str | None
    attribution: Attributing
    measures: Measuring
    followed: bool
    """Whether the loss of layers is followed for these texts."""
    seed: int
    operators: Sequence[str] = (games.VERSION, faithfulness.VERSION)

    def rows(self, store: Store) -> Iterator[Explained | WordValues | TextScores | Removed | Layers]:
        with self.model.ready(store) as classifier:
            network = classifier.network if isinstance(classifier, Networked) else None
            mask = self.mask or (network.mask if network else None)
            texts = []
            for row in Prepared.read(store, self.texts):
                text, spans, is_cut = words_read(classifier, row.text)
                if not spans:
                    yield Explained(row=row.row, id=row.id, text=text).fail("no_word", "there is no word in the text")
                    continue
                ways: tuple[Removal, ...] = ("mask", "delete") if mask else ("delete",)
                made = {removal: Game(text, spans, removal, mask, logits_by(classifier)) for removal in ways}
                whole = softmax(next(iter(made.values())).logits(np.ones((1, len(spans)), dtype=bool)))[0]
                texts.append(_Text(row, text, spans, is_cut, made, int(whole.argmax()), document_key(text)))
            for one in texts:
                yield self._described(one, classifier.classes)
                yield from self._removed(one)
            originals: dict[str, list[FloatArray]] = {}
            for method in self.attribution.methods:
                errors: list[FloatArray | None] = [None] * len(texts)
                originals[method] = self._values(method, texts, network, errors)
                for one, values, error in zip(texts, originals[method], errors, strict=True):
                    yield from _words(one, method, values, error)
            yield from self._scores(texts, originals, OWN)
            if network is not None:
                yield from self._changed(texts, originals, network)

    def _described(self, one: _Text, classes: Sequence[str]) -> Explained:
        game, whole = _first(one), np.ones((1, len(one.spans)), dtype=bool)
        return Explained(
            row=one.row.row,
            id=one.row.id,
            text=one.text,
            predicted=classes[one.target],
            label=one.row.label,
            group=one.row.group,
            num_words=len(one.spans),
            probability=float(game.values(whole, one.target, "probability")[0]),
            log_odds=float(game.values(whole, one.target, "log_odds")[0]),
            probability_of_none=float(game.values(~whole, one.target, "probability")[0]),
            is_cut=one.is_cut,
        )

    def _removed(self, one: _Text) -> Iterator[Removed]:
        """Of the random orders by which methods are judged."""
        num = len(one.spans)
        ranks = np.argsort(self._orders(one), axis=1)
        for removal, game in one.games.items():
            for share, size in zip((0.0, *faithfulness.SHARES), (0, *faithfulness.sizes_of(num)), strict=True):
                chances = softmax(game.logits(ranks >= size))
                none = int(game.logits(np.zeros((1, num), dtype=bool))[0].argmax())
                yield Removed(
                    row=one.row.row,
                    removal=removal,
                    share=share,
                    confidence=float(chances.max(axis=1).mean()),
                    entropy=float(-(chances * np.log(np.maximum(chances, 1e-300))).sum(axis=1).mean()),
                    as_none=float((chances.argmax(axis=1) == none).mean()),
                )

    def _values(
        self,
        method: str,
        texts: Sequence[_Text],
        network: TextClassifier | None,
        errors: list[FloatArray | None],
        values_of: Mapping[int, Any] | None = None,
    ) -> list[FloatArray]:
        """``[words]`` of each text.

        Args:
            network: that is explained by gradients.
            errors: which standard errors of sampled values are put into.
            values_of: games of another network, by the number of the text; None: those of the texts.
        """
        if method in GRADIENTS:
            from tiltmeter.operators.classifiers.attribution.changes import gradient_values  # imports torch

            if network is None:
                raise ValueError(f"{method} needs a network with gradients")
            targets = [one.target for one in texts]
            return gradient_values(network, [one.text for one in texts], self._config(method), targets, self.seed)
        results = []
        for number, one in enumerate(texts):
            game = _first(one) if values_of is None else values_of[number]
            results.append(self._by_parts(method, one, game, errors, number))
        return results

    def _by_parts(
        self, method: str, one: _Text, game: Game, errors: list[FloatArray | None], number: int
    ) -> FloatArray:
        output, num = self.attribution.output, len(one.spans)

        def value(present: BoolArray) -> FloatArray:
            return game.values(present, one.target, output)

        if method == "shapley":
            if num <= self.attribution.exact_words:
                return games.shapley(game.table(one.target, output))
            generator = keyed_generator(self.seed, Stream.SHAPLEY, one.key, _SHAPLEY)
            most, tolerance = self.attribution.most_orders, self.attribution.tolerance_of_orders
            values, errors[number] = games.sampled_shapley(value, num, generator, tolerance, most)
            return values
        from tiltmeter.operators.classifiers.attribution.changes import word_values  # imports torch

        config = AttributionConfig(method=method, output=output, num_samples=self.attribution.num_samples)  # type: ignore[arg-type]
        return word_values(config.method, value, num, config, self.seed, one.key)

    def _config(self, method: str) -> GradientConfig:
        asked = self.attribution
        return GradientConfig(
            method=method,  # type: ignore[arg-type]
            output=asked.output,
            num_steps=asked.num_steps,
            tolerance=asked.tolerance,
            num_samples=asked.num_samples,
            max_tokens=asked.max_tokens,
        )

    def _orders(self, one: _Text) -> Any:
        """Random orders, the same for all methods."""
        values = np.zeros(len(one.spans))
        generator = keyed_generator(self.seed, Stream.ATTRIBUTION, one.key, _ORDERS)
        return faithfulness.with_random(values, self.measures.num_random, generator).orders[1:]

    def _scores(
        self, texts: Sequence[_Text], originals: Mapping[str, Sequence[FloatArray]], weights: str
    ) -> Iterator[TextScores]:
        for number, one in enumerate(texts):
            num = len(one.spans)
            named = _named(one)
            best = {
                removal: faithfulness.best_falls(game, one.target, self.measures.num_sets)
                for removal, game in one.games.items()
                if weights == OWN
            }
            for method, values in originals.items():
                about: dict[str, Any] = {"row": one.row.row, "method": method, "weights": weights}
                if np.isnan(values[number]).any():
                    continue
                generator = keyed_generator(self.seed, Stream.ATTRIBUTION, one.key, _ORDERS)
                asked = faithfulness.with_random(values[number], self.measures.num_random, generator)
                for removal, game in one.games.items():
                    results = faithfulness.measured(
                        game, asked, one.target, self.attribution.output, self.measures.points, self._parts(one)
                    )
                    for measure, numbers in results.items():
                        score = TextScores(**about, measure=measure, removal=removal, **_own_and_random(numbers))
                        if measure == "comprehensiveness" and removal in best:
                            score.best = best[removal]
                        yield score
                if named is not None and named.any():
                    size = min(num, max(1, round(one.row.words_named)))
                    for measure, numbers in faithfulness.plausibility(asked, named, size).items():
                        yield TextScores(**about, measure=measure, removal="", **_own_and_random(numbers))

    def _parts(self, one: _Text) -> BoolArray:
        """What infidelity takes out: all parts of a short text, or drawn ones."""
        num = len(one.spans)
        is_known = "shapley" in self.attribution.methods and num <= self.attribution.exact_words
        if is_known or 2**num <= self.measures.num_parts:
            return (np.arange(2**num)[:, np.newaxis] >> np.arange(num) & 1).astype(bool)
        generator = keyed_generator(self.seed, Stream.ATTRIBUTION, one.key, _PARTS)
        return generator.random((self.measures.num_parts, num)) < 0.5

    def _changed(
        self, texts: Sequence[_Text], originals: Mapping[str, list[FloatArray]], network: TextClassifier
    ) -> Iterator[TextScores | Layers]:
        """What moved embeddings and lost layers change."""
        from tiltmeter.operators.classifiers.attribution import changes  # imports torch

        asked, targets = self.measures, [one.target for one in texts]
        for method in originals if asked.num_points and texts else []:
            if method not in GRADIENTS:
                continue
            both = changes.sensitivity(
                network, [one.text for one in texts], self._config(method), targets, self.seed, asked.radius,
                asked.num_points,
            )  # fmt: skip
            for measure, numbers in zip(("max_sensitivity", "max_sensitivity_relative"), both, strict=True):
                for one, values, number in zip(texts, originals[method], numbers, strict=True):
                    about: dict[str, Any] = {"row": one.row.row, "method": method, "weights": OWN}
                    about |= {"measure": measure, "removal": ""}
                    yield TextScores(**about, value=float("nan") if np.isnan(values).any() else float(number))
        layers = changes.forgotten_layers(network)
        for number, layer in enumerate(layers if self.followed else (), start=1):
            forgot = changes.forgetting(network, layers[:number], self.seed)
            for method, after in self._by_network(texts, forgot.classifier, originals).items():
                for one, before, values in zip(texts, originals[method], after, strict=True):
                    yield Layers(
                        row=one.row.row,
                        method=method,
                        step=number,
                        layer=layer,
                        kept=list(forgot.kept),
                        correlation=changes.spearman(before, values),
                    )
        # What a network prefers that knows nothing is a draw, too: each text has a network of its own.
        for one in texts:
            nobody = changes.forgetting(network, layers, self.seed, one.key).classifier
            yield from self._scores([one], self._by_network([one], nobody, originals), RANDOMISED)

    def _by_network(
        self, texts: Sequence[_Text], network: TextClassifier, methods: Iterable[str]
    ) -> dict[str, list[FloatArray]]:
        """Attributions of another network, for the classes that the network predicts that is explained."""
        ask = logits_by(Networked(network, self.attribution.max_tokens))
        others = {
            place: Game(one.text, one.spans, next(iter(one.games)), self.mask or network.mask, ask)
            for place, one in enumerate(texts)
        }
        return {name: self._values(name, texts, network, [None] * len(texts), others) for name in methods}


def _words(one: _Text, method: str, values: FloatArray, errors: FloatArray | None) -> Iterator[WordValues]:
    for position, (start, end) in enumerate(one.spans):
        word = WordValues(row=one.row.row, method=method, position=position, id=one.row.id, word=one.text[start:end])
        if np.isnan(values[position]):
            yield word.fail("does_not_apply", "the method's rule does not reach all of the network")
            continue
        word.attribution = float(values[position])
        if errors is not None:
            word.standard_error = float(errors[position])
        yield word


def _first(one: _Text) -> Game:
    """By the removal that methods use: masks, where there are."""
    return next(iter(one.games.values()))


def _named(one: _Text) -> BoolArray | None:
    """Whether people named each word: where they named a stretch between spaces that it lies in."""
    if one.row.rationale is None:
        return None
    flags, place = np.zeros(len(one.row.text), dtype=bool), 0
    for stretch, is_named in zip(one.row.text.split(), one.row.rationale, strict=True):
        place = one.row.text.index(stretch, place)
        flags[place : place + len(stretch)] = is_named
        place += len(stretch)
    return np.array([flags[start:end].any() for start, end in one.spans], dtype=bool)


def _own_and_random(numbers: FloatArray) -> dict[str, Any]:
    others = numbers[1:]
    return {"value": float(numbers[0]), "random": float("nan") if np.isnan(others).all() else float(np.nanmean(others))}
