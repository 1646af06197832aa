"""OpenAttack's genetic attacker beside the ladder, on the same tweets, candidates and victim.

    <a virtual environment of its own>/bin/pip install OpenAttack datasets
    <its python, with this project on its path> -m benchmarks.openattack <file of word vectors> [--texts 100]

OpenAttack lower-cases texts, so both are given small letters, and cuts them at spaces here. It has no limit of changes,
so the ladder has none either. Seconds are those of the CPU.
"""

import argparse
import time
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

from benchmarks.adversary import FLIPPED, attacked, embedding_of, neighbours, opened, reader, tweets
from tiltmeter.operators.classifiers.adversary.ladder import SearchConfig, ladder
from tiltmeter.operators.classifiers.adversary.spaces import Queries


class Victim(OpenAttack.Classifier):
    """The published victim, text by text, as OpenAttack asks it."""

    def __init__(self, rows: list[tuple[str, str]]) -> None:
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

    def __init__(self, near: dict[str, list[str]]) -> None:
        self._near = near

    def substitute(self, word: str, _: str) -> list[tuple[str, float]]:
        return [(other, 1.0) for other in self._near.get(word.lower(), [])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectors")
    parser.add_argument("--texts", type=int, default=100)
    options = parser.parse_args()
    rows, test = tweets(options.texts)
    lower, embedding = [text.lower() for text in test], embedding_of(options.vectors)
    texts = attacked(lower, embedding)
    near, victim, quick = neighbours(texts, embedding), Victim(rows), reader(rows)
    attacker = OpenAttack.attackers.GeneticAttacker(substitute=Neighbours(near), tokenizer=Spaces())
    np.random.seed(0)  # OpenAttack draws from numpy's global numbers
    start, num_flips = time.process_time(), 0
    for number, text in enumerate(lower, start=1):
        goal = ClassifierGoal(int(victim.get_pred([text])[0]), False)
        num_flips += attacker.attack(victim, text, goal) is not None
        if number % 50 == 0:
            print(f"{num_flips} of {number} flipped in {time.process_time() - start:.0f} s", flush=True)
    seconds = (time.process_time() - start) / len(lower)
    num_queries = victim.num_queries / len(lower)
    print(f"OpenAttack: {num_flips / len(lower):.1%}, {seconds:.3f} s, {num_queries:,.0f} queries a text")
    start, num_flips, num_open = time.process_time(), 0, 0
    for number, text in enumerate(texts):
        read, label = opened(quick, text, space := text.space(near))
        sizes = [len(row) for row in space.values()]
        attack = ladder(Queries(read, label), sizes, len(text.tokens), SearchConfig(max_share=1.0), 0, number)
        num_flips, num_open = num_flips + (attack.status in FLIPPED), num_open + (attack.status == "not_found")
        if (number + 1) % 50 == 0:
            print(f"{num_flips} of {number + 1} flipped in {time.process_time() - start:.1f} s", flush=True)
    other = (time.process_time() - start) / len(lower)
    print(f"ladder: {num_flips / len(lower):.1%}, {other:.4f} s a text, {seconds / other:.0f} times as fast")
    print(f"proven: no attacker flips more than {(num_flips + num_open) / len(lower):.1%} by these candidates")


if __name__ == "__main__":
    main()
