"""The page of `mitigation`: measures of bias before and after, what is left, and what it costs."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.association.tables import measure_name
from tiltmeter.jobs.embedding.page import Measure, page_of
from tiltmeter.jobs.mitigation.tables import METHOD_NAMES, Mitigation, MitigationChecks, check_name, method_name
from tiltmeter.jobs.report.findings import by_model, folded, in_model, measured, sentences, split, why_nothing
from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Details, Paragraph, Section
from tiltmeter.jobs.report.intervals import NamedSides
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.plots.figure import Figure
from tiltmeter.jobs.report.plots.style import FIRST, NEUTRAL, Look, lines, plain
from tiltmeter.jobs.report.sides import Lean, on_sides
from tiltmeter.jobs.report.views import Show
from tiltmeter.jobs.report.wording import estimate
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.runtime.wording import plural

_DIFFERENCE = Lean("difference")
_LOOKS = {
    "gender": Look(FIRST, "circle", shift=0.14),
    "random": Look(NEUTRAL, "diamond", shift=-0.14),
}
_PROBE = "probe_linear"
_ERASED = "Fitted to gender, and as a control to as many pairs of random words that are as frequent."
_HELD_OUT = (
    "Each eraser was fitted without the words of the query that it is measured by. Differences are after less before, "
    "replica by replica, and are not corrected for their number."
)
_LEFT = (
    "What a method takes away it takes where it was fitted. Words that lie furthest along the gender direction were "
    "dealt into two halves: one fits the erasers; of the other a probe tells the side that each word had before, by "
    "what it learns of four fifths of them. About 0.5 is chance. Before, the sides are told nearly always, as words "
    "were chosen by them; what counts is how much of it is left."
)

_CHECKS = Show(
    MitigationChecks,
    "Clusters of words by chance are a little above 0.5. Similarity is of the pairs of which both words are there.",
    "check method erased before? after difference? num_words=words reason?",
)
_MEASURED = Show(
    Mitigation,
    _ERASED,
    "measure groups attributes word? method erased before after difference num_pairs reason?",
    most=300,
)


def measures(frames: Frames) -> list[Measure]:
    """What was erased."""
    checks = frames["mitigation_checks"]
    rows = frames.get("mitigation", checks)
    label = in_model(rows, _label, frames)
    named = NamedSides("difference", measured(rows.filter(erased="gender")), _DIFFERENCE, label)
    findings: list[Block] = [
        Bullets(sentences({model: list(_findings(part, frames)) for model, part in by_model(checks, frames).items()}))
    ]
    return [Measure(checks, findings, [*_bias(frames), *_left(frames)], named)]


def _findings(checks: pl.DataFrame, frames: Frames) -> Iterator[str]:
    """What each method moves in a model, and what a probe still tells."""
    probes = checks.filter(check=_PROBE, erased="gender", status="ok")
    for row in probes.iter_rows(named=True):
        yield (
            f"After {method_name(row['method'])} a linear probe still tells the side of held-out words with a balanced "
            f"accuracy of {estimate(row, 'after', 2)} (before {estimate(row, 'before', 2)}; after the same for random "
            f"pairs {_after(checks, row, 'random', _PROBE)}; labels by chance "
            f"{_after(checks, row, 'gender', f'{_PROBE}_permuted')})."
        )
    if "mitigation" not in frames:
        return
    same = frames["mitigation"].join(checks, on=["model", "language"], how="semi")
    rows = measured(same).drop_nulls("neutral")
    for method, part in split(rows, "method").items():
        gender, random = (_nearer(part.filter(erased=erased)) for erased in ("gender", "random"))
        yield (
            f"Of {plural(part.filter(erased='gender').height, 'number')} of bias, {method_name(method)} brings "
            f"{gender[0]} nearer to the value without bias, and takes {gender[1]} further from it, beyond their paired "
            f"intervals (for random pairs {random[0]} and {random[1]})."
        )


def _after(checks: pl.DataFrame, row: Row, erased: str, check: str) -> str:
    found = checks.filter(method=row["method"], erased=erased, check=check, status="ok")
    return estimate(found.row(0, named=True), "after", 2) if found.height else "undefined"


def _nearer(rows: pl.DataFrame) -> tuple[int, int]:
    """How many numbers move towards the neutral one, and how many away, of those whose difference leans to a side."""
    leaning = on_sides(rows, _DIFFERENCE).leaning
    before, after = ((pl.col(name) - pl.col("neutral")).abs() for name in ("before", "after"))
    return leaning.filter(after < before).height, leaning.filter(after > before).height


def _label(row: Row) -> str:
    what = check_name(row["check"]) if "check" in row else f"{measure_name(row['measure'])} of {row['query']}"
    return f"{what} by {method_name(row['method'])}"


# --- measures -------------------------------------------------------------------------------------------------------


def _bias(frames: Frames) -> list[Section]:
    if "mitigation" not in frames:
        return []
    rows, title = frames["mitigation"], "Measures of bias before and after"
    if measured(rows).is_empty():
        return [Section("measures", title, [Paragraph(why_nothing(rows, "measure")), *_grids(frames, rows)])]
    return [Section("measures", title, [Paragraph(f"{_ERASED} {_HELD_OUT}"), _chart(rows), *_grids(frames, rows)])]


def _grids(frames: Frames, rows: pl.DataFrame) -> list[Block]:
    return folded(
        {
            model: [Details(query, [_MEASURED.grid(of_query)]) for query, of_query in split(part, "query").items()]
            for model, part in by_model(rows, frames).items()
        },
        "measures one by one",
    )


def _chart(rows: pl.DataFrame) -> Chart:
    """Differences of each measure and query."""
    kept = measured(rows).filter(pl.col("word").is_null())
    names = ["model", "query", "measure"] if kept["model"].n_unique() > 1 else ["query", "measure"]
    parts = split(kept, *names, label=lambda *names: ", ".join([*names[:-1], measure_name(names[-1])]))
    return Chart(
        "Dot plot of the difference that each method makes to a measure, with paired intervals around or beside 0.",
        "Dots: after less before; lines: their intervals over replicas. Green: fitted to gender; grey diamonds: the "
        "control, fitted to random pairs.",
        {label: _differences(part) for label, part in parts.items()},
        "Query, measure",
    )


def _differences(rows: pl.DataFrame) -> Figure:
    labels = [_line(row) for row in rows.iter_rows(named=True)]
    return dots(
        rows.with_columns(label=pl.Series(labels, dtype=pl.String)).sort("groups", "attributes", maintain_order=True),
        "difference",
        "label",
        by="erased",
        looks=_LOOKS,
        neutral=0.0,
        title="after less before",
        hover=lambda row: lines(
            row["label"],
            f"fitted to {row['erased']}",
            f"before {estimate(row, 'before')}",
            f"after {estimate(row, 'after')}",
        ),
        label=str,
        row_height=48,
    )


def _line(row: Row) -> str:
    return lines(method_name(row["method"]), f"{plain(row['groups'])} by {plain(row['attributes'])}")


# --- what is left ---------------------------------------------------------------------------------------------------


def _left(frames: Frames) -> list[Section]:
    rows = frames["mitigation_checks"]
    in_order = rows.sort("check", maintain_order=True)
    grids = {model: [_CHECKS.grid(part)] for model, part in by_model(in_order, frames).items()}
    blocks = [Paragraph(_LEFT), *_probe_chart(rows, frames), *folded(grids, "checks one by one")]
    return [Section("left", "What is left, and what it costs", blocks)]


def _probe_chart(rows: pl.DataFrame, frames: Frames) -> list[Block]:
    kept = measured(rows).filter(check=_PROBE)
    if kept.is_empty():
        return []
    known = kept.with_columns(label=pl.col("method").replace(METHOD_NAMES))
    figures = {
        model: dots(
            part,
            "after",
            "label",
            by="erased",
            looks=_LOOKS,
            neutral=0.5,
            title="balanced accuracy of a linear probe afterwards",
            row_height=40,
            ends=(0.0, 1.02),
        )
        for model, part in by_model(known, frames).items()
        if part.height
    }
    caption = "Green: fitted to gender; grey diamonds: the control, fitted to random pairs. The line at 0.5 is chance."
    return [Chart("Dot plot of how well a probe tells the sides afterwards.", caption, figures, "Model")]


page = page_of(
    "Gender erased from word vectors",
    "How far do measures of bias move when gender is erased, and how much of it can others tell from what is left?",
    measures,
)
