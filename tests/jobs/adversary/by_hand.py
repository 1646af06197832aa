"""A run of `gender_adversary` once more: one text, one word and one direction after the other, in plain loops.

Searches, language model and classifier are the operators, which have tests of their own; what each is given is said
here a second time.
"""

import csv
import itertools
import re
from collections import Counter
from functools import cache, cached_property
from math import log, log10
from typing import NamedTuple

import numpy as np
import torch
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from transformers import BertForMaskedLM, BertTokenizer

from tiltmeter.operators.classifiers.adversary.candidates import pair_direction
from tiltmeter.operators.classifiers.adversary.constraints import Constraints
from tiltmeter.operators.classifiers.adversary.controls import matched_pairs, sphere_directions
from tiltmeter.operators.classifiers.adversary.fitting import analyser, fitted
from tiltmeter.operators.classifiers.adversary.ladder import all_at_once, greedy_attack, ladder
from tiltmeter.operators.classifiers.adversary.spaces import Queries, change_limit, level_sizes
from tiltmeter.operators.classifiers.adversary.victims import LinearReader
from tiltmeter.operators.classifiers.adversary.words import folded, gender_swaps, gendered_words, replaced
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.counter_fitting import counter_fitted
from tiltmeter.operators.text.perplexity import KneserNey

from .conftest import LISTS, words_and_vectors

PARTS = ("training", "development", "test")
NOISES = (0.0, 0.3, 0.5)
NOISE_OF_NEIGHBOURS = 0.7
BARRED = {*ENGLISH_STOP_WORDS, "rt"}


