"""Job `attribution`: which words carry a classifier's decisions, and whether such an explanation is to be believed."""

from collections.abc import Mapping, Sequence

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.classifiers.attribution.config import AttributionRun, Running, find_decoys, find_sources
from tiltmeter.jobs.classifiers.attribution.summary import SumUp
from tiltmeter.jobs.classifiers.attribution.tables import TABLES, Explained, Layers, Removed, TextScores
from tiltmeter.jobs.classifiers.attribution.texts import ExplainTexts, ReadTexts, TrainClassifier
from tiltmeter.jobs.classifiers.brought import BroughtSource
from tiltmeter.jobs.classifiers.config import find_encoder
from tiltmeter.jobs.classifiers.labelled_data import read_labelled_data
from tiltmeter.jobs.classifiers.models import CheckpointSource, TextModel, TrainedSource
from tiltmeter.jobs.classifiers.networks import Encoders
from tiltmeter.jobs.classifiers.resources import training_requests
from tiltmeter.jobs.classifiers.splits import split_texts
from tiltmeter.jobs.runtime.files import Files, Found
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.resources import model_folder, model_request, uses_gpus
from tiltmeter.operators.classifiers.answers import Classifier
from tiltmeter.storage.errors import InputError


def run(run: Running) -> None:
    """Read the texts, explain them part by part, and sum up what each method is worth."""
    config, data, seed = run.config, run.config.data, run.config.seed
    file, size = run.sources.files.files["texts"].identity, config.job.unit_texts
    reading = ReadTexts(
        file=file, columns=data.columns, header=data.header, limit=data.limit, unit_texts=size, seed=seed
    )
    [(_, read)] = run.do([reading]).pairs
    if not read.tables:
        raise InputError(f"data.path={data.path}: no row has a text in the column {data.text!r}")
    model, num_followed = _model(run), config.measures.randomised_texts
    done = run.do(
        ExplainTexts(
            label=name,
            model=model,
            texts=texts,
            mask=config.classifier.mask,
            attribution=config.attribution,
            measures=config.measures,
            followed=number * size < num_followed,
            seed=seed,
        )
        for number, (name, texts) in enumerate(read.tables.items())
    )
    methods, decoys = config.attribution.methods, find_decoys(config.measures.decoys)
    summing = SumUp(
        texts=done.refs(Explained),
        scores=done.refs(TextScores),
        removals=done.refs(Removed),
        layers=done.refs(Layers),
        decoys=[row for row in decoys if row["method"] in methods],
        intervals=config.intervals,
        seed=seed,
    )
    run.do([summing])


def _model(run: Running) -> TextModel[Classifier]:
    """The classifier that is explained, trained if it is to be."""
    asked, versions = run.config.classifier, run.sources.versions
    on_gpu = uses_gpus(asked.device, run.runner.pool.num_gpus, "classifier.device")
    if asked.model:
        return TextModel(CheckpointSource(asked.model, versions["model"], "classifier.model"), on_gpu)
    if brought := asked.brought:
        setting, name = brought
        return TextModel(BroughtSource(name, versions["brought"], setting), on_gpu)
    files, seed = Files({"training": run.sources.files.files["training"]}), run.config.seed
    texts = split_texts(run.runner, read_labelled_data(run.runner, run.config.learnt, files, seed), seed)
    encoders = Encoders(asked, find_encoder(asked), on_gpu)
    training = TrainClassifier(label="classifier", encoders=encoders, texts=texts, seed=seed)
    return TextModel(TrainedSource(asked.training.max_tokens), on_gpu, run.do([training]).one("model"))


def _requests(config: AttributionRun, _: Found, num_gpus: int) -> Sequence[ResourceRequest]:
    asked = config.classifier
    if asked.model:
        folders: Mapping[str, str] = {asked.model: model_folder(asked.model, asked.revision, "classifier.model")}
        return [model_request("explain", folders, asked.device, num_gpus, "classifier")]
    return training_requests(asked, num_gpus) if asked.learns else []


JOB = Job(
    AttributionRun,
    find_sources,
    run,
    TABLES,
    "tiltmeter.jobs.classifiers.attribution.page:page",
    resources=_requests,
    extras=["classifiers"],
)
