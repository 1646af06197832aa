"""The models: each learns valence, and something or nothing of gender."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.models import model_table, trained_model
from tiltmeter.jobs.classifiers.networks import Encoders
from tiltmeter.jobs.classifiers.privacy.config import PENALISED, Copies, PrivacyMetricsRun
from tiltmeter.jobs.classifiers.privacy.measuring import GENERAL
from tiltmeter.jobs.classifiers.privacy.noise import VERSIONS, noisy_rows, words_by_cell
from tiltmeter.jobs.classifiers.privacy.sources import PrivacySources
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.operators.classifiers.attribution.records import TextClassifier
from tiltmeter.operators.classifiers.privacy import swaps as gender_swaps
from tiltmeter.operators.classifiers.privacy.swaps import swapped, swaps
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.classifiers.trained import weights_of
from tiltmeter.operators.classifiers.training import UNLABELLED, Labelled, Penalty, train
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.text import listed_words, pronouns
from tiltmeter.operators.text.listed_words import WordList
from tiltmeter.operators.text.tokenised import TokenisedText
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

if TYPE_CHECKING:
    from tiltmeter.operators.classifiers.networks import HeadedNetwork

VALENCE, GENDER = "valence", "gender"
ADVERSARIAL = ("PrivAdv", "PrivAdvEP")

EP_PENALTY = "ep_penalty/1"
"""Version of what is penalised, whose module imports torch."""

Row = Mapping[str, Any]


def train_models(
    runner: Runner, config: PrivacyMetricsRun, sources: PrivacySources, texts: TableRef
) -> dict[str, list[TableRef]]:
    """Tables of models (see :func:`.models.model_table`) by name, one for each seed.

    Models of which one can't be trained are missing.
    """
    models = config.models
    on_gpu = uses_gpus(models.device, runner.pool.num_gpus, "models.device")
    encoders = Encoders(models, sources.encoder, on_gpu)
    work = _Training(encoders)
    trained: dict[str, list[TableRef]] = {}
    # EP compares with General, which is there before what is trained for it.
    for stage, is_for_ep in {"train": False, "train for EP": True}.items():
        general = trained.get(GENERAL, [])
        units: dict[str, list[Unit]] = {
            name: [
                Unit(
                    "privacy_model/1",
                    f"{name}, seed {seed}",
                    _identity(name, seed, config, encoders),
                    _inputs(texts, general[seed] if is_for_ep else None),
                )
                for seed in range(models.num_seeds)
            ]
            for name in models.names
            if (name in PENALISED) == is_for_ep and (general or not is_for_ep)
        }
        done = runner.run_whole(Stage(stage, work, units, on_gpu=on_gpu)) if units else {}
        trained |= {name: [unit.tables["model"] for unit in finished] for name, finished in done.items()}
    return {name: trained[name] for name in models.names if name in trained}


def _inputs(texts: TableRef, general: TableRef | None) -> dict[str, list[TableRef]]:
    inputs = {"texts": [texts.select("part", "text", "valence", "gender", "status")]}
    return inputs if general is None else {**inputs, "general": [general]}


def _identity(name: str, seed: int, config: PrivacyMetricsRun, encoders: Encoders) -> dict[str, Any]:
    models = config.models
    settings: dict[str, Any] = {"model": name, "classes": config.classes, "seed": config.seed + seed}
    settings |= encoders.identity
    if name == "GenderCtrl" or name in ADVERSARIAL:
        settings["gender"] = [models.gender_weight, models.gender_hidden]
    if name in PENALISED:
        lists = {key: config.explanation_words.lists[key] for key in config.listed}
        settings["penalty"] = {"weight": models.ep_weight, "lists": lists, "metrics": config.explanations.metrics}
        settings["penalty"] |= {"operators": [EP_PENALTY, listed_words.VERSION]}
    if name == "PrivAug":
        settings["swaps"] = {
            "operators": [gender_swaps.VERSION, pronouns.VERSION],
            "pairs": config.swaps,
            "copies": models.augmentation.copies,
            "in_context": models.augmentation.in_context,
        }
    if name == "ArtNoise":
        settings["noise"] = {"operators": VERSIONS, "noise": models.noise}
    return settings


@dataclass(frozen=True)
class _Training:
    encoders: Encoders

    def __call__(self, store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        for unit in units:
            rows = [row for row in store.read(unit.input("texts")).to_pylist() if row["status"] == "ok"]
            general = self._general(store, unit.input("general")) if "general" in unit.inputs else None
            yield unit, [("model", self._trained(rows, general, unit.config))]

    def _general(self, store: Store, ref: TableRef) -> TextClassifier:
        return trained_model(ref).load(store, "cuda" if self.encoders.on_gpu else "cpu")

    def _trained(self, rows: Sequence[Row], general: TextClassifier | None, config: Mapping[str, Any]) -> pa.Table:
        parts = _parts(rows, config)
        heads = _heads(rows, config)
        seen = [row["text"] for row in (*parts["first"], *parts["training"])]
        made = self.encoders.made(seen, heads, config["seed"])
        development = _labelled(parts["development"], heads, made.tokenise)
        history = []
        for part in ("first", "training"):
            if parts[part]:
                learnt = _labelled(parts[part], heads, made.tokenise)
                settings = self.encoders.models.training
                texts = [row["text"] for row in parts[part]]
                penalty = general and _penalty(texts, learnt.texts, general, settings.max_tokens, config)
                history += train(made.network, heads, learnt, development, settings, config["seed"], penalty)
        return model_table(made.described(tuple(history)), weights_of(made.network))


def _parts(rows: Sequence[Row], config: Mapping[str, Any]) -> dict[str, list[Row]]:
    """What a model is first trained with, what it is trained with, and what tells when to stop."""
    parts = {part: [row for row in rows if row["part"] == part] for part in ("training", "development", "unbiased")}
    unbiased = parts.pop("unbiased")
    parts["first"] = (unbiased or balanced(parts["training"], config["seed"])) if config["model"] == "PrivBias" else []
    if "swaps" in config:
        settings = {key: config["swaps"][key] for key in ("pairs", "copies", "in_context")}
        parts["training"] = parts["training"] + swapped_copies(parts["training"], **settings)
    if "noise" in config:
        noise = config["noise"]["noise"]
        words = words_by_cell(rows, config["classes"], noise)
        for part in ("training", "development"):
            parts[part] = [*noisy_rows(parts[part], words, noise, config["seed"])]
    return parts


def balanced(rows: Sequence[Row], seed: int) -> list[Row]:
    """So many texts of each class by each gender as there are of the rarest of its genders; which ones is drawn."""
    cells: dict[str, dict[str, list[Row]]] = {}
    order = sorted(rows, key=lambda row: document_key(f"{seed}\nbalanced\n{row['text']}"))
    genders = sorted({row["gender"] for row in rows})
    for row in order:
        cells.setdefault(row["valence"], {gender: [] for gender in genders})[row["gender"]].append(row)
    return [row for cell in cells.values() for texts in cell.values() for row in texts[: min(map(len, cell.values()))]]


def swapped_copies(
    rows: Sequence[Row], pairs: Sequence[tuple[str, str]], copies: Copies, *, in_context: bool = True
) -> list[Row]:
    """Copies of the texts with genders swapped: of each text, or of those alone that change."""
    counterparts = swaps(pairs)
    swapped_rows = [{**row, "text": swapped(row["text"], counterparts, in_context=in_context)} for row in rows]
    return [
        copy for copy, row in zip(swapped_rows, rows, strict=True) if copies == "each" or copy["text"] != row["text"]
    ]


def _heads(rows: Sequence[Row], config: Mapping[str, Any]) -> dict[str, Head]:
    heads = {VALENCE: Head(tuple(config["classes"]))}
    if "gender" in config:
        weight, hidden = config["gender"]
        genders = tuple(sorted({row["gender"] for row in rows if row["part"] == "training"}))
        heads[GENDER] = Head(genders, weight, adversarial=config["model"] in ADVERSARIAL, hidden=hidden)
    return heads


def _labelled(
    rows: Sequence[Row], heads: Mapping[str, Head], read: Callable[[Sequence[str]], list[TokenisedText]]
) -> Labelled:
    return Labelled(
        read([row["text"] for row in rows]), {name: _numbers(rows, name, head) for name, head in heads.items()}
    )


def _numbers(rows: Sequence[Row], name: str, head: Head) -> NDArray[np.int64]:
    numbers = {label: number for number, label in enumerate(head.classes)}
    return np.array([numbers.get(row[name], UNLABELLED) for row in rows], dtype=np.int64)


def _penalty(
    texts: Sequence[str],
    tokenised: Sequence[TokenisedText],
    general: TextClassifier,
    max_tokens: int,
    config: Mapping[str, Any],
) -> Penalty:
    """Of texts that are trained with, against General's explanations of them."""
    from tiltmeter.operators.classifiers.privacy.penalty import ep_penalty, general_attributions  # imports torch

    settings = config["penalty"]
    words = WordList([word for entries in settings["lists"].values() for word in entries])
    listed = [np.array([entry is not None for entry in words.entries(text.words)], dtype=bool) for text in tokenised]
    network = cast("HeadedNetwork", general.network)
    attributions = general_attributions(network, general.tokenise(texts), max_tokens)
    return ep_penalty(tokenised, listed, attributions, settings["weight"], settings["metrics"])
