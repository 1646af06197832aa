"""The page of `gender_survey`."""

from tiltmeter.jobs.embedding.page import Measure, embeddings_page
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.gender.config import GenderSurveyRun
from tiltmeter.jobs.gender.sections import doubtful_directions, findings, sections
from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.intervals import NamedSides
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames

_TITLE = "Gender along a direction, language by language"
_QUESTION = "Where do professions lie between female and male words, in each language, and which languages agree on it?"


def page(run: Run[GenderSurveyRun, Sources], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    level = run.config.job.level
    return embeddings_page(run.config, frames, _TITLE, _QUESTION, measures(frames, level))


def measures(frames: Frames, level: float) -> list[Measure]:
    """What gender bias says on a page; nothing where it was not measured."""
    if "gender_languages" not in frames:
        return []
    num = measured(frames["gender_professions"]).drop_nulls("bias_low").height
    sides = NamedSides("biases", "of biases", num, original="bias")
    doubts = doubtful_directions(frames)
    return [Measure(frames["gender_languages"], level, findings(frames), sections(frames), sides, doubts=doubts)]
