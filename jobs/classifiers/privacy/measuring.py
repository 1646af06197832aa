"""EP and EG of every sentence that was explained, and what each listed word has of it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.attributions import explain as explain_models
from tiltmeter.jobs.classifiers.models import trained_model
from tiltmeter.jobs.classifiers.privacy import tables
from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.classifiers.privacy.lexicons import valences_of
from tiltmeter.jobs.classifiers.privacy.noise import MODELS as NOISE_MODELS
from tiltmeter.jobs.classifiers.privacy.noise import NoisyTexts, sentences_of
from tiltmeter.jobs.classifiers.privacy.texts import SpokenTexts
from tiltmeter.operators.classifiers.privacy import metrics as privacy_metrics
from tiltmeter.operators.classifiers.privacy.metrics import (
    direction_of,
    explanation_generality,
    explanation_privacy,
    shares,
)
from tiltmeter.operators.text import listed_words
from tiltmeter.operators.text.listed_words import WordList
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_EXPLAINED = ("sentence", "position", "word", "attribution", "predicted", "gold", "status")
_REASONS = {
    "ok": "",
    "no_attribution": "no word of the sentence has an attribution other than 0",
}

Row = Mapping[str, Any]


class Measured(NamedTuple):
    """Of one model and seed.

    Attributes:
        attributions: of each corpus.
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
    """What was measured by model, for each seed; models of which not all could be explained are missing."""
    corpora = {name: list(sentences_of(name, texts, noisy)) for name in attributions}
    settings = {
        "operators": [privacy_metrics.VERSION, listed_words.VERSION],
        "classes": config.classes,
        "explained": config.explanations.explained,
        "lists": {name: config.explanation_words.lists[name] for name in config.listed},
    }
    units = {
        name: [
            Unit(
                "privacy_samples/1",
                seed_name(name, seed),
                {"model": name, "seed": seed, "corpora": corpora[name], **settings},
                {"attributions": [ref.select(*_EXPLAINED) for ref in refs], "lexicon": [lexicon] if lexicon else []},
            )
            for seed, refs in enumerate(by_seed)
        ]
        for name, by_seed in attributions.items()
        if all(len(refs) == len(corpora[name]) for refs in by_seed)
    }
    done = runner.run_whole(Stage("measure", each(_measure), units))
    return {
        name: [
            Measured(refs, unit.tables["samples"], unit.tables["words"])
            for refs, unit in zip(attributions[name], finished, strict=True)
        ]
        for name, finished in done.items()
    }


def noisy_attributions(measured: Mapping[str, Sequence[Measured]]) -> dict[str, list[TableRef]]:
    """Those of the copy with artificial words, by the models that are explained on it, for each seed."""
    return {
        name: [part.attributions[-1] for part in by_seed] for name, by_seed in measured.items() if name in NOISE_MODELS
    }


def _measure(store: Store, unit: Unit) -> Tables:
    config = unit.config
    lexicon = None
    if unit.inputs["lexicon"]:
        lexicon = {row["word"]: row["valence"] for row in store.read(unit.input("lexicon")).to_pylist()}
    lists = {name: WordList(words) for name, words in config["lists"].items()}
    samples: list[Row] = []
    words: list[Row] = []
    for corpus, ref in zip(config["corpora"], unit.inputs["attributions"], strict=True):
        about = {"model": config["model"], "seed": config["seed"], "corpus": corpus}
        for sentence, lines in groupby(store.read(ref).to_pylist(), lambda line: line["sentence"]):
            measures = _sentence(list(lines), lists, lexicon, config)
            samples.append({**about, "sentence": sentence, **measures.sample})
            words += [{**about, "sentence": sentence, **row} for row in measures.words]
    yield "samples", pa.Table.from_pylist(samples, tables.SAMPLES)
    yield "words", pa.Table.from_pylist(words, tables.WORD_SHARES)


class _Sentence(NamedTuple):
    sample: Row
    words: Sequence[Row]


def _sentence(
    lines: Sequence[Row], lists: Mapping[str, WordList], lexicon: Mapping[str, float] | None, config: Row
) -> _Sentence:
    words = [line["word"] for line in lines]
    values = np.array([np.nan if line["attribution"] is None else line["attribution"] for line in lines], np.float64)
    entries = {name: word_list.entries(words) for name, word_list in lists.items()}
    is_listed = np.array([any(listed) for listed in zip(*entries.values(), strict=True)], dtype=bool)
    sample: dict[str, Any] = {"ep": _number(explanation_privacy(values, is_listed))}
    if lexicon is not None:
        number = config["classes"].index(lines[0][config["explained"]]) if lines[0]["predicted"] else 0
        direction = direction_of(number, len(config["classes"]))
        generality = explanation_generality(values, valences_of(words, lexicon), direction)
        sample |= {name: _number(value) for name, value in generality._asdict().items()}
    status = "ok" if sample["ep"] is not None else "no_attribution"
    num_read = int((~np.isnan(values)).sum())
    sample |= {"num_words": num_read, "num_unread": len(words) - num_read, "status": status, "reason": _REASONS[status]}
    return _Sentence(sample, list(_word_shares(entries, shares(values))) if status == "ok" else [])


def _word_shares(entries: Mapping[str, Sequence[str | None]], values: NDArray[np.float64]) -> Iterator[Row]:
    for name, listed in entries.items():
        for entry in sorted({entry for entry in listed if entry is not None}):
            places = [place for place, other in enumerate(listed) if other == entry]
            num = len(places) // (entry.count(" ") + 1)
            yield {"word": entry, "list": name, "num": num, "share": float(sum(values[place] for place in places))}


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
