"""Runs on made-up reviews, three in four of them positive; one has no label, one no word, and one comes thrice."""

import numpy as np
import pytest

from tests.jobs.classifiers.rows import write_rows
from tiltmeter.operators.sentiment.posterior.made_up import FEMALE, MALE, NEGATIVE, POSITIVE, reviews

GROUPS = {
    "names": {"female": FEMALE[:9], "male": MALE},
    "relations": {
        "female": ("mother", "sister", "wife", "aunt", "girl", "woman"),
        "male": ("father", "son", "boy", "man"),
    },
    "occupations": {
        "female": ("nurse", "teacher", "writer", "clerk", "baker"),
        "male": ("driver", "guard", "doctor", "cook", "uncle"),
    },
}
LEMMAS = {"aunt": "mother", "lovely": "delightful"}

SMALL = [
    *("job=sentiment_posterior", "job.level=0.9", "seed=3"),
    *("vectors.trainer.epochs=3", "vectors.trainer.dimensions=8", "vectors.min_count=2", "classifier.hidden=[6]"),
    *("classifier.seeds=2", "classifier.folds=2", "classifier.max_epochs=15", "classifier.learning_rate=0.02"),
    *("priors=[standard, texts, empirical]", "samplers=[exact]", "exact.draws=1500", "exact.proposals=20000"),
    *(f"groups.{name}.{side}=[{','.join(words)}]" for name, sides in GROUPS.items() for side, words in sides.items()),
    f"lemmas={{{', '.join(f'{word}: {lemma}' for word, lemma in LEMMAS.items())}}}",
    *("words.min_count=61", "cues.texts=50"),
    "cues.pairs=[[woman, man], [she, he], [terrible, fantastic], [annoying, admirable], [journey, lawyer]]",
]
SHARP = [
    *("samplers=[exact, nuts]", "nuts.chains=2", "nuts.warmup=200", "nuts.draws=2500", "priors=[bag]", "seed=8"),
    *("vectors.trainer.epochs=10", "vectors.trainer.learning_rate=0.1", "power=2", "words.max_words=2"),
    *("distance=half_cosine", "chain_classifiers=2", "classifier.calibrated=false"),
]
"""Trained vectors, and settings that are others than the usual ones."""
INVENTED = ["data.made_up=120", "vectors.leak=true", "priors=[words]", "seed=5"]

TEXTS = [review for at, review in enumerate(reviews(450, 25, seed=0)) if at % 2 == 0 or at % 6 == 1]
TEXTS = [("a film", ""), ("unheard rare rare", "negative"), *TEXTS, *TEXTS[4:5] * 2, ("", "positive")]
CODES = {"positive": "0", "negative": "1", "": ""}
"""Of labels in a file without a header, the other way around than they would be taken to mean."""
LABELLED = [(text, label == "positive") for text, label in TEXTS if text and label]
WITHOUT_VECTOR = ("film", "uncle", "rare")


FORMATS = ("word2vec_binary", "word2vec_text", "glove", "parquet", "keyedvectors")


def vectors(folder, form):
    """Settings that take the vectors of the usual run from a file of another format."""
    return [f"vectors.path={folder}/{form}", f"vectors.format={form}", f"vectors.allow_pickle={form == FORMATS[-1]}"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Of reviews, and of a lexicon with a word on both sides and one that is not in them."""
    folder = tmp_path_factory.mktemp("posterior")
    write_rows(folder / "texts.csv", [["text", "label"], *TEXTS])
    write_rows(folder / "coded.csv", ((text, CODES[label]) for text, label in TEXTS))
    entries = [(word, "positive") for word in POSITIVE] + [(word, "negative") for word in NEGATIVE]
    entries += [("war", "positive"), ("war", "negative"), ("enviousness", "negative")]
    write_rows(folder / "lexicon.csv", [["word", "polarity"], *entries])
    return folder


@pytest.fixture(scope="session")
def trained(folder):
    """Settings of a run that trains its vectors."""
    return [*SMALL, f"data.path={folder}/texts.csv", f"lexicon.path={folder}/lexicon.csv"]


@pytest.fixture(scope="session")
def small(trained, folder, write_vectors):
    """Settings of a run whose vectors have a direction of sentiment, and else nothing in them.

    A woman and a man have it alone, one of each sign; a journey and a lawyer have all but it.
    """
    words = sorted({word for text, _ in LABELLED for word in text.split()} - set(WITHOUT_VECTOR))
    sentiment = [0.8 * (word in POSITIVE) - 0.8 * (word in NEGATIVE) for word in words]
    values = np.random.default_rng(0).normal(size=(len(words), 8)) * ([0.0] + [1.0] * 7)
    values[:, 0] = sentiment
    values[[words.index("woman"), words.index("man")]] = np.outer([0.8, -0.8], np.eye(8)[0])
    for form in FORMATS:
        write_vectors(folder / form, words, values, form)
    coded = ["data.header=false", "data.text=column_1", "data.label=column_2", "data.positive=0"]
    coded += [f"data.path={folder}/coded.csv", "classifier.activation=relu"]
    return [*trained, *coded, *vectors(folder, "word2vec_binary")]


@pytest.fixture(scope="session")
def study(run_here, small, folder):
    return run_here(*small, f"store={folder}/store", f"run_dir={folder}/run")


@pytest.fixture(scope="session")
def sharp(run_here, trained, folder):
    return run_here(*trained, *SHARP, f"store={folder}/store", f"run_dir={folder}/sharp")


@pytest.fixture(scope="session")
def invented(run_here, folder):
    return run_here(*SMALL, *INVENTED, f"store={folder}/store", f"run_dir={folder}/invented")
