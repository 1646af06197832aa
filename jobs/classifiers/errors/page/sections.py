"""The sections of the page of `error_characterisation`."""

from collections.abc import Iterator

from tiltmeter.jobs.classifiers.errors.page.ranking import (
    models_grid,
    precision_chart,
    precision_grid,
    rounds_chart,
    rounds_grid,
)
from tiltmeter.jobs.classifiers.errors.page.slices import slice_blocks, versions_grid
from tiltmeter.jobs.report.grids import cell, count, estimate, grid, number, p_value, percent, text
from tiltmeter.jobs.report.html.elements import Grid, Section
from tiltmeter.jobs.report.wording import phrase
from tiltmeter.jobs.runtime.published import Frames

_MOST = 40


def sections(frames: Frames) -> Iterator[Section]:
    """All of them, the slices first."""
    yield Section("slices", "Slices", slice_blocks(frames))
    if "versions" in frames:
        yield Section("versions", "What moved between two versions", [versions_grid(frames)])
    yield Section("texts", "Texts that are most likely wrong", [_texts(frames)])
    yield Section(
        "ranking", "What ranks errors", [precision_chart(frames), models_grid(frames), precision_grid(frames)]
    )
    yield Section("features", "What tells errors", [_features(frames)])
    yield Section("guarantees", "What flagged texts promise", [_guarantees(frames)])
    if "rounds" in frames:
        yield Section("rounds", "Rounds of labelling", [rounds_chart(frames), rounds_grid(frames)])


def scored_sections(frames: Frames) -> Iterator[Section]:
    """Of texts that an earlier run's forest scores."""
    yield Section("texts", "Texts that are most likely wrong", [_texts(frames)])
    yield Section("checks", "What the earlier run promised", [_checks(frames)])


def _texts(frames: Frames) -> Grid:
    known = (
        frames["predictions"]
        .drop_nulls("error_score")
        .join(frames["texts"].select("row", "id", "text", "label"), on="row")
    )
    return grid(
        "Texts of the highest probability of an error, labelled or not, by a forest that was trained without them, and "
        "what moves it most from the mean. The table predictions has all of them.",
        known.sort("rank").head(_MOST // 2),
        count("rank"),
        text("id"),
        text("text"),
        text("predicted"),
        text("label"),
        number("error_score", "error", 2),
        cell("because of", lambda row: ", ".join(row["reasons"] or [])),
    )


def _features(frames: Frames) -> Grid:
    return grid(
        "AUROC of a feature alone: above one half it goes with errors, below with hits. Importance is what the forest "
        "of readable features loses when the feature, and those that correlate with it, are shuffled.",
        frames["feature_power"],
        text("feature", names=phrase),
        percent("share", "texts that have it"),
        estimate("auroc", "AUROC alone"),
        estimate("importance"),
        text("part", "shuffled with", phrase),
        most=_MOST,
        table="feature_power",
    )


_PROMISES = {"missed": "share of errors that is missed", "unflagged": "error rate of the others"}


def _guarantees(frames: Frames) -> Grid:
    return grid(
        "The smallest flagged set for each promise, by a forest of one half of the texts and a threshold of the other. "
        "One text of each group counts. data.scored_by names this run to flag other texts.",
        frames["guarantees"],
        text("promise", names=_PROMISES),
        number("level", "at most", 2),
        number("delta", "but for", 2),
        count("num_joint", "of so many together"),
        number("achieved_delta", "exactly", 3),
        text("flags"),
        number("threshold"),
        percent("flagged_share", "flagged"),
        percent("missed", "missed errors"),
        percent("unflagged_rate", "wrong among others"),
        percent("unflagged_most", "at most, by others"),
        text("reason"),
    )


def _checks(frames: Frames) -> Grid:
    return grid(
        "Each promise on these texts. p is the chance to miss as many errors where texts are of the kind that chose "
        "the threshold; below 0.01 the promise is not for these.",
        frames["checks"],
        text("promise", names=_PROMISES),
        number("level", "at most", 2),
        text("flags"),
        number("threshold"),
        percent("flagged_share", "flagged"),
        count("num_errors", "errors, one of a group"),
        percent("missed", "missed errors"),
        percent("unflagged_rate", "wrong among others"),
        p_value("exchangeable_p", "p"),
        text("reason"),
    )
