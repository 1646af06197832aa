"""The sections of a survey's report."""

import math
from collections.abc import Mapping

import polars as pl

from jobs import dot_plots, figures
from jobs.findings import (
    MEAN_LABEL,
    association_findings,
    both_ends,
    by_cue_pair,
    component_warning,
    correlations,
    ends,
    estimate,
    gender_findings,
    mean_over_pairs,
    measured,
    number,
    occupation_findings,
    why_nothing,
)
from storage.html import Block, Bullets, Chart, Grid, Paragraph, Section

_NUM_PROFESSIONS = 15
_MIN_OCCUPATIONS = 5
_MONTE_CARLO_COVERAGE = {(32, 0.95): ", and for normally distributed flips that of the PSE 93% and that of the JND 89%"}
"""By replicas and level; simulated, as there is no formula for resampled moments."""

Frames = Mapping[str, pl.DataFrame]


def main_findings(level: float, num_replicas: int, frames: Frames) -> list[Block]:
    """What stands out, in sentences and a short table, and how to read the intervals.

    Args:
        level: nominal coverage of the intervals.
        num_replicas: bootstrap replicas that they rest on.
        frames: the tables of the survey by name.
    """
    psychometrics = frames["psychometrics"]
    sentences = [
        *occupation_findings(psychometrics),
        *association_findings(frames["associations"]),
        *gender_findings(frames["gender_languages"], frames["gender_professions"]),
    ]
    extremes = [both_ends(psychometrics)] if measured(psychometrics)["word"].n_unique() > 1 else []
    return [Bullets(sentences), *extremes, _on_intervals(level, num_replicas, _num_tested(frames))]


def _num_tested(frames: Frames) -> dict[str, int]:
    """How many intervals may name a side, by whose they are."""
    tables = {"flips": "psychometrics", "effect sizes": "associations", "biases": "gender_professions"}
    numbers = {whose: measured(frames[name]).height for whose, name in tables.items()}
    return {whose: num for whose, num in numbers.items() if num}


def _on_intervals(level: float, num_replicas: int, num_tested: Mapping[str, int]) -> Paragraph:
    own = _own_coverage(level, num_replicas)
    monte_carlo = _MONTE_CARLO_COVERAGE.get((num_replicas, level), "")
    listed = ", ".join(f"{num * (1 - own):.0f} of {num} for {whose}" for whose, num in num_tested.items())
    by_chance = (
        " None is widened for there being many: at that coverage, so many would exclude the neutral value by chance if "
        f"nothing leaned to a side: about {listed}."
    )
    text = (
        f"In brackets: percentile intervals at a nominal {100 * level:g}%. Sides are named by intervals of the "
        "replicas' own values: of the flips of an occupation, of effect sizes and of biases. They say how far "
        "resampling the corpus, and training anew from other random vectors, moves a value; the effect size or bias "
        "before them comes from the original corpus and may lie outside. Those of PSE and JND say only how well the "
        "replicas fix the number: they shrink with the number of replicas, whatever the corpus, and name no side. All "
        f"are a bit narrow: with {num_replicas} replicas, those of the replicas' own values cover about {own:.0%}"
        f"{monte_carlo}."
    )
    return Paragraph(text + by_chance if num_tested else text, "note")


def _own_coverage(level: float, num_replicas: int) -> float:
    """Chance that one more replica falls into the percentile interval of the others, exactly so for uniform values.

    The k-th smallest of R exceeds a new value with chance k / (R + 1), and the ends are k = 1 + (R - 1)(1 +- level)/2.
    Normal values give a little more: simulated, 90 % instead of 89 % with 32 replicas at a level of 95 %.
    """
    return level * (num_replicas - 1) / (num_replicas + 1)


def survey_sections(frames: Frames) -> list[Section]:
    """What the survey measured, one section per question; where nothing was measured, it says why."""
    psychometrics, associations = frames["psychometrics"], frames["associations"]
    found = measured(psychometrics)
    if found.is_empty():
        nothing = [Paragraph(why_nothing(psychometrics, "occupation"))]
        sections = [Section("occupations", "PSE and JND of the occupations", nothing)]
    else:
        sections = [
            Section("curves", "Psychometric curves", _curves(psychometrics, frames["psychometric_points"])),
            Section("occupations", "PSE and JND of the occupations", _occupations(psychometrics)),
            Section("women", "PSE and the share of women", _share_of_women(psychometrics)),
        ]
    return [
        *sections,
        Section("associations", "Association tests", _associations(associations)),
        Section("professions", "Gender bias of professions", _gender(frames)),
    ]


def _curves(rows: pl.DataFrame, points: pl.DataFrame) -> list[Block]:
    chart = Chart(
        "Line chart: the share of replicas that answer the male cue rises with the weight of that cue; one stepped "
        "line and one fitted curve per occupation.",
        "Thin steps: the replicas. Smooth lines: cumulative normal fitted to them. Filled dot: PSE of the fit, where "
        "half of the replicas answer the male cue. Open dots: 25% and 75%, whose distance is the JND. The more female "
        "an occupation, the further to the right its curve; colours follow that order and name no side. Brackets: how "
        "well so many replicas fix the number. Shown at first are the two ends and a few occupations between them; a "
        "click in the legend shows or hides one.",
        {
            label: figures.psychometric_curves(part, points.join(part, on=["word", "cue_1", "cue_2"], how="semi"))
            for label, part in by_cue_pair(rows).items()
        },
        "Cue pair",
    )
    text = (
        "Each replica is asked which of two cues, such as “woman” and “man”, fits an occupation better, while a "
        "mixture α leads from the female cue (0) to the male cue (1). An occupation that leans to neither side is "
        "answered half and half at α = 0.5 (Liang and Acuna 2020, figure 2)."
    )
    return [Paragraph(text), chart]


