"""The config of `decoy_benchmark`: texts, decoys, the models that learn them, and how these are explained."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import AfterValidator, ConfigDict, Field

from tiltmeter.jobs.classifiers.config import EncoderSources, TrainedModels, find_encoder
from tiltmeter.jobs.classifiers.intervals import check_method
from tiltmeter.jobs.classifiers.labelled_data import LabelledData, find_classified_data
from tiltmeter.jobs.runtime.config import CommonConfig, each_once
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig, Method
from tiltmeter.operators.classifiers.decoys.contamination import Order
from tiltmeter.operators.classifiers.decoys.debugging import Control, Judgement
from tiltmeter.operators.classifiers.decoys.detection import Selection
from tiltmeter.operators.classifiers.decoys.kinds import Decoy, DeletedDecoy, InsertedDecoy
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings

USUAL_DECOYS: dict[str, Decoy] = {
    "random_tokens": InsertedDecoy(("zq0", "zq1")),
    "natural_word": InsertedDecoy(("honestly",), place="natural"),
    "movie": DeletedDecoy("movie"),
}
"""As ``conf/job/decoy_benchmark.yaml`` has them: nobody chose them, so texts may have no place for them."""


Setup = Literal["identify_and_trust", "model_comparison", "identify_and_improve", "data_contamination"]

SETUPS: tuple[Setup, ...] = ("identify_and_trust", "model_comparison", "identify_and_improve", "data_contamination")
"""I to IV of Idahl et al. 2021, section 2."""


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class DecoyBenchmarkJob:
    """``job=decoy_benchmark``"""

    name: Literal["decoy_benchmark"] = "decoy_benchmark"


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class BenchmarkModels(TrainedModels):
    """Text classifiers that are trained with and without each decoy.

    Attributes:
        number: of models for each decoy, and without one, that differ in their random numbers.
    """

    number: Annotated[int, Field(ge=1)] = 3


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Explanations:
    """How models are explained, and who looks at it.

    Attributes:
        methods: of attribution.
        attribution: what they have in common; its method stands back behind ``methods``.
        num_pools: times that somebody debugs a model, each with instances of the test part that no other looks at.
        pool_size: instances that each has; the largest budget.
        top_words: that an explanation shows.
        selections: in which order instances are looked at.
        max_clusters: of relevance, for ``clustering``.
    """

    methods: Annotated[tuple[Method, ...], Field(min_length=1), AfterValidator(each_once)]
    attribution: AttributionConfig
    num_pools: Annotated[int, Field(ge=2)] = 15
    pool_size: Annotated[int, Field(ge=2)] = 20
    top_words: Annotated[int, Field(ge=1)] = 3
    selections: Annotated[tuple[Selection, ...], Field(min_length=1), AfterValidator(each_once)] = (
        "random",
        "submodular_pick",
        "clustering",
    )
    max_clusters: Annotated[int, Field(ge=2)] = 8


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Debugger:
    """The rule that stands in for somebody who debugs a model.

    Attributes:
        controls: who debugs without explanations: from predictions alone, or as an oracle that knows the decoy.
        judgement: what they take for a wrong reason, of what is shown: what is one, or what is shown most often.
        num_suspects: words that they suspect by the latter.
    """

    controls: Annotated[tuple[Control, ...], AfterValidator(each_once)] = ("predictions", "oracle")
    judgement: Judgement = "recognition"
    num_suspects: Annotated[int, Field(ge=1)] = 1


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Improvement:
    """What is done about the words that are taken for wrong reasons, in setup III.

    Attributes:
        budgets: instances that are looked at before.
        remedy: ``retrain`` a model on texts without these words, or ``ignore`` them in what the model reads.
    """

    budgets: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1), AfterValidator(each_once)] = (
        5,
        20,
    )
    remedy: Literal["retrain", "ignore"] = "retrain"


_Share = Annotated[float, Field(gt=0.0, le=1.0)]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Contamination:
    """Wrong labels, and how they are looked for, in setup IV.

    Attributes:
        share: of the training texts whose label is flipped.
        num_texts: training texts that this setup takes at most; None: all.
        budgets: shares of the training texts that are looked at.
        orders: in which texts are looked at, beside those by the attributions of ``explanations.methods``.
        damping: of the curvature, for influence.
    """

    share: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.1
    num_texts: Annotated[int, Field(ge=10)] | None = 2000
    budgets: Annotated[tuple[_Share, ...], Field(min_length=1), AfterValidator(each_once)] = (0.1, 0.2)
    orders: Annotated[tuple[Order, ...], AfterValidator(each_once)] = ("influence", "loss", "random", "oracle")
    damping: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 0.01


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class LanguageModel:
    """The language model of n-grams that says how natural a text is; it learns the training texts.

    Attributes:
        order: words of the longest n-gram.
        discount: of Kneser and Ney.
    """

    order: Annotated[int, Field(ge=1, le=6)] = 3
    discount: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.75


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Intervals(KeyedResampleSettings):
    """Bootstrap intervals over texts, or pools of instances, and what they decide.

    Attributes:
        min_fall: what the interval of the fall in accuracy must lie above for a decoy to count as adopted.
    """

    min_fall: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class DecoyBenchmarkRun(CommonConfig):
    """A run of ``decoy_benchmark``.

    Attributes:
        setups: of the study, I to IV by their names.
        decoys: by the names that tables give them.
    """

    job: DecoyBenchmarkJob
    setups: Annotated[tuple[Setup, ...], Field(min_length=1), AfterValidator(each_once)] = SETUPS
    data: LabelledData
    decoys: Annotated[dict[Annotated[str, Field(pattern=r"^\w[\w.-]*$")], Decoy], Field(min_length=1)]
    models: BenchmarkModels
    explanations: Explanations
    debugger: Debugger
    improvement: Improvement
    contamination: Contamination
    language_model: LanguageModel
    intervals: Intervals

    @pydantic.model_validator(mode="after")
    def _has_texts_to_explain(self) -> Self:
        limit, needed = self.data.limit, 2 * self.explanations.pool_size
        if limit is not None and limit < needed:
            raise ValueError(
                f"data.limit={limit}: must be at least {needed}, two times explanations.pool_size of the test texts; "
                "raise it or lower explanations.pool_size"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _has_intervals_of_groups(self) -> Self:
        check_method(self.intervals.interval, has_groups=self.data.group is not None)
        return self

    @pydantic.model_validator(mode="after")
    def _has_instances_to_look_at(self) -> Self:
        largest, size = max(self.improvement.budgets), self.explanations.pool_size
        if "identify_and_improve" in self.setups and largest > size:
            raise ValueError(
                f"improvement.budgets={list(self.improvement.budgets)}: must be at most explanations.pool_size={size}; "
                "lower them or raise it"
            )
        return self


@dataclass(frozen=True)
class BenchmarkSources:
    """Attributes:
    texts: files of labelled texts.
    encoder: what models start from.
    """

    texts: Files
    encoder: EncoderSources

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        return self.texts.record() | self.encoder.record()


def find_sources(config: DecoyBenchmarkRun) -> BenchmarkSources:
    """Look for the files and the checkpoint.

    Raises:
        InputError, CheckpointError: if one is missing, can't be read, or lacks a column.
    """
    encoder = find_encoder(config.models)
    return BenchmarkSources(find_classified_data(config.data), encoder)
