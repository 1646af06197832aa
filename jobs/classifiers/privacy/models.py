"""The models: each learns valence, and something or nothing of gender; and what it and an attacker find in texts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.models import TextModel, TrainedSource
from tiltmeter.jobs.classifiers.networks import Encoders
from tiltmeter.jobs.classifiers.privacy.config import Copies, Noise, PrivacyMetricsRun
from tiltmeter.jobs.classifiers.privacy.tables import CONTROL, CORPORA, NOISY, NoisyTexts, Outcomes, Texts
from tiltmeter.jobs.classifiers.privacy.texts import NOISE_VERSIONS, noisy, words_by_cell
from tiltmeter.jobs.classifiers.splits import drawn_order
from tiltmeter.jobs.classifiers.training import Lesson, trained_heads
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers.answers import answers
from tiltmeter.operators.classifiers.attribution.attribute import Networked
from tiltmeter.operators.classifiers.attribution.records import TextClassifier
from tiltmeter.operators.classifiers.privacy import attacker
from tiltmeter.operators.classifiers.privacy import swaps as gender_swaps
from tiltmeter.operators.classifiers.privacy.attacker import attack
from tiltmeter.operators.classifiers.privacy.metrics import MetricConfig
from tiltmeter.operators.classifiers.privacy.swaps import swapped, swaps
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.classifiers.training import Penalty
from tiltmeter.operators.text import listed_words, pronouns
from tiltmeter.operators.text.listed_words import WordList
from tiltmeter.operators.text.tokenised import TokenisedText
from tiltmeter.storage.store.ledger import Store, TableRef

if TYPE_CHECKING:
    from tiltmeter.operators.classifiers.networks import HeadedNetwork

VALENCE, GENDER = "valence", "gender"
ADVERSARIAL = ("PrivAdv", "PrivAdvEP")

EP_PENALTY = "ep_penalty/1"
"""Version of what is penalised, whose module imports torch."""


@dataclass(frozen=True)
class EpSettings:
    """How EP is maximised, with the lists that make up L."""

    weight: float
    lists: Mapping[str, Sequence[str]]
    metrics: MetricConfig
    operators: Sequence[str] = (EP_PENALTY, listed_words.VERSION)


@dataclass(frozen=True)
class SwapSettings:
    """Copies of texts with genders swapped: of each text, or of those alone that change."""

    pairs: Sequence[tuple[str, str]]
    copies: Copies
    in_context: bool = True
    operators: Sequence[str] = (gender_swaps.VERSION, pronouns.VERSION)

    def swapped_copies(self, rows: Sequence[Texts]) -> list[Texts]:
        """Of these texts, in their order."""
        counterparts = swaps(self.pairs)
        pairs = [(row, swapped(row.text, counterparts, in_context=self.in_context)) for row in rows]
        return [replace(row, text=text) for row, text in pairs if self.copies == "each" or text != row.text]


@dataclass(frozen=True)
class NoiseSettings:
    """Artificial words of texts that are learnt."""

    noise: Noise
    operators: Sequence[str] = NOISE_VERSIONS


class TrainModel(Work, unit="privacy_model/1", stage="train"):
    """A model with one of the random numbers.

    Attributes:
        general: of the same random numbers, with which EP compares; None where EP is not trained for.
        gender: weight of its loss, and units between the representation and it; None: nothing is learnt of it.
    """

    name: str
    encoders: Encoders
    texts: TableRef
    general: TableRef | None
    classes: Sequence[str]
    seed: int
    gender: tuple[float, int] | None = None
    penalty: EpSettings | None = None
    swaps: SwapSettings | None = None
    noise: NoiseSettings | None = None

    def tables(self, store: Store) -> Tables:
        """The table ``model``."""
        rows = [row for row in Texts.read(store, self.texts) if row.status == "ok"]
        parts, heads = self.parts(rows), self.heads(rows)
        first, training, development = (_lesson(parts[name], heads) for name in ("first", "training", "development"))
        rounds = [lesson for lesson in (first, training) if lesson.texts]
        penalty = self._penalty_of(store)
        yield "model", trained_heads(self.encoders, heads, rounds, development, self.seed, penalty=penalty)

    def parts(self, rows: Sequence[Texts]) -> dict[str, list[Texts]]:
        """What the model is first trained with, what it is trained with, and what tells when to stop."""
        parts = {part: [row for row in rows if row.part == part] for part in ("training", "development", "unbiased")}
        unbiased = parts.pop("unbiased")
        parts["first"] = (unbiased or balanced(parts["training"], self.seed)) if self.name == "PrivBias" else []
        if self.swaps is not None:
            parts["training"] = parts["training"] + self.swaps.swapped_copies(parts["training"])
        if self.noise is not None:
            noise = self.noise.noise
            words = words_by_cell(rows, self.classes, noise)
            for part in ("training", "development"):
                texts = noisy(parts[part], words, noise, self.seed)
                parts[part] = [replace(row, text=text) for row, (text, _) in zip(parts[part], texts, strict=True)]
        return parts

    def heads(self, rows: Sequence[Texts]) -> dict[str, Head]:
        """Of the network."""
        heads = {VALENCE: Head(tuple(self.classes))}
        if self.gender is not None:
            weight, hidden = self.gender
            genders = tuple(sorted({row.gender or "" for row in rows if row.part == "training"}))
            heads[GENDER] = Head(genders, weight, adversarial=self.name in ADVERSARIAL, hidden=hidden)
        return heads

    def _penalty_of(self, store: Store) -> partial[Penalty] | None:
        """Of the texts of a round."""
        if self.penalty is None or self.general is None:
            return None
        general = TextModel(TrainedSource(), self.encoders.on_gpu, self.general).load(store).network
        max_tokens = self.encoders.models.training.max_tokens
        return partial(_penalty, general=general, max_tokens=max_tokens, settings=self.penalty)


def _lesson(rows: Sequence[Texts], heads: Mapping[str, Head]) -> Lesson:
    """Texts with what each head learns of them; nothing of what is none of its classes."""
    labels = {
        name: [label if (label := getattr(row, name)) in head.classes else None for row in rows]
        for name, head in heads.items()
    }
    return Lesson([row.text for row in rows], labels)


def _penalty(
    texts: Sequence[str],
    tokenised: Sequence[TokenisedText],
    general: TextClassifier,
    max_tokens: int,
    settings: EpSettings,
) -> Penalty:
    """Of texts that are trained with, against General's explanations of them."""
    from tiltmeter.operators.classifiers.privacy.penalty import ep_penalty, general_attributions  # imports torch

    words = WordList([word for entries in settings.lists.values() for word in entries])
    listed = [np.array([entry is not None for entry in words.entries(text.words)], dtype=bool) for text in tokenised]
    network = cast("HeadedNetwork", general.network)
    attributions = general_attributions(network, general.tokenise(texts), max_tokens)
    return ep_penalty(tokenised, listed, attributions, settings.weight, settings.metrics)


