"""The page of `word_influence`: what was found, in sentences, and the tables."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.classifiers.influence.config import WordInfluenceRun
from tiltmeter.jobs.classifiers.influence.tables import (
    Counterfactuals,
    Masked,
    ProbeContexts,
    Probed,
    Students,
    UnlikeRatios,
    teacher_name,
)
from tiltmeter.jobs.report.sides import Lean
from tiltmeter.jobs.report.views import Dots, Page, Show, section
from tiltmeter.jobs.report.wording import listed, number, p_equals, percent, plural, quoted, significant, verb
from tiltmeter.operators.classifiers.influence.probes import MIN_RANDOM
from tiltmeter.operators.statistics.multiplicity import least_possible
from tiltmeter.storage.files.redaction import redacted

_ALONE = "all_correct_context_only"
_QUESTION = (
    "What does a word do to the decision of a text classifier, in its context? Which other words would change it, and "
    "does the classifier decide otherwise because of a word that should not matter? A student that learnt to follow "
    "the classifier judges many words in many contexts; what is said about the classifier is checked on itself."
)


def _facts(config: WordInfluenceRun) -> dict[str, str]:
    return {
        "job": config.job.name,
        "from": redacted(config.data.path).rsplit("/", 1)[-1],
        "teachers": listed([*config.models.located]) or f"small, {config.models.number}",
        "students of each": str(config.num_students),
        "seed": str(config.seed),
    }


def _doubts(config: WordInfluenceRun) -> str:
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


# --- findings -------------------------------------------------------------------------------------------------------


def _students(students: pl.DataFrame) -> Iterator[str]:
    for (teacher,), rows in students.filter(split="test").group_by("model", maintain_order=True):
        means = dict(rows.group_by("measure").agg(pl.col("value").mean()).iter_rows())
        context_only = percent(means[_ALONE])
        yield (
            f"A student of {teacher_name(str(teacher))} gives {percent(means['all_correct'])} of the test texts its "
            f"class from every place; the text without the word alone gives {context_only}. Of single places these "
            f"are {percent(means['per_word'])} and {percent(means['per_word_context_only'])}.{_weakness(rows)}"
        )


def _weakness(rows: pl.DataFrame) -> str:
    """A sentence where a student follows hardly better than the context does."""
    lowest, highest = (
        rows.filter(measure=measure)[end].drop_nulls() for measure, end in (("all_correct", "low"), (_ALONE, "high"))
    )
    if lowest.len() and highest.len() and lowest.min() > highest.max():  # type: ignore[operator]
        return ""
    return (
        " Their intervals overlap: what the student alone says of words is hardly more than the context does, and only "
        "what the teacher confirms counts. More texts would teach it more, or a larger student.contexts_per_text."
    )


def _ratios(ratios: pl.DataFrame) -> Iterator[str]:
    judged = ratios.drop_nulls(["ratio", "teacher_ratio"])
    for (teacher,), rows in judged.group_by("model", maintain_order=True):
        mean = rows.select((pl.col("ratio") - pl.col("teacher_ratio")).abs().mean()).item()
        correlation = rows.select(pl.corr("ratio", "teacher_ratio")).item()
        zeros = [float((rows[name].to_numpy() == 0.0).mean()) for name in ("ratio", "teacher_ratio")]
        yield (
            f"In {plural(rows.height, 'context')}, the student's unlike ratio is {number(mean, 3)} away from that of "
            f"{teacher_name(str(teacher))} on average (r = {number(correlation, 3)}); {percent(zeros[0], 0)} of the "
            f"student's and {percent(zeros[1], 0)} of the teacher's are 0."
        )


def _counterfactuals(counterfactuals: pl.DataFrame) -> Iterator[str]:
    confirmed = counterfactuals.drop_nulls("accuracy")
    for (teacher,), rows in confirmed.group_by("model", maintain_order=True):
        mean, median, chance = rows.select(
            pl.col("accuracy").mean(), pl.col("accuracy").median().alias("median"), pl.col("chance").mean()
        ).row(0)
        published = counterfactuals.filter(model=teacher).select(pl.col("accuracy_published").mean()).item()
        yield (
            f"The surest counterfactuals of {plural(rows.height, 'context')} are confirmed by "
            f"{teacher_name(str(teacher))} in {percent(mean)} on average (median {percent(median)}); random words "
            f"would change the class in {percent(chance)}."
            + (f" By the published rule, which takes all for sure, {percent(published)} are." if published else "")
        )


def _probes(probes: pl.DataFrame) -> Iterator[str]:
    nums = dict(probes.drop_nulls("p_value").group_by("model").len().iter_rows())
    for row in probes.iter_rows(named=True):
        pair = f"{quoted(row['control'])} and {quoted(row['probe'])}"
        if row["rate"] is None:
            yield f"Nothing is said about {pair}: {row['reason']}."
            continue
        rates = f"{percent(row['rate'], 2)} one way and {percent(row['rate_reversed'], 2)} the other"
        yield (
            f"Of {plural(row['num_contexts'], 'context')}, {teacher_name(row['model'])} decides between {pair} in "
            f"{rates}: {_verdict(row, nums.get(row['model'], 0))}."
        )


def _verdict(row: Mapping[str, Any], num_pairs: int) -> str:
    """A difference is a finding only if random words do not differ as much, and its interval names a side."""
    if row["p_holm"] is None:
        return f"no test is made, as {row['reason'] or 'it has no result'}"
    tested = f"by Holm over {plural(num_pairs, 'pair')}, {p_equals(row['p_holm'])} for interchangeable words"
    if not significant(row["p_holm"]):
        least = least_possible("flips", row["num_differing"], num_pairs)
        differing = f"{plural(row['num_differing'], 'sentence')} that {verb(row['num_differing'], 'differ')}"
        could = "" if significant(least) else f"; with {differing}, {p_equals(least)} is the least that could come"
        return f"no difference is shown ({tested}{could})"
    if row["p_random_holm"] is None:
        judged = f"the teacher judged {plural(row['num_random'], 'random word')} there, and {MIN_RANDOM} are needed"
        return f"they differ ({tested}), but whether more than any two words do is not known: {judged}"
    among = f"{p_equals(row['p_random_holm'])} among {plural(row['num_random'], 'random word')}"
    if not significant(row["p_random_holm"]):
        return f"they differ, but no more than random words do ({tested}, {among})"
    side = Lean("difference").side(row)
    if side in ("above", "below"):
        return f"it leans against the {'probe' if side == 'above' else 'control'} ({tested}, {among})"
    return f"they differ, and more than random words do, but the interval names no side ({tested}, {among})"


def _masking(masking: pl.DataFrame) -> Iterator[str]:
    largest = masking.filter(status="ok").filter(pl.col("budget") == pl.col("budget").max())
    for (teacher,), rows in largest.group_by("model", maintain_order=True):
        means = rows.group_by("method", maintain_order=True).agg(pl.col("coverage").mean())
        shares = ", ".join(f"{name.replace('_', ' ')} {percent(share)}" for name, share in means.iter_rows())
        yield (
            f"With {rows['budget'][0]} words left out of the texts that {teacher_name(str(teacher))} gets wrong, its "
            f"class changes in: {shares}."
        )


# --- sections -------------------------------------------------------------------------------------------------------


def _tested(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.drop_nulls("rate")


page = Page(
    "What a word does in its context",
    _QUESTION,
    _facts,
    {Students: _students, UnlikeRatios: _ratios, Counterfactuals: _counterfactuals, Probed: _probes, Masked: _masking},
    _doubts,
    [
        section(
            "students",
            "How well students follow",
            Show(
                Students,
                "Shares of texts, or places, where the student has the teacher's class, with intervals over sentences.",
                "model seed split measure value num",
                most=60,
            ),
        ),
        section(
            "ratios",
            "Words that decide",
            Show(
                UnlikeRatios,
                "Places with the largest share of words that would change the class there.",
                "model word part_of_speech label ratio teacher_ratio num_checked",
                lambda rows: rows.drop_nulls("ratio").sort("ratio", "row", "place", descending=[True, False, False]),
                most=30,
            ),
        ),
        section(
            "counterfactuals",
            "Words that would change the class",
            Show(
                Counterfactuals,
                "The student's surest counterfactuals, and the share that the teacher confirms.",
                "model word label words num num_sure accuracy accuracy_published accuracy_all chance",
                lambda rows: rows.drop_nulls("accuracy"),
                most=30,
            ),
        ),
        section(
            "probes",
            "Probes",
            Dots(
                Probed,
                "difference",
                pl.format("{} / {}, {}", "control", "probe", "model"),
                "positive with the control alone, less with the probe",
                "A dot for each pair of words, with its interval",
                "Share of contexts that are positive with the control and not with the probe, less the reverse.",
            ),
            Show(
                Probed,
                "Pairs of a control and a probe in the contexts that the filter leaves: how often the class is "
                "positive with the one and not with the other.",
                "model control probe num_contexts num_checked rate rate_reversed difference",
            ),
            Show(
                Probed,
                "Whether the two words are interchangeable in each sentence, and whether random words differ as much.",
                "model control probe num_differing p_holm num_random p_random_holm count_control count_probe",
                _tested,
            ),
            Show(
                Probed,
                "What the teacher says of the student's surest contexts that are positive with the control and not "
                "the probe.",
                "model control probe num_claims accuracy_control accuracy_probe accuracy_joint",
                _tested,
            ),
            Show(ProbeContexts, "Contexts that are left.", "model step num_contexts"),
        ),
        section(
            "masking",
            "Words left out of texts that the teacher gets wrong",
            Show(
                Masked,
                "Texts whose class changes within a budget of words, by the score that orders these; intervals are "
                "over sentences, or groups.",
                "model seed method budget coverage mean_masked less_lime num_texts",
                most=60,
            ),
        ),
    ],
)
