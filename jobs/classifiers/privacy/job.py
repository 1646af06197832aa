"""Job `privacy_metrics`: what models of valence, private ones among them, give away of who speaks, and why."""

from collections.abc import Sequence

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.classifiers.privacy.evaluating import evaluate
from tiltmeter.jobs.classifiers.privacy.lexicons import read_lexicon
from tiltmeter.jobs.classifiers.privacy.measuring import explain, measure, noisy_attributions
from tiltmeter.jobs.classifiers.privacy.noise import control_noise, read_noisy
from tiltmeter.jobs.classifiers.privacy.sources import PrivacySources, find_sources
from tiltmeter.jobs.classifiers.privacy.summing import sum_up
from tiltmeter.jobs.classifiers.privacy.tables import TABLES
from tiltmeter.jobs.classifiers.privacy.texts import read_texts
from tiltmeter.jobs.classifiers.privacy.training import train_models
from tiltmeter.jobs.classifiers.resources import training_requests
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job


def run(run: Run[PrivacyMetricsRun, PrivacySources]) -> None:
    """Train the models, attack and explain them, and sum up what they give away within the corpus and across."""
    config, runner = run.config, run.runner
    texts = read_texts(runner, config, run.sources)
    run.publish("texts", [texts.texts])
    noisy = read_noisy(runner, config, texts.texts)
    lexicon = read_lexicon(runner, config.lexicon, len(config.classes), run.sources.lexicon)
    models = train_models(runner, config, run.sources, texts.texts)
    outcomes = evaluate(runner, config, texts.texts, None if noisy is None else noisy.texts, models)
    attributions = explain(runner, config, texts, noisy, models)
    measured = measure(runner, config, texts, noisy, attributions, lexicon)
    parts = [part for by_seed in measured.values() for part in by_seed]
    run.publish("attributions", [ref for part in parts for ref in part.attributions])
    run.publish("samples", [part.samples for part in parts])
    shown = [texts.texts] if noisy is None else [texts.texts, noisy.texts]
    run.publish_all(sum_up(runner, config, shown, outcomes, measured))
    if noisy is not None:
        run.publish("noisy_texts", [noisy.texts])
        run.publish_all({"noise": control_noise(runner, config, texts.texts, noisy, noisy_attributions(measured))})


def _requests(config: PrivacyMetricsRun, _: PrivacySources, num_gpus: int) -> Sequence[ResourceRequest]:
    return training_requests(config.models, num_gpus)


JOB = Job(PrivacyMetricsRun, find_sources, run, TABLES, "tiltmeter.jobs.classifiers.privacy.page.body:page", _requests)
