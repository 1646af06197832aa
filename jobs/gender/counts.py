"""How often the words of the gender lists occur, and what is doubtful about them."""

import polars as pl

from tiltmeter.jobs.gender import figures as gender_figures
from tiltmeter.jobs.gender.findings import by_label, kind
from tiltmeter.jobs.gender.missing import with_words, without_vector
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Details, Grid, Paragraph
from tiltmeter.jobs.report.wording import percent

GENDERS = ("feminine", "masculine", "neutral")
_LISTS = {"professions": "forms of professions", "defining": "defining words"}


def blocks(words: pl.DataFrame) -> list[Block]:
    """The counts of all languages and, for each of them, the words without a vector and the notes on its words.

    Args:
        words: ``gender_words`` with labels.
    """
    counted = counts_by_gender(words)
    details = [*without_vector(words), *_notes(words)]
    if counted.is_empty():
        return details
    text = (
        "A bias weighted by count follows the form that occurs most. Where the masculine form is used of everybody, or "
        "where most people in a profession are men, that is the masculine one."
    )
    forms = counted.filter(pl.col("list") == "professions")
    gendered = [Paragraph(text)] if (forms["feminine"] + forms["masculine"] > 0).any() else []
    chart = [_chart(counted)] if counted["label"].n_unique() > 1 else []
    return [*gendered, *chart, _grid(counted), *details]


def counts_by_gender(words: pl.DataFrame) -> pl.DataFrame:
    """Occurrences by label, list and gender; a word that stands in a list twice counts once.

    Args:
        words: ``gender_words`` with labels; words of which no count is known are left out.

    Returns:
        ``label``, ``language``, ``list``, a column for each gender, and ``share``: feminine occurrences as a share of
        feminine and masculine ones, null if there are none.
    """
    once = words.drop_nulls("count").unique(["label", "list", "gender", "word"], keep="first", maintain_order=True)
    sums = [pl.col("count").filter(pl.col("gender") == gender).sum().alias(gender) for gender in GENDERS]
    counts = once.group_by("label", "language", "list", maintain_order=True).agg(sums)
    both = pl.col("feminine") + pl.col("masculine")
    return counts.with_columns(pl.when(both > 0).then(pl.col("feminine") / both).alias("share"))


def _chart(counted: pl.DataFrame) -> Chart:
    parts = {title: counted.filter(pl.col("list") == name) for name, title in _LISTS.items()}
    return Chart(
        "Bar chart: shares of feminine, masculine and neutral words in all occurrences of the words of a list.",
        "Shares of all occurrences of a list's words in the original corpus. The pointer shows the counts.",
        {title: gender_figures.shares(part) for title, part in parts.items() if part.height},
        "Words",
    )


def _grid(counted: pl.DataFrame) -> Grid:
    numbers = [*GENDERS, "feminine share"]
    return Grid(
        "Occurrences in the original corpus. Feminine share: of the feminine and masculine words together.",
        [kind(counted), "words", *numbers],
        [
            [row["label"], _LISTS[row["list"]], *(f"{row[gender]:,}" for gender in GENDERS), percent(row["share"])]
            for row in counted.sort("list", descending=True, maintain_order=True).to_dicts()
        ],
        numeric=numbers,
    )


def _notes(words: pl.DataFrame) -> list[Block]:
    noted = words.filter(pl.col("note") != "")
    return [
        Details(f"{label}: notes on the words", [Bullets([_note(item) for item in _items(part)])])
        for label, part in by_label(noted).items()
    ]


def _items(words: pl.DataFrame) -> list[pl.DataFrame]:
    return words.partition_by("list", "item", "note", maintain_order=True)


def _note(words: pl.DataFrame) -> str:
    return f"{with_words(words)}: {words['note'][0]}."
