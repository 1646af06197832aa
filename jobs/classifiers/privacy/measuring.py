"""EP and EG of every sentence that was explained, and what each listed word has of it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.attributions import explain as explain_models
from tiltmeter.jobs.classifiers.models import trained_model
from tiltmeter.jobs.classifiers.privacy import tables
from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.classifiers.privacy.lexicons import BinnedLexicon, binned_lexicon
from tiltmeter.jobs.classifiers.privacy.noise import MODELS as NOISE_MODELS
from tiltmeter.jobs.classifiers.privacy.noise import NoisyTexts, sentences_of
from tiltmeter.jobs.classifiers.privacy.texts import SpokenTexts
from tiltmeter.jobs.runtime.rows import table_of
from tiltmeter.operators.classifiers.privacy import metrics as privacy_metrics
from tiltmeter.operators.classifiers.privacy import random_lists
from tiltmeter.operators.classifiers.privacy import shares as attribution_shares
from tiltmeter.operators.classifiers.privacy.metrics import (
    AttributionDifference,
    EmotionPrivacy,
    attribution_difference,
    emotion_generalization,
    listed_difference,
)
from tiltmeter.operators.classifiers.privacy.random_lists import random_list
from tiltmeter.operators.classifiers.privacy.shares import direction_of, lexicon_shares, listed_share, shares
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.text import listed_words
from tiltmeter.operators.text.listed_words import WordList
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

GENERAL = "General"
RESEEDED = "General, next seed"
"""General with the random numbers of the next seed: what EP is of a model that nothing was done to."""

_EXPLAINED = ("sentence", "position", "word", "attribution", "predicted", "gold", "status")
_REASONS = {
    "ok": "",
    "no_attribution": "no word of the sentence has an attribution other than 0",
}

Row = Mapping[str, Any]


class Measured(NamedTuple):
    """Of one model and seed.

    Attributes:
        attributions: of each corpus; none of ``RESEEDED``, whose are those of General.
        samples: of the schema ``SAMPLES``.
        words: of the schema ``WORD_SHARES``.
    """

    attributions: Sequence[TableRef]
    samples: TableRef
    words: TableRef


def explain(
    runner: Runner,
    config: PrivacyMetricsRun,
    texts: SpokenTexts,
    noisy: NoisyTexts | None,
    models: Mapping[str, Sequence[TableRef]],
) -> dict[str, list[Sequence[TableRef]]]:
    """Attributions by model, for each seed one table for each corpus of :func:`.noise.sentences_of`."""
    attributions: dict[str, list[Sequence[TableRef]]] = {}
    for name, refs in models.items():
        explained = {seed_name(name, seed): trained_model(ref) for seed, ref in enumerate(refs)}
        by_seed = explain_models(
            runner,
            explained,
            list(sentences_of(name, texts, noisy).values()),
            config.explanations.attribution,
            config.seed,
            explained=config.explanations.explained,
            device=config.models.device,
            setting="models.device",
        )
        attributions[name] = [by_seed[seed] for seed in explained]
    return attributions


def seed_name(model: str, seed: int) -> str:
    """What the table ``attributions`` calls a model."""
    return f"{model}, seed {seed}"


def measure(
    runner: Runner,
    config: PrivacyMetricsRun,
    texts: SpokenTexts,
    noisy: NoisyTexts | None,
    attributions: Mapping[str, Sequence[Sequence[TableRef]]],
    lexicon: TableRef | None,
) -> dict[str, list[Measured]]:
    """What was measured by model, ``RESEEDED`` among them, for each seed.

    Models of which not all could be explained are missing.
    """
    corpora = {name: list(sentences_of(name, texts, noisy)) for name in (*attributions, RESEEDED)}
    models = {
        name: by_seed
        for name, by_seed in attributions.items()
        if all(len(refs) == len(corpora[name]) for refs in by_seed)
    }
    general = models.get(GENERAL, [])
    reseeded = [refs[: len(corpora[RESEEDED])] for refs in (*general[1:], *general[:1])]
    settings = _settings(config)
    units = {
        name: [
            Unit(
                "privacy_samples/2",
                seed_name(name, seed),
                {"model": name, "seed": seed, "corpora": corpora[name], **settings},
                {
                    "attributions": _columns(refs),
                    "general": _columns(general[seed]) if general else [],
                    "lexicon": [lexicon] if lexicon else [],
                },
            )
            for seed, refs in enumerate(by_seed)
        ]
        for name, by_seed in {**models, **({RESEEDED: reseeded} if len(reseeded) > 1 else {})}.items()
    }
    done = runner.run_whole(Stage("measure", each(_measure), units))
    return {
        name: [
            Measured(models[name][seed] if name in models else [], unit.tables["samples"], unit.tables["words"])
            for seed, unit in enumerate(finished)
        ]
        for name, finished in done.items()
    }


def _settings(config: PrivacyMetricsRun) -> Row:
    operators = [privacy_metrics.VERSION, attribution_shares.VERSION, random_lists.VERSION, listed_words.VERSION]
    return {
        "operators": operators,
        "classes": config.classes,
        "explained": config.explanations.explained,
        "lists": {name: config.explanation_words.lists[name] for name in config.listed},
        "metrics": config.explanations.metrics,
        "num_random_lists": config.explanations.num_random_lists,
        "least": config.lexicon.least,
        "random_seed": config.seed,
    }


def noisy_attributions(measured: Mapping[str, Sequence[Measured]]) -> dict[str, list[TableRef]]:
    """Those of the copy with artificial words, by the models that are explained on it, for each seed."""
    return {
        name: [part.attributions[-1] for part in by_seed] for name, by_seed in measured.items() if name in NOISE_MODELS
    }


def _columns(refs: Sequence[TableRef]) -> list[TableRef]:
    return [ref.select(*_EXPLAINED) for ref in refs]


def _measure(store: Store, unit: Unit) -> Tables:
    config = unit.config
    lexicon = binned_lexicon(store, unit.input("lexicon")) if unit.inputs["lexicon"] else None
    lists = {name: WordList(words) for name, words in config["lists"].items()}
    samples: list[Row] = []
    words: list[Row] = []
    for number, corpus in enumerate(config["corpora"]):
        sentences = _sentences(store, unit.inputs["attributions"][number])
        general = _sentences(store, unit.inputs["general"][number]) if unit.inputs["general"] else {}
        drawn = _random_lists(sentences, lists, corpus, config)
        about = {"model": config["model"], "seed": config["seed"], "corpus": corpus}
        for key, lines in sentences.items():
            sentence = _Sentence(lines, general.get(key), lists, lexicon, config)
            samples.append({**about, "sentence": key, **sentence.sample(drawn)})
            words += [{**about, "sentence": key, **row} for row in sentence.word_rows()]
    yield "samples", table_of(samples, tables.SAMPLES)
    yield "words", table_of(words, tables.WORD_SHARES)


def _sentences(store: Store, ref: TableRef) -> dict[int, list[Row]]:
    lines = store.read(ref).to_pylist()
    return {sentence: list(rows) for sentence, rows in groupby(lines, lambda line: line["sentence"])}


def _random_lists(
    sentences: Mapping[int, Sequence[Row]], lists: Mapping[str, WordList], corpus: str, config: Row
) -> list[frozenset[str]]:
    """Random words in the place of the listed ones of a corpus, the same for all models."""
    num_texts: Counter[str] = Counter()
    listed: set[str] = set()
    for lines in sentences.values():
        words = [line["word"] for line in lines]
        names = [folded(word) for word in words]
        listed |= {name for name, entry in zip(names, _listed(lists, words), strict=True) if entry}
        num_texts.update({name for name in names if any(map(str.isalnum, name))})
    about = document_key(f"{corpus} random lists")
    generators = (
        keyed_generator(config["random_seed"], Stream.RANDOM_WORDS, 0, number, about)
        for number in range(config["num_random_lists"])
    )
    return [random_list(num_texts, frozenset(listed), generator) for generator in generators]


def _listed(lists: Mapping[str, WordList], words: Sequence[str]) -> NDArray[np.bool_]:
    entries = [word_list.entries(words) for word_list in lists.values()]
    return np.array([any(listed) for listed in zip(*entries, strict=True)], dtype=bool)


def _attributions(lines: Sequence[Row]) -> NDArray[np.float64]:
    return np.array([np.nan if line["attribution"] is None else line["attribution"] for line in lines], np.float64)


@dataclass(frozen=True)
class _Sentence:
    """A sentence as a model and General explain it.

    Attributes:
        lines: of the table ``attributions``.
        general: those of General; None without it.
        lists: that make up L.
        lexicon: None without one.
        config: of the unit.
    """

    lines: Sequence[Row]
    general: Sequence[Row] | None
    lists: Mapping[str, WordList]
    lexicon: BinnedLexicon | None
    config: Row

    def sample(self, drawn: Sequence[frozenset[str]]) -> Row:
        """A row of the schema ``SAMPLES``."""
        values = self._values
        status = "ok" if self._has_attribution else "no_attribution"
        num_read = int((~np.isnan(values)).sum())
        row: dict[str, Any] = {"num_words": num_read, "num_unread": len(values) - num_read}
        row |= {"listed_share": listed_share(values, self._is_listed)}
        return row | self._ep(drawn) | self._eg() | self._lexicon_shares() | _why("", status, _REASONS)

    def word_rows(self) -> Iterator[Row]:
        """Rows of the schema ``WORD_SHARES``; none without an attribution."""
        if not self._has_attribution:
            return
        values, parts = shares(self._values), self._privacy.parts if self._ep_status == "ok" else None
        for name, word_list in self.lists.items():
            entries = word_list.entries(self._words)
            for entry in sorted({entry for entry in entries if entry is not None}):
                places = [place for place, other in enumerate(entries) if other == entry]
                row: dict[str, Any] = {"word": entry, "list": name, "num": len(places) // (entry.count(" ") + 1)}
                row["share"] = float(sum(values[place] for place in places))
                if parts is not None:
                    row |= {"part": float(parts[places].sum()), "num_avoided": int((parts[places] > 0).sum())}
                    row["num_added"] = int((parts[places] < 0).sum())
                yield row

    @cached_property
    def _words(self) -> list[str]:
        return [line["word"] for line in self.lines]

    @cached_property
    def _values(self) -> NDArray[np.float64]:
        return _attributions(self.lines)

    @cached_property
    def _is_listed(self) -> NDArray[np.bool_]:
        return _listed(self.lists, self._words)

    @cached_property
    def _has_attribution(self) -> bool:
        return bool(np.nan_to_num(self._values).any())

    @cached_property
    def _difference(self) -> AttributionDifference:
        return attribution_difference(_attributions(self.general or []), self._values, self.config["metrics"])

    @cached_property
    def _privacy(self) -> EmotionPrivacy:
        return listed_difference(self._difference, self._is_listed, self.config["metrics"])

    @cached_property
    def _ep_status(self) -> str:
        if self.config["model"] == GENERAL:
            return "is_general"
        if self.general is None:
            return "no_general"
        if not self._has_attribution:
            return "no_attribution"
        return "ok" if self._privacy.num_general else "no_denominator"

    def _ep(self, drawn: Sequence[frozenset[str]]) -> dict[str, Any]:
        status = self._ep_status
        row = _why("ep_", status, tables.EP_STATUSES)
        if status not in ("ok", "no_denominator"):
            return row
        names = [folded(word) for word in self._words]
        difference = self._difference
        eps = [
            listed_difference(difference, np.array([name in words for name in names]), self.config["metrics"]).ep
            for words in drawn
        ]
        known = [ep for ep in eps if not np.isnan(ep)]
        privacy = self._privacy
        row |= {"ep": privacy.ep, "ep_random": float(np.mean(known)) if known else None}
        return row | {name: getattr(privacy, name) for name in ("num_general", "num_avoided", "num_added")}

    @cached_property
    def _eg_status(self) -> str:
        if self.lexicon is None:
            return "no_lexicon"
        if self.general is None:
            return "no_general"
        if not self._has_attribution:
            return "no_attribution"
        return "ok" if self.general[0]["predicted"] == self.lines[0]["gold"] else "general_wrong"

    def _eg(self) -> dict[str, Any]:
        status = self._eg_status
        row = _why("eg_", status, tables.EG_STATUSES)
        if status != "ok" or self.lexicon is None:
            return row
        classes = self.config["classes"]
        gold, bins = classes.index(self.lines[0]["gold"]), self.lexicon.bins_of(self._words)
        result = emotion_generalization(self._values, bins, gold, len(classes), self.config["metrics"])
        return row | result._asdict()

    def _lexicon_shares(self) -> dict[str, Any]:
        explained = self.lines[0][self.config["explained"]]
        if self.lexicon is None or explained is None:
            return {}
        classes = self.config["classes"]
        valences = self.lexicon.valences_of(self._words, self.config["least"])
        result = lexicon_shares(self._values, valences, direction_of(classes.index(explained), len(classes)))
        return {"right_sign_share": result.right_sign, "lexicon_share": result.any_sign}


def _why(prefix: str, status: str, reasons: Mapping[str, str]) -> dict[str, Any]:
    return {f"{prefix}status": status, f"{prefix}reason": reasons[status]}
