"""How fast and how complete attacks on the linear victim are; ``benchmarks.calibration`` has their p-values.

    python -m benchmarks.adversary <file of word vectors> [--texts 1000] [--parts search controls]

The texts are the tweets of Davidson et al. 2017: the first three quarters train the victim, the next ones are attacked.
``search`` holds the ladder against a genetic attacker of our own writing, after what OpenAttack 2.1.1 does (population
and generations 20, parents drawn in proportion to fitness 1 - p(y0), uniform crossover, one elite, no limit of changes,
no memory of what was asked): the algorithm, and not their program, which ``benchmarks.openattack`` runs. Both have the
eight nearest words of every word and the same victim; the ladder may change every word too, so that neither has the
larger space. ``controls`` counts 99 control directions both ways. Seconds are those of the CPU, one thread, so that
they can be read on a busy machine.
"""

import argparse
import csv
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray

from benchmarks.command import DATA
from tiltmeter.jobs.adversary.texts import stop_words
from tiltmeter.operators.classifiers.adversary.candidates import NONE, nearest_candidates, shifted_candidates
from tiltmeter.operators.classifiers.adversary.controls import matched_pairs, without_gender
from tiltmeter.operators.classifiers.adversary.fitting import LinearConfig, analyser, fitted
from tiltmeter.operators.classifiers.adversary.genetic import GeneticConfig, genetic
from tiltmeter.operators.classifiers.adversary.ladder import SearchConfig, ladder
from tiltmeter.operators.classifiers.adversary.search import exhaustive
from tiltmeter.operators.classifiers.adversary.spaces import Queries, Victim, change_limit, level_sizes
from tiltmeter.operators.classifiers.adversary.victims import LinearReader
from tiltmeter.operators.classifiers.adversary.words import (
    gender_signs,
    gendered_words,
    replaceable_word,
    replaced,
)
from tiltmeter.storage.vectors.files import read_embedding

_WORDS = yaml.safe_load((Path(__file__).parents[1] / "conf/job/gender_adversary.yaml").read_text())["words"]
GENDERED = gendered_words([tuple(pair) for pair in (*_WORDS["pairs"], *_WORDS["names"])])
FLIPPED = ("flipped", "flipped_minimal")


class Embedding(NamedTuple):
    words: Sequence[str]
    rows: Mapping[str, int]
    vectors: NDArray[np.float64]


def embedding_of(path: str) -> Embedding:
    words, vectors = read_embedding(path)
    return Embedding(words, {word: row for row, word in enumerate(words)}, np.asarray(vectors, dtype=np.float64))


