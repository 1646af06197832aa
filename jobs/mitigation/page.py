"""The page of `mitigation`: measures of bias before and after, what is left, and what it costs."""

from collections.abc import Iterator, Mapping

import polars as pl

from tiltmeter.jobs.association.tables import measure_name
from tiltmeter.jobs.embedding.page import Measure, page_of
from tiltmeter.jobs.mitigation.tables import Mitigation, MitigationChecks, check_name, method_name
from tiltmeter.jobs.report.findings import by_model, in_model, measured, sentences, split
from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.html.elements import Bullets, Chart, Paragraph
from tiltmeter.jobs.report.intervals import NamedSides
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.plots.style import FIRST, NEUTRAL, Look, lines, plain
from tiltmeter.jobs.report.sides import Lean, on_sides
from tiltmeter.jobs.report.views import Draw, Show, section, shown
from tiltmeter.jobs.report.wording import estimate
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.runtime.wording import plural

_DIFFERENCE = Lean("difference")
_LOOKS = {"gender": Look(FIRST, "circle", shift=0.14), "random": Look(NEUTRAL, "diamond", shift=-0.14)}
_COLOURS = "Green: fitted to gender; grey diamonds: the control, fitted to as many pairs of random words."
_PROBE = "probe_linear"
_HELD_OUT = (
    "Each eraser was fitted without the words of the query that it is measured by. Differences are after less before, "
    "replica by replica, and are not corrected for their number."
)
_LEFT = (
    "What a method takes away it takes where it was fitted. Words that lie furthest along the gender direction were "
    "dealt into two halves: one fits the erasers; of the other a probe tells the side that each word had before, by "
    "what it learns of four fifths of them. About 0.5 is chance, and clusters are a little above it. Before, the sides "
    "are told nearly always, as words were chosen by them; what counts is how much of it is left."
)


def _bias_chart(rows: pl.DataFrame) -> Iterator[Chart]:
    """Differences of each measure and query."""
    kept = measured(rows).filter(pl.col("word").is_null())
    parts = split(kept, "model", "query", "measure", label=lambda *keys: ", ".join([*keys[:2], measure_name(keys[2])]))
    alt = "Dot plot of the difference that each method makes to a measure, with paired intervals around or beside 0."
    figures = {
        label: dots(
            part.with_columns(line=pl.Series(list(map(_line, part.to_dicts())), dtype=pl.String)),
            "difference",
            "line",
            by="erased",
            looks=_LOOKS,
            neutral=0.0,
            title="after less before",
            label=str,
            row_height=64,
        )
        for label, part in parts.items()
    }
    if figures:
        yield Chart(alt, f"Lines: paired intervals over replicas. {_COLOURS}", figures, "Model, query, measure")


def _line(row: Row) -> str:
    return lines(method_name(row["method"]), f"{plain(row['groups'])} by {plain(row['attributes'])}")


def _probe_chart(rows: pl.DataFrame) -> Iterator[Chart]:
    kept = measured(rows).filter(check=_PROBE)
    known = kept.with_columns(line=pl.Series(list(map(method_name, kept["method"])), dtype=pl.String))
    title = "balanced accuracy of a linear probe afterwards"
    figures = {
        model: dots(part, "after", "line", by="erased", looks=_LOOKS, neutral=0.5, title=title, row_height=40)
        for model, part in by_model(known).items()
    }
    if figures:
        yield Chart("Dot plot of how well a probe tells the sides afterwards.", _COLOURS, figures, "Model")


_BIAS = "query measure groups attributes word? method erased before after difference num_pairs=pairs reason?"
_SECTIONS = (
    section(
        "measures",
        "Measures of bias before and after",
        Draw(Mitigation, lambda _: [Paragraph(_HELD_OUT)]),
        Draw(Mitigation, _bias_chart),
        Show(Mitigation, "Before, after, and the paired difference.", f"model {_BIAS}", most=400),
    ),
    section(
        "left",
        "What is left, and what it costs",
        Draw(MitigationChecks, lambda _: [Paragraph(_LEFT)]),
        Draw(MitigationChecks, _probe_chart),
        Show(
            MitigationChecks,
            "Similarity is of the pairs of which both words are there.",
            "model check method erased before? after difference? num_words=words reason?",
            rows=lambda rows: rows.sort("model", "check", maintain_order=True),
        ),
    ),
)


def measures(frames: Frames) -> list[Measure]:
    """What was erased."""
    tables = {name: frames[name] for name in ("mitigation", "mitigation_checks") if frames[name].height}
    checks = frames["mitigation_checks"]
    rows = tables.get("mitigation", checks)
    named = NamedSides("difference", measured(rows.filter(erased="gender")), _DIFFERENCE, in_model(rows, _label))
    texts = {model: [*_left(part), *_bias(tables, part)] for model, part in by_model(checks, frames).items()}
    return [Measure(checks, [Bullets(sentences(texts))], list(shown(_SECTIONS, tables)), named)]


def _left(checks: pl.DataFrame) -> Iterator[str]:
    """What a probe still tells."""
    rows = {(row["method"], row["erased"], row["check"]): row for row in measured(checks).to_dicts()}
    for (method, erased, check), row in rows.items():
        if (erased, check) == ("gender", _PROBE):
            random, dealt = rows.get((method, "random", check), {}), rows.get((method, erased, f"{check}_permuted"), {})
            yield (
                f"After {method_name(method)} a linear probe still tells the side of held-out words with a balanced "
                f"accuracy of {estimate(row, 'after', 2)} (before {estimate(row, 'before', 2)}; after the same for "
                f"random pairs {estimate(random, 'after', 2)}; labels by chance {estimate(dealt, 'after', 2)})."
            )


def _bias(frames: Mapping[str, pl.DataFrame], checks: pl.DataFrame) -> Iterator[str]:
    """What each method moves."""
    if "mitigation" in frames:
        rows = measured(frames["mitigation"].join(checks, on=["model", "language"], how="semi")).drop_nulls("neutral")
        for method, part in split(rows, "method").items():
            gender, random = (_nearer(part.filter(erased=erased)) for erased in ("gender", "random"))
            yield (
                f"Of {plural(part.filter(erased='gender').height, 'number')} of bias, {method_name(method)} brings "
                f"{gender[0]} nearer to the value without bias, and takes {gender[1]} further from it, beyond their "
                f"paired intervals (for random pairs {random[0]} and {random[1]})."
            )


def _nearer(rows: pl.DataFrame) -> tuple[int, int]:
    """How many numbers move towards the neutral one, and how many away, of those whose difference leans to a side."""
    leaning = on_sides(rows, _DIFFERENCE).leaning
    before, after = ((pl.col(name) - pl.col("neutral")).abs() for name in ("before", "after"))
    return leaning.filter(after < before).height, leaning.filter(after > before).height


def _label(row: Row) -> str:
    what = check_name(row["check"]) if "check" in row else f"{measure_name(row['measure'])} of {row['query']}"
    return f"{what} by {method_name(row['method'])}"


page = page_of(
    "Gender erased from word vectors",
    "How far do measures of bias move when gender is erased, and how much of it can others tell from what is left?",
    measures,
)
