"""Job `psychophysics`: occupations between two cues, with bootstrap replicas as the observers."""

from collections.abc import Mapping, Sequence
from itertools import chain

from tiltmeter.jobs.embedding import tables as embedding
from tiltmeter.jobs.embedding.models import Needs, find_models
from tiltmeter.jobs.embedding.resources import embedding_requests
from tiltmeter.jobs.embedding.sources import Sources, find_sources
from tiltmeter.jobs.psychophysics.config import PsychophysicsRun
from tiltmeter.jobs.psychophysics.psychometrics import measure_psychometrics
from tiltmeter.jobs.psychophysics.tables import TABLES
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.operators.text.wordsets import WordSets


def run(run: Run[PsychophysicsRun, Sources]) -> None:
    """Measure every model; publish tables."""
    models = find_models(run, Needs(lists))
    run.publish_all(measure_psychometrics(run.runner, models, run.config.job, run.config.seed))


def lists(wordset: WordSets) -> Mapping[str, Sequence[str]]:
    """The word lists of the study, each of which must have a word in the vocabulary."""
    if not (wordset.occupations and wordset.cue_pairs):
        return {}
    cues = list(chain.from_iterable(wordset.cue_pairs))
    return {"cue_pairs": cues, "occupations": list(wordset.occupations.percent_women)}


JOB = Job(
    PsychophysicsRun,
    find_sources,
    run,
    embedding.TABLES | TABLES,
    "tiltmeter.jobs.psychophysics.page:page",
    embedding_requests,
)
