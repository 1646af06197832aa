"""Idahl et al. 2021: productivity and coverage of "movie" in the Stanford Sentiment Treebank, by word and substring."""

from pathlib import Path

import polars as pl

from benchmarks.command import DATA
from benchmarks.papers.figures import Figure
from tiltmeter.operators.classifiers.decoys.kinds import DeletedDecoy, Match, Text, indicated, resolved
from tiltmeter.operators.classifiers.decoys.making import decoyed
from tiltmeter.operators.classifiers.decoys.measures import Measures, measure

TITLE = "Idahl et al. 2021, Towards Benchmarking the Utility of Explanations for Model Debugging"
PAGE = "decoy_benchmark"

_SENTENCES = "sentiment/sst2/train.tsv"
_PHRASES, _DEVELOPMENT = (f"sentiment/sst2_phrases/{part}.parquet" for part in ("train", "dev"))
DATA_FILES = [_SENTENCES, _PHRASES, _DEVELOPMENT]

_BY_SUBSTRINGS = "comes out by substrings"

_WORD, _NEGATIVE, _POSITIVE = "movie", "0", "1"


def figures() -> list[Figure]:
    """Both figures that the paper prints of this decoy, and its measures."""
    phrases, development = _parquet(DATA / _PHRASES), _parquet(DATA / _DEVELOPMENT)
    return [
        *(_random_chance(development, match) for match in ("substring", "word")),
        *(_coverage(phrases, match) for match in ("substring", "word")),
        *_equation_1(_tsv(DATA / _SENTENCES)),
        Figure("figure 1", "contributions of tokens, as colours", "no numbers", "–", "pictures; the report draws ours"),
    ]


def _random_chance(texts: list[Text], match: Match) -> Figure:
    """Of a model that has adopted the decoy wholly: right where the class is the one that is left."""
    measures = measure(texts, _WORD, match)
    share = _share_of_positive(measures)
    num_right = round(share * measures.applicability)
    ours = f"{100 * share:.1f} % ({num_right} of {measures.applicability})"
    return _compared("section 4", f"accuracy on texts with the {match}, if all are called positive", "47.5 %", ours)


def _share_of_positive(measures: Measures) -> float:
    return measures.productivity if measures.majority == _POSITIVE else 1.0 - measures.productivity


def _coverage(texts: list[Text], match: Match) -> Figure:
    share = measure(_without_negative(texts, match), _WORD, match).coverage
    ours = f"{100 * share:.2f} %"
    verdict = "same" if 0.0325 <= share < 0.033 else "below it too, but not close"
    return Figure("section 4", f"coverage of the {match}, negative texts left out", "below 3.3 %", ours, verdict)


def _without_negative(texts: list[Text], match: Match) -> list[Text]:
    decoy = resolved(DeletedDecoy(_WORD, _NEGATIVE, match=match), texts)
    changed = decoyed(texts, decoy, indicated(decoy, texts), seed=0)
    return [text for text, remaining in zip(texts, changed, strict=True) if remaining is not None]


def _equation_1(texts: list[Text]) -> list[Figure]:
    before, after = (measure(part, _WORD) for part in (texts, _without_negative(texts, "word")))
    reason = "not printed; whole sentences"
    values = {
        "productivity of the word, before": before.productivity,
        "share of positive there, which is not it": _share_of_positive(before),
        "productivity of the word, negative texts left out": after.productivity,
    }
    return [Figure("equation 1", figure, "–", f"{value:.3f}", reason) for figure, value in values.items()]


def _compared(place: str, figure: str, printed: str, ours: str) -> Figure:
    return Figure(place, figure, printed, ours, "same" if ours.startswith(printed) else _BY_SUBSTRINGS)


def _tsv(path: Path) -> list[Text]:
    return [Text(*line.rsplit("\t", 1)) for line in path.read_text(encoding="utf-8").splitlines()]


def _parquet(path: Path) -> list[Text]:
    return [Text(text, str(label)) for text, label in pl.read_parquet(path).select("sentence", "label").iter_rows()]
