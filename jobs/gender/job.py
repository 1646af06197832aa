"""Job `gender_survey`: how professions lie along the gender direction of each language, and how languages agree."""

from typing import cast

from tiltmeter.jobs.embedding import tables as embedding
from tiltmeter.jobs.embedding.models import Needs, find_models, whole
from tiltmeter.jobs.embedding.resources import embedding_requests
from tiltmeter.jobs.embedding.slice_differences.contrasts import compare_slices
from tiltmeter.jobs.embedding.slice_differences.tables import TABLES as SLICE_DIFFERENCES
from tiltmeter.jobs.embedding.sources import Sources, find_sources
from tiltmeter.jobs.gender.config import GenderSurveyRun
from tiltmeter.jobs.gender.languages import compare_word_sets, correlate_languages, measure_gender
from tiltmeter.jobs.gender.tables import TABLES, GenderSets, LanguageCorrelation
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.table import schemas
from tiltmeter.operators.text.wordsets import GenderSurvey


def run(run: Run[GenderSurveyRun, Sources]) -> None:
    """Measure every language; publish tables."""
    config = run.config.job
    # A language without any of the words is a finding too, with its reasons.
    models = find_models(run, Needs(lambda _: {}))
    words = {model.name: cast(GenderSurvey, model.wordset.gender_survey) for model in models}
    measured = measure_gender(run.runner, models, words, config)
    biases = measured.pop("profession_biases")
    run.publish_all(measured)
    run.publish_all(correlate_languages(run.runner, whole(run.runner, models), biases, config))
    run.publish_all(compare_word_sets(run.runner, models, config, run.config.seed))
    compare_slices(run)


JOB = Job(
    GenderSurveyRun,
    find_sources,
    run,
    embedding.TABLES | SLICE_DIFFERENCES | TABLES | schemas(LanguageCorrelation, GenderSets),
    "tiltmeter.jobs.gender.page:page",
    embedding_requests,
)
