"""The page of `gender_survey`."""

import polars as pl

from tiltmeter.jobs.embedding.page import Measure, embeddings_page
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.gender.config import GenderSurveyRun
from tiltmeter.jobs.gender.findings import (
    BIAS,
    doubtful,
    kind,
    labelled,
    main_findings,
    outside,
    profession_in,
    with_direction,
)
from tiltmeter.jobs.gender.sections import sections
from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.html.elements import Block, Bullets, Details, Paragraph
from tiltmeter.jobs.report.intervals import NamedSides
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.wording import plural
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames

_TITLE = "Gender along a direction, language by language"
_QUESTION = "Where do professions lie between female and male words, in each language, and which languages agree on it?"
_SAYS_LITTLE = "The bias along such a direction says little."


def page(run: Run[GenderSurveyRun, Sources], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    level = run.config.job.level
    return embeddings_page(run.config, frames, _TITLE, _QUESTION, measures(frames, level))


def measures(frames: Frames, level: float) -> list[Measure]:
    """What gender bias says on a page; nothing where it was not measured."""
    if "gender_languages" not in frames:
        return []
    tables = labelled(frames)
    languages = tables["gender_languages"]
    professions = measured(tables["gender_professions"])
    sides = NamedSides("bias", professions, BIAS, profession_in(languages), original="bias")
    findings = [Bullets(list(main_findings(tables)))]
    return [Measure(languages, level, findings, sections(tables), sides, doubts=doubts(languages))]


def doubts(languages: pl.DataFrame) -> list[Block]:
    """Where the bias along the direction says little: in a warning for one language, in one warning for several."""
    reasons, text = doubtful(languages), outside(languages)
    others = [Paragraph(text, "warning")] if text else []
    if len(reasons) < 2:
        return [*(Paragraph(f"{reason} {_SAYS_LITTLE}", "warning") for reason in reasons), *others]
    num = with_direction(languages).height
    text = f"The gender direction is doubtful in {len(reasons)} of {plural(num, kind(languages))}. {_SAYS_LITTLE}"
    return [Paragraph(text, "warning"), Details("Which, and why", [Bullets(reasons)]), *others]
