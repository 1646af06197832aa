"""Job `association`: word association tests, with every measure of similarity and statistic, on any embeddings."""

from collections.abc import Mapping, Sequence
from typing import cast

from tiltmeter.jobs.association.associations import attribute_sets, listed_words, measure_associations
from tiltmeter.jobs.association.rows import AssociationConfig
from tiltmeter.jobs.association.word_associations import measure_words
from tiltmeter.jobs.embedding import job as bootstrap
from tiltmeter.jobs.embedding.config import AssociationJob, EmbeddingsRun
from tiltmeter.jobs.embedding.find_models import find_models
from tiltmeter.jobs.embedding.page import write_embeddings_report
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.embedding.vectors.models import Needs
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.operators.text.wordsets import WordSets

TABLES = (*bootstrap.TABLES, "associations", "association_summary", "word_associations", "validation")


def run(run: Run[EmbeddingsRun, Sources]) -> None:
    """Test every model; publish tables and report."""
    config, tests = cast(AssociationJob, run.config.job), run.config.tests
    models = find_models(run, needs(config, tests))
    run.publish_all(measure_associations(run.runner, models, config, tests, run.config.seed))
    run.publish_all(measure_words(run.runner, models, config, tests))
    write_embeddings_report(run)


def needs(config: AssociationConfig, tests: Sequence[str] | None) -> Needs:
    """The words of the tests, and the neighbours of their attributes if covariances are asked for."""

    def lists(wordset: WordSets) -> Mapping[str, Sequence[str]]:
        return {"associations": listed_words(wordset, tests)}

    return Needs(lists, lambda wordset: attribute_sets(wordset, config), config.num_neighbours)
