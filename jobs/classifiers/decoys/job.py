"""Job `decoy_benchmark`: how soon explanations tell that a model is right for the wrong reason."""

from collections.abc import Sequence

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.classifiers.decoys.adopting import evaluate
from tiltmeter.jobs.classifiers.decoys.config import BenchmarkSources, DecoyBenchmarkRun, find_sources
from tiltmeter.jobs.classifiers.decoys.data_sets import make_decoys
from tiltmeter.jobs.classifiers.decoys.detecting import detect, look
from tiltmeter.jobs.classifiers.decoys.explaining import explain
from tiltmeter.jobs.classifiers.decoys.fitting import left_out_decoys
from tiltmeter.jobs.classifiers.decoys.setups.contaminating import contaminate
from tiltmeter.jobs.classifiers.decoys.setups.improving import improve
from tiltmeter.jobs.classifiers.decoys.study import export_study
from tiltmeter.jobs.classifiers.decoys.tables import TABLES
from tiltmeter.jobs.classifiers.decoys.training import ORIGINAL, train_models
from tiltmeter.jobs.classifiers.labelled_data import read_labelled_data
from tiltmeter.jobs.classifiers.resources import training_requests
from tiltmeter.jobs.classifiers.splits import split_texts
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.storage.store.ledger import TableRef


def run(run: Run[DecoyBenchmarkRun, BenchmarkSources]) -> None:
    """Make decoys, train with and without them, and see what explanations of the models are good for."""
    config, runner = run.config, run.runner
    labelled = read_labelled_data(runner, config.data, run.sources.texts, config.seed)
    run.publish("texts", [labelled])
    texts = split_texts(runner, labelled, config.seed)
    if set(config.setups) & {"identify_and_trust", "model_comparison", "identify_and_improve"}:
        _find_decoys(run, texts)
    if "data_contamination" in config.setups:
        run.publish_all(contaminate(runner, config, run.sources, texts))


def _find_decoys(run: Run[DecoyBenchmarkRun, BenchmarkSources], texts: TableRef) -> None:
    """Setups I to III."""
    config, runner = run.config, run.runner
    left_out, names = left_out_decoys(runner, config, texts)
    data = make_decoys(runner, config, texts, names)
    parts = {ORIGINAL: texts} | {name: decoy.texts for name, decoy in data.items()}
    models = train_models(runner, config, run.sources, parts)
    adopted = evaluate(runner, config, texts, data, models)
    run.publish("decoys", [*(ref for refs in adopted.values() for ref in refs), *([left_out] if names else [])])
    run.publish_all({"decoy_words": [decoy.words for decoy in data.values()]})
    explained = explain(runner, config, data, models)
    tables = [refs for pairs in explained.values() for pair in pairs for refs in pair.attributions.values()]
    run.publish("attributions", [ref for refs in tables for ref in refs])
    looks = look(runner, config, explained)
    run.publish_all(detect(runner, config, data, looks, adopted))
    if "identify_and_improve" in config.setups:
        run.publish_all(improve(runner, config, run.sources, texts, data, models, looks, adopted))
    export_study(run, explained)


def _requests(config: DecoyBenchmarkRun, _: BenchmarkSources, num_gpus: int) -> Sequence[ResourceRequest]:
    return training_requests(config.models, num_gpus)


JOB = Job(DecoyBenchmarkRun, find_sources, run, TABLES, "tiltmeter.jobs.classifiers.decoys.page:page", _requests)
