"""The page of `gender_survey`: gender bias in one language or across many, after Matthews et al. 2021."""

import math

import polars as pl

from tiltmeter.jobs.embedding.page import Measure, page_of
from tiltmeter.jobs.embedding.sections import Compared
from tiltmeter.jobs.gender import figures
from tiltmeter.jobs.gender.findings import (
    BIAS,
    WEIGHTED,
    WIFE_HUSBAND,
    Tables,
    by_label,
    doubtful,
    gaps,
    kind,
    labelled,
    main_findings,
    on_pairs,
    other_weights,
    outside,
    profession_in,
    strongest_pairs,
    weighted,
    with_direction,
)
from tiltmeter.jobs.report import wording
from tiltmeter.jobs.report.findings import correlations, ends, labels_of, measured, why_nothing
from tiltmeter.jobs.report.grids import Column, cell, count, estimate, grid, listed, number, p_value, percent, text
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Details, Grid, Paragraph, Section
from tiltmeter.jobs.report.intervals import NamedSides
from tiltmeter.jobs.report.plots.dots import ends_of
from tiltmeter.jobs.report.wording import isolated, plural, verb
from tiltmeter.jobs.runtime.published import Frames

_NUM_ENDS = 15
_MAX_PROFESSIONS = 40
_INTERVALS = "Dots: original corpus; lines: intervals for this corpus drawn again."
_CELLS = "Bold: the interval excludes 0 and holds the number. Grey: no result; the pointer shows why"
_GENDERS = ("feminine", "masculine", "neutral")
_LISTS = {"professions": "forms of professions", "defining": "defining words"}
_NUM_NAMED = 5
_SAYS_LITTLE = "The bias along such a direction says little."


def sections(tables: Tables) -> list[Section]:
    """What was measured, one section per question, and why the rest could not be given."""
    asked = [
        Section("gender-direction", "The gender direction", _direction(tables)),
        Section("professions", "Gender bias of professions", _professions(tables)),
        Section("direct-bias", "Direct bias", _direct_bias(tables)),
        Section("left-out", "If a defining pair is left out", _pairs(tables)),
        Section("alike", "How alike the languages are", _alike(tables)),
        Section("original-lists", "Beside the original lists", _original(tables)),
        Section(
            "gender-words",
            "How often the words of the lists occur",
            [*_occurrences(tables["gender_words"]), *_profession_shares(tables["gender_languages"])],
        ),
        Section("not-given", "What cannot be given, and why", _without_result(tables)),
    ]
    return [section for section in asked if section.blocks]


# --- the direction --------------------------------------------------------------------------------------------------


def _direction(tables: Tables) -> list[Block]:
    languages = with_direction(tables["gender_languages"])
    if languages.is_empty():
        return [Paragraph(why_nothing(tables["gender_languages"], "gender direction"))]
    explanation = (
        "The gender direction is the first principal component of pairs of words that differ in gender alone, such as "
        "woman – man (Bolukbasi et al. 2016). If it stands for gender, the female words lie on its positive side, the "
        "male words on its negative side, and the other components carry much less of the pairs' variance."
    )
    has_several = languages.height > 1
    words = tables["gender_words"].filter(list="defining").join(languages, on="label", how="semi")
    axis = ends_of(measured(words), "bias")
    defining = Chart(
        "Dot plot of the defining words along the gender direction: one row per pair, with its female and male word.",
        "One row per defining pair: its female word above the line, its male word below. A word without a vector is "
        f"left out. {_INTERVALS}{' The axis is the same for all.' if has_several else ''}",
        {label: figures.defining_words(part, axis) for label, part in by_label(words).items()},
        kind(words).capitalize(),
    )
    if not has_several:
        return [Paragraph(explanation), defining, _components(languages)]
    means = Chart(
        f"Dot plot of the mean bias of the female and of the male defining words in {languages.height} languages.",
        "Mean over the defining words. The further apart the two dots, the better the direction separates the words "
        f"that it is made from. {_INTERVALS}",
        {"means": figures.means_by_gender(languages)},
    )
    return [Paragraph(explanation), defining, means, _components(languages)]


