"""OpenAttack's genetic attacker beside the ladder, on the same tweets, candidates and victim.

    <a virtual environment of its own>/bin/pip install OpenAttack datasets
    <its python, with this project on its path> -m benchmarks.openattack <file of word vectors> [--texts 100]

The tweets are those of Davidson et al. 2017: the first three quarters train the victim, the next ones are attacked.
OpenAttack lower-cases texts, so both are given small letters, and cuts them at spaces here. It has no limit of changes,
so the ladder has none either. Seconds are those of the CPU.
"""

import argparse
import csv
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import OpenAttack
from numpy.typing import NDArray
from OpenAttack.attack_assist.goal import ClassifierGoal
from OpenAttack.attack_assist.substitute.word import WordSubstitute
from OpenAttack.tags import TAG_English
from OpenAttack.text_process.tokenizer import Tokenizer
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from benchmarks.command import DATA
from tiltmeter.jobs.adversary.candidates import stop_words
from tiltmeter.operators.classifiers.adversary.candidates import nearest_candidates
from tiltmeter.operators.classifiers.adversary.fitting import LinearConfig, analyser, fitted
from tiltmeter.operators.classifiers.adversary.ladder import SearchConfig, ladder
from tiltmeter.operators.classifiers.adversary.spaces import Queries
from tiltmeter.operators.classifiers.adversary.victims import LinearReader
from tiltmeter.operators.classifiers.adversary.words import replaceable_word, replaced
from tiltmeter.storage.vectors.files import read_embedding

Rows = Sequence[tuple[str, str]]
Near = Mapping[str, Sequence[str]]


class Victim(OpenAttack.Classifier):
    """The published victim, text by text, as OpenAttack asks it."""

    def __init__(self, rows: Rows) -> None:
        self.num_queries, self._vectorizer = 0, TfidfVectorizer(min_df=10, strip_accents="unicode")
        features = self._vectorizer.fit_transform([text for text, _ in rows])
        machine = LinearSVC(C=1.0, loss="hinge", random_state=0, max_iter=100_000)
        self._classifier = CalibratedClassifierCV(machine, cv=3).fit(features, [label for _, label in rows])

    def get_pred(self, texts: list[str]) -> NDArray[np.int64]:
        return np.asarray(self.get_prob(texts).argmax(axis=1))

    def get_prob(self, texts: list[str]) -> NDArray[np.float64]:
        self.num_queries += len(texts)
        return np.asarray(self._classifier.predict_proba(self._vectorizer.transform(texts)))


class Spaces(Tokenizer):
    TAGS: ClassVar = {TAG_English}

    def do_tokenize(self, text: str, pos_tagging: bool) -> list[Any]:
        return [(word, "other") for word in text.split()] if pos_tagging else text.split()

    def do_detokenize(self, words: list[str]) -> str:
        return " ".join(words)


class Neighbours(WordSubstitute):
    TAGS: ClassVar = {TAG_English}

    def __init__(self, near: Near) -> None:
        self._near = near

    def substitute(self, word: str, _: str) -> list[tuple[str, float]]:
        return [(other, 1.0) for other in self._near.get(word.lower(), [])]


def tweets(num_texts: int) -> tuple[Rows, list[str]]:
    """Those that train, with their classes, and those that are attacked."""
    with (DATA / "sentiment/davidson/labeled_data.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["tweet"], row["class"]) for row in csv.DictReader(file)]
    cut = 3 * len(rows) // 4
    return rows[:cut], [text.lower() for text, _ in rows[cut : cut + num_texts]]


def neighbours(texts: Sequence[str], path: str) -> tuple[list[dict[int, str]], Near]:
    """The words of each text that may be replaced, by their places, and the eight nearest words of each word."""
    names, vectors = read_embedding(path)
    rows, barred = {name: row for row, name in enumerate(names)}, stop_words()
    found = [{at: replaceable_word(token, barred) for at, token in enumerate(text.split())} for text in texts]
    known = [{at: word for at, word in words.items() if word in rows} for words in found]
    chosen = sorted({word for words in known for word in words.values()})
    near = nearest_candidates(np.asarray(vectors, np.float64), np.array([rows[word] for word in chosen]), top=8).words
    return known, {word: [names[row] for row in of] for word, of in zip(chosen, near[0].tolist(), strict=True)}


def attack_theirs(texts: Sequence[str], near: Near, rows: Rows) -> float:
    """Seconds a text."""
    victim, num_flips = Victim(rows), 0
    attacker = OpenAttack.attackers.GeneticAttacker(substitute=Neighbours(near), tokenizer=Spaces())
    np.random.seed(0)  # OpenAttack draws from numpy's global numbers
    start = time.process_time()
    for text in texts:
        goal = ClassifierGoal(int(victim.get_pred([text])[0]), False)
        num_flips += attacker.attack(victim, text, goal) is not None
    seconds, queries = (time.process_time() - start) / len(texts), victim.num_queries / len(texts)
    print(f"OpenAttack: {num_flips / len(texts):.1%}, {seconds:.3f} s, {queries:,.0f} queries a text")
    return seconds


def attack_ours(texts: Sequence[str], words: Sequence[Mapping[int, str]], near: Near, rows: Rows) -> float:
    """Seconds a text."""
    model = fitted([text for text, _ in rows], [label for _, label in rows], LinearConfig())
    vocabulary = {term: number for number, term in enumerate(model.vocabulary)}
    victim = LinearReader(model.model, model.classes, vocabulary, analyser())
    start, statuses = time.process_time(), []
    for number, (text, known) in enumerate(zip(texts, words, strict=True)):
        tokens = text.split()
        space = {at: [replaced(tokens[at], other) for other in near[word]] for at, word in known.items()}
        space = {at: options for at, options in space.items() if options}
        read = victim.for_text(tokens, [space])
        label = int(read({})(np.zeros((1, 0), np.int64))[0].argmax())
        sizes = [len(options) for options in space.values()]
        attack = ladder(Queries(read(space), label), sizes, len(tokens), SearchConfig(max_share=1.0), 0, number)
        statuses.append(attack.status)
    seconds = (time.process_time() - start) / len(texts)
    num_flips = sum(status.startswith("flipped") for status in statuses)
    print(f"ladder: {num_flips / len(texts):.1%}, {seconds:.4f} s a text")
    bound = (num_flips + statuses.count("not_found")) / len(texts)
    print(f"proven: no attacker flips more than {bound:.1%} by these candidates")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectors")
    parser.add_argument("--texts", type=int, default=100)
    options = parser.parse_args()
    rows, texts = tweets(options.texts)
    words, near = neighbours(texts, options.vectors)
    theirs, ours = attack_theirs(texts, near, rows), attack_ours(texts, words, near, rows)
    print(f"{theirs / ours:.0f} times as fast")


if __name__ == "__main__":
    main()
