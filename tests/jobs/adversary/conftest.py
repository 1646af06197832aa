"""Sentences whose class is told by gendered words, vectors with a gender in them, and a run on both."""

import csv
import random

import numpy as np
import pytest

MALE, FEMALE = ("man", "boy", "father", "king"), ("woman", "girl", "mother", "queen")
NOUNS = ("film", "plot", "cast", "music", "scene", "story", "ending", "song", "book", "play")
OTHERS = ("house", "river", "tree", "stone", "cloud", "road", "field", "table", "chair", "lamp", "glass", "paper")
LISTS = {
    "synonyms": [("film", "River"), ("lamp", "glass")],
    "antonyms": [("plot", "cast")],
    "parts_of_speech": [*((word, "NOUN") for word in NOUNS), *((word, "ADV") for word in OTHERS[3:])],
}
SMALL = [
    *("victim.linear.linear.min_count=2", "job.num_resamples=50", "controls.number=39", "controls.window=8"),
    *("direction.kinds=[pair, swap, names, neighbours]", "data.group=author", "candidates.neighbours=3"),
    *(
        "unit_texts=200",
        "candidates.exclude=1",
        "candidates.min_count=0",
        "language_model.ratio=null",
        "search.max_share=0.4",
    ),
]


def words_and_vectors():
    """A person is one place of several, and one side of a line; other words lie around."""
    draws = np.random.default_rng(1)
    gender, kinds = 3.0 * np.eye(12)[0], draws.normal(size=(len(MALE), 12)) * ([0.0] + [1.0] * 11)
    people = [(word, kinds[place] - gender) for place, word in enumerate(MALE)]
    people += [(word, kinds[place] + gender) for place, word in enumerate(FEMALE)]
    drawn = draws.normal(size=(len(NOUNS) + len(OTHERS), 12)) * ([0.0] + [1.0] * 11)
    rest = list(zip([*NOUNS, *OTHERS], drawn, strict=True))
    return zip(*[*rest[:8], *people, *rest[8:]], strict=True)


@pytest.fixture(scope="session")
def labelled(tmp_path_factory):
    """240 sentences about men, which are good, and women, which are not; some about neither; one empty."""
    rng, path = random.Random(0), tmp_path_factory.mktemp("labelled") / "texts.csv"
    rows = []
    for number in range(240):
        label, people = (("bad", FEMALE), ("good", MALE))[number % 2]
        person = rng.choice(people) if number % 5 else rng.choice(OTHERS)
        rows.append([f"The {rng.choice(NOUNS)} of a {person}, no {number}", label, f"author {number // 4}"])
    with path.open("w", newline="") as file:
        rest = [["", "good", "x"], ["a film", "", "x"], *([f"42, {at}!", "good", f"n {at}"] for at in range(15))]
        csv.writer(file).writerows([["text", "label", "author"], *rows, *rest])
    return path


@pytest.fixture(scope="session")
def adversary(labelled, write_vectors, tmp_path_factory):
    """The settings of a small run that trains no embedding."""
    folder = tmp_path_factory.mktemp("vectors")
    path = write_vectors(folder / "small.bin", *words_and_vectors())
    for name, pairs in LISTS.items():
        (folder / f"{name}.tsv").write_text("".join(f"{first}\t{second}\n" for first, second in pairs))
    lists = [f"candidates.{name}={folder}/{name}.tsv" for name in LISTS]
    return ["job=gender_adversary", f"data.path={labelled}", "embedding=file", f"embedding.path={path}", *SMALL, *lists]


@pytest.fixture(scope="session")
def attacked(run_job, adversary, tmp_path_factory):
    place = tmp_path_factory.mktemp("attacked")
    return run_job(*adversary, f"store={place}/store", f"run_dir={place}/run")