def _components(languages: pl.DataFrame) -> Grid:
    headings = {"first_share": "first component", "second_share": "second component"}
    numbers = ("female_words", "male_words", "first_share", "second_share", "gap")
    return grid(
        "Mean bias of the defining words; share of their pairs' variance along the first two components, and the gap "
        "between the two. One direction is taken to stand for gender if the first carries at least twice as much as "
        "the second, a convention of this report. Matthews et al. 2021 found the first not much larger than the second "
        "in Chinese.",
        languages,
        text("label", kind(languages)),
        *(estimate(name, headings.get(name), 2) for name in numbers),
        count("num_pairs"),
        cell("direction", lambda row: "doubtful" if row["warning"] else "clear"),
    )


# --- professions ----------------------------------------------------------------------------------------------------


def _professions(tables: Tables) -> list[Block]:
    rows = tables["gender_professions"]
    known = measured(rows)
    if known.is_empty():
        has_direction = with_direction(tables["gender_languages"]).height
        return [Paragraph(why_nothing(rows, "profession"))] if has_direction else []
    return [*_across_languages(rows), _by_language(known, tables["gender_words"]), *_on_frequency(known)]


def _across_languages(rows: pl.DataFrame) -> list[Block]:
    means = measured(rows).group_by("profession").agg(pl.col("bias").mean(), pl.len().alias("num"))
    shared = means.filter(pl.col("num") > 1)
    if shared.is_empty():
        return []
    shown = _shown(shared).sort("bias", "profession", descending=[True, False])
    chart = Chart(
        f"Heat map of the bias of {shown.height} professions in {rows['label'].n_unique()} {kind(rows)}s.",
        f"{_which(shared)} professions that at least two {kind(rows)}s have, the most female on average at the top. "
        f"{_CELLS}.",
        {"bias": figures.profession_map(rows, shown["profession"])},
    )
    text = (
        "Bias is the cosine with the gender direction: positive on the female side, negative on the male side. Of a "
        f"profession with several forms it is their mean, {weighted(rows)}."
    )
    return [Paragraph(text), chart]


def _shown(rows: pl.DataFrame) -> pl.DataFrame:
    return rows if rows.height <= _MAX_PROFESSIONS else ends(rows, "bias", _NUM_ENDS)


def _which(rows: pl.DataFrame) -> str:
    if rows.height <= _MAX_PROFESSIONS:
        return f"All {rows.height}"
    return f"The {_NUM_ENDS} highest and {_NUM_ENDS} lowest of {rows.height}"


def _by_language(known: pl.DataFrame, words: pl.DataFrame) -> Chart:
    forms = measured(words).filter(list="professions")
    parts = by_label(known)
    shown = {label: _shown(part) for label, part in parts.items()}
    biases = ["bias", *(f"bias_by_{weights}" for weights in WEIGHTED)]
    axis = ends_of(pl.concat([*shown.values(), forms.select("bias")], how="diagonal"), *biases)
    which = f"{_which(known)} measured professions. " if len(parts) == 1 else ""
    on_forms = (
        "Where a profession has several forms (at the right, in the colour of their gender), the dot is their mean, "
        f"{weighted(known)}; the other two means are open marks below it, and strokes show the forms one by one. "
    )
    have_forms = forms.select("label", "item").is_duplicated().any()
    return Chart(
        "Dot plot of the bias of professions along the gender direction.",
        f"{which}{on_forms if have_forms else ''}{_INTERVALS}",
        {label: figures.professions(part, forms.filter(label=label), axis) for label, part in shown.items()},
        kind(known).capitalize(),
    )


def _on_frequency(known: pl.DataFrame) -> list[Block]:
    rhos = {label: correlations(part["count"], part["bias"]).spearman for label, part in by_label(known).items()}
    named = ", ".join(f"{wording.number(rho, 2)} in {label}" for label, rho in rhos.items() if not math.isnan(rho))
    text = (
        f"How often a profession occurs and its bias have Spearman ρ = {named}. Far from 0, it says that the order of "
        "the professions owes something to their frequency, and not only to their meaning."
    )
    return [Paragraph(text, "note")] if named else []


