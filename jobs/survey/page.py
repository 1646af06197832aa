"""The page of `survey`, with the sections of the jobs that it joins, and its control."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from tiltmeter.jobs.association.page import measures as associations
from tiltmeter.jobs.embedding.page import page_of
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.gender.page import measures as gender
from tiltmeter.jobs.psychophysics.figures import POOLED
from tiltmeter.jobs.psychophysics.page import measures as psychophysics
from tiltmeter.jobs.report.findings import by_model, ends, furthest, measured, sentences
from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.html.elements import Block, Bullets, Details, Listing, Paragraph
from tiltmeter.jobs.report.lead import Bar, Picture
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.sides import on_sides
from tiltmeter.jobs.report.views import Dots, Show, section, shown
from tiltmeter.jobs.report.wording import estimate, number, p_equals, percent, plural, quoted, verb
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.survey.config import SurveyRun
from tiltmeter.jobs.survey.tables import Control, SmallestDifferences

_FOUND = 0.01
"""Two-sided p at which a control counts as found."""

_NUM_ENDS = 3

_ABOUT = (
    "In a copy of the text, the occurrences of two words are dealt by chance to two made-up words each. The halves of "
    "one differ by nothing else. The other's get a lean: a female cue of the word lists before the stated share of the "
    "occurrences of the first half, a male one before those of the second. What is measured is the PSE that the survey "
    "measures occupations by, on embeddings trained as the text's own, but on its more frequent words and with fewer "
    "replicas. A control says that the instrument sees a lean of this size in this text, and not which leans it misses."
)

_SECTIONS = [
    section(
        "control",
        "What was planted, and what was found of it",
        Show(Control, _ABOUT, "word share num_first num_second num_cues first second difference p smallest status"),
        Dots(
            Control,
            "difference",
            pl.format("{} ({}% planted)", "word", (pl.col("share") * 100).round(0).cast(pl.Int64)),
            "PSE of the first half less that of the second",
            "Differences of the two halves of each word, with intervals",
            "The halves of a word that leans and of one that does not; 95% intervals for this corpus drawn again.",
            rows=lambda rows: measured(rows) if rows.height else rows,
        ),
        Show(
            SmallestDifferences,
            "Differences of the pooled PSE of two occupations: how small one could be and be found.",
            "num_numbers num_differences num_apart smallest smallest_tenfold=with_ten_times_the_text widest num_tokens",
        ),
    )
]

_all_measures = page_of(
    "How far the words lean",
    "How far do word vectors lean: occupations to female or to male words, groups of words to pleasant or to "
    "unpleasant ones, professions along the direction of gender?",
    psychophysics,
    associations,
    gender,
)


def page(run: Run[SurveyRun, Sources], frames: Frames) -> Body:
    """All measures; of a run with a control, three sentences come first."""
    body = _all_measures(run, frames)
    if "control" not in frames:
        return body
    others = Details("What else was found", body.lead.findings)
    lead = body.lead._replace(
        findings=[Bullets(list(findings(frames))), others], commands=_COMMANDS, picture=picture(frames)
    )
    return replace(body, lead=lead, sections=[*shown(_SECTIONS, frames), *body.sections])


# --- three findings ---------------------------------------------------------------------------------------------------


def findings(frames: Frames) -> Iterator[str]:
    """What the occupations show, how little the text could show, and what became of what was planted."""
    for name, sentences_of in (
        ("pooled_psychometrics", on_occupations),
        ("smallest_differences", on_limits),
        ("control", on_control),
    ):
        parts = by_model(frames[name]) if name in frames else {}
        yield from sentences({label: sentences_of(rows) for label, rows in parts.items()})


def on_occupations(rows: pl.DataFrame) -> list[str]:
    """Which occupations lean with their whole interval; or that none does, and how far the furthest lies off."""
    results = measured(rows)
    above, below, *_ = on_sides(results, POOLED)
    if results.is_empty():
        return ["No occupation could be measured: the text has too few of them, or of the cue words."]
    if not above.height + below.height:
        [row] = results.sort((pl.col("pse") - 0.5).abs(), descending=True).head(1).to_dicts()
        text = (
            f"No side can be told of {plural(results.height, 'occupation')}: the interval of each PSE includes 0.5, "
            f"which leans to neither female nor male words. The furthest is {quoted(row['word'])}, PSE "
        )
        return [f"{text}{estimate(row, 'pse')}."]
    sides = ((above, "female"), (below, "male"))
    named = [f"{part.height} to the {side} side{_named(part)}" for part, side in sides if part.height]
    text = f"Of {plural(results.height, 'occupation')}, {' and '.join(named)} lean with the whole interval of the PSE"
    return [f"{text}; by chance about {number(0.05 * results.height, 1)} would."]


def _named(rows: pl.DataFrame) -> str:
    return furthest(rows, "pse", lambda row: quoted(row["word"]), 0.5)


def on_limits(rows: pl.DataFrame) -> list[str]:
    """How small a difference of two occupations could be and be found, here and with ten times the text."""
    return [_limit(row) for row in rows.to_dicts()]


def _limit(row: Row) -> str:
    pairs, apart = plural(row["num_differences"], "pair"), row["num_apart"]
    seen = f"{apart} {verb(apart, 'be')} told apart here" if apart else "none can be told apart here"
    return (
        f"This text of {row['num_tokens']:,} running words shows a difference in PSE between two occupations with a "
        f"chance of 80% if it is {number(row['smallest'], 2)} or more (the middle one of {pairs}); {seen}, at a false "
        f"discovery rate of 5%. With ten times the text that would be {number(row['smallest_tenfold'], 2)} at best, if "
        "intervals shrink with the square root of its length; from halves of the built-in sample to all of it they "
        "shrank by less."
    )


def on_control(rows: pl.DataFrame) -> list[str]:
    """What became of the word that got a lean and of the one that got none."""
    results = measured(rows).to_dicts()
    if not results:
        return [f"The control could not be measured: {rows['reason'][0]}."]
    return [" ".join((_planted if row["share"] else _unplanted)(row) for row in results)]


def _planted(row: Row) -> str:
    negation = "" if is_found(row) else "not "
    return (
        f"A lean that was planted in a copy of the text was {negation}found: with a female cue before "
        f"{percent(row['share'], 0)} of the occurrences of one half of {quoted(row['word'])} and a male cue before as "
        f"many of the other, the halves' PSE differ by {_differ(row)}."
    )


def _unplanted(row: Row) -> str:
    between = f"the halves of {quoted(row['word'])} differ by {_differ(row)}"
    if is_found(row):
        return f"Where nothing was planted, {between}: by chance that comes in 1 of 100 texts, or something is wrong."
    return f"Where nothing was planted, nothing was found: {between}."


def is_found(row: Row) -> bool:
    """Whether the halves of a word differ at :data:`_FOUND`; where a lean was planted, to its side."""
    return bool(row["p"] <= _FOUND and (row["difference"] > 0.0 or not row["share"]))


def _differ(row: Row) -> str:
    return f"{estimate(row, 'difference', 2)} ({p_equals(row['p'])})"


# --- the picture, and what to type next -------------------------------------------------------------------------------


def picture(frames: Frames) -> Picture | None:
    """Occupations at both ends, and the halves of the words of the control, of the first model."""
    bars = [bar for name in _BARS if name in frames for bar in _BARS[name](_first(measured(frames[name])))]
    title = "PSE with its 95% interval; right of 0.5: female side, left: male side"
    return Picture(title, 0.5, bars) if bars else None


def _first(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("model") == rows["model"][0]) if rows.height else rows


def _occupation_bars(rows: pl.DataFrame) -> list[Bar]:
    ordered = ends(rows, "pse", _NUM_ENDS).sort("pse", "word", descending=[True, False])
    return [Bar(*row) for row in ordered.select("word", "pse", "pse_low", "pse_high").rows()]


def _control_bars(rows: pl.DataFrame) -> list[Bar]:
    return [
        Bar(f"{row['word']}, {what}", row[half], row[f"{half}_low"], row[f"{half}_high"])
        for row in rows.to_dicts()
        for half, what in zip(("first", "second"), _halves(row["share"]), strict=True)
    ]


def _halves(share: float) -> tuple[str, str]:
    return ("with female cues", "with male cues") if share else ("one half", "other half")


_BARS = {"pooled_psychometrics": _occupation_bars, "control": _control_bars}

_COMMANDS: Sequence[Block] = [
    Paragraph("For a text of yours (a line is a document), and for the Wikipedia of your language:"),
    Listing(
        "tiltmeter corpus=file corpus.path=my_texts.txt corpus.language=en run_dir=my_run\n"
        "tiltmeter corpus=wikipedia corpus.language=de run_dir=wikipedia"
    ),
]
