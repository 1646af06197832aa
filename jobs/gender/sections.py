"""The sections of a report on gender bias, in one language or across many, after Matthews et al. 2021."""

import math
from typing import Any

import polars as pl

from tiltmeter.jobs.gender import counts as gender_counts
from tiltmeter.jobs.gender import figures as gender_figures
from tiltmeter.jobs.gender import heat_maps as gender_heat_maps
from tiltmeter.jobs.gender.findings import (
    Tables,
    by_label,
    doubts,
    kind,
    labelled,
    main_findings,
    on_pairs,
    pair_name,
    strongest_pairs,
    with_direction,
)
from tiltmeter.jobs.gender.missing import without_result
from tiltmeter.jobs.report.findings import ends, measured, why_nothing
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Details, Grid, Paragraph, Section
from tiltmeter.jobs.report.wording import estimate, number
from tiltmeter.operators.statistics.correlation import correlation

_NUM_ENDS = 15
_MAX_PROFESSIONS = 40
_INTERVALS = "Dots: original corpus; lines: intervals of the replicas."
_SAYS_LITTLE = "The bias along such a direction says little."
_CELLS = "Bold: the interval of the replicas excludes 0. Grey: no result; the pointer shows why"


def findings(frames: Tables) -> list[Block]:
    """What stands out, in sentences.

    Args:
        frames: the tables of the run by name: ``gender_words``, ``gender_professions``, ``gender_languages``,
            ``gender_pairs`` and, of a survey across languages, ``language_correlation``.
    """
    return [Bullets(list(main_findings(labelled(frames))))]


def doubtful_directions(frames: Tables) -> list[Block]:
    """Where the bias along the direction says little: in a warning for one language, in one warning for several."""
    languages = labelled(frames)["gender_languages"]
    reasons = doubts(languages)
    if len(reasons) == 1:
        return [Paragraph(f"{reasons[0]} {_SAYS_LITTLE}", "warning")]
    if not reasons:
        return []
    known = with_direction(languages).height
    text = f"The gender direction is doubtful in {len(reasons)} of {known} {kind(languages)}s. {_SAYS_LITTLE}"
    return [Paragraph(text, "warning"), Details("Which, and why", [Bullets(reasons)])]


def sections(frames: Tables) -> list[Section]:
    """What was measured, one section per question, and why the rest could not be given; ``frames`` as above."""
    known = labelled(frames)
    asked = [
        Section("gender-direction", "The gender direction", _direction(known)),
        Section("professions", "Gender bias of professions", _professions(known)),
        Section("direct-bias", "Direct bias", _direct_bias(known)),
        Section("left-out", "If a defining pair is left out", _pairs(known["gender_pairs"])),
        Section("alike", "How alike the languages are", _alike(known)),
        Section("gender-words", "How often the words of the lists occur", gender_counts.blocks(known["gender_words"])),
        Section("not-given", "What cannot be given, and why", without_result(known)),
    ]
    return [section for section in asked if section.blocks]


# --- the direction --------------------------------------------------------------------------------------------------


def _direction(frames: Tables) -> list[Block]:
    languages = with_direction(frames["gender_languages"])
    if languages.is_empty():
        return [Paragraph(why_nothing(frames["gender_languages"], "gender direction"))]
    text = (
        "The gender direction is the first principal component of pairs of words that differ in gender alone, such as "
        "woman – man (Bolukbasi et al. 2016). If it stands for gender, the female words lie on its positive side, the "
        "male words on its negative side, and the other components carry much less of the pairs' variance."
    )
    words = frames["gender_words"].filter(pl.col("list") == "defining").join(languages, on="label", how="semi")
    means = [_means_by_gender(languages)] if languages.height > 1 else []
    return [Paragraph(text), _defining_words(words), *means, _components(languages)]


def _defining_words(words: pl.DataFrame) -> Chart:
    span = gender_figures.span_of(measured(words), "bias")
    axis = " The axis is the same for all." if words["label"].n_unique() > 1 else ""
    return Chart(
        "Dot plot of the defining words along the gender direction: one row per pair, with its female and male word.",
        "One row per defining pair: its female word above the line, its male word below. A word without a vector is "
        f"left out. {_INTERVALS}{axis}",
        {label: gender_figures.defining_words(part, span) for label, part in by_label(words).items()},
        kind(words).capitalize(),
    )