def _direct_bias(tables: Tables) -> list[Block]:
    known = measured(tables["gender_languages"]).drop_nulls("direct_bias")
    if known.is_empty():
        return []
    exponents = ", ".join(f"{value:g}" for value in known["exponent"].unique().sort().drop_nulls())
    explanation = (
        "Direct bias is the mean over the professions of the size of their bias, to the power "
        f"c = {exponents} (Bolukbasi et al. 2016). It is above 0 for any vectors, so it can be compared, but does not "
        "show by itself that vectors are biased. Forms of a profession on both sides of the direction cancel in its "
        "mean; the last column takes the mean of their sizes instead, in which they do not."
    )
    chart = Chart(
        f"Dot plot of the direct bias of {known.height} {kind(known)}s by all weights of the forms.",
        f"The highest at the top. {_INTERVALS}",
        {"direct bias": figures.direct_bias(known)},
    )
    label = text("label", kind(known))
    counts = [count("num_professions"), count("num_pairs")]
    of_forms = estimate("direct_bias_of_forms", "size of each form")
    means = (
        "The mean bias over the professions, with its sign: positive on the female side. Matthews et al. 2021 prefer "
        "forms weighted by count, because equal weights overestimated the female bias in many cases."
    )
    return [
        Paragraph(explanation),
        *([chart] if known.height > 1 else []),
        grid("Direct bias.", known, label, *_by_weights(known, "direct_bias"), *counts, of_forms),
        grid(means, known, label, *_by_weights(known, "mean_bias")),
    ]


def _by_weights(rows: pl.DataFrame, name: str) -> list[Column]:
    """A number by the weights that were asked for, and by the others."""
    each = [estimate(f"{name}_by_{weights}", WEIGHTED[weights]) for weights in other_weights(rows)]
    return [estimate(name, weighted(rows)), *each]


# --- pairs and languages --------------------------------------------------------------------------------------------


def _pairs(tables: Tables) -> list[Block]:
    rows = tables["gender_pairs"]
    known = measured(rows).drop_nulls("change")
    if known.is_empty():
        return _gaps(tables)
    explanation = (
        "Each defining pair is left out in turn, and direction and direct bias are computed from the others. A "
        "result that rests on one pair says more about that pair than about gender."
    )
    parts, strongest = by_label(known), strongest_pairs(known)
    each = {label: figures.pair_changes(part) for label, part in parts.items()}
    whole = {f"all {kind(rows)}s": figures.pair_map(rows)} if len(parts) > 1 else {}
    chart = Chart(
        "Change of direct bias when a defining pair is left out.",
        f"Positive: without the pair, direct bias is larger. {f'{_CELLS}. ' if whole else ''}{_INTERVALS}",
        whole | each,
        kind(rows).capitalize(),
    )
    table = grid(
        "The pair whose absence changes direct bias most; as the most extreme of several it overstates the change. The "
        "cosine of the directions with and without it is 1 if the pair does not matter.",
        strongest,
        text("label", kind(strongest)),
        "pair",
        estimate("change", digits=4),
        estimate("direct_bias", "direct bias without it"),
        estimate("similarity", "cosine of the directions"),
    )
    return [Paragraph(explanation), Paragraph(on_pairs(strongest)), chart, table, *_gaps(tables)]


