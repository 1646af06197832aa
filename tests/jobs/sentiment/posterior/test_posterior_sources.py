"""What `sentiment_posterior` refuses before any work, and what it makes of words without a run."""

import numpy as np
import polars as pl
import pytest

from tests.fixtures.tables import posterior
from tests.jobs.sentiment.posterior.conftest import write
from tiltmeter.jobs.adversary.config import find_sources as find_adversary
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.sentiment.posterior.job import find_sources
from tiltmeter.jobs.sentiment.posterior.page import doubts
from tiltmeter.operators.embedding.word2vec import Word2VecConfig
from tiltmeter.operators.sentiment.posterior.vectors import Tokens, fold_vectors
from tiltmeter.storage.errors import InputError

LABELS = ("positive", "negative")
FIND = {"sentiment_posterior": find_sources, "gender_adversary": find_adversary}
ENTRIES = (("good", "positive"), ("bad", "negative"))


@pytest.fixture
def found(configured, tmp_path):
    """What there is of texts with these labels and a lexicon with these entries."""

    def found(labels, entries, *more):
        texts = write(tmp_path / "texts.csv", ("text", "label"), *((f"film {at}", of) for at, of in enumerate(labels)))
        lexicon = write(tmp_path / "lexicon.csv", ("word", "polarity"), *entries)
        settings = [f"data.path={texts}", f"lexicon.path={lexicon}", *more]
        return find_sources(configured("job=sentiment_posterior", *settings))

    return found


@pytest.mark.parametrize(
    ("labels", "entries", "more", "message"),
    [
        (("positive",), ENTRIES, [], r"have 1 labels \('positive'\), and must have two"),
        ((" positive ", "positive", ""), ENTRIES, [], "have 1 labels"),
        (("a", "b", "c"), ENTRIES, [], "have 3 labels"),
        (("a", "b"), ENTRIES, [], "data.positive: neither of the labels 'a' and 'b' says"),
        (LABELS, ENTRIES, ["data.positive=good"], r"data\.positive=good: is not a label"),
        (LABELS, [("bad", "worse")], [], "none of positive, negative .*line 2, column 'polarity': 'worse'"),
        (LABELS, ENTRIES[:1], [], r"lexicon\.polarity: .*lexicon\.csv has no negative word"),
    ],
)
def test_files_that_ask_nothing_are_refused_before_anything_is_started(found, labels, entries, more, message):
    with pytest.raises(InputError, match=message):
        found(labels, entries, *more)


@pytest.mark.parametrize("job", ["sentiment_posterior", "gender_adversary"])
def test_lists_are_no_labels(configured, tmp_path, job):
    path = tmp_path / "texts.parquet"
    pl.DataFrame({"text": ["a", "b"], "label": [[1], [0]]}).write_parquet(path)
    settings = {"sentiment_posterior": "lexicon.path=none.csv", "gender_adversary": "max_texts=9"}
    with pytest.raises(InputError, match=r"data\.path: .* has lists or structs in column 'label'"):
        FIND[job](configured(f"job={job}", f"data.path={path}", settings[job]))


def test_a_word_that_only_the_texts_of_a_fold_have_has_no_vector_without_them():
    """The last word is in the second fold alone; of all texts, each has one."""
    words = np.array([0, 1, 2, 0, 1, 2, 0, 1, 3], dtype=np.int64)
    tokens = Tokens(words, np.array([0, 3, 6, 9]), np.array([0, 0, 1]))
    trainer = Word2VecConfig(dimensions=4, epochs=1)
    for fold, num_known in ((1, 3), (-1, 4)):
        vectors = fold_vectors(tokens, ["a", "b", "c", "d"], fold, 0, trainer)
        assert np.isfinite(vectors).all(axis=1).tolist() == [place < num_known for place in range(4)]
    with pytest.raises(ValueError, match=r"vectors\.min_count: no text has a word"):
        fold_vectors(tokens._replace(folds=np.ones(3, np.int64)), ["a", "b", "c", "d"], 1, 0, trainer)


# --- the page -------------------------------------------------------------------------------------------------------


def told(**changed):
    frames = {name: pl.DataFrame(pl.from_arrow(table)) for name, table in posterior.studied().items()} | changed
    return " ".join(doubts(Frames({name: frame.lazy() for name, frame in frames.items()}), made_up=False))


def test_chains_that_have_no_exact_draws_beside_them_say_so():
    compared = pl.DataFrame(pl.from_arrow(posterior.studied()["diagnostics"])).with_columns(status=pl.lit("ok"))
    assert "no mean of 8 differs from that of exact draws by more than 1.3" in told(diagnostics=compared)
    alone = compared.with_columns(z_exact=pl.lit(None, pl.Float64))
    assert "passed the diagnostics, and there are no exact draws beside them." in told(diagnostics=alone)


def test_words_of_the_lexicon_that_are_left_out_are_counted():
    entries = [("good", "positive", "ok"), ("war", None, "both_sides"), ("sad", "negative", "no_vector")]
    rows = [
        {"prior": prior, "word": word, "polarity": polarity, "status": status}
        for prior in ("standard", "texts")
        for word, polarity, status in [*entries, ("film", None, "ok"), ("mother", None, "no_vector")]
    ]
    sentence = "Of 3 words of the lexicon, 1 on both of its sides and 1 without a vector are left out."
    assert sentence in told(words=pl.DataFrame(rows))
