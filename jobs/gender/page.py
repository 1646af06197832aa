"""The page of `gender_survey`."""

import polars as pl

from tiltmeter.jobs.embedding.page import Measure, page_of
from tiltmeter.jobs.embedding.sections import Compared
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
from tiltmeter.jobs.report.findings import labels_of, measured
from tiltmeter.jobs.report.html.elements import Block, Bullets, Details, Paragraph
from tiltmeter.jobs.report.intervals import NamedSides
from tiltmeter.jobs.report.wording import plural
from tiltmeter.jobs.runtime.published import Frames

_SAYS_LITTLE = "The bias along such a direction says little."


def measures(frames: Frames) -> list[Measure]:
    """What gender bias says on a page; nothing where it was not measured."""
    if "gender_languages" not in frames:
        return []
    tables = labelled(frames)
    languages = tables["gender_languages"]
    professions = measured(tables["gender_professions"])
    sides = NamedSides("bias", professions, BIAS, profession_in(len(labels_of(languages, frames))), original="bias")
    findings = [Bullets(list(main_findings(tables)))]
    shown = {"direct_bias": ("Direct bias", None), "mean_bias": ("Mean bias", 0.0)}
    compared = [
        Compared(
            f"{title} of professions",
            title.lower(),
            languages.with_columns(what=pl.lit("professions")),
            name,
            "what",
            neutral,
        )
        for name, (title, neutral) in shown.items()
    ]
    return [Measure(languages, findings, sections(tables), sides, doubts=doubts(languages), compared=compared)]


def doubts(languages: pl.DataFrame) -> list[Block]:
    """Where the bias along the direction says little: in a warning for one language, in one warning for several."""
    reasons, text = doubtful(languages), outside(languages)
    others = [Paragraph(text, "warning")] if text else []
    if len(reasons) < 2:
        return [*(Paragraph(f"{reason} {_SAYS_LITTLE}", "warning") for reason in reasons), *others]
    num = with_direction(languages).height
    text = f"The gender direction is doubtful in {len(reasons)} of {plural(num, kind(languages))}. {_SAYS_LITTLE}"
    return [Paragraph(text, "warning"), Details("Which, and why", [Bullets(reasons)]), *others]


page = page_of(
    "Gender along a direction, language by language",
    "Where do professions lie between female and male words, in each language, and which languages agree on it?",
    measures,
)
