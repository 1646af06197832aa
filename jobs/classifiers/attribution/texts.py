"""Texts, what explains them, and what each explanation is worth for one text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.attribution.config import GRADIENTS, Attributing, Explainer, Measuring
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
from tiltmeter.jobs.classifiers.models import TextModel
from tiltmeter.jobs.classifiers.training import TrainTexts
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers.answers import Classifier
from tiltmeter.operators.classifiers.attribution import faithfulness, games
from tiltmeter.operators.classifiers.attribution.attribute import Networked, softmax
from tiltmeter.operators.classifiers.attribution.games import Game, Removal, all_parts, logits_by, words_read
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig, TextClassifier
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
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


class TrainClassifier(TrainTexts, unit="attribution_model/1", stage="train"):
    """A network that learns labelled texts."""


@dataclass
class _Text:
    """A text that is being explained: its games by removal, the best words of each, and values ``[words]`` by method;
    random orders of its words ``[orders, words]``, by which all methods are judged, and the parts that infidelity takes
    out ``[parts, words]``."""

    row: Prepared
    is_cut: bool
    games: Mapping[Removal, Game]
    best: Mapping[Removal, float]
    target: int
    key: int
    orders: IntArray
    parts: BoolArray
    values: dict[Explainer, FloatArray]

    @property
    def game(self) -> Game:
        """That methods ask: of masks, where there are."""
        return next(iter(self.games.values()))


class ExplainTexts(
    Work, unit="attribution/2", stage="explain", makes=[Explained, WordValues, TextScores, Removed, Layers]
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
            texts = []
            for row in Prepared.read(store, self.texts):
                one = self._text(row, classifier, self.mask or (network and network.mask))
                if one is None:
                    empty = Explained(row=row.row, id=row.id, text=row.text)
                    yield empty.fail("no_word", "there is no word in the text")
                    continue
                texts.append(one)
                yield _described(one, classifier.classes)
                yield from _removed(one)
                for method in self.attribution.methods:
                    one.values[method], errors = self._values(method, one, one.game, network)
                    yield from _words(one, method, errors)
                yield from self._scores(one, one.values, OWN)
                if network is not None and self.measures.num_points:
                    yield from self._sensitive(one, network)
            if network is not None:
                yield from self._without_layers(texts, network)

    def _text(self, row: Prepared, classifier: Classifier, mask: str | None) -> _Text | None:
        text, spans, is_cut = words_read(classifier, row.text)
        num, key = len(spans), document_key(text)
        if not num:
            return None
        ways: tuple[Removal, ...] = ("mask", "delete") if mask else ("delete",)
        made = {removal: Game(text, spans, removal, mask, logits_by(classifier)) for removal in ways}
        target = int(made[ways[0]].logits(np.ones((1, num), dtype=bool))[0].argmax())
        best = {name: faithfulness.best_falls(game, target, self.measures.num_sets) for name, game in made.items()}
        generator = keyed_generator(self.seed, Stream.ATTRIBUTION, key, _ORDERS)
        orders = np.stack([generator.permutation(num) for _ in range(self.measures.num_random)])
        return _Text(row, is_cut, made, best, target, key, orders, self._parts(num, key), {})

    def _parts(self, num: int, key: int) -> BoolArray:
        """All parts of a short text, or drawn ones."""
        is_known = "shapley" in self.attribution.methods and num <= self.attribution.exact_words
        if is_known or 2**num <= self.measures.num_parts:
            return all_parts(num)
        generator = keyed_generator(self.seed, Stream.ATTRIBUTION, key, _PARTS)
        return generator.random((self.measures.num_parts, num)) < 0.5

    def _values(
        self, method: Explainer, one: _Text, game: Game, network: TextClassifier | None
    ) -> tuple[FloatArray, FloatArray | None]:
        """``[words]``, and the standard errors of sampled ones; by a game or, with gradients, by a network."""
        asked = self.attribution

        def value(present: BoolArray) -> FloatArray:
            return game.values(present, one.target, asked.output)

        match method:
            case "shapley" if game.num <= asked.exact_words:
                return games.shapley(value(all_parts(game.num))), None
            case "shapley":
                generator = keyed_generator(self.seed, Stream.SHAPLEY, one.key, _SHAPLEY)
                return games.sampled_shapley(value, game.num, generator, asked.tolerance_of_orders, asked.most_orders)
            case "occlusion" | "lime" | "kernel_shap":
                from tiltmeter.operators.classifiers.attribution.changes import word_values  # imports torch

                config = AttributionConfig(method=method, output=asked.output, num_samples=asked.num_samples)
                return word_values(config, value, game.num, self.seed, one.key), None
            case _:
                from tiltmeter.operators.classifiers.attribution.changes import gradient_values  # imports torch

                if network is None:
                    raise ValueError(f"{method} needs a network with gradients")
                return gradient_values(network, game.text, asked.of_gradients(method), one.target, self.seed), None

    def _scores(self, one: _Text, methods: Mapping[Explainer, FloatArray], weights: str) -> Iterator[TextScores]:
        named, size = _named(one), min(one.game.num, max(1, round(one.row.words_named or 0)))
        for method, values in methods.items():
            if np.isnan(values).any():
                continue
            asked = faithfulness.with_random(values, one.orders)
            about = {"row": one.row.row, "method": method, "weights": weights}
            for removal, game in one.games.items():
                output, points = self.attribution.output, self.measures.points
                results = faithfulness.measured(game, asked, one.target, output, points, one.parts)
                for measure, numbers in results.items():
                    best = one.best[removal] if measure == "comprehensiveness" and weights == OWN else None
                    yield _score(numbers, **about, measure=measure, removal=removal, best=best)
            if named.any():
                for measure, numbers in faithfulness.plausibility(asked, named, size).items():
                    yield _score(numbers, **about, measure=measure, removal="", num_words=size + int(named.sum()))

    def _sensitive(self, one: _Text, network: TextClassifier) -> Iterator[TextScores]:
        from tiltmeter.operators.classifiers.attribution.changes import sensitivity  # imports torch

        text, target, near = one.game.text, one.target, (self.measures.radius, self.measures.num_points)
        for method in (name for name in GRADIENTS if name in one.values):
            both = sensitivity(network, text, self.attribution.of_gradients(method), target, self.seed, *near)
            about: dict[str, Any] = {"row": one.row.row, "method": method, "weights": OWN, "removal": ""}
            applies = not np.isnan(one.values[method]).any()
            for measure, number in zip(("max_sensitivity", "max_sensitivity_relative"), both, strict=True):
                yield TextScores(**about, measure=measure, value=number if applies else float("nan"))

    def _without_layers(self, texts: Sequence[_Text], network: TextClassifier) -> Iterator[TextScores | Layers]:
        """What lost layers change."""
        from tiltmeter.operators.classifiers.attribution import changes  # imports torch

        layers = changes.forgotten_layers(network)
        for number, layer in enumerate(layers if self.followed else (), start=1):
            forgot, kept = changes.forgetting(network, layers[:number], self.seed)
            for one in texts:
                for method, values in self._by_network(one, forgot).items():
                    about = Layers(row=one.row.row, method=method, step=number, layer=layer, kept=list(kept))
                    about.correlation = changes.spearman(one.values[method], values)
                    yield about
        # What a network prefers that knows nothing is a draw, too: each text has a network of its own.
        for one in texts:
            nobody, _ = changes.forgetting(network, layers, self.seed, one.key)
            yield from self._scores(one, self._by_network(one, nobody), RANDOMISED)

    def _by_network(self, one: _Text, network: TextClassifier) -> dict[Explainer, FloatArray]:
        """Attributions of another network, for the class that the network predicts that is explained."""
        game = replace(one.game, ask=logits_by(Networked(network, self.attribution.max_tokens)))
        return {method: self._values(method, one, game, network)[0] for method in one.values}


def _described(one: _Text, classes: Sequence[str]) -> Explained:
    game, row = one.game, one.row
    both = np.array([[True] * game.num, [False] * game.num])
    probability, of_none = game.values(both, one.target, "probability").tolist()
    return Explained(
        **{name: getattr(row, name) for name in ("row", "id", "label", "group")},
        text=game.text,
        predicted=classes[one.target],
        num_words=game.num,
        probability=probability,
        log_odds=float(game.values(both, one.target, "log_odds")[0]),
        probability_of_none=of_none,
        is_cut=one.is_cut,
    )


def _removed(one: _Text) -> Iterator[Removed]:
    """Of the random orders by which methods are judged."""
    ranks = np.argsort(one.orders, axis=1)
    for removal, game in one.games.items():
        none = int(game.logits(np.zeros((1, game.num), dtype=bool))[0].argmax())
        for share, size in zip((0.0, *faithfulness.SHARES), (0, *faithfulness.sizes_of(game.num)), strict=True):
            chances = softmax(game.logits(ranks >= size))
            yield Removed(
                row=one.row.row,
                removal=removal,
                share=share,
                confidence=float(chances.max(axis=1).mean()),
                entropy=float(-(chances * np.log(np.maximum(chances, 1e-300))).sum(axis=1).mean()),
                as_none=float((chances.argmax(axis=1) == none).mean()),
            )


def _words(one: _Text, method: Explainer, errors: FloatArray | None) -> Iterator[WordValues]:
    for position, ((start, end), value) in enumerate(zip(one.game.spans, one.values[method].tolist(), strict=True)):
        word = one.game.text[start:end]
        row = WordValues(row=one.row.row, method=method, position=position, id=one.row.id, word=word, attribution=value)
        if errors is not None:
            row.standard_error = float(errors[position])
        is_known = not np.isnan(value)
        yield row if is_known else row.fail("does_not_apply", "the method's rule does not reach all of the network")


def _named(one: _Text) -> BoolArray:
    """Whether people named each word, as far as they were asked: a stretch between spaces that it lies in."""
    flags, stretches = np.zeros(len(one.row.text), dtype=bool), re.finditer(r"\S+", one.row.text)
    for stretch, is_named in zip(stretches, one.row.rationale or (), strict=False):
        flags[slice(*stretch.span())] = is_named
    return np.array([flags[start:end].any() for start, end in one.game.spans], dtype=bool)


def _score(numbers: FloatArray, **about: Any) -> TextScores:
    """Of numbers of which the first is the method's own, and others are random."""
    known = numbers[1:][~np.isnan(numbers[1:])]
    return TextScores(**about, value=float(numbers[0]), random=float(known.mean()) if known.size else None)
