"""Job `error_characterisation`: where a classifier goes wrong, and why."""

from collections.abc import Sequence

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.classifiers.errors.base import predict_texts
from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun, ErrorSources, find_sources
from tiltmeter.jobs.classifiers.errors.error_models import model_errors
from tiltmeter.jobs.classifiers.errors.features import read_features
from tiltmeter.jobs.classifiers.errors.material import one_kind
from tiltmeter.jobs.classifiers.errors.means import sum_up
from tiltmeter.jobs.classifiers.errors.predictions import judge_texts, tell_predictions
from tiltmeter.jobs.classifiers.errors.promises.guarantees import promise
from tiltmeter.jobs.classifiers.errors.promises.scoring import score_texts
from tiltmeter.jobs.classifiers.errors.rounds import play_rounds
from tiltmeter.jobs.classifiers.errors.slicing.stage import find_slices
from tiltmeter.jobs.classifiers.errors.tables import TABLES
from tiltmeter.jobs.classifiers.errors.texts import publish_halves, read_texts
from tiltmeter.jobs.classifiers.resources import training_requests
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job


def run(run: Run[ErrorCharacterisationRun, ErrorSources]) -> None:
    """Predict, count features, tell errors by them, find slices, promise, and play rounds of labelling."""
    config, runner = run.config, run.runner
    texts = read_texts(runner, config, run.sources.texts)
    is_scored = config.data.scored_by is not None
    predicted = predict_texts(runner, config, run.sources, texts)
    run.publish("texts", [publish_halves(runner, texts["data"], predicted, None if is_scored else config.seed)])
    features = read_features(runner, config, run.sources.others, texts["data"])
    run.publish("features", features)
    inputs = {"texts": [texts["data"]], "predicted": [predicted], "features": features}
    if is_scored:
        run.publish_all(score_texts(runner, run.sources.earlier, inputs, config.seed))
        return
    if reason := one_kind(runner.store, inputs):
        run.publish("predictions", [tell_predictions(runner, inputs, reason)])
        return
    predictions = judge_texts(runner, config, inputs)
    run.publish("predictions", [predictions])
    run.publish_all(find_slices(runner, config, inputs, predictions))
    run.publish_all(sum_up(runner, config, inputs, model_errors(runner, config, inputs)))
    run.publish_all(promise(runner, config, inputs))
    if "base" in texts and config.rounds.number:
        run.publish("rounds", [play_rounds(runner, config, inputs, texts["base"])])


def _requests(config: ErrorCharacterisationRun, _: ErrorSources, num_gpus: int) -> Sequence[ResourceRequest]:
    trains = config.base.path is not None and config.base.model == "encoder"
    return training_requests(config.models, num_gpus) if trains else []


JOB = Job(
    ErrorCharacterisationRun, find_sources, run, TABLES, "tiltmeter.jobs.classifiers.errors.page.body:page", _requests
)
