"""Liang and Acuna 2020: forced choice on embeddings of the Simple English Wikipedia, which it trains for minutes."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import ndtri
from scipy.stats import t as student_t

from benchmarks.command import DATA, run_command
from benchmarks.papers.figures import Figure, minus
from tiltmeter.operators.psychophysics.forced_choice import curve, standard_deviation

TITLE = "Liang and Acuna 2020, Artificial mental phenomena: psychophysics to detect perception biases in AI models"
PAGE = "psychophysics"

_CORPUS = "corpora/en/simplewiki.jsonl.bz2"
DATA_FILES = [_CORPUS]

_NUM_PRINTED = 29
"""Occupations that both printed p-values follow from; their number is not printed."""

_ANOTHER_CORPUS = "another corpus"


def figures() -> list[Figure]:
    """What follows from the text alone, then what the embeddings say."""
    settings = ["job=psychophysics", "corpus=simplewiki", f"corpus.simplewiki.path={DATA / _CORPUS}"]
    settings += ["wordset=english_caliskan", "embedding.num_replicas=12", "embedding.device=cpu"]
    with tempfile.TemporaryDirectory() as folder:
        return figures_of(run_command(Path(folder), *settings).run_dir)


def figures_of(run_dir: Path) -> list[Figure]:
    """From the tables of a run."""
    pooled, pairs, validation = (
        pl.read_parquet(run_dir / f"{name}.parquet").filter(status="ok")
        for name in ("pooled_psychometrics", "psychometrics", "validation")
    )
    love = pairs.filter(cue_1="love").sort("pse")
    return [
        *_p_values(),
        _window(),
        *_correlations(validation.filter(pl.col("cue_1").is_null())),
        *_occupations(pooled),
        _between_love_and_hate(love, "teacher", "above 0.5, the most lovable", love.reverse()),
        _between_love_and_hate(love, "examiner", "below 0.5, the most hated", love),
    ]


def _p_values() -> Iterator[Figure]:
    for name, correlation, printed in (("PSE", 0.368, "0.049"), ("JND", 0.401, "0.031")):
        freedom = _NUM_PRINTED - 2
        statistic = correlation * np.sqrt(freedom / (1 - correlation**2))
        p = f"{2 * student_t.sf(statistic, freedom):.3f}"
        verdict = "same" if p == printed else "ρ is rounded: 0.3685 has 0.049"
        figure = f"p of ρ = {correlation} of {name}, if over {_NUM_PRINTED} occupations"
        yield Figure("section 5.1", figure, printed, p, verdict)


def _window() -> Figure:
    """Equation 6 on a normal curve of many replicas."""
    flips = ndtri((np.arange(20_000) + 0.5) / 20_000)[np.newaxis]
    width = float(curve(flips).jnd[0] / standard_deviation(flips)[0])
    figure, verdict = "JND of a normal curve, in standard deviations", "the paper defines it twice; both are columns"
    return Figure("equation 6", figure, "1 (caption of figure 2)", f"{width:.3f}", verdict)


def _correlations(rows: pl.DataFrame) -> Iterator[Figure]:
    sign = "by equation 8 the sign is −; another corpus"
    for place, measure, against, printed, verdict in (
        ("section 5.1", "pse", "share_men", "+0.368 (p = 0.049)", sign),
        ("section 6", "pse", "share_men", "+0.39", sign),
        ("section 5.1", "jnd", "dispersion", "0.401 (p = 0.031)", "does not come out on this corpus"),
    ):
        row = rows.filter(measure=measure, against=against).row(0, named=True)
        other = {"share_men": "the share of men", "dispersion": "the standard deviation of that share"}[against]
        ours = minus(f"{row['pearson']:.2f} (p = {row['pearson_p']:.2f}, {row['num_occupations']} occupations)")
        yield Figure(place, f"correlation of {measure.upper()} with {other}", printed, ours, verdict)


def _occupations(rows: pl.DataFrame) -> Iterator[Figure]:
    pse, jnd = (dict(rows.select("word", name).iter_rows()) for name in ("pse", "jnd"))
    for place, word, is_above in (
        ("figure 2", "electrician", False),
        ("section 5.1", "hairdresser", True),
        ("section 5.1", "lawyer", False),
    ):
        verdict = "same" if (pse[word] > 0.5) == is_above else f"{_ANOTHER_CORPUS}, in which it is rare"
        yield Figure(place, f"PSE of {word}", "above 0.5" if is_above else "below 0.5", f"{pse[word]:.2f}", verdict)
    widths = [jnd[word] for word in ("hairdresser", "lawyer")]
    ours = "{:.2f} and {:.2f}".format(*widths)
    verdict = "same" if widths[0] > widths[1] else _ANOTHER_CORPUS
    yield Figure("section 5.1", "JND of hairdresser and of lawyer", "larger and smaller", ours, verdict)


def _between_love_and_hate(rows: pl.DataFrame, word: str, printed: str, from_its_end: pl.DataFrame) -> Figure:
    pse, rank = rows.filter(word=word)["pse"][0], from_its_end["word"].to_list().index(word) + 1
    is_on_its_side = (pse > 0.5) == printed.startswith("above")
    verdict = "same" if is_on_its_side and rank == 1 else f"{_ANOTHER_CORPUS}{': the same side' * is_on_its_side}"
    ours = f"{pse:.2f}, number {rank} of {rows.height}"
    return Figure("section 5.1", f"PSE of {word} between love and hate", printed, ours, verdict)
