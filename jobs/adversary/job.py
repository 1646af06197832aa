"""Job `gender_adversary`: whether a classifier's verdict changes with gender more than with other things."""

from collections.abc import Iterator, Sequence

import polars as pl

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.cluster.stages import Runner
from tiltmeter.jobs.adversary.attacking import attack_texts
from tiltmeter.jobs.adversary.classes import check_labels
from tiltmeter.jobs.adversary.config import AdversarySources, GenderAdversaryRun, find_sources
from tiltmeter.jobs.adversary.evaluating.stage import evaluate
from tiltmeter.jobs.adversary.finding import find_candidates
from tiltmeter.jobs.adversary.labelling import label_candidates
from tiltmeter.jobs.adversary.spaces import find_spaces
from tiltmeter.jobs.adversary.tables import TABLES
from tiltmeter.jobs.adversary.texts import cut_texts
from tiltmeter.jobs.adversary.training import train_victims
from tiltmeter.jobs.adversary.vectors import whole_vectors
from tiltmeter.jobs.adversary.victims import EncoderVictim, SentimentVictim, TransformerVictim
from tiltmeter.jobs.classifiers.labelled_data import read_labelled_data
from tiltmeter.jobs.classifiers.resources import training_requests
from tiltmeter.jobs.classifiers.splits import split_texts
from tiltmeter.jobs.embedding import tables as embedding
from tiltmeter.jobs.embedding.resources import embedding_requests
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.resources import model_folder, model_request
from tiltmeter.jobs.sentiment.rating.systems import TransformerSystem
from tiltmeter.storage.store.ledger import TableRef


def run(run: Run[GenderAdversaryRun, AdversarySources]) -> None:
    """Find what words may be replaced by, attack the victims with it, and hold the outcome against controls."""
    config, runner, sources = run.config, run.runner, run.sources
    labelled = read_labelled_data(runner, config.data, sources.labelled, config.seed)
    texts = split_texts(runner, labelled, config.seed)
    check_labels(_learnt(runner, texts))
    vectors = whole_vectors(run)
    cut = cut_texts(runner, config, labelled, texts)
    near = find_candidates(runner, config, sources, cut.words, cut.counts, vectors.tables)
    candidates = label_candidates(runner, config, near)
    run.publish("candidates", [candidates])
    models = train_victims(runner, config, sources, texts)
    spaces = find_spaces(runner, config, near, texts, cut)
    attacked = attack_texts(runner, config, sources, models, cut.parts, spaces, candidates)
    run.publish("texts", [*attacked["texts"], cut.left_out])
    run.publish_all({name: attacked[name] for name in ("attacks", "substitutions")})
    run.publish_all(evaluate(runner, config, attacked, near.pairs, vectors))


def _learnt(runner: Runner, texts: TableRef) -> pl.Series:
    rows = pl.DataFrame(runner.store.read(texts.select("part", "label")))
    return rows.filter(part="training")["label"].unique()


def adversary_requests(
    config: GenderAdversaryRun, sources: AdversarySources, num_gpus: int
) -> Sequence[ResourceRequest]:
    """What a worker needs that has an embedding or a victim in memory.

    Raises:
        ClusterError: if a setting wants GPUs and there are none.
    """
    return [*embedding_requests(config, sources, num_gpus), *_victims(config, num_gpus)]


def _victims(config: GenderAdversaryRun, num_gpus: int) -> Iterator[ResourceRequest]:
    for name, victim in config.victim.items():
        setting = f"victim.{name}"
        if isinstance(victim, EncoderVictim):
            yield from training_requests(victim, num_gpus)
        elif isinstance(victim, TransformerVictim):
            folder = model_folder(victim.model, victim.revision, f"{setting}.model")
            yield model_request(f"attack {name}", {victim.model: folder}, victim.device, num_gpus, setting)
        elif isinstance(victim, SentimentVictim) and isinstance(victim.system, TransformerSystem):
            system, setting = victim.system, f"{setting}.system"
            folder = model_folder(system.model, system.revision, f"{setting}.model")
            yield model_request(f"attack {name}", {system.model: folder}, system.device, num_gpus, setting)


JOB = Job(
    GenderAdversaryRun,
    find_sources,
    run,
    embedding.TABLES | TABLES,
    "tiltmeter.jobs.adversary.page.page:page",
    adversary_requests,
)
