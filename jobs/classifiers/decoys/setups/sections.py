"""The sections of setups III and IV on the page of `decoy_benchmark`."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.classifiers.decoys.config import DecoyBenchmarkRun
from tiltmeter.jobs.classifiers.decoys.names import CHANCE, METHODS, ORDERS, SELECTIONS
from tiltmeter.jobs.classifiers.decoys.setups import figures
from tiltmeter.jobs.report.grids import count, estimate, grid, number, percent, text
from tiltmeter.jobs.report.html.elements import Chart, Paragraph, Section

_JUDGEMENTS = {
    "recognition": "takes every word of the decoy that is shown for a wrong reason, and no other word",
    "frequency": "does not know the decoy, and takes the words that are shown most often for it",
}
_REMEDIES = {
    "retrain": "a model is trained again without them, and reads the test texts without them",
    "ignore": "the model is kept, and reads the test texts without them",
}


def debugger(config: DecoyBenchmarkRun) -> str:
    """Who looks at explanations."""
    return f"Nobody looks in person: a rule {_JUDGEMENTS[config.debugger.judgement]}."


def improvement(rows: pl.DataFrame, config: DecoyBenchmarkRun) -> Section:
    """Setup III."""
    selections = config.explanations.selections
    selection = CHANCE if CHANCE in selections else selections[0]
    caption = (
        "Accuracy that is gained, on all test texts and on those whose decoy contradicts their class. Identified is "
        "the share of times that all words of the decoy are removed. Instances are chosen "
        f"{SELECTIONS[selection]}; the table improvement has other orders too."
    )
    shown = rows.filter(selection=selection)
    table = grid(
        caption,
        shown.sort("decoy", "budget", "gain_on_decoy_rows", descending=[False, False, True]),
        "decoy",
        text("method", names=METHODS),
        count("budget", "looked at"),
        number("num_words", "words removed", 2),
        percent("identified"),
        number("accuracy_before"),
        number("accuracy_after"),
        estimate("gain"),
        estimate("gain_on_decoy_rows", "gain where it misleads"),
        most=60,
        table="improvement",
    )
    intro = f"Words that are taken for wrong reasons are removed: {_REMEDIES[config.improvement.remedy]}."
    return Section("improvement", "Setup III: identify and improve", [Paragraph(intro), *_gains(shown), table])


def _gains(rows: pl.DataFrame) -> Iterator[Chart]:
    if gains := figures.gains(rows):
        yield Chart(
            "Dot plot of the accuracy that models gain once words are removed, with intervals, by method and budget.",
            "Right of 0, removing the words helped; random attributions show what chance does. The method at the top "
            "gains most with the largest budget.",
            gains,
            "Decoy and texts",
        )


def contamination(rows: pl.DataFrame, config: DecoyBenchmarkRun) -> Section:
    """Setup IV."""
    chosen = config.contamination
    intro = (
        f"The labels of {100 * chosen.share:g}% of the training texts are flipped. Texts are looked at by how much "
        "their explanation speaks against their label, by their influence, or without either; whoever looks at a text "
        "corrects its label. The oracle knows which are wrong."
    )
    table = grid(
        "Uncovered is the share of the flipped labels that is looked at; gain is the accuracy on the test texts of "
        "models that learn the corrected labels, less that of models that learn all flipped ones.",
        rows.sort("share", "uncovered", descending=[False, True], maintain_order=True),
        text("order", names=ORDERS),
        percent("share", "looked at", 0),
        count("num_inspected", "texts"),
        count("num_flipped", "flipped"),
        number("num_uncovered", "uncovered texts", 1),
        estimate("uncovered", "share uncovered", 2),
        number("accuracy_clean", "accuracy, right labels"),
        number("accuracy_contaminated", "with flipped labels"),
        number("accuracy_relabelled", "once corrected"),
        estimate("gain"),
    )
    return Section("contamination", "Setup IV: data contamination", [Paragraph(intro), *_uncovered(rows), table])


def _uncovered(rows: pl.DataFrame) -> Iterator[Chart]:
    if shown := figures.contamination(rows):
        yield Chart(
            "Dot plot of the share of flipped labels that is uncovered, or of the accuracy gained once they are "
            "corrected, with intervals, by order and budget.",
            "A random order uncovers on average the share that is looked at. The order at the top has the most with "
            "the largest budget.",
            shown,
        )
