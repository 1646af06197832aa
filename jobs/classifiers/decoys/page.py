"""The page of `decoy_benchmark`."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.jobs.classifiers.decoys import findings, tables
from tiltmeter.jobs.classifiers.decoys.config import DecoyBenchmarkRun
from tiltmeter.jobs.classifiers.decoys.findings import METHODS, ORDERS, SELECTIONS
from tiltmeter.jobs.classifiers.decoys.tables import CHANCE, DECOYED, ORACLE, PLAIN
from tiltmeter.jobs.report import wording
from tiltmeter.jobs.report.grids import cell, estimate, number, percent, text
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Paragraph, Passage, Passages, Section, Token
from tiltmeter.jobs.report.intervals import on_resamples
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.plots.figure import Figure
from tiltmeter.jobs.report.plots.style import FEMALE, FIRST, INK, LOOKS, MALE, NEUTRAL, SECOND, SHARES, Look, Row, lines
from tiltmeter.jobs.report.views import Draw, Show, section, shown
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.classifiers.decoys.detection import Explained, top_words
from tiltmeter.operators.classifiers.decoys.kinds import Decoy, holds
from tiltmeter.operators.statistics.intervals import HOLDS_ITS_ESTIMATE
from tiltmeter.operators.statistics.means import MIN_KISH
from tiltmeter.storage.files.redaction import redacted

_ASKED = (
    "Models are trained on texts in which words give classes away that are no reason for them. Somebody who looks at "
    "explanations of one instance after the other: how soon is such a decoy among the words that are shown?"
)
_JUDGEMENTS = {
    "recognition": "takes every word of the decoy that is shown for a wrong reason, and no other word",
    "frequency": "does not know the decoy, and takes the words that are shown most often for it",
}
_REMEDIES = {
    "retrain": "a model is trained again without them, and reads the test texts without them",
    "ignore": "the model is kept, and reads the test texts without them",
}
_FINDINGS = {
    "utility": (findings.overall, findings.without_explanations, findings.soonest),
    "improvement": (findings.improvement,),
    "contamination": (findings.contamination,),
    "decoys": (findings.adoption,),
}


def page(run: Run[DecoyBenchmarkRun, Any], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    config, known = run.config, {name: made for name, made in _FINDINGS.items() if name in frames}
    sentences = [sentence for name, made in known.items() for finding in made for sentence in finding(frames[name])]
    lead = Lead([Paragraph(_ASKED)], [Bullets(sentences)], [Paragraph(_doubts(config))])
    return Body("How soon explanations reveal a decoy", _facts(config), lead, list(_sections(config, frames)))


def _facts(config: DecoyBenchmarkRun) -> dict[str, str]:
    explained = config.explanations
    return {
        "job": config.job.name,
        "from": redacted(config.data.path).rsplit("/", 1)[-1],
        "models": config.models.checkpoint or "small encoder",
        "models of each kind": str(config.models.number),
        "words shown": str(explained.top_words),
        "instances": f"{explained.num_pools} pools of {explained.pool_size} at most",
        "seed": str(config.seed),
    }


def _doubts(config: DecoyBenchmarkRun) -> str:
    made, explained = config.intervals, config.explanations
    return (
        f"{intervals(config)} There are {explained.num_pools} pools at most, and below {MIN_KISH} of anything "
        "there is no interval. That a decoy counts as adopted is of each training by itself, at "
        f"{100 * made.level:g}%, and not corrected for their number. {_debugger(config)}"
    )


def intervals(config: DecoyBenchmarkRun) -> str:
    """What they are of, and over what."""
    made, num = config.intervals, config.models.number
    texts = "texts" if config.data.group is None else f"groups by {config.data.group}, whose texts are drawn together"
    if made.interval not in HOLDS_ITS_ESTIMATE:
        draws = (
            f"{made.num_resamples:,} resamples, of test texts for accuracies and of pools of instances for what it "
            "takes to find a decoy"
        )
        return f"{on_resamples(made.level, made.interval, draws)} Other trainings are not in them."
    models = f"and the {num} models that differ in their random numbers alone" if num > 1 else "of this one training"
    return (
        f"Intervals at a nominal {100 * made.level:g}% are of score tests: accuracies and falls of one training over "
        f"{texts}; what it takes to find a decoy, and what is gained, over pools of instances {models}, and of wrong "
        f"labels over {texts} {models}."
    )


def _debugger(config: DecoyBenchmarkRun) -> str:
    return f"Nobody looks in person: a rule {_JUDGEMENTS[config.debugger.judgement]}."


_WORDS = Show(
    tables.DecoyWords,
    "Applicability of a word counts the training texts that hold it; productivity is the largest share of "
    "these that is of one class, coverage their share of all. Before: in the texts without the decoy.",
    "decoy word indicates applicability_before productivity_before applicability productivity coverage",
)
_DECOYS = Show(
    tables.Decoys,
    "Accuracy of the models without the decoy and with it, on all test texts, and on all that hold a word of it "
    "of themselves. Perplexity × is how much less natural test texts become. Fall is the accuracy lost where the "
    "decoy contradicts the class, less what is lost on such texts without it.",
    [
        "decoy",
        text("model", is_numeric=True),
        "perplexity_shift=perplexity_×",
        number("accuracy_original", "accuracy without"),
        number("accuracy_decoy", "accuracy with"),
        "num_word_rows=texts_that_hold_a_word",
        estimate("accuracy_original_on_word_rows", "there, without", 2),
        estimate("accuracy_on_word_rows", "there, with", 2),
        *("fall", "adopted"),
    ],
)
_UTILITY = Show(
    tables.Utility,
    "Instances that are looked at on average until the decoy is found; the whole pool counts where it is not. "
    "Soonest is the share of resamples of pools, with these models, in which nothing but an oracle needs fewer.",
    [
        "decoy",
        text("method", names=METHODS),
        text("selection", "instances", SELECTIONS),
        estimate("num_instances", "looked at until found", 2),
        "soonest",
        cell("adopted", lambda row: f"{row['num_adopted']}/{row['num_models']}", is_numeric=True),
    ],
    lambda rows: rows.sort("decoy", "num_instances", maintain_order=True),
)
_ONE = (
    "Instances are looked at as they come, or in an order that makes the most of a budget. With predictions alone, the "
    "words are shown that go with the predicted class in the pool; an oracle shows the decoy wherever it is."
)
_TWO = (
    "Explanations of the model with the decoy and of the one without lie side by side. The model for which one word "
    "stands out more is taken to follow a decoy; half of the guesses are right by chance."
)


def _sections(config: DecoyBenchmarkRun, frames: Frames) -> Iterator[Section]:
    yield from shown([section("decoys", "The decoys and who adopted them", _WORDS, _DECOYS)], frames)
    if passages := list(highlights(config, frames)) if "attributions" in frames else []:
        yield Section("highlights", "What explanations show", passages)
    parts = [
        section(
            "detection", "Setup I: identify and trust", Draw(tables.Detection, partial(_detection, config)), _UTILITY
        ),
        section("side-by-side", "Setup II: model comparison", Draw(tables.SideBySide, _side_by_side)),
        section(
            "improvement", "Setup III: identify and improve", Draw(tables.Improvement, partial(_improvement, config))
        ),
        section("contamination", "Setup IV: data contamination", Draw(tables.Contamination, partial(_labels, config))),
    ]
    yield from shown(parts, frames)
    if "utility" in frames:
        yield Section("orderings", "Orderings that are expected", [Bullets(findings.orderings(frames))])


def _detection(config: DecoyBenchmarkRun, rows: pl.DataFrame) -> Iterator[Block]:
    yield Paragraph(f"{_ONE} {_debugger(config)}")
    parts = rows.partition_by("decoy", "selection", maintain_order=True, as_dict=True)
    yield Chart(
        "Line chart of the probability to have found a decoy against the instances that are looked at, by method.",
        "A decoy is found when one of its words is among those shown. Random attributions show what chance does.",
        {
            f"{decoy}, {SELECTIONS[selection]}": _curves(part, "detection_probability", "decoy found")
            for (decoy, selection), part in parts.items()
        },
        "Decoy and order",
    )


def _side_by_side(rows: pl.DataFrame) -> Iterator[Block]:
    yield Paragraph(_TWO)
    parts = rows.partition_by("decoy", maintain_order=True, as_dict=True)
    yield Chart(
        "Line chart of the probability to tell which of two models follows a decoy, against the instances looked at.",
        "Random attributions are what chance does.",
        {str(decoy): _curves(part, "success_probability", "told rightly") for (decoy,), part in parts.items()},
        "Decoy",
    )


def _improvement(config: DecoyBenchmarkRun, rows: pl.DataFrame) -> Iterator[Block]:
    selections = config.explanations.selections
    selection = CHANCE if CHANCE in selections else selections[0]
    chosen = rows.filter(selection=selection)
    remedy = _REMEDIES[config.improvement.remedy]
    yield Paragraph(f"Words that are taken for wrong reasons are removed: {remedy}.")
    if figures := gains(chosen):
        yield Chart(
            "Dot plot of the accuracy that models gain once words are removed, with intervals, by method and budget.",
            "Right of 0, removing the words helped; random attributions show what chance does. The method at the top "
            "gains most with the largest budget.",
            figures,
            "Decoy and texts",
        )
    table = Show(
        tables.Improvement,
        "Accuracy that is gained, on all test texts and on those whose decoy contradicts their class. Identified is "
        "the share of times that all words of the decoy are removed. Instances are chosen "
        f"{SELECTIONS[selection]}; the table improvement has other orders too.",
        [
            "decoy",
            text("method", names=METHODS),
            "budget=looked_at",
            number("num_words", "words removed", 2),
            percent("identified"),
            *("accuracy_before", "accuracy_after", "gain", "gain_on_decoy_rows=gain_where_it_misleads"),
        ],
        most=60,
    )
    yield table.grid(chosen.sort("decoy", "budget", "gain_on_decoy_rows", descending=[False, False, True]))


def _labels(config: DecoyBenchmarkRun, rows: pl.DataFrame) -> Iterator[Block]:
    yield Paragraph(
        f"The labels of {100 * config.contamination.share:g}% of the training texts are flipped. Texts are looked at "
        "by how much their explanation speaks against their label, by their influence, or without either; whoever "
        "looks at a text corrects its label. The oracle knows which are wrong."
    )
    if figures := contamination(rows):
        yield Chart(
            "Dot plot of the share of flipped labels that is uncovered, or of the accuracy gained once they are "
            "corrected, with intervals, by order and budget.",
            "A random order uncovers on average the share that is looked at. The order at the top has the most with "
            "the largest budget.",
            figures,
        )
    table = Show(
        tables.Contamination,
        "Uncovered is the share of the flipped labels that is looked at; gain is the accuracy on the test texts of "
        "models that learn the corrected labels, less that of models that learn all flipped ones.",
        [
            text("order", names=ORDERS),
            percent("share", "looked at", 0),
            *("num_inspected=texts", "num_flipped"),
            number("num_uncovered", "uncovered texts", 1),
            estimate("uncovered", "share uncovered", 2),
            number("accuracy_clean", "accuracy, right labels"),
            *("accuracy_contaminated=with_flipped_labels", "accuracy_relabelled=once_corrected", "gain"),
        ],
    )
    yield table.grid(rows.sort("share", "uncovered", descending=[False, True], maintain_order=True))


# --- charts ---------------------------------------------------------------------------------------------------------


_CURVES = {
    "integrated_gradients": Look(MALE),
    "gradient_x_input": Look(FEMALE),
    "occlusion": Look(FIRST),
    "lime": Look(SECOND),
    "kernel_shap": Look(INK),
    CHANCE: Look(NEUTRAL, dash="dot"),
    "predictions": Look(NEUTRAL, dash="dash"),
    ORACLE: Look(INK, dash="dashdot"),
}
_DOT_HEIGHT, _ROW_GAP = 14, 10
"""In pixels: of each dot that shares a row, and between rows."""

_GAINS = {"gain_on_decoy_rows": "where it misleads", "gain": "all test texts"}


def _curves(rows: pl.DataFrame, chance: str, title: str) -> Figure:
    """A curve for each method, of one decoy."""

    def hover(row: Row) -> str:
        share, low, high = (wording.percent(row[f"{chance}{end}"], 0) for end in ("", "_low", "_high"))
        return lines(METHODS[row["method"]], f"instances: {row['budget']}", f"{title}: {share} [{low}, {high}]")

    titles = ("instances that are looked at", title)
    figure = curves(
        rows, "budget", chance, by="method", looks=_CURVES, titles=titles, hover=hover, label=METHODS.__getitem__
    )
    return figure.with_layout(xaxis={"rangemode": "tozero"}, yaxis=SHARES)


def gains(rows: pl.DataFrame) -> dict[str, Figure]:
    """The difference in test performance of Idahl et al. 2021, section 2.3, by the decoy and the texts that it is on.

    Args:
        rows: of ``improvement``, of one selection.
    """
    parts = rows.partition_by("decoy", maintain_order=True, as_dict=True)
    return {
        f"{decoy}, {place}": _dots(part, name, "method", METHODS, ("budget", budgets), "accuracy gained", neutral=0.0)
        for (decoy,), part in parts.items()
        for budgets in [[wording.plural(budget, "instance") for budget in part["budget"]]]
        for name, place in _GAINS.items()
        if part[name].null_count() < part.height
    }


def contamination(rows: pl.DataFrame) -> dict[str, Figure]:
    """What section 2.4 measures by: how many flipped labels are uncovered, and what it gains to correct them.

    Args:
        rows: of ``contamination``.
    """
    if rows.is_empty():
        return {}
    shares = [f"{wording.percent(share, 0)} of the texts" for share in rows["share"]]
    title = "flipped labels uncovered"
    uncovered = _dots(rows, "uncovered", "order", ORDERS, ("share", shares), title, ends=SHARES["range"])
    return {
        "labels uncovered": uncovered.with_layout(xaxis={"tickformat": SHARES["tickformat"]}),
        "accuracy gained": _dots(rows, "gain", "order", ORDERS, ("share", shares), "accuracy gained", neutral=0.0),
    }


def _dots(
    rows: pl.DataFrame,
    x: str,
    y: str,
    names: Mapping[str, str],
    budget: tuple[str, Sequence[str]],
    title: str,
    **settings: Any,
) -> Figure:
    """A row for each method or order with a dot for each budget, the smallest on top; first what is largest at last.

    Args:
        names: of the methods or orders.
        budget: the column with it, and what it is called in each row.
    """
    labelled = rows.with_columns(label=pl.Series(budget[1], dtype=pl.String))
    ordered = labelled.sort(budget[0], x, descending=True, nulls_last=True, maintain_order=True)
    budgets = ordered["label"].unique(maintain_order=True).reverse().to_list()
    height, middle = _ROW_GAP + _DOT_HEIGHT * len(budgets), (len(budgets) - 1) / 2
    # One below the other within their row.
    looks = {
        label: look._replace(shift=_DOT_HEIGHT / height * (middle - index))
        for index, (label, look) in enumerate(zip(budgets, cycle(LOOKS), strict=False))
    }
    return dots(
        ordered,
        x,
        y,
        by="label",
        looks=looks,
        title=title,
        hover=lambda row: lines(names[row[y]], f"looked at: {row['label']}", f"{title}: {wording.estimate(row, x)}"),
        label=names.__getitem__,
        row_height=height,
        **settings,
    )


# --- single texts ---------------------------------------------------------------------------------------------------


_NUM_OF_EACH = 2
"""Texts that are shown, with the decoy and without."""

_MOST_WORDS = 60
"""That are shown of a text."""

_CUT = Token("…")
_KINDS = {PLAIN: "trained without the decoy", DECOYED: "trained with it"}


def highlights(config: DecoyBenchmarkRun, frames: Frames) -> Iterator[Passages]:
    """Words coloured by what they add, as in figure 1 of Idahl et al. 2021.

    Of each decoy, the first texts with it and without it, as the first models of both kinds explain them.
    """
    methods, num_words = config.explanations.methods, config.explanations.top_words
    method = next((name for name in methods if name != CHANCE), methods[0])
    explained = frames.scan("attributions").filter(pl.col("model").is_in([f"{kind} 0" for kind in _KINDS]))
    for name, decoy in config.decoys.items():
        words = explained.filter(decoy=name, method=method).sort("sentence", "position").collect()
        if not words.is_empty():
            rows = [list(_row(words.filter(sentence=sentence), decoy, num_words)) for sentence in _chosen(words, decoy)]
            yield Passages(
                f"{wording.quoted(name)}, explained by {METHODS[method]}: the first test texts with the decoy and "
                "without it, by the first model that was trained without it and the first that was trained with it. "
                "Blue words speak for the class that is predicted, orange ones against it, the more the deeper; the "
                f"{num_words} that weigh most have their number.",
                rows,
            )


def _chosen(words: pl.DataFrame, decoy: Decoy) -> list[int]:
    """Numbers of texts: first those with the decoy."""
    texts = words.filter(model=f"{DECOYED} 0").group_by("sentence", maintain_order=True).agg("word")
    has_decoy = [any(holds(decoy, word) for word in text) for text in texts["word"].to_list()]
    marked = texts.with_columns(pl.Series("has_decoy", has_decoy))
    parts = (marked.filter(has_decoy=kind).head(_NUM_OF_EACH) for kind in (True, False))
    return [sentence for part in parts for sentence in part["sentence"].to_list()]


def _row(words: pl.DataFrame, decoy: Decoy, num_words: int) -> Iterator[Passage]:
    for kind, training in _KINDS.items():
        part = words.filter(model=f"{kind} 0")
        if not part.is_empty():
            heading = f"{training}: {part['predicted'][0]} ({words['gold'][0]} is right)"
            yield Passage(heading, _cut(_tokens(part, num_words), decoy))


def _tokens(words: pl.DataFrame, num_words: int) -> list[Token]:
    texts = words["word"].to_list()
    values = words["attribution"].fill_null(np.nan).to_numpy()
    numbered = top_words(Explained(texts, values), num_words)
    weights = np.nan_to_num(values / (np.nanmax(np.abs(values), initial=0.0) or 1.0))
    return [
        Token(text, float(weight), f"{'+' if value > 0 else ''}{wording.number(value, 2)}" if index in numbered else "")
        for index, (text, weight, value) in enumerate(zip(texts, weights, values, strict=True))
    ]


def _cut(tokens: Sequence[Token], decoy: Decoy) -> list[Token]:
    """As many words as are shown, around the first that belongs to the decoy."""
    first = next((place for place, token in enumerate(tokens) if holds(decoy, token.text)), 0)
    start = min(max(0, first - _MOST_WORDS // 2), max(0, len(tokens) - _MOST_WORDS))
    end = start + _MOST_WORDS
    return [*([_CUT] if start else []), *tokens[start:end], *([_CUT] if end < len(tokens) else [])]
