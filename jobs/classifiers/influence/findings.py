"""What a run of `word_influence` found, in sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.classifiers.influence.config import CHECKPOINT
from tiltmeter.jobs.report.sides import Lean
from tiltmeter.jobs.report.wording import number, p_equals, percent, plural, quoted, significant, verb
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.classifiers.influence.probes import MIN_RANDOM
from tiltmeter.operators.statistics.multiplicity import least_possible

_ALONE = "all_correct_context_only"


def sentences(frames: Frames) -> Iterator[str]:
    """Of all tables that there are."""
    if "students" in frames:
        yield from _students(frames["students"])
    if "unlike_ratios" in frames:
        yield from _ratios(frames["unlike_ratios"])
    if "counterfactuals" in frames:
        yield from _counterfactuals(frames["counterfactuals"])
    if "probes" in frames:
        yield from _probes(frames["probes"])
    if "masking" in frames:
        yield from _masking(frames["masking"])


def teacher_name(name: str) -> str:
    """Of a trained one, or of a checkpoint.

    >>> teacher_name("0"), teacher_name("checkpoint"), teacher_name("before")
    ('teacher 0', 'the checkpoint', 'before')
    """
    if name == CHECKPOINT:
        return "the checkpoint"
    return f"teacher {name}" if name.isdigit() else name


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