def _means_by_gender(languages: pl.DataFrame) -> Chart:
    return Chart(
        f"Dot plot of the mean bias of the female and of the male defining words in {languages.height} languages.",
        f"Mean over the defining words. The further apart the two dots, the better the direction separates the words "
        f"that it is made from. {_INTERVALS}",
        {"means": gender_figures.means_by_gender(languages)},
    )


def _components(languages: pl.DataFrame) -> Grid:
    numbers = ["female words", "male words", "first component", "second component", "gap", "pairs"]
    keys = ["female_words", "male_words", "first_share", "second_share", "gap"]
    return Grid(
        "Mean bias of the defining words; share of their pairs' variance along the first two components, and the gap "
        "between the two. One direction is taken to stand for gender if the first carries at least twice as much as "
        "the second. Matthews et al. 2021 found that it does not for Chinese.",
        [kind(languages), *numbers, "direction"],
        [
            [row["label"], *(estimate(row, key, 2) for key in keys), str(row["num_pairs"]), _doubtful(row["warning"])]
            for row in languages.to_dicts()
        ],
        numeric=numbers,
    )


def _doubtful(warning: str) -> str:
    return "doubtful" if warning else "clear"


# --- professions ----------------------------------------------------------------------------------------------------


def _professions(frames: Tables) -> list[Block]:
    rows = frames["gender_professions"]
    found = measured(rows)
    if found.is_empty():
        known = with_direction(frames["gender_languages"])
        return [] if known.is_empty() else [Paragraph(why_nothing(rows, "profession"))]
    across = _across_languages(rows, found) if found["label"].n_unique() > 1 else []
    return [*across, _by_language(found, frames["gender_words"]), *_on_frequency(found)]


def _across_languages(rows: pl.DataFrame, found: pl.DataFrame) -> list[Block]:
    shared = found.group_by("profession").agg(pl.col("bias").mean(), pl.len().alias("num")).filter(pl.col("num") > 1)
    if shared.is_empty():
        return []
    shown, labels = _shown(shared), list(by_label(rows))
    chart = Chart(
        f"Heat map of the bias of {shown.height} professions in {len(labels)} {kind(rows)}s.",
        f"{_which(shown, shared)} professions that at least two {kind(rows)}s have, the most female on average at the "
        f"top. {_CELLS}.",
        {"bias": gender_heat_maps.professions(rows.join(shown, on="profession", how="semi"), labels)},
    )
    text = "Bias is the cosine with the gender direction: positive on the female side, negative on the male side."
    return [Paragraph(text), chart]


def _shown(rows: pl.DataFrame) -> pl.DataFrame:
    return rows if rows.height <= _MAX_PROFESSIONS else ends(rows, "bias", _NUM_ENDS)


def _which(shown: pl.DataFrame, found: pl.DataFrame) -> str:
    if shown.height == found.height:
        return f"All {found.height}"
    return f"The {_NUM_ENDS} highest and {_NUM_ENDS} lowest of {found.height}"


def _by_language(found: pl.DataFrame, words: pl.DataFrame) -> Chart:
    known = measured(words).filter(pl.col("list") == "professions")
    forms = by_label(known)
    parts = by_label(found)
    shown = {label: _shown(part) for label, part in parts.items()}
    drawn = pl.concat([*shown.values(), known.select("bias")], how="diagonal")
    span = gender_figures.span_of(drawn, "bias", "bias_weighted")
    which = " ".join(f"{_which(shown[label], part)} measured professions. " for label, part in parts.items())
    have_forms = known.select("label", "item").is_duplicated().any()
    on_forms = (
        "Where a profession has several forms (at the right, in the colour of their gender), the dot weights genders "
        "equally, a diamond weights the forms by their count, and strokes show the forms one by one. "
    )
    return Chart(
        "Dot plot of the bias of professions along the gender direction.",
        f"{which if len(parts) == 1 else ''}{on_forms if have_forms else ''}{_INTERVALS}",
        {
            label: gender_figures.professions(part, forms.get(label, known.clear()), span)
            for label, part in shown.items()
        },
        kind(found).capitalize(),
    )