def _with_means(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {MEAN_LABEL: mean_over_pairs(rows)} | by_cue_pair(rows)


def _occupations(rows: pl.DataFrame) -> list[Block]:
    chart = Chart(
        "Dot plot: point of subjective equality and just noticeable difference of every measured occupation.",
        "PSE above 0.5 (dotted line): more of the male cue is needed for balance, as for an occupation that leans to "
        "the female side. Thin lines: interval of the replicas' own flips, which says how far resampling the corpus "
        "moves them; a colour names a side where it excludes 0.5. Thick lines, and brackets after PSE and JND: how "
        "well so many replicas fix the number. JND: small where the replicas agree. Means over cue pairs have no "
        "interval.",
        {label: dot_plots.occupations(part) for label, part in _with_means(rows).items()},
        "Cue pair",
    )
    text = (
        "The point of subjective equality (PSE) is the mixture at which the replicas flip on average, the just "
        "noticeable difference (JND) is 1.349 standard deviations of their flips (Liang and Acuna 2020, figure 3)."
    )
    return [Paragraph(text), chart]


def _share_of_women(rows: pl.DataFrame) -> list[Block]:
    means = mean_over_pairs(rows)
    if means.height < _MIN_OCCUPATIONS:
        text = (
            f"Only {means.height} occupations are measured, and {_MIN_OCCUPATIONS} are needed to show how they compare."
        )
        return [Paragraph(text)]
    found = correlations(means["percent_women"], means["pse"])
    chart = Chart(
        f"Scatter plot of PSE against the share of women in {found.num} occupations; for the mean over cue pairs "
        f"r = {number(found.pearson, 2)}.",
        "If the vectors followed the labour market, the dots would rise from left to right.",
        {label: figures.share_of_women(part) for label, part in _with_means(rows).items()},
        "Cue pair",
    )
    text = (
        f"Over {found.num} measured occupations, mean PSE and share of women have Pearson r = "
        f"{number(found.pearson, 2)} and Spearman ρ = {number(found.spearman, 2)}."
    )
    return [Paragraph(text), chart]


def _associations(rows: pl.DataFrame) -> list[Block]:
    found = measured(rows)
    grid = Grid(
        "Association tests with the number of target + attribute words used. Missing words are left out of their sets.",
        ["test", "targets", "attributes", "d", "words used", "missing words", "status"],
        [_association(row) for row in rows.to_dicts()],
        numeric=["d", "words used"],
    )
    if found.is_empty():
        return [Paragraph(why_nothing(rows, "association test")), *([grid] if rows.height else [])]
    chart = Chart(
        f"Dot plot of the effect sizes of {found.height} association tests with intervals around or beside 0.",
        "Positive: the first targets go with the first attributes, and the second with the second. For target sets of "
        "equal size d lies between −2 and 2.",
        {"effect sizes": dot_plots.associations(found)},
    )
    return [
        Paragraph("Effect sizes d of the word embedding association test (WEAT, Caliskan et al. 2017)."),
        chart,
        grid,
    ]


def _association(row: Mapping[str, object]) -> list[str]:
    missing, status = row["missing_words"], str(row["status"])
    return [
        str(row["test"]),
        f"{row['target_x']} / {row['target_y']}",
        f"{row['attribute_a']} / {row['attribute_b']}",
        estimate(row, "effect_size", 2),
        f"{row['num_targets']} + {row['num_attributes']}",
        ", ".join(missing) if isinstance(missing, list) and missing else "none",
        f"{status}: {row['reason']}" if row["reason"] else status,
    ]


def _gender(frames: Frames) -> list[Block]:
    rows, languages = frames["gender_professions"], measured(frames["gender_languages"])
    found = measured(rows)
    if found.is_empty() or languages.is_empty():
        return [Paragraph(why_nothing(rows if found.is_empty() else frames["gender_languages"], "profession"))]
    shown = ends(found, "bias", _NUM_PROFESSIONS)
    which = f"The {_NUM_PROFESSIONS} highest and {_NUM_PROFESSIONS} lowest of" if shown.height < found.height else "All"
    chart = Chart(
        f"Dot plot of the bias of {shown.height} professions along the gender direction.",
        f"{which} {found.height} measured professions. Dots: original corpus; lines: intervals of the replicas.",
        {"professions": dot_plots.professions(shown)},
    )
    return [*(block for row in languages.to_dicts() for block in _direction(row)), chart, *_on_frequency(found)]


def _direction(row: Mapping[str, object]) -> list[Block]:
    text = (
        f"The gender direction is the first principal component of {row['num_pairs']} pairs such as woman – man "
        f"(Bolukbasi et al. 2016). It carries {estimate(row, 'first_share')} of their variance, the second component "
        f"{estimate(row, 'second_share')}. Direct bias, the mean absolute cosine of {row['num_professions']} "
        f"professions with it, is {estimate(row, 'direct_bias')}."
    )
    warning = component_warning(row)
    return [Paragraph(text), *([Paragraph(warning, "warning")] if warning else [])]


def _on_frequency(rows: pl.DataFrame) -> list[Block]:
    rho = correlations(rows["count"].cast(pl.Float64), rows["bias"]).spearman
    if math.isnan(rho):
        return []
    text = (
        f"How often a profession occurs and its bias have Spearman ρ = {number(rho, 2)}. Far from 0, it says that the "
        "order of the professions owes something to their frequency, and not only to their meaning."
    )
    return [Paragraph(text, "note")]
