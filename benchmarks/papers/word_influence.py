"""Kumar et al. 2021: the data, the sizes of vocabularies, and what the claims of table 6 are worth."""

from collections import Counter
from collections.abc import Iterator

import polars as pl

from benchmarks.command import DATA
from benchmarks.papers.figures import Figure, compared
from tiltmeter.operators.classifiers.influence.parts_of_speech import tagged, tagged_vocabulary
from tiltmeter.operators.classifiers.small import words_of
from tiltmeter.operators.statistics.shares import clopper_pearson

TITLE = "Kumar, Dixit and Shah 2021, Interpreting Text Classifiers by Learning Context-sensitive Influence of Words"
PAGE = "word_influence"

_TRAINING, _DEVELOPMENT = "sentiment/sst2_phrases/train.parquet", "sentiment/sst2_phrases/dev.parquet"
_TEST = "sentiment/sst2/test.tsv"
DATA_FILES = [_TRAINING, _DEVELOPMENT, _TEST]

_VOCABULARIES = {"NOUN": 7534, "VERB": 2749, "ADJ": 3394, "ADV": 809}
_CLAIMS = {"lesbian": (67, 90), "gay": (61, 93), "bisexual": (68, 82), "transsexual": (69, 85)}
"""Of a hundred claims against each word, those that the teacher confirms with "straight", and with the word."""

_WORDS = ("straight", *_CLAIMS, "queer", "homosexual", "colossal")
_TAGGER = "another tagger; words end at hyphens"


def figures() -> list[Figure]:
    """What the paper prints, beside what its data or its own numbers come to."""
    training = pl.read_parquet(DATA / _TRAINING)
    words = [words_of(text) for text in training["sentence"].to_list()]
    return [*_sizes(training), *_vocabularies(words), *_counts(words), *_claims()]


def _sizes(training: pl.DataFrame) -> Iterator[Figure]:
    development = pl.read_parquet(DATA / _DEVELOPMENT)
    yield compared("section 4.1", "training phrases", 67349, training.height)
    yield compared("section 4.1", "development sentences", 872, development.height)
    num_test = len((DATA / _TEST).read_text(encoding="utf-8").splitlines())
    yield compared("section 4.1", "test sentences", 1821, num_test)
    positive = 100 * float(training["label"].to_numpy().mean())
    yield compared("section 4.1", "positive of the training phrases, %", 56, positive)
    wrong = round((1 - 0.9438) * development.height)
    yield compared("section 4.3", "sentences that a teacher of 94.38 % gets wrong", 49, wrong)


def _vocabularies(words: list[list[str]]) -> Iterator[Figure]:
    tags = tagged(words)
    sizes = Counter(word.tag for word in tagged_vocabulary(words, tags))
    for tag, printed in _VOCABULARIES.items():
        yield Figure("table 8", f"words that are {tag}", f"{printed:,}", f"{sizes[tag]:,}", _TAGGER)
    adjectives = sum(tag == "ADJ" for row in tags for tag in row)
    yield Figure("appendix F", "contexts of adjectives", "81,435", f"{adjectives:,}", _TAGGER)


def _counts(words: list[list[str]]) -> Iterator[Figure]:
    counts = Counter(word.casefold() for row in words for word in row)
    for word in _WORDS:
        verdict = "never seen in training" if not counts[word] else "not printed"
        yield Figure("table 6", f"times that the training phrases have “{word}”", "–", f"{counts[word]:,}", verdict)


def _claims() -> Iterator[Figure]:
    """Both shares bound how many of the hundred claims can be true as they are made."""
    for word, (control, probe) in _CLAIMS.items():
        for name, right in (("straight", control), (word, probe)):
            rates = clopper_pearson(right, 100)
            ours = f"[{100 * float(rates.low):.1f}, {100 * float(rates.high):.1f}]"
            yield Figure("table 6", f"“{name}”, of claims against “{word}”", f"{right}.0 %", ours, "its interval")
        ours = f"{control + probe - 100} to {min(control, probe)} %"
        yield Figure("table 6", f"claims against “{word}” that are true as made", "–", ours, "by both shares")
