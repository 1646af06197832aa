"""Job `survey`: embeddings of corpora and of their bootstrap replicas, and how far they lean by every measure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import cast

from tiltmeter.jobs.association import job as association
from tiltmeter.jobs.association.associations import measure_associations
from tiltmeter.jobs.association.word_associations import measure_words
from tiltmeter.jobs.embedding import job as bootstrap
from tiltmeter.jobs.embedding.config import EmbeddingsRun, SurveyJob, has_replicas
from tiltmeter.jobs.embedding.find_models import find_models
from tiltmeter.jobs.embedding.page import write_embeddings_report
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.embedding.vectors.models import Model, Needs
from tiltmeter.jobs.gender import genders
from tiltmeter.jobs.gender.genders import measure_gender
from tiltmeter.jobs.psychophysics import job as psychophysics
from tiltmeter.jobs.psychophysics.psychometrics import measure_psychometrics
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.operators.text.wordsets import GenderSurvey, WordSets, neutral_survey
from tiltmeter.storage.store.ledger import TableRef

TABLES = tuple(dict.fromkeys((*bootstrap.TABLES, *psychophysics.TABLES, *association.TABLES, *genders.TABLES)))


def run(run: Run[EmbeddingsRun, Sources]) -> None:
    """Embed the corpora, measure on every replica whatever the word lists allow, publish tables and report."""
    config, tests = cast(SurveyJob, run.config.job), run.config.tests
    of_tests = association.needs(config, tests)
    observed = has_replicas(run.config.embedding)

    def lists(wordset: WordSets) -> Mapping[str, Sequence[str]]:
        of_choice = psychophysics.lists(wordset) if observed else {}
        return {**of_choice, **of_tests.lists(wordset), **_gender_lists(wordset)}

    models = find_models(run, Needs(lists, of_tests.attribute_sets, of_tests.num_neighbours))
    run.publish_all(_measured(run, models, config))
    write_embeddings_report(run)


def _measured(
    run: Run[EmbeddingsRun, Sources], models: Sequence[Model], config: SurveyJob
) -> dict[str, list[TableRef]]:
    """Every measure of every model that has the words for it; tables that two measures make are one."""
    runner, tests, seed = run.runner, run.config.tests, run.config.seed
    observed = has_replicas(run.config.embedding)
    with_occupations = [model for model in models if observed and psychophysics.lists(model.wordset)]
    gendered = {model.name: words for model in models if (words := gender_words(model.wordset))}
    parts = [
        measure_psychometrics(runner, with_occupations, config, seed) if with_occupations else {},
        measure_associations(runner, models, config, tests, seed),
        measure_words(runner, models, config, tests),
        measure_gender(runner, [model for model in models if model.name in gendered], gendered, config)
        if gendered
        else {},
    ]
    measured: dict[str, list[TableRef]] = defaultdict(list)
    for name, refs in chain.from_iterable(part.items() for part in parts):
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
