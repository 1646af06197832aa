"""Settings of `decoy_benchmark`; what each means and usually is stands in ``conf/job/decoy_benchmark.yaml``."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, TypeVar

import pydantic
from pydantic import AfterValidator, Field

from tiltmeter.jobs.classifiers.config import EncoderSources, TrainedModels, find_encoder
from tiltmeter.jobs.classifiers.intervals import check_method
from tiltmeter.jobs.classifiers.labelled_data import LabelledData, find_classified_data
from tiltmeter.jobs.runtime.config import CommonConfig, each_once
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.runtime.settings.fields import Count, Least2, Share, settings
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
"""I to IV of Idahl et al. 2021, section 2."""

Item = TypeVar("Item")
Several = Annotated[tuple[Item, ...], Field(min_length=1), AfterValidator(each_once)]
Part = Annotated[float, Field(gt=0.0, lt=1.0)]


@settings
class JobName:
    name: Literal["decoy_benchmark"]


@settings
class BenchmarkModels(TrainedModels):
    number: Count


@settings
class Explanations:
    methods: Several[Method]
    attribution: AttributionConfig
    num_pools: Least2
    pool_size: Least2
    top_words: Count
    selections: Several[Selection]
    max_clusters: Least2


@settings
class Debugger:
    controls: Annotated[tuple[Control, ...], AfterValidator(each_once)]
    judgement: Judgement
    num_suspects: Count


@settings
class Remedy:
    budgets: Several[Count]
    remedy: Literal["retrain", "ignore"]


@settings
class WrongLabels:
    share: Part
    num_texts: Annotated[int, Field(ge=10)] | None
    budgets: Several[Annotated[float, Field(gt=0.0, le=1.0)]]
    orders: Annotated[tuple[Order, ...], AfterValidator(each_once)]
    damping: Annotated[float, Field(gt=0.0, allow_inf_nan=False)]


@settings
class LanguageModel:
    order: Annotated[int, Field(ge=1, le=6)]
    discount: Part


@settings
class Intervals(KeyedResampleSettings):
    min_fall: Share


@settings
class DecoyBenchmarkRun(CommonConfig):
    job: JobName
    setups: Several[Setup]
    data: LabelledData
    decoys: Annotated[dict[Annotated[str, Field(pattern=r"^\w[\w.-]*$")], Decoy], Field(min_length=1)]
    models: BenchmarkModels
    explanations: Explanations
    debugger: Debugger
    improvement: Remedy
    contamination: WrongLabels
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
    """Files of labelled texts, and what models start from."""

    texts: Files
    encoder: EncoderSources

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        return self.texts.record() | self.encoder.record()


DecoyRun = Run[DecoyBenchmarkRun, BenchmarkSources]


def find_sources(config: DecoyBenchmarkRun) -> BenchmarkSources:
    """Look for the files and the checkpoint.

    Raises:
        InputError, CheckpointError: if one is missing, can't be read, or lacks a column.
    """
    encoder = find_encoder(config.models)
    return BenchmarkSources(find_classified_data(config.data), encoder)
