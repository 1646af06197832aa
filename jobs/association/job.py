"""Job `association`: word association tests, with every measure of similarity and statistic, on any embeddings."""

from collections.abc import Sequence

from tiltmeter.jobs.association.config import AssociationConfig, AssociationRun
from tiltmeter.jobs.association.directions import generate_analogies, take_measures
from tiltmeter.jobs.association.measures import find_sources
from tiltmeter.jobs.association.ranking import TABLES as RANKINGS
from tiltmeter.jobs.association.ranking import rank_models
from tiltmeter.jobs.association.sentences import measure_sentences
from tiltmeter.jobs.association.tables import TABLES
from tiltmeter.jobs.association.weat import attribute_sets, listed_words, measure_associations
from tiltmeter.jobs.association.wefat import measure_words
from tiltmeter.jobs.embedding import tables as embedding
from tiltmeter.jobs.embedding.encoders.settings import ContextEmbedding, TemplateEmbedding
from tiltmeter.jobs.embedding.models import Needs, find_models
from tiltmeter.jobs.embedding.resources import embedding_requests
from tiltmeter.jobs.embedding.slice_differences.contrasts import compare_slices
from tiltmeter.jobs.embedding.slice_differences.tables import TABLES as SLICE_DIFFERENCES
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job


def run(run: Run[AssociationRun, Sources]) -> None:
    """Test every model; publish tables."""
    config, tests = run.config.job, run.config.tests
    models = find_models(run, needs(config, tests))
    run.publish_all(measure_associations(run.runner, models, config, tests, run.config.seed))
    run.publish_all(measure_words(run.runner, models, config, tests))
    rank_models(run, models, take_measures(run, models, config), config)
    generate_analogies(run, models)
    embedding = run.config.embedding
    if isinstance(embedding, TemplateEmbedding | ContextEmbedding) and embedding.published:
        measure_sentences(run, embedding, models, config)
    compare_slices(run, RANKINGS)


def needs(config: AssociationConfig, tests: Sequence[str] | None) -> Needs:
    """The words of the tests, and the neighbours or synonyms of their attributes if covariances are asked for."""
    return Needs(
        lists=lambda wordset: {"associations": listed_words(wordset, tests)},
        attribute_sets=lambda wordset: attribute_sets(wordset, config),
        num_neighbours=config.num_neighbours,
        by_synonyms=config.enlargement == "synonyms",
    )


JOB = Job(
    AssociationRun,
    find_sources,
    run,
    embedding.TABLES | SLICE_DIFFERENCES | TABLES | RANKINGS,
    "tiltmeter.jobs.association.page:page",
    embedding_requests,
)
