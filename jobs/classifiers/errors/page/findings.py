"""What a run of `error_characterisation` found, in sentences: the slices first, then how sure that is."""

from collections.abc import Iterator, Sequence

import polars as pl

from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun
from tiltmeter.jobs.classifiers.errors.page.words import SCORES, STRATEGIES, in_words
from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.html.elements import Bullets, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.sides import Lean
from tiltmeter.jobs.report.wording import SIGNIFICANCE, listed, number, p_equals, percent, plural, verb
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.operators.statistics.designs.splits import ADVISED_SPLITS

_MOST = 8
_UNLIKE = 0.01
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
        yield f"{not_one(frames)}."
    for row in rows.head(_MOST).to_dicts():
        words = in_words(row["predicates"])
        kept = _KEPT[None if row["confirmed_p"] is None else row["confirmed_p"] < SIGNIFICANCE]
        points = round(100 * row["confirmed_difference"])
        more = f"{plural(points, 'point')} more than" if points > 0 else "no more than"
        yield (
            f"{words[0].upper()}{words[1:]} are wrong in {percent(row['confirmed_rate'], 0)} "
            f"[{percent(row['confirmed_low'], 0)}, {percent(row['confirmed_high'], 0)}] of "
            f"{plural(row['confirmed_size'], 'text')}, {more} its predictions let expect.{kept}"
        )
    if rows.height > _MOST:
        yield f"{plural(rows.height - _MOST, 'more slice')} {verb(rows.height - _MOST, 'be')} in the table."


_KEPT = {True: "", False: " That is not confirmed.", None: " That can't be confirmed: too few groups have such texts."}


def not_one(frames: Frames) -> str:
    """That no slice leads; what could not be tested is no evidence that there is none."""
    slices = frames["slices"]
    tested = slices.drop_nulls("p_value").height
    few = slices.filter(status="too_few_units")
    untested = f"{plural(few.height, 'slice')} got no test: {few['reason'][0]}" if few.height else ""
    if not tested:
        return f"No slice could be tested. {untested}" if untested else "No slice could be tested"
    sentence = (
        f"Of {plural(tested, 'slice')}, none is wrong more often than what the model says of its texts lets expect, "
        f"beyond chance; the least p is {number(float(slices['p_value'].drop_nulls().to_numpy().min()), 3)}"
    )
    return f"{sentence}. {untested}" if untested else sentence


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
        tested = [row for row in others if row["p_value"] is not None]
        yield "No slice got worse beyond chance." if tested else f"No slice could be tested. {_untested(others)}"


def _untested(rows: Sequence[Row]) -> str:
    return f"{rows[0]['reason'][:1].upper()}{rows[0]['reason'][1:]}." if rows else "None has texts enough."


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
        f"{slices.num_permutations:,} {_DRAWS[_is_grouped(frames)]})."
    )
    yield (
        f"Rates are those of the other half, which did not choose the slices: {confirmed} of "
        f"{plural(rows.height, 'slice')} {verb(confirmed, 'be')} confirmed there (Holm, 5%). Intervals, of "
        f"{percent(config.job.level, 0)}, count groups and not texts."
    )
    if config.splits.number < ADVISED_SPLITS:
        yield f"Means rest on {plural(config.splits.number, 'split')} alone; {ADVISED_SPLITS} are advised."
    judged = measured(frames["predictions"]).filter("is_error").drop_nulls("is_label_suspected")
    if judged.height:
        share = percent(_share(judged, "is_label_suspected"), 0)
        yield f"Of {share} of the errors, a model of words that has not seen the text suspects the label."
    for row in frames["guarantees"].filter(promise="missed", flags="some").head(1).to_dicts():
        any_of = f" that all {row['num_joint']} promises hold" if row["num_joint"] > 1 else ""
        yield (
            f"Flagging {percent(row['flagged_share'], 0)} of the texts holds {percent(1 - row['level'], 0)} of the "
            f"errors with a probability of {percent(1 - row['delta'], 0)}{any_of}, of texts like these."
        )


_DRAWS = {False: "permutations of errors within predicted classes", True: "draws of a sign for each group of texts"}


def _is_grouped(frames: Frames) -> bool:
    """Whether slices were tested by groups: then some slice has fewer groups than texts."""
    slices = frames["slices"]
    return bool((slices["num_groups"] < slices["size"]).any())


def scored_lead(frames: Frames) -> Lead:
    """What stands first on the page of texts that an earlier run's forest scores."""
    asked = "Which of these texts does the model get wrong, by the forest and the thresholds of an earlier run?"
    num = frames["predictions"].drop_nulls("error_score").height
    sentences = [f"{plural(num, 'text')} {verb(num, 'have')} a score, a rank and reasons."]
    for row in frames["checks"].filter(promise="missed").to_dicts():
        share = percent(row["flagged_share"], 0)
        sentences.append(f"To miss at most {percent(row['level'], 0)} of the errors, {share} of them are flagged.")
    return Lead([Paragraph(asked)], [Bullets(sentences)], [Bullets(list(_like_before(frames["checks"])))])


def _like_before(checks: pl.DataFrame) -> Iterator[str]:
    known = checks.drop_nulls("exchangeable_p")
    if known.is_empty():
        yield "Promises are for texts like those that chose the thresholds; no label tells whether these are."
        return
    least = float(known["exchangeable_p"].to_numpy().min())
    unlike = least * known.height <= _UNLIKE
    judged = (
        "are not like those that chose the thresholds, and the promises are not for them"
        if unlike
        else "may be like them"
    )
    yield f"By their labels, these texts {judged} ({p_equals(least)}, the least of {plural(known.height, 'promise')})."


def _share(rows: pl.DataFrame, name: str) -> float | None:
    return None if rows.is_empty() else float(rows[name].cast(pl.Float64).to_numpy().mean())
