"""Sentiment by text classifiers: probabilities of labels, and one number in [-1, 1] from them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.compute.batching import length_batches, longest_input
from tiltmeter.operators.text.normalisation import as_labels

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

VERSION = "classifiers/3"

ClassifierScore = Literal["expected", "top", "confidence"]

LabelValues = Annotated[dict[str, Annotated[float, Field(ge=-1.0, le=1.0)]] | None, BeforeValidator(as_labels)]
"""What each label is worth, from -1 to 1; None: what it says itself."""

_VALUES = {"negative": -1.0, "neg": -1.0, "neutral": 0.0, "neu": 0.0, "positive": 1.0, "pos": 1.0}
_SINGLE_LABEL = (None, "single_label_classification")


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class ClassifierConfig:
    """How the probabilities of a text's labels become its sentiment.

    Attributes:
        labels: what each label of the model is worth, from -1 for negative to 1 for positive. If None, labels must say
            so themselves: positive, negative and neutral, or stars.
        score: ``expected`` is the mean value of the labels, weighted by their probabilities; ``top`` is the value of
            the most probable label, as Lakkaraju et al. 2023 take it; ``confidence`` is that times its probability, as
            the label and score of a pipeline are often combined.
        max_tokens: that the model is given at a time, in texts of like length. Another number may change the last bits
            of scores. On one core of a CPU, 128 to 512 are fastest; a GPU may want more.
    """

    labels: LabelValues = None
    score: ClassifierScore = "expected"
    max_tokens: Annotated[int, Field(ge=1)] = 256


class Classified(NamedTuple):
    """Attributes:
    probabilities: ``[texts, labels]`` float32.
    truncated: ``[texts]``, whether the text has more tokens than the model takes, and was read up to there.
    """

    probabilities: NDArray[np.float32]
    truncated: NDArray[np.bool_]


def score_texts(
    model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str], config: ClassifierConfig
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The sentiment of each text: :func:`sentiments` of what :func:`classify` finds.

    Returns:
        ``[texts]`` in [-1, 1], NaN for a text without any token; and which texts were too long for the model.

    Raises:
        ValueError: as :func:`label_values` and :func:`classify` do.
    """
    values = label_values(_labels(model), config.labels)
    outcome = classify(model, tokenizer, texts, config)
    return sentiments(outcome.probabilities, values, config.score), outcome.truncated


def label_values(id2label: Mapping[int, str], labels: Mapping[str, float] | None = None) -> NDArray[np.float64]:
    """What the labels of a model are worth, in the order of its outputs.

    Args:
        id2label: the model's labels by their numbers.
        labels: values by label; if None, labels are read in any case: ``positive`` or ``pos`` is 1, ``neutral`` or
            ``neu`` 0, ``negative`` or ``neg`` -1, and ``1 star`` to ``n stars`` go evenly from -1 to 1.

    Returns:
        ``[labels]`` in [-1, 1].

    Raises:
        ValueError: if a label does not say what it is worth, or ``labels`` are not those of the model.

    >>> label_values({0: "NEGATIVE", 1: "POSITIVE"})
    array([-1.,  1.])
    >>> label_values({0: "1 star", 1: "2 stars", 2: "3 stars", 3: "4 stars", 4: "5 stars"})
    array([-1. , -0.5,  0. ,  0.5,  1. ])
    """
    names = [str(as_labels(id2label[number])) for number in sorted(id2label)]
    if labels is None:
        known = _VALUES | _stars(len(names))
        if all(name.casefold() in known for name in names):
            return np.array([known[name.casefold()] for name in names])
        raise ValueError(f"the model's labels, {', '.join(names)}, do not say what they are worth; {_setting(names)}")
    if labels.keys() != set(names):
        raise ValueError(f"labels={dict(labels)}: the model's labels are {', '.join(names)}; {_setting(names)}")
    return np.array([labels[name] for name in names])


def _stars(num: int) -> dict[str, float]:
    names = [f"{number} star" + "s" * (number > 1) for number in range(1, num + 1)]
    return dict(zip(names, np.linspace(-1.0, 1.0, num).tolist(), strict=True))


def _setting(names: Sequence[str]) -> str:
    example = ", ".join(
        f"{name}: {value:.2g}" for name, value in zip(names, np.linspace(-1, 1, len(names)), strict=True)
    )
    return (
        "set sentiment.<name>.classifier.labels to a number from -1 to 1 for each, such as "
        f"{{{example}}} if the first is the worst"
    )


