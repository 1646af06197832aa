"""Settings of `attribution`; what each means, and what it usually is, stands in ``conf/job/attribution.yaml``."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

import polars as pl
import pydantic
from pydantic import AfterValidator, Field

from tiltmeter.jobs.classifiers.brought import find_classifier, find_function
from tiltmeter.jobs.classifiers.config import TrainedModels, find_encoder
from tiltmeter.jobs.classifiers.intervals import check_method
from tiltmeter.jobs.classifiers.labelled_data import LabelledData
from tiltmeter.jobs.classifiers.models import find_source
from tiltmeter.jobs.runtime.config import CommonConfig, each_once
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Files, Found, find_table
from tiltmeter.jobs.runtime.settings.fields import Count, Least0, Least2, Text, settings
from tiltmeter.operators.classifiers.attribution.records import GradientConfig, GradientMethod, Output
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records.cells import TEXT
from tiltmeter.storage.store.runs import read_run_table

Explainer = Literal[GradientMethod, "occlusion", "lime", "kernel_shap", "shapley"]
GRADIENTS: tuple[GradientMethod, ...] = get_args(GradientMethod)
"""Methods that need a network."""

Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]


@settings
class AttributionJob:
    name: Literal["attribution"]
    unit_texts: Count


@settings
class ExplainedData:
    path: Text
    header: bool
    text: Text
    label: Text | None
    id: Text | None
    group: Text | None
    rationale: Text | None
    limit: Count | None

    @property
    def columns(self) -> dict[str, str]:
        """What the file calls each column that it has."""
        names = {name: getattr(self, name) for name in ("text", "label", "id", "group", "rationale")}
        return {name: called for name, called in names.items() if called is not None}


@settings
class ExplainedClassifier(TrainedModels):
    model: Text | None
    package: Text | None
    function: Annotated[str, Field(pattern=r"^[\w.]+:[\w.]+$")] | None
    learns: Text | None
    mask: Text | None

    @property
    def brought(self) -> tuple[str, str] | None:
        """The setting and the name of a classifier that is only asked; None: there is a network."""
        if self.package:
            return "classifier.package", self.package
        return ("classifier.function", self.function) if self.function else None


@settings
class Attributing:
    methods: Annotated[tuple[Explainer, ...], Field(min_length=1), AfterValidator(each_once)]
    output: Output
    num_steps: Count
    tolerance: Annotated[float, Field(gt=0.0, lt=1.0)] | None
    num_samples: Least2
    max_tokens: Count | None
    exact_words: Annotated[int, Field(ge=1, le=16)]
    most_orders: Annotated[int, Field(ge=8)]
    tolerance_of_orders: Positive

    def of_gradients(self, method: GradientMethod) -> GradientConfig:
        """As operators take it."""
        numbers = (self.num_steps, self.tolerance, self.num_samples, self.max_tokens)
        return GradientConfig(method, self.output, *numbers)


@settings
class Measuring:
    num_random: Count
    points: Count
    num_parts: Least2
    num_sets: Count
    radius: Positive
    num_points: Least0
    randomised_texts: Least0
    decoys: Text | None


@settings
class AttributionRun(CommonConfig):
    job: AttributionJob
    data: ExplainedData
    classifier: ExplainedClassifier
    attribution: Attributing
    measures: Measuring
    intervals: KeyedResampleSettings

    @pydantic.model_validator(mode="after")
    def _fits_the_classifier(self) -> Self:
        asked, methods = self.classifier, self.attribution.methods
        if sum(name is not None for name in (asked.model, asked.package, asked.function, asked.learns)) != 1:
            raise ValueError(
                "classifier: one is explained; set one of classifier.model (a folder or a name on the hub), "
                "classifier.package, classifier.function and classifier.learns, and leave the others null"
            )
        if brought := asked.brought:
            place = f"{'='.join(brought)} says probabilities alone"
            if needing := [name for name in methods if name in GRADIENTS]:
                raise ValueError(
                    f"attribution.methods={needing}: need a network with gradients, and {place}; choose of occlusion, "
                    "lime, kernel_shap and shapley"
                )
            if self.attribution.output == "logit":
                raise ValueError(f"attribution.output=logit: {place}, and no logits; set it to log_odds or probability")
        if asked.learns and self.data.label is None:
            raise ValueError("data.label: classifier.learns needs the column of the class; set it")
        check_method(self.intervals.interval, has_groups=self.data.group is not None)
        return self

    @property
    def learnt(self) -> LabelledData:
        """What a classifier learns that is trained here."""
        data = self.data
        return LabelledData(str(self.classifier.learns), header=data.header, text=data.text, label=str(data.label))


Running = Run[AttributionRun, Found]


def find_sources(config: AttributionRun) -> Found:
    """Look for the files, and the classifier.

    Raises:
        InputError, CheckpointError: if one is missing, can't be read, or lacks a column.
    """
    data, classifier = config.data, config.classifier
    columns = list(dict.fromkeys(data.columns.values()))
    files = {"texts": find_table(data.path, "data.path", columns, header=data.header, rules={data.text: [TEXT]})}
    versions: dict[str, str] = {}
    find_decoys(config.measures.decoys)
    if classifier.model:
        versions["model"] = find_source(classifier.model, classifier.revision, "classifier.model").version
    if classifier.package:
        versions["brought"] = find_classifier(classifier.package, "classifier.package").version
    if classifier.function:
        versions["brought"] = find_function(classifier.function, "classifier.function").version
    if classifier.learns:
        needed = [data.text, str(data.label)]
        files["training"] = find_table(classifier.learns, "classifier.learns", needed, header=data.header)
        find_encoder(classifier)
    return Found(Files(files), versions)


_SHOWN = ("detection_probability", "detection_probability_low", "detection_probability_high")


def find_decoys(folder: str | None) -> list[dict[str, Any]]:
    """How often one explanation shows a decoy, by each method of a run of `decoy_benchmark`, and at random.

    Raises:
        InputError: if it is no folder of such a run.
    """
    if folder is None:
        return []
    try:
        rows = pl.DataFrame(read_run_table(Path(folder), "detection")).filter(budget=1, selection="random")
        by_chance = rows.filter(method="random").select("decoy", random="detection_probability")
        both = rows.join(by_chance, on="decoy", how="left", maintain_order="left")
        return both.select("decoy", "method", "adopted", "reason", "random", *_SHOWN).to_dicts()
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"measures.decoys={folder}: has no table detection of a run of job=decoy_benchmark with the setup "
            "identify_and_trust; set it to the folder of such a run, or to null"
        ) from error
