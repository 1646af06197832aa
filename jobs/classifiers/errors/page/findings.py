"""What a run of `error_characterisation` found, in sentences: the slices first, then how sure that is."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun
from tiltmeter.jobs.classifiers.errors.page.words import SCORES, STRATEGIES, in_words
from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.html.elements import Bullets, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.sides import Lean
from tiltmeter.jobs.report.wording import listed, number, p_equals, percent, plural, verb
from tiltmeter.jobs.runtime.published import Frames

_MOST = 8
_ASKED = (
    "Of which texts is the model wrong more often than what it says of them lets expect? What can be told in readable "
    "words, and what ranks its errors best?"
)


def lead(frames: Frames, config: ErrorCharacterisationRun) -> Lead:
    """What stands first on the page."""
    sentences = [*_overall(frames), *_slices(frames), *_versions(frames), *_ranking(frames), *_rounds(frames)]
    return Lead([Paragraph(_ASKED)], [Bullets(sentences)], [Bullets(list(_how_sure(frames, config)))])


def leading(frames: Frames) -> pl.DataFrame:
    """The slices that lead, the first first."""
    return frames["slices"].drop_nulls("leading").sort("leading")


def _overall(frames: Frames) -> Iterator[str]:
    rows = measured(frames["predictions"])
    by_class = rows.group_by("predicted").agg(pl.col("is_error").mean(), pl.len()).sort("is_error", descending=True)
    parts = [f"{name} in {percent(rate, 0)}" for name, rate, _ in by_class.rows()]
    yield (
        f"The model is wrong in {percent(_share(rows, 'is_error'), 1)} of {plural(rows.height, 'text')}. By what it "
        f"says: {listed(parts)}."
    )


def _slices(frames: Frames) -> Iterator[str]:
    rows = leading(frames)
    if rows.is_empty():
        yield (
            f"Of {plural(frames['slices'].height, 'slice')}, none is wrong more often than what the model says of its "
            "texts lets expect, beyond chance."
        )
    for row in rows.head(_MOST).to_dicts():
        words = in_words(row["predicates"])
        kept = "" if row["confirmed_p"] < 0.05 else " That is not confirmed."
        points = round(100 * row["confirmed_difference"])
        more = f"{plural(points, 'point')} more than" if points > 0 else "no more than"
        yield (
            f"{words[0].upper()}{words[1:]} are wrong in {percent(row['confirmed_rate'], 0)} "
            f"[{percent(row['confirmed_low'], 0)}, {percent(row['confirmed_high'], 0)}] of "
            f"{plural(row['confirmed_size'], 'text')}, {more} its predictions let expect.{kept}"
        )
    if rows.height > _MOST:
        yield f"{plural(rows.height - _MOST, 'more slice')} {verb(rows.height - _MOST, 'be')} in the table."


def _versions(frames: Frames) -> Iterator[str]:
    if "versions" not in frames:
        return
    whole, *others = frames["versions"].to_dicts()
    yield (
        f"Against the version before, the error rate goes from {percent(whole['before'], 1)} to "
        f"{percent(whole['after'], 1)}."
    )
    worse = [row for row in others if row["leading"]]
    for row in worse[:_MOST]:
        words = in_words(row["predicates"])
        yield (
            f"{words[0].upper()}{words[1:]} got worse: from {percent(row['before'], 0)} to {percent(row['after'], 0)} "
            f"of {plural(row['size'], 'text')} ({p_equals(row['p_value'])})."
        )
    if not worse:
        yield "No slice got worse beyond chance."


def _ranking(frames: Frames) -> Iterator[str]:
    rows = frames["error_models"].filter(split="all", measure="auroc").sort("value", descending=True)
    parts = [f"{SCORES[row['score']]} {number(row['value'], 2)}" for row in rows.to_dicts()]
    yield f"AUROC of what ranks errors, on texts that nothing was trained with: {listed(parts)}."


def _rounds(frames: Frames) -> Iterator[str]:
    if "rounds" not in frames:
        return
    rows = frames["rounds"]
    last = rows.filter(round=rows["round"].max()).filter(pl.col("strategy") != "random")
    sides = {"above": "more", "below": "less"}
    for row in last.to_dicts():
        name, side = STRATEGIES[row["strategy"]], Lean("over_random").side(row)
        if side in sides:
            points, low, high = (number(100 * row[f"over_random{end}"], 1) for end in ("", "_low", "_high"))
            yield (
                f"To label texts by {name} teaches the model {sides[side]} than chance: accuracy after "
                f"{plural(row['num_labels'], 'label')} differs by {points} [{low}, {high}] points."
            )
        else:
            yield f"To label texts by {name} teaches the model no more than chance, as far as can be told."


def _how_sure(frames: Frames, config: ErrorCharacterisationRun) -> Iterator[str]:
    rows, slices = leading(frames), config.slices
    confirmed = rows.filter(pl.col("confirmed_p") < 0.05).height
    yield (
        f"{plural(frames['slices'].height, 'slice')} of at most {slices.max_predicates} predicates were tested on one "
        f"half of the texts; that chance alone finds any has a probability of {percent(slices.alpha, 0)} (max-T over "
        f"{slices.num_permutations:,} permutations of errors within predicted classes)."
    )
    yield (
        f"Rates are those of the other half, which did not choose the slices: {confirmed} of "
        f"{plural(rows.height, 'slice')} {verb(confirmed, 'be')} confirmed there (Holm, 5%). Intervals are exact, "
        f"{percent(config.job.level, 0)}."
    )
    suspected = measured(frames["predictions"])
    share = _share(suspected.filter("is_error"), "is_label_suspected")
    yield f"Of {percent(share, 0)} of the errors, a model of words that has not seen the text suspects the label."
    for row in frames["guarantees"].filter(promise="missed").head(1).to_dicts():
        yield (
            f"Flagging {percent(row['flagged_share'], 0)} of the texts holds {percent(1 - row['level'], 0)} of the "
            f"errors with a probability of {percent(1 - row['delta'], 0)}, of texts like these."
        )


def _share(rows: pl.DataFrame, name: str) -> float | None:
    return None if rows.is_empty() else float(rows[name].cast(pl.Float64).to_numpy().mean())
