"""Job `psychophysics`: occupations between two cues, with bootstrap replicas as the observers."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import cast

from tiltmeter.jobs.embedding import job as bootstrap
from tiltmeter.jobs.embedding.config import EmbeddingsRun, PsychophysicsJob
from tiltmeter.jobs.embedding.find_models import find_models
from tiltmeter.jobs.embedding.page import write_embeddings_report
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.embedding.vectors.models import Needs
from tiltmeter.jobs.psychophysics import psychometrics
from tiltmeter.jobs.psychophysics.psychometrics import measure_psychometrics
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.operators.text.wordsets import WordSets

TABLES = (*bootstrap.TABLES, *psychometrics.TABLES)


def run(run: Run[EmbeddingsRun, Sources]) -> None:
    """Measure every model; publish tables and report."""
    config = cast(PsychophysicsJob, run.config.job)
    models = find_models(run, Needs(lists))
    run.publish_all(measure_psychometrics(run.runner, models, config, run.config.seed))
    write_embeddings_report(run)


def lists(wordset: WordSets) -> Mapping[str, Sequence[str]]:
    """The word lists of the study, each of which must have a word in the vocabulary."""
    if not (wordset.occupations and wordset.cue_pairs):
        return {}
    cues = list(chain.from_iterable(wordset.cue_pairs))
    return {"cue_pairs": cues, "occupations": list(wordset.occupations.percent_women)}