def _on_frequency(found: pl.DataFrame) -> list[Block]:
    rhos = {
        label: correlation(part["count"].cast(pl.Float64).to_numpy(), part["bias"].to_numpy()).spearman
        for label, part in by_label(found).items()
    }
    named = [f"{number(rho, 2)} in {label}" for label, rho in rhos.items() if not math.isnan(rho)]
    if not named:
        return []
    text = (
        f"How often a profession occurs and its bias have Spearman ρ = {', '.join(named)}. Far from 0, it says that "
        "the order of the professions owes something to their frequency, and not only to their meaning."
    )
    return [Paragraph(text, "note")]


def _direct_bias(frames: Tables) -> list[Block]:
    found = measured(frames["gender_languages"]).drop_nulls("direct_bias")
    if found.is_empty():
        return []
    exponents = ", ".join(f"{value:g}" for value in found["exponent"].unique().sort().drop_nulls())
    text = (
        "Direct bias is the mean over the professions of the size of their bias, to the power "
        f"c = {exponents} (Bolukbasi et al. 2016). It is above 0 for any vectors, so it can be compared, but does not "
        "show by itself that vectors are biased."
    )
    chart = Chart(
        f"Dot plot of the direct bias of {found.height} {kind(found)}s with both weights of the forms.",
        f"The highest at the top. {_INTERVALS}",
        {"direct bias": gender_figures.direct_bias(found)},
    )
    numbers = ["direct bias", "weighted by count", "professions", "pairs"]
    rows = [
        [row["label"], *(estimate(row, key) for key in ("direct_bias", "direct_bias_weighted")), *_basis(row)]
        for row in found.to_dicts()
    ]
    grid = Grid("", [kind(found), *numbers], rows, numeric=numbers)
    return [Paragraph(text), *([chart] if found.height > 1 else []), grid]


def _basis(row: dict[str, Any]) -> list[str]:
    return [str(row["num_professions"]), str(row["num_pairs"])]


# --- pairs and languages --------------------------------------------------------------------------------------------


def _pairs(rows: pl.DataFrame) -> list[Block]:
    found = measured(rows).drop_nulls("change")
    if found.is_empty():
        return []
    text = (
        "Each defining pair is left out in turn, and direction and direct bias are computed from the others. A "
        "result that rests on one pair says more about that pair than about gender. Matthews et al. 2021 did so too, "
        "and point to wife – husband."
    )
    parts, strongest = by_label(found), strongest_pairs(found)
    each = {label: gender_figures.pair_changes(part) for label, part in parts.items()}
    whole = {f"all {kind(rows)}s": gender_heat_maps.pair_changes(rows, list(by_label(rows)))} if len(parts) > 1 else {}
    chart = Chart(
        "Change of direct bias when a defining pair is left out.",
        f"Positive: without the pair, direct bias is larger. {f'{_CELLS}. ' if whole else ''}{_INTERVALS}",
        whole | each,
        kind(rows).capitalize(),
    )
    return [Paragraph(text), Paragraph(on_pairs(strongest)), chart, _strongest(strongest)]


def _strongest(rows: pl.DataFrame) -> Grid:
    numbers = ["change", "direct bias without it", "cosine of the directions"]
    digits = {"change": 4, "direct_bias": 3, "similarity": 3}
    return Grid(
        "The pair whose absence changes direct bias most; as the most extreme of several it overstates the change. The "
        "cosine of the directions with and without it is 1 if the pair does not matter.",
        [kind(rows), "pair", *numbers],
        [
            [row["label"], pair_name(row["pair"]), *(estimate(row, key, num) for key, num in digits.items())]
            for row in rows.to_dicts()
        ],
        numeric=numbers,
    )


def _alike(frames: Tables) -> list[Block]:
    rows = frames.get("language_correlation")
    if rows is None or rows["language_1"].n_unique() < 2:
        return []
    text = (
        "Two languages are alike if the same professions lie on the female side in both: Pearson's r of the bias of "
        "the professions that both have. The tree joins the most alike first, by the mean of 1 − r between two groups "
        "(Matthews et al. 2021, figure 6)."
    )
    chart = Chart(
        f"Heat map of the correlation between {rows['language_1'].n_unique()} languages under a tree that groups them.",
        "The lower two branches meet, the more alike they are; an unknown r counts as 0 in the tree. "
        f"{_CELLS}, and elsewhere intervals and the number of professions.",
        {"correlations": gender_heat_maps.correlations(rows)},
    )
    return [Paragraph(text), chart]