def tweets(num_texts: int) -> tuple[list[tuple[str, str]], list[str]]:
    with (DATA / "sentiment/davidson/labeled_data.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["tweet"], row["class"]) for row in csv.DictReader(file)]
    cut = 3 * len(rows) // 4
    return rows[:cut], [text for text, _ in rows[cut : cut + num_texts]]


def reader(rows: Sequence[tuple[str, str]]) -> LinearReader:
    model = fitted([text for text, _ in rows], [label for _, label in rows], LinearConfig())
    vocabulary = {term: number for number, term in enumerate(model.vocabulary)}
    return LinearReader(model.model, model.classes, vocabulary, analyser())


class Attacked(NamedTuple):
    """A text, and the words of it that may be replaced, by their places."""

    tokens: list[str]
    words: dict[int, str]

    def space(self, candidates: Mapping[str, Sequence[str]]) -> dict[int, list[str]]:
        options = {
            at: [replaced(self.tokens[at], other) for other in candidates.get(w, ())] for at, w in self.words.items()
        }
        return {place: row for place, row in options.items() if row}


def attacked(texts: Sequence[str], embedding: Embedding) -> list[Attacked]:
    parts = [text.split() for text in texts]
    barred = stop_words()
    words = [{at: replaceable_word(token, barred) for at, token in enumerate(tokens)} for tokens in parts]
    known = [{at: word for at, word in row.items() if word in embedding.rows} for row in words]
    return [Attacked(tokens, row) for tokens, row in zip(parts, known, strict=True)]


def neighbours(texts: Sequence[Attacked], embedding: Embedding) -> dict[str, list[str]]:
    words = sorted({word for text in texts for word in text.words.values()})
    near = nearest_candidates(embedding.vectors, np.array([embedding.rows[word] for word in words]), top=8).words[0]
    return {word: [embedding.words[row] for row in rows] for word, rows in zip(words, near.tolist(), strict=True)}


def along(texts: Sequence[Attacked], embedding: Embedding, shifts: NDArray[np.float64]) -> list[dict[str, list[str]]]:
    words = sorted({word for text in texts for word in text.words.values()})
    rows = np.array([embedding.rows[word] for word in words])
    signs = gender_signs(embedding.words, GENDERED)
    near = shifted_candidates(embedding.vectors, rows, shifts, genders=signs, crossings="barred")
    return [
        {w: [embedding.words[at] for at in row if at != NONE] for w, row in zip(words, rows, strict=True)}
        for rows in near.words.tolist()
    ]


def opened(victim: LinearReader, text: Attacked, space: Mapping[int, Sequence[str]]) -> tuple[Victim, int]:
    victim_of = victim.open(text.tokens, [space])
    return victim_of(space), int(victim_of({})(np.zeros((1, 0), np.int64))[0].argmax())


# --- search ---------------------------------------------------------------------------------------------------------


def reference_genetic(victim: Victim, label: int, sizes: Sequence[int], seed: int) -> bool:
    """Whether the attacker of the module's description flips a text."""
    draws, positions = np.random.default_rng(seed), np.flatnonzero(sizes)
    if not positions.size:
        return False

    def mutated(text: NDArray[np.int64]) -> NDArray[np.int64]:
        place = int(draws.choice(positions, p=np.array(sizes)[positions] / sum(sizes)))
        options = np.repeat(text[None], sizes[place], axis=0)
        options[:, place] = np.arange(1, sizes[place] + 1)
        chosen: NDArray[np.int64] = options[victim(options)[:, label].argmin()]
        return chosen

    population = np.stack([mutated(np.zeros(len(sizes), np.int64)) for _ in range(20)])
    for _ in range(20):
        probabilities = victim(population)
        if (probabilities.argmax(axis=1) != label).any():
            return True
        fitness = 1.0 - probabilities[:, label]
        chance = fitness / fitness.sum() if fitness.sum() > 0.0 else np.full(20, 0.05)
        first, second = (population[draws.choice(20, size=19, p=chance)] for _ in range(2))
        children = np.where(draws.random(first.shape) < 0.5, first, second)
        population = np.stack([population[fitness.argmax()], *map(mutated, children)])
    return False


def search(victim: LinearReader, texts: Sequence[Attacked], embedding: Embedding) -> None:
    near, config = neighbours(texts, embedding), SearchConfig(max_share=1.0)
    cases = [(text, space, *opened(victim, text, space)) for text in texts if (space := text.space(near)) is not None]
    start, queries, flips = time.process_time(), 0, 0
    for number, (text, space, read, label) in enumerate(cases):
        asked = Queries(read, label)
        attack = ladder(asked, [len(row) for row in space.values()], len(text.tokens), config, 0, number)
        flips, queries = flips + (attack.status in FLIPPED), queries + asked.num_queries
    seconds = time.process_time() - start
    print(
        f"ladder: {flips / len(cases):.1%} of {len(cases)} texts, {seconds / len(cases):.4f} s a text, "
        f"{queries / seconds:,.0f} queries a second with the search"
    )
    start = time.process_time()
    found = sum(
        reference_genetic(read, label, [len(row) for row in space.values()], number)
        for number, (_, space, read, label) in enumerate(cases)
    )
    other = time.process_time() - start
    print(
        f"reference genetic: {found / len(cases):.1%}, {other / len(cases):.4f} s a text, {other / seconds:.1f} times"
    )
    _certificates(cases[:200])


def _certificates(cases: Sequence[tuple[Attacked, Mapping[int, Sequence[str]], Victim, int]]) -> None:
    """Within a fifth of the words: what is proven, and how often the genetic search alone reaches it."""
    proven = small = minima = reached = 0
    for number, (text, space, read, label) in enumerate(cases):
        sizes, limit = [len(row) for row in space.values()], change_limit(len(text.tokens), 0.2)
        if sum(level_sizes(sizes, min(limit, len(sizes)))) > 1_000_000:
            continue
        small += 1
        attack = exhaustive(Queries(read, label), sizes, limit, 1_000_001)
        proven += attack.status in ("flipped_minimal", "robust_proven", "no_candidate")
        if attack.status == "flipped_minimal":
            minima += 1
            alone = genetic(Queries(read, label), sizes, limit, 20_000, GeneticConfig(), 0, number)
            reached += alone.status in FLIPPED and alone.num_changes == attack.num_changes
    print(
        f"certificates at a budget of 1,000,001: {proven} of {small} texts with at most 10^6 members; "
        f"genetic alone reaches {reached} of {minima} minima"
    )


# --- controls -------------------------------------------------------------------------------------------------------


def rates(
    victim: LinearReader, texts: Sequence[Attacked], candidates: Sequence[Mapping[str, Sequence[str]]]
) -> NDArray[np.float64]:
    """Of each direction, the share of the texts that flip."""
    config, flips = SearchConfig(), np.zeros((len(candidates), len(texts)))
    for place, text in enumerate(texts):
        for number, row in enumerate(candidates):
            if space := text.space(row):
                read, label = opened(victim, text, space)
                asked, sizes = Queries(read, label), [len(options) for options in space.values()]
                attack = ladder(asked, sizes, change_limit(len(text.tokens), 0.2), config, 0, place)
                flips[number, place] = attack.status in FLIPPED
    return np.asarray(flips.mean(axis=1))


def drawn(embedding: Embedding, number: int) -> NDArray[np.float64]:
    """Control directions, as long as that of the pair."""
    barred = {*GENDERED.genders, *stop_words()}
    pool = np.array([row for word, row in embedding.rows.items() if word not in barred])
    man, woman = (embedding.rows[word] for word in ("man", "woman"))
    pairs, gender = matched_pairs(number, (man, woman), pool, 200, 0), embedding.vectors[woman] - embedding.vectors[man]
    shifts = without_gender(embedding.vectors[pairs[:, 1]] - embedding.vectors[pairs[:, 0]], gender[None])
    return np.asarray(shifts * (np.linalg.norm(gender) / np.linalg.norm(shifts, axis=1, keepdims=True)))


def controls(victim: LinearReader, texts: Sequence[Attacked], embedding: Embedding) -> None:
    start, shifts = time.process_time(), drawn(embedding, 99)
    candidates = along(texts, embedding, np.concatenate([shifts, -shifts]))
    middle = time.process_time()
    mean_rate = rates(victim, texts, candidates).mean()
    end = time.process_time()
    print(
        f"99 controls both ways on {len(texts)} texts: {middle - start:.0f} s for candidates, {end - middle:.0f} s for "
        f"attacks, of one core; mean rate {mean_rate:.1%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectors")
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--parts", nargs="+", default=["search", "controls"])
    options = parser.parse_args()
    embedding = embedding_of(options.vectors)
    rows, test = tweets(options.texts)
    texts, victim = attacked(test, embedding), reader(rows)
    parts = {
        "search": lambda: search(victim, texts, embedding),
        "controls": lambda: controls(victim, texts, embedding),
    }
    for name in options.parts:
        parts[name]()


if __name__ == "__main__":
    main()
