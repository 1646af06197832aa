"""Matthews et al. 2021: what follows from the printed biases and counts, and how often words occur in our samples."""

from collections import Counter
from pathlib import Path

import numpy as np
import pydantic
import yaml

from benchmarks.command import DATA, read_corpus
from benchmarks.papers.figures import Figure, compared
from tiltmeter.operators.gender.professions import profession_bias
from tiltmeter.operators.text.spelling import normalised, phrases
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.operators.text.wordsets import GenderSurvey, WordSets

TITLE = "Matthews et al. 2021, Gender Bias in Natural Language Processing Across Human Languages"
PAGE = "gender_survey"

_GERMAN, _WOLOF = "corpora/de/dewiki.wikiextractor.txt.bz2", "corpora/wo/wowiki.jsonl"
DATA_FILES = [_GERMAN, _WOLOF]

_LISTS = Path(__file__).parents[2] / "conf" / "wordset" / "gender"
_SCIENTIST = {"Wissenschaftlerin": (0.32, 1354), "Wissenschaftler": (-0.06, 32467)}
_MUSICIAN, _PERSON = ("waykat", 5), ("nit", 1401)
_WOLOF_SHARE = 0.00026

_HEAD = "another corpus: 11,330 articles at the head of a dump"
_SAMPLE = "another corpus: 322 articles, where the paper has 1,422"
_TRAINED = "another corpus; what ours show is said below"


def figures() -> list[Figure]:
    """What the paper prints of section 4.2 and 3.2, and what it finds of figures that have no numbers in print."""
    return [*_scientist(), *_german(), *_wolof(), *_trained()]


def _scientist() -> list[Figure]:
    biases, counts = zip(*_SCIENTIST.values(), strict=True)
    bias = profession_bias(np.array([biases]), ["feminine", "masculine"], counts)
    of = "from the printed biases and counts"
    return [
        compared("section 4.2", f"bias of the scientist, every form the same, {of}", 0.13, bias.by_form[0], digits=2),
        compared("section 4.2", f"bias of the scientist, forms by count, {of}", -0.04, bias.by_count[0], digits=2),
    ]


def _german() -> list[Figure]:
    corpus = _Corpus("de", "german", _GERMAN)
    words = [
        Figure("section 4.2", f"occurrences of {word}", f"{count:,}", corpus.occurrences(word), _HEAD)
        for word, (_, count) in _SCIENTIST.items()
    ]
    share = Figure("section 3.2", "professions in all words, German", "0.014 % to 0.037 %", corpus.share, _HEAD)
    return [*words, share]


def _wolof() -> list[Figure]:
    corpus = _Corpus("wo", "wolof", _WOLOF)
    words = [
        Figure("section 3.2", f"occurrences of {word}", f"{count:,}", corpus.occurrences(word), _SAMPLE)
        for word, count in (_PERSON, _MUSICIAN)
    ]
    implied = (_PERSON[1] + _MUSICIAN[1]) / _WOLOF_SHARE
    share = f"{_WOLOF_SHARE:.3%}".replace("%", " %")
    of_article, why = (
        "words of an article of the Wolof Wikipedia",
        "not printed: what 1,406 occurrences at 0.026 % come to",
    )
    ours = f"{corpus.num_words / corpus.num_articles:,.0f}"
    return [
        *words,
        Figure("section 3.2", "professions in all words, Wolof", share, corpus.share, _SAMPLE),
        Figure("section 3.2", of_article, f"{implied / 1422:,.0f}", ours, why),
    ]


def _trained() -> list[Figure]:
    return [
        Figure("section 4.2", "bias of Wissenschaftlerin and Wissenschaftler", "0.32, −0.06", "–", _TRAINED),
        Figure("figure 1", "bias of boy in English", "−0.002", "–", _TRAINED),
        Figure("section 4.1", "languages with husband on the female side", "7 of 9", "–", _TRAINED),
        Figure("figure 3", "the language with the smallest gap", "Chinese", "–", _TRAINED),
        Figure("section 4.1", "languages whose gap grows without wife – husband", "8 of 9", "–", _TRAINED),
        Figure("section 2.2", "t-test against the original lists, English", "not significant", "–", _TRAINED),
    ]


class _Corpus:
    """Words of a sample, counted as the job counts them."""

    def __init__(self, language: str, name: str, path: str) -> None:
        lists = yaml.safe_load((_LISTS / f"{name}.yaml").read_text(encoding="utf-8"))
        wordset = pydantic.TypeAdapter(WordSets).validate_python(lists)
        self._tokenizer = Tokenizer(language, phrases=phrases(wordset, Tokenizer(language)))
        self._survey = normalised(wordset, self._tokenizer).gender_survey
        self._counts: Counter[str] = Counter()
        texts = {page.text for _, page in read_corpus(str(DATA / path), language)}
        self.num_articles = len(texts)
        for text in texts:
            for line in text.splitlines():
                self._counts.update(self._tokenizer(line))
        self.num_words = self._counts.total()

    def occurrences(self, word: str) -> str:
        """How often a word occurs."""
        return f"{self._counts[self._tokenizer.entry(word)]:,}"

    @property
    def share(self) -> str:
        """Forms of professions in all words, each once."""
        forms = _forms(self._survey)
        return f"{sum(self._counts[word] for word in forms) / self.num_words:.3%}".replace("%", " %")


def _forms(survey: GenderSurvey | None) -> set[str]:
    return {word for forms in survey.professions.values() for word in forms.words} if survey else set()
