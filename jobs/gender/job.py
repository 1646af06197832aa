"""Job `gender_survey`: how professions lie along the gender direction of each language, and how languages agree."""

from typing import cast

from tiltmeter.jobs.embedding import job as bootstrap
from tiltmeter.jobs.embedding.config import EmbeddingsRun, GenderSurveyJob
from tiltmeter.jobs.embedding.find_models import find_models
from tiltmeter.jobs.embedding.page import write_embeddings_report
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.embedding.vectors.lookup import whole
from tiltmeter.jobs.embedding.vectors.models import Needs
from tiltmeter.jobs.gender import genders
from tiltmeter.jobs.gender.genders import measure_gender
from tiltmeter.jobs.gender.languages import correlate_languages
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.operators.text.wordsets import GenderSurvey

TABLES = (*bootstrap.TABLES, *genders.TABLES, "language_correlation")


def run(run: Run[EmbeddingsRun, Sources]) -> None:
    """Measure every language; publish tables and report."""
    config = cast(GenderSurveyJob, run.config.job)
    # A language without any of the words is a finding too, with its reasons.
    models = find_models(run, Needs(lambda _: {}))
    words = {model.name: cast(GenderSurvey, model.wordset.gender_survey) for model in models}
    measured = measure_gender(run.runner, models, words, config)
    biases = measured.pop("profession_biases")
    run.publish_all(measured)
    run.publish_all(correlate_languages(run.runner, whole(run.runner, models), biases, config.level))
    write_embeddings_report(run)