def _gaps(tables: Tables) -> list[Block]:
    """The gap of the first two components with and without wife and husband."""
    rows = gaps(with_direction(tables["gender_languages"]), tables["gender_pairs"])
    if not rows["gap_without"].count():
        return []
    explanation = (
        "Matthews et al. 2021 find husband on the female side in many languages, and repeat their analysis without "
        f"{WIFE_HUSBAND}: the gap between the first two components grows in all of their languages but Wolof. Of fewer "
        "pairs it tends to be larger, so the table has the mean gap without one of the other pairs beside it."
    )
    chart = Chart(
        f"Dot plot of the gap between the first two components of the pairs in {rows.height} {kind(rows)}s.",
        f"The largest gap at the top. {_INTERVALS}",
        {"gap": figures.gaps(rows)},
    )
    table = grid(
        "Share of the pairs' variance along the first component less that along the second.",
        rows,
        text("label", kind(rows)),
        estimate("gap", "all pairs"),
        estimate("gap_without", f"without {WIFE_HUSBAND}"),
        number("gap_without_another", "without another pair"),
    )
    return [Paragraph(explanation), *([chart] if rows.height > 1 else []), table]


def _alike(tables: Tables) -> list[Block]:
    rows = tables.get("language_correlation")
    if rows is None or rows["language_1"].n_unique() < 2:
        return []
    what = kind(tables["gender_languages"])
    explanation = (
        f"Two {what}s are alike if the same professions lie on the female side in both: Pearson's r of the bias of "
        "the professions that both have. The tree joins the most alike first, by the mean of 1 − r between two groups, "
        "after figure 6 of Matthews et al. 2021, which leaves out Chinese and Wolof."
    )
    chart = Chart(
        f"Heat map of the correlation between {rows['language_1'].n_unique()} {what}s under a tree that groups them.",
        "The lower two branches meet, the more alike they are; an unknown r counts as 0 in the tree. "
        f"{_CELLS}, and elsewhere intervals and the number of professions.",
        {"correlations": figures.correlations(rows)},
    )
    return [Paragraph(explanation), chart]


# --- the lists ------------------------------------------------------------------------------------------------------


def _original(tables: Tables) -> list[Block]:
    rows = tables.get("gender_sets")
    known = measured(rows) if rows is not None else None
    if known is None or known.is_empty():
        return []
    explanation = (
        "Do the pairs and professions of the survey measure what the original ones of Bolukbasi et al. 2016 do? A "
        "t that does not assume equal variances holds the biases of the two lists of professions against each "
        "other, each along the direction of its own pairs, and p says how often two lists dealt from these words by "
        "chance have one as large. It speaks of these words in this corpus; the interval of t, of this corpus drawn "
        "again. The t-test of Matthews et al. 2021 was not significant for the English Wikipedia."
    )
    table = grid(
        "Bias with its sign, and its size without, of which direct bias is the mean; p is of the original corpus.",
        known,
        text("label", kind(known)),
        text("score", "of"),
        estimate("original_mean", "original mean"),
        estimate("modified_mean", "mean of the survey"),
        estimate("t", digits=2),
        number("df", "degrees of freedom", 1),
        p_value("p"),
        estimate("similarity", "cosine of the directions"),
    )
    return [Paragraph(explanation), table]


# --- how often they occur -------------------------------------------------------------------------------------------


def _occurrences(words: pl.DataFrame) -> list[Block]:
    """The counts of all languages and, for each of them, the words without a vector and the notes on its words."""
    counted = counts_by_gender(words)
    details = [*_without_vector(words), *_notes(words)]
    if counted.is_empty():
        return details
    explanation = (
        "A bias weighted by count follows the form that occurs most. Where the masculine form is used of everybody, or "
        "where most people in a profession are men, that is the masculine one."
    )
    is_gendered = counted.filter(pl.col("feminine") + pl.col("masculine") > 0, list="professions").height
    gendered = [Paragraph(explanation)] if is_gendered else []
    chart = [_chart_of_counts(counted)] if counted["label"].n_unique() > 1 else []
    table = grid(
        "Occurrences in the original corpus. Feminine share: of the feminine and masculine words together.",
        counted.sort("list", descending=True, maintain_order=True),
        text("label", kind(counted)),
        text("list", "words", _LISTS),
        *map(count, _GENDERS),
        percent("share", "feminine share"),
    )
    return [*gendered, *chart, table, *details]


