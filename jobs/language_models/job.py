"""Job `sentence_pairs`: which sentence of a pair language models prefer, and whether more so than in neutral pairs."""

from collections.abc import Sequence

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.language_models.config import Running, SentencePairsRun, find_sources
from tiltmeter.jobs.language_models.scores import Checkpoint, ReadPairs, ScorePairs
from tiltmeter.jobs.language_models.summary import SumUp
from tiltmeter.jobs.language_models.tables import TABLES, Scored
from tiltmeter.jobs.runtime.files import Found
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.resources import model_folder, model_request, uses_gpus


def run(run: Running) -> None:
    """Read the pairs, have each model score them part by part, and sum up."""
    config, data, models = run.config, run.config.data, run.config.models
    reading = ReadPairs(
        files={name: file.identity for name, file in run.sources.files.files.items()},
        form=data.format,
        lowercase=data.lowercase,
        unit_pairs=config.job.unit_pairs,
    )
    [(_, read)] = run.do([reading]).pairs
    on_gpu, versions = uses_gpus(models.device, run.runner.pool.num_gpus, "models.device"), run.sources.versions
    done = run.do(
        ScorePairs(
            label=f"{part} by {name}",
            group=name,
            model=Checkpoint(checkpoint, versions[name], models.setting(name), models.max_tokens, on_gpu),
            name=name,
            pairs=pairs,
            scores=config.scores_of("causal" if versions[f"{name} kind"] == "causal" else "masked"),
        )
        for name, checkpoint in models.checkpoints.items()
        for part, pairs in read.tables.items()
    )
    kinds = {"pairs": "template", "crows_pairs": "author", "stereoset": "term"}
    kind = config.pairing.unit or kinds[data.format]
    summing = SumUp(
        pairs=list(read.tables.values()),
        scores=done.refs(Scored),
        drawn="term" if data.format == "stereoset" and kind == "template" else kind,
        pairing=config.pairing,
        intervals=config.intervals,
        seed=config.seed,
    )
    run.do([summing])


def _requests(config: SentencePairsRun, _: Found, num_gpus: int) -> Sequence[ResourceRequest]:
    models = config.models
    folders = {
        checkpoint: model_folder(checkpoint, models.revision(name), models.setting(name))
        for name, checkpoint in models.checkpoints.items()
    }
    return [model_request("score", folders, models.device, num_gpus, "models")]


JOB = Job(
    SentencePairsRun,
    find_sources,
    run,
    TABLES,
    "tiltmeter.jobs.language_models.page:page",
    resources=_requests,
    extras=["models"],
)
