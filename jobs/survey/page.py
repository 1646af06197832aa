"""The page of `survey`, with the sections of the jobs that it joins."""

from tiltmeter.jobs.association import page as association
from tiltmeter.jobs.embedding.page import embeddings_page
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.gender import page as gender
from tiltmeter.jobs.psychophysics import page as psychophysics
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.survey.config import SurveyRun

_QUESTION = (
    "How far do word vectors lean: occupations to female or to male words, groups of words to pleasant or to "
    "unpleasant ones, professions along the direction of gender?"
)


def page(run: Run[SurveyRun, Sources], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    level = run.config.job.level
    measures = [measure for part in (psychophysics, association, gender) for measure in part.measures(frames, level)]
    return embeddings_page(run.config, frames, "How far the words lean", _QUESTION, measures)
