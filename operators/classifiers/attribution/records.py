"""What an attribution is asked of, and how: a classifier of texts, and the settings of a method."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.text.tokenised import Tokenise

if TYPE_CHECKING:
    from torch import Tensor, nn

Method = Literal["integrated_gradients", "gradient_x_input", "occlusion", "lime", "kernel_shap", "random"]
GradientMethod = Literal["integrated_gradients", "gradient_x_input", "saliency", "deep_lift", "gradient_shap"]
Output = Literal["log_odds", "logit", "probability"]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class AttributionConfig:
    """How decisions are attributed to words.

    Attributes:
        method: its name.
        output: what is explained, of the class in question. ``log_odds``, log p / (1 - p), does not saturate as
            ``probability`` does, whose gradients vanish where a model is sure of itself; and it leaves out what all
            classes have in common, which is in ``logit`` and decides nothing.
        num_steps: of the path from the baseline to the text, of integrated gradients: nodes of the Gauss-Legendre rule.
        tolerance: of integrated gradients, as a share of a text's largest attribution: where 21 nodes tell that they
            suffice for it, no more are taken. None: all steps for every text.
        num_samples: parts of a text that LIME and kernel SHAP look at.
        max_tokens: that the network is given at a time, over all texts, steps and samples; None for as many as suit it.
            They are halved whenever memory runs out. Another number may change the last bits of attributions.
    """

    method: Method = "integrated_gradients"
    output: Output = "log_odds"
    num_steps: Annotated[int, Field(ge=1)] = 50
    tolerance: Annotated[float, Field(gt=0.0, lt=1.0)] | None = 1e-4
    num_samples: Annotated[int, Field(ge=2)] = 200
    max_tokens: Annotated[int, Field(ge=1)] | None = None


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class GradientConfig(AttributionConfig):
    """The same of the methods that take gradients of a network; GradientSHAP has ``num_samples`` points."""

    method: GradientMethod = "integrated_gradients"  # type: ignore[assignment]


class TextClassifier(NamedTuple):
    """A network, and what makes its inputs of texts.

    Attributes:
        network: called with tensors ``[texts, tokens]`` by name, ``input_ids`` and ``attention_mask`` among them; it
            returns logits ``[texts, classes]``, or something whose ``logits`` they are. ``get_input_embeddings`` is its
            layer of embeddings.
        tokenise: makes its inputs.
        padding: number of the padding token.
        classes: their names, in the order of the outputs.
        parts: of a network whose first operation is affine in the embeddings, this operation on them ``[texts, tokens,
            dims]``, and the rest: logits from what it gives and the inputs by name. Integrated gradients then take the
            first once, and not at every step.
        max_tokens: that suit the network at a time: many for a small one, few for one that takes much memory.
        mask: what its texts have in place of a word that is hidden; None: it has learnt none.
        unknown: number of the token of what it does not know; None: it has none, or that can't be told.
    """

    network: "nn.Module"
    tokenise: Tokenise
    padding: int
    classes: tuple[str, ...]
    parts: "tuple[Callable[[Tensor], Tensor], Callable[..., Tensor]] | None" = None
    max_tokens: int = 2048
    mask: str | None = None
    unknown: int | None = None