def counts_by_gender(words: pl.DataFrame) -> pl.DataFrame:
    """Occurrences by label, list and gender; a word that stands in a list twice counts once.

    Args:
        words: ``gender_words`` with labels; words of which no count is known are left out.

    Returns:
        ``label``, ``language``, ``list``, a column for each gender, and ``share``: feminine occurrences as a share of
        feminine and masculine ones, null if there are none.
    """
    once = words.drop_nulls("count").unique(["label", "list", "gender", "word"], keep="first", maintain_order=True)
    sums = [pl.col("count").filter(gender=gender).sum().alias(gender) for gender in _GENDERS]
    counts = once.group_by("label", "language", "list", maintain_order=True).agg(sums)
    both = pl.col("feminine") + pl.col("masculine")
    return counts.with_columns(share=pl.when(both > 0).then(pl.col("feminine") / both))


def _chart_of_counts(counted: pl.DataFrame) -> Chart:
    parts = {title: counted.filter(list=name) for name, title in _LISTS.items()}
    return Chart(
        "Bar chart: shares of feminine, masculine and neutral words in all occurrences of the words of a list.",
        "Shares of all occurrences of a list's words in the original corpus. The pointer shows the counts.",
        {title: figures.shares(part) for title, part in parts.items() if part.height},
        "Words",
    )


def _profession_shares(languages: pl.DataFrame) -> list[Block]:
    """How much of each corpus the forms of professions are."""
    known = languages.drop_nulls("profession_share")
    table = grid(
        "Forms of professions as a share of all words of the corpus. Matthews et al. 2021 print 0.014 % to 0.037 % for "
        "nine whole Wikipedias.",
        known,
        text("label", kind(languages)),
        percent("profession_share", "share", 3),
    )
    return [table] if known.height else []


# --- what each language lacks, and what is doubtful -----------------------------------------------------------------


def _without_vector(words: pl.DataFrame) -> list[Block]:
    return [
        Details(
            f"{label}: {part.height} of {plural(words.filter(label=label).height, 'listed word')} "
            f"{verb(part.height, 'have')} no vector",
            [Bullets(_items(part))],
        )
        for label, part in by_label(words.filter(status="missing_words")).items()
    ]


def _items(words: pl.DataFrame) -> list[str]:
    """Pairs and professions with their words, unless they are the English one."""
    parts = words.partition_by("list", "item", as_dict=True)
    return [item if part["word"].to_list() == [item] else _with_words(part) for (_, item), part in parts.items()]


def _notes(words: pl.DataFrame) -> list[Block]:
    noted = by_label(words.filter(pl.col("note") != ""))
    notes = {
        label: [f"{_with_words(item)}: {item['note'][0]}." for item in part.partition_by("list", "item", "note")]
        for label, part in noted.items()
    }
    return [Details(f"{label}: notes on the words", [Bullets(texts)]) for label, texts in notes.items()]


def _with_words(words: pl.DataFrame) -> str:
    return f"{words['item'][0]} ({', '.join(map(isolated, words['word']))})"


# --- what has no result ---------------------------------------------------------------------------------------------


def _without_result(tables: Tables) -> list[Block]:
    """Languages, professions and pairs without a result, by their status."""
    # Languages are named in the first column already.
    lost = {"language": 0, "profession": _NUM_NAMED, "pair": _NUM_NAMED}
    rows = pl.concat(_lost(tables[f"gender_{what}s"], what, num) for what, num in lost.items())
    by_status = grid(
        f"What has no result: the first {_NUM_NAMED} by name, and the reason of the first.",
        rows,
        text("label", kind(tables["gender_languages"])),
        "what",
        count("num", "number"),
        listed("which"),
        text("reason", "why"),
    )
    return [by_status] if rows.height else []


def _lost(rows: pl.DataFrame, what: str, num_named: int) -> pl.DataFrame:
    lost = rows.filter(pl.col("status") != "ok").group_by("label", "status", maintain_order=True)
    which = pl.col(what).head(num_named).alias("which")
    return lost.agg(pl.len().alias("num"), which, pl.col("reason").first(), pl.lit(what).alias("what"))


# --- the page ---------------------------------------------------------------------------------------------------------


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
