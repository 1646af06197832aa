"""Job `gender_survey`: how professions lie along the gender direction of each language, and how languages agree."""

from typing import cast

from jobs import bootstrap
from jobs.context import Run
from jobs.embeddings_config import EmbeddingsRun, GenderSurveyJob
from jobs.measures import genders
from jobs.measures.genders import measure_gender
from jobs.measures.languages import correlate_languages
from jobs.measures.lookup import whole
from jobs.modelling import find_models
from jobs.models import Needs
from jobs.reports.embeddings_body import write_embeddings_report
from jobs.sources import Sources
from operators.wordsets import GenderSurvey

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
