"""The page of `word_influence`."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from tiltmeter.jobs.classifiers.influence.config import WordInfluenceRun
from tiltmeter.jobs.classifiers.influence.findings import sentences, teacher_name
from tiltmeter.jobs.report.grids import Column, cell, count, grid, number, p_value, percent
from tiltmeter.jobs.report.grids import estimate as estimated
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Grid, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.wording import listed
from tiltmeter.jobs.report.wording import percent as as_percent
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.storage.files.redaction import redacted

_TEACHER = cell("teacher", lambda row: teacher_name(row["model"]))

_ASKED = (
    "What does a word do to the decision of a text classifier, in its context? Which other words would change it, and "
    "does the classifier decide otherwise because of a word that should not matter? A student that learnt to follow "
    "the classifier judges many words in many contexts; what is said about the classifier is checked on itself."
)


def page(run: Run[WordInfluenceRun, Any], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    config = run.config
    return Body(
        "What a word does in its context",
        _facts(config),
        Lead([Paragraph(_ASKED)], [Bullets(list(sentences(frames)))], [Paragraph(_how_sure(config))]),
        list(_sections(frames)),
    )


def _facts(config: WordInfluenceRun) -> dict[str, str]:
    return {
        "job": config.job.name,
        "from": redacted(config.data.path).rsplit("/", 1)[-1],
        "teachers": listed([*config.models.located]) or f"small, {config.models.number}",
        "students of each": str(config.num_students),
        "seed": str(config.seed),
    }


def _how_sure(config: WordInfluenceRun) -> str:
    is_exact = not config.models.located and config.exact == "auto"
    judged = (
        "The teacher judged every word in every context itself, so that ratios have no interval."
        if is_exact
        else "The teacher judged a sample, and the student corrects for the rest; intervals of ratios are for these "
        "very words."
    )
    unit = "sentence" if config.data.group is None else f"group ({config.data.group})"
    return (
        f"{judged} Other intervals hold {100 * config.intervals.level:g}% for other texts of this kind, and treat the "
        f"texts of one {unit} as one; a test needs six of these that differ. A student's surest claims are the ones "
        "that it is most likely to have overrated. Any two words have different vectors: a probe is a finding only "
        "where random words of the same part of speech, judged by the teacher in the same contexts, do not differ as "
        "much."
    )


def _sections(frames: Frames) -> Iterator[Section]:
    if "students" in frames:
        yield Section("students", "How well students follow", [_students(frames["students"])])
    if "unlike_ratios" in frames:
        yield Section("ratios", "Words that decide", [_ratios(frames)])
    if "counterfactuals" in frames:
        yield Section("counterfactuals", "Words that would change the class", [_counterfactuals(frames)])
    if "probes" in frames:
        yield Section("probes", "Probes", list(_probes(frames)))
    if "masking" in frames:
        yield Section("masking", "Words left out of texts that the teacher gets wrong", [_masking(frames["masking"])])


def _interval(name: str, heading: str, low: str = "low", high: str = "high") -> Column:
    """A share with its interval, of columns that have names of their own."""

    def written(row: Any) -> str:
        if row[name] is None:
            return ""
        ends = f" [{as_percent(row[low])}, {as_percent(row[high])}]" if row[low] is not None else ""
        return f"{as_percent(row[name])}{ends}"

    return cell(heading, written, is_numeric=True)


def _students(students: pl.DataFrame) -> Grid:
    return grid(
        "Shares of texts, or places, where the student has the teacher's class, with intervals over sentences.",
        students,
        *(
            _TEACHER,
            count("seed", "student"),
            "split",
            "measure",
            _interval("value", "share"),
            count("num", "of"),
        ),
        most=60,
        table="students",
    )


def _ratios(frames: Frames) -> Grid:
    rows = frames["unlike_ratios"].drop_nulls("ratio").sort("ratio", "row", "place", descending=[True, False, False])
    return grid(
        "Places with the largest share of words that would change the class there.",
        rows,
        *(_TEACHER, "word", "part_of_speech", "label", percent("ratio", "by the student")),
        _interval("teacher_ratio", "by the teacher", "teacher_low", "teacher_high"),
        count("num_checked", "words judged"),
        most=30,
        table="unlike_ratios",
    )


def _counterfactuals(frames: Frames) -> Grid:
    rows = frames["counterfactuals"].drop_nulls("accuracy")
    return grid(
        "The student's surest counterfactuals, and the share that the teacher confirms.",
        rows,
        *(_TEACHER, "word", "label", cell("instead", lambda row: ", ".join(row["words"][:5]))),
        *(
            count("num", "in all"),
            count("num_sure", "sure"),
            percent("accuracy"),
            percent("accuracy_published", "published rule"),
            percent("accuracy_all", "of all"),
            percent("chance"),
        ),
        most=30,
        table="counterfactuals",
    )


def _probe_chart(probes: pl.DataFrame) -> Chart:
    rows = probes.with_columns(pair=pl.format("{} / {}, {}", "control", "probe", "model"))
    figure = dots(rows, "difference", "pair", neutral=0.0, title="positive with the control alone, less with the probe")
    return Chart(
        "A dot for each pair of words, with its interval",
        "Share of contexts that are positive with the control and not with the probe, less the reverse.",
        {"": figure},
    )


def _probes(frames: Frames) -> Iterator[Block]:
    probes = frames["probes"]
    tested = probes.drop_nulls("rate")
    yield _probe_chart(probes)
    pair = (_TEACHER, "control", "probe")
    yield grid(
        "Pairs of a control and a probe in the contexts that the filter leaves: how often the class is positive with "
        "the one and not with the other.",
        probes,
        *pair,
        *(count("num_contexts", "contexts"), count("num_checked", "judged"), _interval("rate", "rate")),
        *(percent("rate_reversed", "reversed", 2), estimated("difference", digits=4)),
    )
    yield grid(
        "Whether the two words are interchangeable in each sentence, and whether random words differ as much.",
        tested,
        *pair,
        *(count("num_differing", "sentences that differ"), p_value("p_holm", "p (Holm)")),
        *(count("num_random", "random words"), p_value("p_random_holm", "p among them (Holm)")),
        *(count("count_control", "texts with the control"), count("count_probe", "texts with the probe")),
    )
    yield grid(
        "What the teacher says of the student's surest contexts that are positive with the control and not the probe.",
        tested,
        *pair,
        *(count("num_claims", "claims"), percent("accuracy_control", "positive with the control")),
        percent("accuracy_probe", "not with the probe"),
        _interval("accuracy_joint", "both", "accuracy_joint_low", "accuracy_joint_high"),
    )
    yield grid("Contexts that are left.", frames["probe_contexts"], _TEACHER, "step", count("num_contexts", "contexts"))


def _masking(masking: pl.DataFrame) -> Grid:
    return grid(
        "Texts whose class changes within a budget of words, by the score that orders these; intervals are over "
        "sentences, or groups.",
        masking,
        *(_TEACHER, count("seed", "student"), "method", count("budget"), estimated("coverage")),
        *(number("mean_masked", "words on average", 2), estimated("less_lime", "less LIME's"), count("num_texts")),
        most=60,
        table="masking",
    )