def length_1(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


class Case(NamedTuple):
    """What words of a text may become, by their positions."""

    space: dict
    num_unlikely: int = 0

    @property
    def sizes(self):
        return [len(options) for options in self.space.values()]


class Embedding:
    """Vectors of words that may be replaced, and of candidates."""

    def __init__(self, config, counts, noise):
        self.config = config
        self.words, self.vectors = self._read(noise)
        self.rows = {word: row for row, word in enumerate(self.words)}
        self.pool = [row for row, word in enumerate(self.words) if counts[word] >= config.candidates.min_count]
        genders = config.words.gendered().genders
        self.controls = cache(self._controls)
        self.signs = np.array([{"female": 1, "male": -1}.get(genders.get(word), 0) for word in self.words])

    def _read(self, noise):
        words, vectors = words_and_vectors(noise)
        known = [row for row, word in enumerate(words) if re.fullmatch("[a-z]+", word)]
        known = known[: self.config.candidates.max_vocabulary]
        vectors = np.array(vectors, dtype=np.float32)[known].astype(np.float64)
        return [words[row] for row in known], length_1(vectors) if self.config.direction.unit_vectors else vectors

    def vector(self, word):
        return self.vectors[self.rows[word]]

    def pairs(self, kind):
        return [self.config.direction.pair] if kind == "pair" else self.config.direction.pairs

    def direction(self, kind):
        """From men to women."""
        males, females = (np.stack([self.vector(pair[end]) for pair in self.pairs(kind)]) for end in (0, 1))
        return females[0] - males[0] if kind == "pair" else pair_direction(females, males, "principal_component")

    def control_pairs(self, kind, number):
        """Rows of two words as frequent as the first pair."""
        barred = self.config.words.gendered().genders.keys() | BARRED | {*self.pairs(kind)[0]}
        pool = np.array([row for row in self.pool if self.words[row] not in barred])
        ranks = tuple(self.rows[word] for word in self.pairs(kind)[0])
        return matched_pairs(number, ranks, pool, self.config.controls.window, self.config.seed).tolist()

    def _controls(self, kind, number):
        """As long as the direction, without what they share with gender."""
        if self.config.controls.kind == "sphere":
            drawn = sphere_directions(number, self.vectors.shape[1], 1.0, self.config.seed)
            return drawn * np.linalg.norm(self.direction(kind))
        differences = np.stack([self.vectors[b] - self.vectors[a] for a, b in self.control_pairs(kind, number)])
        if self.config.controls.kind == "neutral_pairs":
            basis = np.linalg.qr(np.stack([self.direction("pair"), self.direction("component")]).T)[0]
            differences = differences - differences @ basis @ basis.T
        return length_1(differences) * np.linalg.norm(self.direction(kind))

    def near(self, word, shift, top, crossings):
        """Candidates with their cosines, and how many of the nearest are too near to the word itself."""
        unit, base = length_1(self.vectors), self.vector(word)
        crosses = {row for row in self.pool if self.signs[row] * self.signs[self.rows[word]] == -1}
        own = set(sorted(self.pool, key=lambda row: -(unit[row] @ base))[: self.config.candidates.exclude])
        cosines = unit @ length_1(base + shift)
        order = sorted(self.pool, key=lambda row: -cosines[row])
        if crossings == "kept":
            own -= crosses
        if crossings == "barred":
            order = [row for row in order if row not in crosses]
        nearest = order[:top]
        return [(self.words[row], cosines[row]) for row in nearest if row not in own], len(own.intersection(nearest))

    @cached_property
    def fitted(self):
        """Vectors that neighbours are near in."""
        settings = self.config.candidates
        vectors = self._read(NOISE_OF_NEIGHBOURS)[1] if settings.neighbour_vectors else self.vectors
        if settings.synonyms is None:
            return length_1(vectors)
        pairs = (
            sorted(tuple(self.rows[word.lower()] for word in pair) for pair in LISTS[name])
            for name in ("synonyms", "antonyms")
        )
        return length_1(counter_fitted(vectors, *pairs, settings.counter_fitting))

    def neighbours(self, word):
        """The nearest without the word."""
        cosines = self.fitted @ self.fitted[self.rows[word]]
        order = [row for row in np.argsort(-cosines, kind="stable") if self.words[row] != word]
        return [(self.words[row], cosines[row]) for row in order[: self.config.candidates.neighbours]], 0

    def leaning(self, word, candidate, *, fitted=False):
        """By how much a candidate lies further towards women."""
        unit = self.fitted if fitted else length_1(self.vectors)
        male, female = (unit[self.rows[one]] for one in self.config.direction.pair)
        return float((unit[self.rows[candidate]] - unit[self.rows[word]]) @ length_1(female - male))

    def removed_by(self, word, candidate, *, fitted=False):
        settings, tags = self.config.candidates, {}
        for tagged, tag in LISTS["parts_of_speech"] if settings.parts_of_speech else ():
            tags.setdefault(tagged, set()).add(tag)
        unit = self.fitted if fitted else length_1(self.vectors)
        cosine = float(unit[self.rows[word]] @ unit[self.rows[candidate]])
        antonyms = LISTS["antonyms"] if settings.antonyms else ()
        constraints = Constraints(settings.min_cosine, settings.inflections, antonyms, tags)
        return constraints(word, candidate, cosine)


class ByHand:
    """Everything that the tables say, from the files and the config."""

    def __init__(self, config, files):
        self.config = config
        rows = [row | {"part": part} for part in PARTS for row in csv.DictReader(files[part].open())]
        self.texts = [row | {"row": place} for place, row in enumerate(rows) if row["text"] and row["label"]]
        self.counts = Counter(word for row in self.texts for word in folded(row["text"].split()))
        self.embeddings = [Embedding(config, self.counts, noise) for noise in NOISES[: len(config.embedding.path)]]
        self.words = gendered_words([*config.words.pairs, *config.words.names])
        self.candidates, self.reader, self.control_case = map(cache, (self._found, self._fitted, self._beside))
        self._is_likely, self.proposed = cache(self._judged), cache(self._proposed)

    @cached_property
    def attacked(self):
        """The test texts whose keys come first, in their order."""
        test = [row for row in self.texts if row["part"] == "test"]
        test.sort(key=lambda row: document_key(f"{self.config.seed}\n{row['text']}"))
        return sorted(test[: self.config.max_texts], key=lambda row: row["row"])

    @cached_property
    def directions(self):
        genders = ("female", "male")[: 1 + self.config.direction.both]
        return [
            direction
            for kind in self.config.direction.kinds
            for direction in (
                [kind] if kind in ("neighbours", "masked") else [f"{kind}_to_{gender}" for gender in genders]
            )
        ]

    @property
    def shifts(self):
        """Directions that have controls."""
        return [direction for direction in self.directions if direction.startswith(("pair", "component", "masked"))]

    @property
    def linear(self):
        return [name for name, victim in self.config.victim.items() if victim.kind == "linear"]

    def searches(self, direction):
        """Beside the ladder."""
        swap = ["swap"] if direction.startswith(("swap", "names")) else []
        return [*(["greedy"] if self.config.search.greedy else []), *swap]

    def learnt(self, part="training"):
        return [row for row in self.texts if row["part"] == part]

    @cached_property
    def model(self):
        settings = self.config.language_model
        learnt = [folded(row["text"].split()) for row in self.learnt()]
        return KneserNey(learnt, settings.order, settings.discount)

    def _fitted(self, name):
        victim = self.config.victim[name]
        masked = sorted(self.words.genders) if victim.masked else ()
        texts, labels = ([row[column] for row in self.learnt()] for column in ("text", "label"))
        made = fitted(texts, labels, victim.linear, masked)
        vocabulary = {term: number for number, term in enumerate(made.vocabulary)}
        return LinearReader(made.model, made.classes, vocabulary, analyser())

    def _found(self, direction, word, control=-1, replica=0):
        """Candidates of a word along a direction or a control of it, with their cosines; and how many are left out."""
        embedding, settings = self.embeddings[replica], self.config.candidates
        if direction == "neighbours":
            return embedding.neighbours(word)
        kind, _, gender = direction.partition("_to_")
        sign = 1 if gender == "female" else -1
        if control < 0:
            kept = "kept" if settings.keep_counterparts else "excluded"
            return embedding.near(word, sign * embedding.direction(kind), settings.top, kept)
        number = self.config.controls.number
        barred = "barred" if self.config.controls.kind == "neutral_pairs" else "excluded"
        top = 4 * settings.top + settings.exclude
        return embedding.near(word, sign * embedding.controls(kind, number)[control], top, barred)

    def options(self, text, direction, control=-1, replica=0):
        """Rows of a text: position, rank, candidate, the token with it, and whether it is likely."""
        tokens = text["text"].split()
        kind, _, gender = direction.partition("_to_")
        if kind in ("swap", "names"):
            pairs = self.config.words.pairs if kind == "swap" else self.config.words.names
            swaps = gender_swaps(tokens, gendered_words(pairs, pronouns=kind == "swap"), gender)
            return [(place, 0, option, option, True) for place, option in sorted(swaps.items())]
        if direction == "masked":
            kept = [one for one in self.proposed(text["row"]) if not one["removed_by"]]
            return [self._option(tokens, one["position"], one["rank"], one["candidate"]) for one in kept]
        rows = []
        for place, token in enumerate(tokens):
            word = token.strip("().,!").lower()
            embedding = self.embeddings[replica]
            if word.isalpha() and len(word) > 1 and word not in BARRED and word in embedding.rows:
                found, _ = self.candidates(direction, word, control, replica)
                for rank, (candidate, _) in enumerate(found):
                    if not embedding.removed_by(word, candidate, fitted=direction == "neighbours"):
                        is_likely = self._is_likely(tuple(folded(tokens)), place, candidate)
                        rows.append((place, rank, candidate, replaced(token, candidate), is_likely))
        return rows

    def _option(self, tokens, place, rank, candidate):
        is_likely = self._is_likely(tuple(folded(tokens)), place, candidate)
        return place, rank, candidate, replaced(tokens[place], candidate), is_likely

    @cached_property
    def masks(self):
        """The masked language model, its tokenizer, and the words that are one piece of it, by their numbers."""
        folder = self.config.masked_model.model
        model = BertForMaskedLM.from_pretrained(folder).eval()
        tokenizer = BertTokenizer.from_pretrained(folder)
        numbers = {word: number for word, number in tokenizer.get_vocab().items() if word.isalpha() and len(word) > 1}
        return model, tokenizer, numbers

    @property
    def named(self):
        """Words that may be proposed."""
        least = self.config.candidates.min_count
        return sorted(word for word in self.masks[2] if self.counts[word] >= least and word not in BARRED)

    def _proposed(self, number):
        """What the masked model has in the place of each word of a text."""
        [text] = [one for one in self.texts if one["row"] == number]
        model, tokenizer, numbers = self.masks
        tokens, rows = text["text"].split(), []
        for position, token in enumerate(tokens):
            word = token.strip("().,!").lower()
            if not (word.isalpha() and len(word) > 1 and word not in BARRED):
                continue
            masked = [*tokens[:position], token.lower().replace(word, "[MASK]"), *tokens[position + 1 :]]
            around = max(position, len(tokens) - position)
            while True:
                inputs = tokenizer(" ".join(masked[max(0, position - around) : position + around + 1]))["input_ids"]
                if len(inputs) <= 16:
                    break
                around //= 2
            with torch.no_grad():
                logits = model(torch.tensor([inputs])).logits[0, inputs.index(tokenizer.mask_token_id)].double()
            scores = (logits - logits.exp().sum().log()).numpy()
            others = [one for one in self.named if one != word]
            others.sort(key=lambda one: (-round(scores[numbers[one]], 4), one))
            for rank, candidate in enumerate(others[: self.config.masked_model.top]):
                score = scores[numbers[candidate]]
                ratio = score - scores[numbers[word]] if word in numbers else None
                about = {"row": number, "position": position, "rank": rank, "word": word, "candidate": candidate}
                about |= {"log_probability": score, "log_ratio": ratio, "removed_by": self._bars(word, candidate)}
                rows.append(about)
        return rows

    def _bars(self, word, candidate):
        """What leaves a proposed word out, or one that is drawn beside it: it has no cosine."""
        settings = self.config.candidates
        tags = {}
        for tagged, tag in LISTS["parts_of_speech"]:
            tags.setdefault(tagged, set()).add(tag)
        return Constraints(None, settings.inflections, LISTS["antonyms"], tags)(word, candidate, 0.0)

    def _as_frequent(self, number, control):
        """For each likely candidate, one of the 20 likely words nearest to it by count, which no other has taken.

        Keys of words about a candidate are the same at every place.
        """
        [text] = [one for one in self.texts if one["row"] == number]
        tokens, settings = text["text"].split(), self.config.controls
        pool = sorted(set(self.named) - set(self.words.genders), key=lambda word: (-self.counts[word], word))
        rows, taken = [], {}
        for place, rank, candidate, _, is_likely in self.options(text, "masked"):
            if not is_likely:
                continue
            here = [one for one in self.proposed(number) if one["position"] == place]
            barred = {here[0]["word"], *(one["candidate"] for one in here)}
            first = sum(self.counts[word] > self.counts[candidate] for word in pool) - settings.window // 2
            first = max(0, min(first, len(pool) - settings.window))
            around = pool[first : first + settings.window]
            draws = keyed_generator(self.config.seed, Stream.MASKED_CANDIDATES, document_key(candidate))
            keys = dict(zip(around, draws.random((settings.number, len(around)))[control], strict=True))
            around = [word for word in around if word not in barred]
            around = [word for word in around if not self._bars(here[0]["word"], word)]
            around = [word for word in around if self._is_likely(tuple(folded(tokens)), place, word)]
            around.sort(key=lambda word: (round(abs(self._size(word) - self._size(candidate)), 9), word))
            free = [word for word in around[:20] if word not in taken.get(place, ())]
            if free:
                taken.setdefault(place, set()).add(min(free, key=keys.get))
                rows.append(self._option(tokens, place, rank, min(free, key=keys.get)))
        return _case(rows)

    def _judged(self, words, place, candidate):
        """Whether the language model has a candidate there."""
        settings = self.config.language_model
        if settings.ratio is None:
            return True
        is_prefix = settings.context == "prefix"
        [gain] = self.model.substitution_gains(words, place, [candidate], prefix_only=is_prefix)
        return bool(gain >= log(settings.ratio))

    def case(self, text, direction, replica=0):
        return _case(self.options(text, direction, replica=replica))

    def _beside(self, number, direction, control):
        """Each likely candidate along the direction, the nearest first, is given the likely word as frequent as it."""
        if direction == "masked":
            return self._as_frequent(number, control)
        [text] = [one for one in self.texts if one["row"] == number]
        left = [row for row in self.options(text, direction, control) if row[-1]]
        chosen = []
        for place, _, wanted, *_ in (row for row in self.options(text, direction) if row[-1]):
            here = [row for row in left if row[0] == place]
            if here:
                chosen.append(min(here, key=lambda row: (abs(self._size(row[2]) - self._size(wanted)), row[1])))
                left.remove(chosen[-1])
        return _case(sorted(chosen))

    def _size(self, word):
        return log(1 + self.counts[word])

    def outcome(self, reader, text, case, key):
        """The ladder's attack on a text, with what is published of it; None without a candidate."""
        tokens = text["text"].split()
        if not case.space:
            return None
        queries, sizes = self.queries(reader, tokens, case), case.sizes
        limit = change_limit(len(tokens), self.config.search.max_share)
        attack = ladder(queries, sizes, limit, self.config.search, self.config.seed, key)
        singles = np.concatenate([self._singles(sizes, place) for place in range(len(sizes))])
        fall = max(0.0, attack.before - float(Queries(queries.victim, queries.label)(singles)[0].min()))
        size = log10(1 + sum(level_sizes(sizes, min(limit, len(sizes)))))
        return {"attack": attack, "queries": queries, "fall": fall, "log10_size": size, "num_candidates": sum(sizes)}

    def queries(self, reader, tokens, case):
        victim_of = reader.for_text(tokens, [case.space])
        label = int(victim_of({})(np.zeros((1, 0), dtype=np.int64))[0].argmax())
        return Queries(victim_of(case.space), label)

    def _singles(self, sizes, place):
        rows = np.zeros((sizes[place], len(sizes)), dtype=np.int64)
        rows[:, place] = np.arange(1, sizes[place] + 1)
        return rows

    def key(self, text, direction, control=-1, replica=0):
        return document_key(f"{text['text']}\n{direction}\n{control}\n{replica}")

    def beside(self, reader, text, case, search):
        """What another search comes to."""
        queries = self.queries(reader, text["text"].split(), case)
        return (all_at_once if search == "swap" else greedy_attack)(queries, case.sizes), queries


def _case(rows):
    space, num_unlikely = {}, 0
    for place, group in itertools.groupby(rows, key=lambda row: row[0]):
        for *_, option, is_likely in group:
            if is_likely:
                space.setdefault(place, []).append(option)
            num_unlikely += not is_likely
    return Case(space, num_unlikely)
