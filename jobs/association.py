"""Job `association`: word association tests, with every measure of similarity and statistic, on any embeddings."""

from collections.abc import Mapping, Sequence
from typing import cast

from jobs import bootstrap
from jobs.context import Run
from jobs.embeddings_config import AssociationJob, EmbeddingsRun
from jobs.measures.association_rows import AssociationConfig
from jobs.measures.associations import attribute_sets, listed_words, measure_associations
from jobs.measures.word_associations import measure_words
from jobs.modelling import find_models
from jobs.models import Needs
from jobs.reports.embeddings_body import write_embeddings_report
from jobs.sources import Sources
from operators.wordsets import WordSets

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
