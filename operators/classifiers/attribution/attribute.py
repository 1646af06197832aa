"""Attributions: what each word of a text adds to a classifier's decision.

Every method compares the text x with its baseline x': the same text with the embedding of the padding token in place of
each word's. Special tokens and padding are the same in both, and so have no attribution. With F the output that is
explained and a_i the attribution of word i (the sum over its tokens), a method is complete if

    sum_i a_i = F(x) - F(x'),

and the convergence delta says by how much it is not: delta = sum_i a_i - (F(x) - F(x')). Which methods are captum's and
which are ours is said in :mod:`.attribution.methods`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.classifiers.answers import answers
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig, TextClassifier
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.text.tokenised import TokenisedText, tokenise

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from tiltmeter.operators.classifiers.attribution.batches import Explained

VERSION = "attribution/2"


class Attribution(NamedTuple):
    """Of one text.

    Attributes:
        words: of the text; see :mod:`.text.tokenised`.
        values: ``[words]`` float64, what each adds to the output, in its unit; NaN for a word that was not read: beyond
            the tokens that the network takes, or none of its tokens.
        truncated: whether the text is longer than the network takes.
        probabilities: ``[classes]`` float64; NaN for a text without any token.
        target: the class whose output is explained.
        output: F(x); this and what follows is NaN where no word was read.
        baseline: F(x').
        delta: sum of the values, less F(x) - F(x').
    """

    words: tuple[str, ...]
    values: NDArray[np.float64]
    truncated: bool
    probabilities: NDArray[np.float64]
    target: int
    output: float
    baseline: float
    delta: float

    @property
    def predicted(self) -> int:
        """The most probable class, the first of them in a tie; -1 for a text without any token."""
        return int(answers(self.probabilities[np.newaxis])[0])


def attribute(
    classifier: TextClassifier,
    texts: Sequence[str],
    config: AttributionConfig,
    *,
    targets: Sequence[int | None] | None = None,
    seed: int = 0,
) -> list[Attribution]:
    """What each word of each text adds to the output of a class.

    The network runs on the device where it lies; it is left in evaluation mode, and otherwise as it was. How texts are
    put together moves attributions by rounding: by less than 1e-4 of the largest one.

    Args:
        classifier: to be explained.
        texts: each is computed once, however often it comes.
        config: the method and its settings.
        targets: the class of each text whose output is explained; None for the one that is predicted.
        seed: of what ``random``, LIME and kernel SHAP draw, for each text by itself.

    Returns:
        One for each text.

    Raises:
        ValueError: if a target is not a class, the outputs are not finite, or the network has an encoder and a decoder.
        MemoryError, RuntimeError: if memory does not suffice for a single text, one step or sample at a time.

    >>> from transformers import BertConfig, BertForSequenceClassification, BertTokenizer
    >>> tokenizer = BertTokenizer(vocab={"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "good": 4, "bad": 5})
    >>> model = BertForSequenceClassification(BertConfig(vocab_size=6, hidden_size=12, num_hidden_layers=1))
    >>> [result] = attribute(transformers_classifier(model, tokenizer), ["not bad"], AttributionConfig())
    >>> result.words, bool(np.isclose(result.values.sum(), result.output - result.baseline, atol=1e-4))
    (('not', 'bad'), True)
    """
    from tiltmeter.operators.classifiers.attribution.batches import (  # imports torch, which takes seconds
        explain,
        logits_of,
    )

    asked = list(zip(texts, [None] * len(texts) if targets is None else targets, strict=True))
    different = list(dict.fromkeys(asked))
    tokenised = classifier.tokenise([text for text, _ in different])
    logits = logits_of(classifier, tokenised, config.max_tokens)
    probabilities = softmax(logits)
    chosen = _targets([target for _, target in different], probabilities)
    keys = [document_key(text) for text, _ in different]
    explained = explain(classifier, tokenised, chosen, keys, config, seed)
    rows = {pair: row for row, pair in enumerate(different)}
    return [_attribution(rows[pair], tokenised, probabilities, chosen, explained) for pair in asked]


def predict(classifier: TextClassifier, texts: Sequence[str], max_tokens: int | None = None) -> NDArray[np.float64]:
    """The probabilities of each text's classes.

    Args:
        texts: any number of them.
        max_tokens: that the network is given at a time; None for as many as suit it.

    Returns:
        ``[texts, classes]``; NaN for a text without any token.

    Raises:
        ValueError: as :func:`attribute` does.
    """
    from tiltmeter.operators.classifiers.attribution.batches import logits_of  # imports torch, which takes seconds

    return softmax(logits_of(classifier, classifier.tokenise(texts), max_tokens))


class Networked(NamedTuple):
    """A network as a :class:`.answers.Classifier`.

    Attributes:
        network: with what makes its inputs.
        max_tokens: that it is given at a time; None for as many as suit it.
    """

    network: TextClassifier
    max_tokens: int | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """In the order of the probabilities."""
        return self.network.classes

    def probabilities(self, texts: Sequence[str], /) -> NDArray[np.float64]:
        """``[texts, classes]``; NaN for a text without any token."""
        return predict(self.network, texts, self.max_tokens)


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(z_k) / sum_j exp(z_j) of each row.

    >>> softmax(np.log([[1.0, 3.0]]))
    array([[0.25, 0.75]])
    """
    powers = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _targets(wanted: Sequence[int | None], probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    num_classes = probabilities.shape[1]
    predicted = np.maximum(answers(probabilities), 0) if len(wanted) else np.empty(0, dtype=np.int64)
    targets = np.array(
        [top if target is None else target for target, top in zip(wanted, predicted, strict=True)], dtype=np.int64
    )
    if wrong := [target for target in targets.tolist() if not 0 <= target < num_classes]:
        raise ValueError(f"target {wrong[0]}: the network has the classes 0 to {num_classes - 1}")
    return targets


def _attribution(
    row: int,
    texts: Sequence[TokenisedText],
    probabilities: NDArray[np.float64],
    targets: NDArray[np.int64],
    explained: "Explained",
) -> Attribution:
    text, values = texts[row], explained.values[row]
    output, baseline = float(explained.outputs[row]), float(explained.baselines[row])
    delta = float(np.nansum(values)) - (output - baseline)
    return Attribution(
        text.words, values, text.truncated, probabilities[row], int(targets[row]), output, baseline, delta
    )


def transformers_classifier(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase") -> TextClassifier:
    """A sequence classifier of transformers.

    Raises:
        ValueError: if the tokenizer has no padding token, or the model has an encoder and a decoder.
    """
    if getattr(model.config, "is_encoder_decoder", False):
        raise ValueError(
            f"{type(model).__name__} reads a text by an encoder and again by a decoder, and has no one layer of "
            "embeddings to attribute to; set the model to another"
        )
    if tokenizer.pad_token_id is None:
        raise ValueError("the model's tokenizer has no padding token: name it in tokenizer_config.json, as pad_token")

    def read(texts: Sequence[str]) -> list[TokenisedText]:
        return tokenise(model, tokenizer, texts)

    labels = {int(number): str(label) for number, label in (model.config.id2label or {}).items()}
    classes = tuple(label for _, label in sorted(labels.items()))
    named = {"mask": tokenizer.mask_token, "unknown": tokenizer.unk_token_id}
    return TextClassifier(model, read, int(tokenizer.pad_token_id), classes, **named)
