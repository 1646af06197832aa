"""Job `bootstrap`: from corpora to their vocabularies and one embedding per bootstrap replica."""

from tiltmeter.jobs.embedding.config import BootstrapRun
from tiltmeter.jobs.embedding.exports import export
from tiltmeter.jobs.embedding.resources import embedding_requests
from tiltmeter.jobs.embedding.sources import Sources, find_sources
from tiltmeter.jobs.embedding.tables import TABLES
from tiltmeter.jobs.embedding.trained import publish_slices, read, train
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job


def run(run: Run[BootstrapRun, Sources]) -> None:
    """Embed the corpora; publish what came of it, and export the vectors."""
    corpora = read(run)
    publish_slices(run, corpora)
    embeddings = train(run, corpora.tokenised)
    export(run, corpora.tokenised, embeddings, run.config.job.export)


JOB = Job(BootstrapRun, find_sources, run, TABLES, "tiltmeter.jobs.embedding.page:page", embedding_requests)
