"""The words of the gender lists: how often they occur, what is doubtful about them, and which have no result."""

import polars as pl

from tiltmeter.jobs.gender.figures import shares
from tiltmeter.jobs.gender.findings import Tables, by_label, kind
from tiltmeter.jobs.report.grids import count, grid, listed, percent, text
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Details, Paragraph
from tiltmeter.jobs.report.wording import isolated, plural, verb

_GENDERS = ("feminine", "masculine", "neutral")
_LISTS = {"professions": "forms of professions", "defining": "defining words"}
_NUM_NAMED = 5


# --- how often they occur -------------------------------------------------------------------------------------------


def occurrences(words: pl.DataFrame) -> list[Block]:
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
    chart = [_chart(counted)] if counted["label"].n_unique() > 1 else []
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


def _chart(counted: pl.DataFrame) -> Chart:
    parts = {title: counted.filter(list=name) for name, title in _LISTS.items()}
    return Chart(
        "Bar chart: shares of feminine, masculine and neutral words in all occurrences of the words of a list.",
        "Shares of all occurrences of a list's words in the original corpus. The pointer shows the counts.",
        {title: shares(part) for title, part in parts.items() if part.height},
        "Words",
    )


def profession_shares(languages: pl.DataFrame) -> list[Block]:
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


def without_result(tables: Tables) -> list[Block]:
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