def balanced(rows: Sequence[Texts], seed: int) -> list[Texts]:
    """So many texts of each class by each gender as there are of the rarest of its genders; which ones is drawn."""
    cells: dict[str | None, dict[str | None, list[Texts]]] = {}
    genders = sorted({row.gender or "" for row in rows})
    for row in (rows[place] for place in drawn_order([row.text for row in rows], seed, "balanced")):
        cells.setdefault(row.valence, {gender: [] for gender in genders})[row.gender].append(row)
    return [row for cell in cells.values() for texts in cell.values() for row in texts[: min(map(len, cell.values()))]]


def lesson(
    config: PrivacyMetricsRun, encoders: Encoders, name: str, seed: int, texts: TableRef, general: TableRef | None
) -> TrainModel:
    """The training of a model, by its name and the number of its seed; the table is of the schema of ``Texts``."""
    models, swapping = config.models, config.models.augmentation
    return TrainModel(
        label=f"{name}, seed {seed}",
        group=name,
        name=name,
        encoders=encoders,
        texts=texts.select("part", "text", "valence", "gender", "status"),
        general=general,
        classes=config.classes,
        seed=config.seed + seed,
        gender=(models.gender_weight, models.gender_hidden) if name in (CONTROL, *ADVERSARIAL) else None,
        penalty=EpSettings(models.ep_weight, config.listed, config.explanations.metrics) if general else None,
        swaps=SwapSettings(config.swaps, swapping.copies, swapping.in_context) if name == "PrivAug" else None,
        noise=NoiseSettings(models.noise) if name == "ArtNoise" else None,
    )


class AttackModel(Work, unit="privacy_outcomes/1", stage="attack", makes=[Outcomes]):
    """What a model finds of valence, and an attacker of gender in its representations; on the noisy copy if given."""

    name: str
    seed: int
    model: TextModel[Networked]
    texts: TableRef
    noisy: TableRef | None
    operator: str = attacker.VERSION

    def rows(self, store: Store) -> Iterator[Outcomes]:
        """Of every text that is tested."""
        from tiltmeter.operators.classifiers.networks import outputs  # imports torch

        parts = {part: corpus for corpus, part in CORPORA.items()} | {"training": ""}
        texts = [row for row in Texts.read(store, self.texts) if row.status == "ok" and row.part in parts]
        rows: list[tuple[str, Texts | NoisyTexts]] = [(parts[row.part], row) for row in texts]
        if self.noisy is not None:
            rows += [(NOISY, row) for row in NoisyTexts.read(store, self.noisy)]
        loaded = self.model.load(store)
        network, tokenised = loaded.network.network, loaded.network.tokenise([row.text for _, row in rows])
        made = outputs(cast("HeadedNetwork", network), tokenised, cast(int, loaded.max_tokens))
        valences = [loaded.classes[number] for number in answers(made.logits[VALENCE])]
        genders = _attacked(rows, made.representation)
        for (corpus, row), by_model, by_attacker in zip(rows, valences, genders, strict=True):
            if corpus:
                about: dict[str, Any] = {"sentence": row.sentence, "valence": row.valence, "gender": row.gender}
                about |= {"found_valence": by_model, "found_gender": by_attacker}
                yield Outcomes(model=self.name, seed=self.seed, corpus=corpus, **about)


def _attacked(rows: Sequence[tuple[str, Texts | NoisyTexts]], representation: NDArray[np.float32]) -> list[str]:
    """The gender that the attacker gives each text, having learnt from those of the training part, of no corpus."""
    is_training = np.array([not corpus for corpus, _ in rows])
    genders = sorted({row.gender or "" for corpus, row in rows if not corpus})
    classes = np.array([genders.index(row.gender) if row.gender in genders else -1 for _, row in rows])
    return [genders[number] for number in attack(representation[is_training], classes[is_training], representation)]
