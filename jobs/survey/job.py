"""Job `survey`: embeddings of corpora and of their bootstrap replicas, and how far they lean by every measure."""

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence

from tiltmeter.jobs.association import job as association
from tiltmeter.jobs.association import tables as association_tables
from tiltmeter.jobs.association.directions import generate_analogies, take_measures
from tiltmeter.jobs.association.measures import find_sources
from tiltmeter.jobs.association.ranking import TABLES as RANKINGS
from tiltmeter.jobs.association.ranking import rank_models
from tiltmeter.jobs.association.weat import measure_associations
from tiltmeter.jobs.association.wefat import measure_words
from tiltmeter.jobs.embedding import tables as embedding_tables
from tiltmeter.jobs.embedding.config import has_replicas
from tiltmeter.jobs.embedding.models import Model, find_models
from tiltmeter.jobs.embedding.resources import embedding_requests
from tiltmeter.jobs.embedding.slice_differences.contrasts import compare_slices
from tiltmeter.jobs.embedding.slice_differences.tables import TABLES as SLICE_DIFFERENCES
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.gender import tables as gender_tables
from tiltmeter.jobs.gender.languages import measure_gender
from tiltmeter.jobs.psychophysics import job as psychophysics
from tiltmeter.jobs.psychophysics import tables as psychophysics_tables
from tiltmeter.jobs.psychophysics.psychometrics import measure_psychometrics
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.survey import tables as survey_tables
from tiltmeter.jobs.survey.config import SurveyRun
from tiltmeter.jobs.survey.control import measure_controls
from tiltmeter.jobs.survey.limits import find_limits
from tiltmeter.operators.text.wordsets import GenderSurvey, WordSets, neutral_survey
from tiltmeter.storage.store.ledger import TableRef

STAGES = {
    "read": "pages out of the files of the corpus",
    "documents": "plain text out of each page",
    "tokens": "words out of each line",
    "words": "how often each word occurs",
    "vocabulary": "which words are frequent enough for a vector",
    "co-occurrence": "which words stand near each other, in the text and in each resample of its documents",
    "merge": "those counts of all parts of the text together",
    "train": "word vectors, of the text and then of each resample: how far they differ says how sure a number is",
    "forced choice": "whether occupations lean to female or to male words",
    "association tests": "whether groups of words go together more than chance has it",
    "gender": "how far professions lie along the direction of gender",
    "plant leans": "a lean of known size, into a copy of the text: what is measured has to find it there",
}
"""What stages that take a while do, for readers who see a run for the first time."""


def run(run: Run[SurveyRun, Sources]) -> None:
    """Embed the corpora, measure on every replica whatever the word lists allow; publish tables."""
    test_needs = association.needs(run.config.job, run.config.tests)
    has_observers = has_replicas(run.config.embedding)

    def lists(wordset: WordSets) -> Mapping[str, Sequence[str]]:
        choices = psychophysics.lists(wordset) if has_observers else {}
        return {**choices, **test_needs.lists(wordset), **_gender_lists(wordset)}

    models = find_models(run, dataclasses.replace(test_needs, lists=lists))
    run.publish_all(_measured(run, models))
    rank_models(run, models, take_measures(run, models, run.config.job), run.config.job)
    generate_analogies(run, models)
    compare_slices(run, RANKINGS)
    controlled = [model for model in models if run.config.control_words(model.corpus)]
    measure_controls(run, controlled)
    find_limits(run, controlled)


def _measured(run: Run[SurveyRun, Sources], models: Sequence[Model]) -> dict[str, list[TableRef]]:
    """Every measure of every model that has the words for it; tables that two measures make are one."""
    runner, config, tests, seed = run.runner, run.config.job, run.config.tests, run.config.seed
    observed = [model for model in models if psychophysics.lists(model.wordset)]
    words = {model.name: words for model in models if (words := gender_words(model.wordset))}
    parts = []
    if has_replicas(run.config.embedding) and observed:
        parts.append(measure_psychometrics(runner, observed, config, seed))
    parts.append(measure_associations(runner, models, config, tests, seed))
    parts.append(measure_words(runner, models, config, tests))
    if words:
        parts.append(measure_gender(runner, [model for model in models if model.name in words], words, config))
    measured: dict[str, list[TableRef]] = defaultdict(list)
    for part in parts:
        for name, refs in part.items():
            measured[name].extend(refs)
    measured.pop("profession_biases", None)  # there is nothing to correlate them with
    return measured


def _gender_lists(wordset: WordSets) -> dict[str, list[str]]:
    words = gender_words(wordset)
    if words is None:
        return {}
    return {
        "gender, defining words": [word for pair in words.defining.values() for word in pair.words],
        "gender, professions": [word for forms in words.professions.values() for word in forms.words],
    }


def gender_words(wordset: WordSets) -> GenderSurvey | None:
    """The list of Bolukbasi et al. 2016 where a language has one, else that of the nine-language survey."""
    if wordset.gender is None:
        return wordset.gender_survey
    script = wordset.gender_survey.script if wordset.gender_survey else "Latn"
    return neutral_survey(wordset.gender, script)


JOB = Job(
    SurveyRun,
    find_sources,
    run,
    embedding_tables.TABLES
    | SLICE_DIFFERENCES
    | psychophysics_tables.TABLES
    | association_tables.TABLES
    | RANKINGS
    | gender_tables.TABLES
    | survey_tables.TABLES,
    "tiltmeter.jobs.survey.page:page",
    embedding_requests,
    stages=STAGES,
)
