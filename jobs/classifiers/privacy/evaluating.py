"""What models find of valence, and what an attacker finds of gender in their representations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.models import trained_model
from tiltmeter.jobs.classifiers.privacy import tables
from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.classifiers.privacy.noise import MODELS as NOISE_MODELS
from tiltmeter.jobs.classifiers.privacy.noise import NOISY
from tiltmeter.jobs.classifiers.privacy.texts import CORPORA
from tiltmeter.jobs.classifiers.privacy.training import VALENCE
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.operators.classifiers.answers import answers
from tiltmeter.operators.classifiers.privacy import attacker
from tiltmeter.operators.classifiers.privacy.attacker import attack
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

if TYPE_CHECKING:
    from tiltmeter.operators.classifiers.networks import HeadedNetwork

_COLUMNS = ("sentence", "part", "text", "valence", "gender", "status")


def evaluate(
    runner: Runner,
    config: PrivacyMetricsRun,
    texts: TableRef,
    noisy: TableRef | None,
    models: Mapping[str, Sequence[TableRef]],
) -> dict[str, list[TableRef]]:
    """Tables of the schema ``OUTCOMES`` by model, one for each seed.

    Args:
        runner: of the stages.
        config: of the run.
        texts: of the schema ``TEXTS``.
        noisy: the copy of the test part, of the schema ``NOISY_TEXTS``; None: there is none.
        models: trained, for each seed.
    """
    on_gpu = uses_gpus(config.models.device, runner.pool.num_gpus, "models.device")
    settings = {"operator": attacker.VERSION, "on_gpu": on_gpu}
    units = {
        name: [
            Unit(
                "privacy_outcomes/1",
                f"{name}, seed {seed}",
                {"model": name, "seed": seed, **settings},
                {"texts": [texts.select(*_COLUMNS)], "model": [ref], **_noisy(name, noisy)},
            )
            for seed, ref in enumerate(refs)
        ]
        for name, refs in models.items()
    }
    work = _Evaluating("cuda" if on_gpu else "cpu", config.models.training.max_tokens)
    done = runner.run_whole(Stage("attack", each(work), units, on_gpu=on_gpu))
    return {name: [unit.tables["outcomes"] for unit in finished] for name, finished in done.items()}


def _noisy(model: str, texts: TableRef | None) -> dict[str, list[TableRef]]:
    if texts is None or model not in NOISE_MODELS:
        return {}
    return {NOISY: [texts.select("sentence", "text", "valence", "gender")]}


@dataclass(frozen=True)
class _Evaluating:
    device: str
    max_tokens: int

    def __call__(self, store: Store, unit: Unit) -> Tables:
        from tiltmeter.operators.classifiers.networks import outputs  # imports torch

        rows = [row for row in store.read(unit.input("texts")).to_pylist() if row["status"] == "ok"]
        rows = [row for row in rows if row["part"] in ("training", *CORPORA.values())]
        for ref in unit.inputs.get(NOISY, []):
            rows += [{"part": NOISY, **row} for row in store.read(ref).to_pylist()]
        classifier = trained_model(unit.input("model")).load(store, self.device)
        network = cast("HeadedNetwork", classifier.network)
        result = outputs(network, classifier.tokenise([row["text"] for row in rows]), self.max_tokens)
        valence = [classifier.classes[number] for number in answers(result.logits[VALENCE])]
        gender = _attacked(rows, result.representation)
        yield "outcomes", pa.Table.from_pylist(list(_outcomes(unit.config, rows, valence, gender)), tables.OUTCOMES)


def _attacked(rows: Sequence[Mapping[str, Any]], representation: NDArray[np.float32]) -> list[str]:
    """The gender that the attacker gives each text, having learnt from the training part."""
    is_training = np.array([row["part"] == "training" for row in rows])
    genders = sorted({row["gender"] for row in rows if row["part"] == "training"})
    classes = np.array([genders.index(row["gender"]) if row["part"] == "training" else -1 for row in rows])
    return [genders[number] for number in attack(representation[is_training], classes[is_training], representation)]


def _outcomes(
    config: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], valence: Sequence[str], gender: Sequence[str]
) -> list[dict[str, Any]]:
    corpora = {part: corpus for corpus, part in CORPORA.items()} | {NOISY: NOISY}
    return [
        {"model": config["model"], "seed": config["seed"], "corpus": corpora[row["part"]]}
        | {name: row[name] for name in ("sentence", "valence", "gender")}
        | {"found_valence": by_model, "found_gender": by_attacker}
        for row, by_model, by_attacker in zip(rows, valence, gender, strict=True)
        if row["part"] in corpora
    ]