def sentiments(
    probabilities: NDArray[np.floating], values: NDArray[np.floating], score: ClassifierScore
) -> NDArray[np.float64]:
    """One number for each text, from the probabilities p of its labels and their values v.

    ``expected`` is sum_k p_k v_k; ``top`` is v_t, where t is the most probable label, the first of them in a tie;
    ``confidence`` is p_t v_t.

    Args:
        probabilities: ``[texts, labels]``.
        values: ``[labels]`` in [-1, 1].

    Returns:
        ``[texts]`` in [-1, 1]; NaN where probabilities are.

    >>> probabilities, values = np.array([[0.25, 0.75], [0.875, 0.125]]), np.array([-1.0, 1.0])
    >>> [sentiments(probabilities, values, score) for score in ("expected", "top", "confidence")]
    [array([ 0.5 , -0.75]), array([ 1., -1.]), array([ 0.75 , -0.875])]
    """
    weighted = np.asarray(probabilities, dtype=np.float64) * values
    if score == "expected":
        return np.asarray(weighted.sum(axis=1).clip(-1.0, 1.0))
    rows, top = np.arange(len(weighted)), probabilities.argmax(axis=1)
    known = np.isfinite(probabilities[rows, top])
    return np.where(known, weighted[rows, top] if score == "confidence" else values[top], np.nan)


def classify(
    model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str], config: ClassifierConfig
) -> Classified:
    """The probabilities of each text's labels: with z the model's outputs, p_k = exp(z_k) / sum_j exp(z_j).

    Each text is computed once, however often it comes. The number of texts in a batch and the padding to the longest of
    them change how sums add up in float32, and so the other texts that are asked for move a probability by rounding: by
    less than 1e-6 in a small model, by some 1e-6 in one of the size of DistilBERT. On one type of processor the same
    texts have the same probabilities to the last bit.

    Args:
        model: a classifier; it runs on the device where it lies, and is left in evaluation mode.
        tokenizer: the model's.

    Returns:
        Probabilities, NaN for a text without any token, and which texts were too long for the model.

    Raises:
        ValueError: if the labels do not exclude each other or there is only one, texts can't be padded, or outputs are
            not finite.

    >>> from transformers import BertConfig, BertForSequenceClassification, BertTokenizer
    >>> tokenizer = BertTokenizer(vocab={"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "good": 4, "bad": 5})
    >>> model = BertForSequenceClassification(BertConfig(vocab_size=6, hidden_size=12, num_hidden_layers=1))
    >>> result = classify(model, tokenizer, ["good", "not bad"], ClassifierConfig())
    >>> result.probabilities.sum(axis=1).round(5), result.truncated
    (array([1., 1.], dtype=float32), array([False, False]))
    """
    _check_kind(model, tokenizer)
    model.train(False)
    row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    inputs, truncated = _tokenised(tokenizer, list(row_of), longest_input(model, tokenizer))
    probabilities = np.full((len(row_of), len(_labels(model))), np.nan, dtype=np.float32)
    for batch in _batches(inputs, config.max_tokens):
        padded = tokenizer.pad([inputs[row] for row in batch], return_tensors="pt", verbose=False)
        probabilities[batch] = _probabilities(model, padded)
    rows = [row_of[text] for text in texts]
    return Classified(probabilities[rows], truncated[rows])


def _labels(model: "PreTrainedModel") -> dict[int, str]:
    return {int(number): str(label) for number, label in (model.config.id2label or {}).items()}


def _check_kind(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase") -> None:
    kind, num_labels = getattr(model.config, "problem_type", None), len(_labels(model))
    if kind not in _SINGLE_LABEL or num_labels < 2:
        raise ValueError(
            f"the model has {num_labels} labels and problem_type={kind}: must have 2 or more, of which each text has "
            "one (single_label_classification); set the system's model to another"
        )
    if tokenizer.pad_token_id is None:
        raise ValueError("the model's tokenizer has no padding token: name it in tokenizer_config.json, as pad_token")


def _tokenised(
    tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str], longest: int
) -> tuple[list[dict[str, Any]], NDArray[np.bool_]]:
    """What the model is given for each text, by the names of its arguments, and whether its end is left out."""
    inputs = [dict(tokenizer(text, verbose=False)) for text in texts]
    truncated = np.array([len(entry["input_ids"]) > longest for entry in inputs], dtype=bool)
    for row in np.flatnonzero(truncated).tolist():
        inputs[row] = dict(tokenizer(texts[row], truncation=True, max_length=longest))
    return inputs, truncated


def _batches(inputs: Sequence[Mapping[str, Any]], max_tokens: int) -> Iterator[NDArray[np.int64]]:
    lengths = np.array([len(entry["input_ids"]) for entry in inputs], dtype=np.int64)
    rows = np.flatnonzero(lengths)
    return (rows[batch] for batch in length_batches(lengths[rows], max_tokens))


def _probabilities(model: "PreTrainedModel", inputs: Any) -> NDArray[np.float32]:
    """``[texts, labels]``."""
    import torch  # takes seconds

    from tiltmeter.operators.compute.onednn import linear_by_onednn

    with torch.inference_mode(), linear_by_onednn():
        outputs = model(**inputs.to(model.device)).logits.float()
    if not outputs.isfinite().all():
        raise ValueError(
            "the model's outputs are not finite: its weights are damaged or overflow; set the system's model to another"
        )
    probabilities: NDArray[np.float32] = outputs.softmax(dim=1).cpu().numpy()
    return probabilities
