"""Attacks on the texts of a unit: what each search finds along each direction, and what the controls come to."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import log10
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tiltmeter.jobs.adversary.config import MASKED, NEIGHBOURS, Words, has_controls
from tiltmeter.jobs.adversary.tables import FLIPPED, LADDER, Attacks, Outcomes, Part, Substitutions, Texts
from tiltmeter.jobs.adversary.victims import FoundVictim
from tiltmeter.jobs.runtime.table import Table
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers.adversary import bounded, genetic, ladder, linear, search, shares
from tiltmeter.operators.classifiers.adversary import words as adversary_words
from tiltmeter.operators.classifiers.adversary.kinds import replacement_kind
from tiltmeter.operators.classifiers.adversary.ladder import SearchConfig, all_at_once, greedy_attack, single_fall
from tiltmeter.operators.classifiers.adversary.search import Attack
from tiltmeter.operators.classifiers.adversary.shares import shares_of_fall
from tiltmeter.operators.classifiers.adversary.spaces import Queries, Victim, change_limit, level_sizes
from tiltmeter.operators.classifiers.adversary.victims import Reader, Space
from tiltmeter.operators.classifiers.adversary.words import GenderedWords, folded, gender_of
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.sentiment import lexicons
from tiltmeter.operators.sentiment.lexicons import vader_scores
from tiltmeter.storage.store.ledger import Store, TableRef

_OPERATORS = (ladder, search, bounded, genetic, shares, linear, adversary_words, lexicons)
_REASONS = {
    "no_candidate": "no word of the text has a replacement along this direction",
    "unreadable": "the victim has no answer to this text",
}
_NO_CANDIDATE = "no word of the text has a replacement along any direction"


class Case(NamedTuple):
    """What the words of a text may become along one direction, and how many further ones are unlikely."""

    direction: str
    control: int
    replica: int
    space: Space
    num_unlikely: int

    @property
    def is_original(self) -> bool:
        """Whether it is along the direction itself, in the original embedding."""
        return (self.control, self.replica) == (-1, 0)

    @property
    def sizes(self) -> list[int]:
        return [len(options) for options in self.space.values()]

    def changes(self, attack: Attack) -> dict[int, str]:
        """What stands at each position that has changed."""
        chosen = zip(self.space.items(), attack.choices, strict=True)
        return {place: options[choice - 1] for (place, options), choice in chosen if choice}


class AttackTexts(Work, unit="adversary_attack/2", makes=[Texts, Attacks, Substitutions, Outcomes]):
    """What every search makes of each text.

    Attributes:
        directions: names of all.
        part: the texts.
        span: of its rows, those that are attacked; None: all.
        spaces: what their words may become.
    """

    victim: FoundVictim
    search: SearchConfig
    words: Words
    directions: Sequence[str]
    seed: int
    part: TableRef
    span: tuple[int, int] | None = None
    spaces: TableRef
    candidates: TableRef
    operators: Sequence[str] = tuple(module.VERSION for module in _OPERATORS)

    def rows(self, store: Store) -> Sequence[Table]:
        """Of one text after the other."""
        texts = Part.read(store, self.part)[slice(*self.span or (None,))]
        spaces = pl.DataFrame(store.read(self.spaces)).filter(pl.col("row").is_in([text.row for text in texts]))
        cases, words = cases_of(spaces), self.words.gendered()
        candidates = store.read(self.candidates.select("direction", "word", "candidate", "kind")).to_pylist()
        kinds = {(row["direction"], row["word"], row["candidate"].lower()): row["kind"] for row in candidates}
        with self.victim.ready(store) as reader:
            attacked = (_Attacked(self, text, cases.get(text.row, []), words, kinds, reader) for text in texts)
            made = [row for one in attacked for row in one.rows()]
        _flag([row for row in made if isinstance(row, Substitutions)])
        return made


def cases_of(spaces: pl.DataFrame) -> dict[int, list[Case]]:
    """By the row of the text, in the order of the table; only words that have a likely candidate are in a space."""
    cases: dict[int, list[Case]] = {}
    columns = ("row", "direction", "control", "replica", "position", "option", "is_likely")
    rows = zip(*(spaces[name].to_list() for name in columns), strict=True)
    for (row, direction, control, replica), group in groupby(rows, key=lambda record: record[:4]):
        space: dict[int, list[str]] = {}
        num_unlikely = 0
        for *_, position, option, is_likely in group:
            if is_likely:
                space.setdefault(position, []).append(option)
            num_unlikely += not is_likely
        if space:
            cases.setdefault(row, []).append(Case(direction, control, replica, space, num_unlikely))
    return cases


@dataclass(frozen=True)
class _Attacked:
    """A text, along all directions.

    Attributes:
        work: whose settings say how it is attacked.
        kinds: of replacements, by direction, word and candidate.
    """

    work: AttackTexts
    text: Part
    cases: Sequence[Case]
    words: GenderedWords
    kinds: Mapping[tuple[str, str, str], str]
    reader: Reader

    @cached_property
    def tokens(self) -> list[str]:
        return self.text.text.split()

    @property
    def same(self) -> dict[str, Any]:
        """Of all its rows."""
        return {"row": self.text.row, "victim": self.work.victim.name}

    def rows(self) -> Iterator[Table]:
        """Of the text, of its attacks, and of what each direction came to."""
        victim_of = self.reader.for_text(self.tokens, [case.space for case in self.cases])
        probabilities = victim_of({})(np.zeros((1, 0), dtype=np.int64))[0]
        named = {case.direction: case for case in self.cases if case.is_original}
        yield self._described(probabilities, {place for case in named.values() for place in case.space})
        if np.isnan(probabilities).any():
            yield from self._left_out("unreadable", self.work.directions)
            return
        label = int(probabilities.argmax())
        before, others = float(probabilities[label]), [name for name in self.work.directions if name not in named]
        yield from self._left_out("no_candidate", others, probability_before=before)
        for case in self.cases:
            yield from self._climb(case, Queries(victim_of(case.space), label))
            if case.is_original:
                yield from self._refer(case, victim_of, label)

    def _described(self, probabilities: FloatArray, eligible: set[int]) -> Texts:
        text, genders = self.text, {gender_of(token, self.words) for token in self.tokens}
        row = Texts(**self.same, text=text.text, group=text.group, label=text.label, num_words=len(self.tokens))
        row.num_eligible, row.has_female, row.has_male = len(eligible), "female" in genders, "male" in genders
        if np.isnan(probabilities).any():
            return row.fail("unreadable", _REASONS["unreadable"])
        first, second = np.sort(probabilities)[::-1][:2]
        row.predicted = self.reader.classes[int(probabilities.argmax())]
        row.is_correct, row.margin = row.predicted == text.label, float(first - second)
        return row if eligible else row.fail("no_candidate", _NO_CANDIDATE)

    def _left_out(self, status: str, directions: Sequence[str], **known: Any) -> Iterator[Attacks]:
        """Rows of the directions along which nothing can be searched."""
        for name in directions:
            yield Attacks(**self.same, direction=name, search=LADDER, status=status, reason=_REASONS[status], **known)

    def _climb(self, case: Case, queries: Queries) -> Iterator[Table]:
        settings, sizes = self.work.search, case.sizes
        limit = change_limit(len(self.tokens), settings.max_share)
        attack = ladder.ladder(queries, sizes, limit, settings, self.work.seed, self._key(case))
        fall = single_fall(queries, sizes, attack.before)
        size = log10(1 + sum(level_sizes(sizes, min(limit, len(sizes)))))
        if case.is_original:
            yield from self._found(case, LADDER, attack, queries, log10_size=size, fall=fall)
        row = Outcomes(**self.same, direction=case.direction, control=case.control, replica=case.replica)
        row.is_flip, row.fall = attack.status in FLIPPED, fall
        row.num_candidates, row.log10_size = sum(sizes), size
        yield row

    def _refer(self, case: Case, victim_of: Callable[[Space], Victim], label: int) -> Iterator[Table]:
        """The searches beside the ladder."""
        searches = {"swap": all_at_once} if not (has_controls(case.direction) or case.direction == NEIGHBOURS) else {}
        if self.work.search.greedy:
            searches["greedy"] = greedy_attack
        for name, run in searches.items():
            queries = Queries(victim_of(case.space), label)
            yield from self._found(case, name, run(queries, case.sizes), queries)

    def _found(self, case: Case, name: str, attack: Attack, queries: Queries, **more: Any) -> Iterator[Table]:
        """The text that a search ends with, and the words that differ there."""
        same = self.same | {"direction": case.direction, "search": name}
        changes = case.changes(attack)
        row = Attacks(**same, status=attack.status, reason="", num_changes=attack.num_changes, **more)
        row.is_minimal = attack.status == "flipped_minimal"
        row.probability_before, row.probability_after = attack.before, attack.after
        row.num_queries, row.num_distinct = attack.num_queries, queries.num_distinct
        row.num_candidates, row.num_unlikely = sum(case.sizes), case.num_unlikely
        row.changed_text = " ".join(changes.get(place, token) for place, token in enumerate(self.tokens))
        yield row
        orders, seed = self.work.search.shapley_orders, self.work.seed
        falls = shares_of_fall(queries, np.array(attack.choices), orders, seed, self._key(case))
        for number, place in enumerate(case.space):
            if place in changes:
                token, option = self.tokens[place], changes[place]
                change = Substitutions(**same, position=place, word=token, replacement=option)
                word, candidate = folded([token, option])
                known = self.kinds.get((case.direction, word, candidate), "definitional")
                change.kind = replacement_kind((word, candidate), self.words) if case.direction == MASKED else known
                change.shapley, change.shapley_error = falls.values[number], falls.errors[number]
                change.is_known, change.is_flip = self.reader.knows(option), attack.status in FLIPPED
                yield change

    def _key(self, case: Case) -> int:
        """Of the text and the direction, for draws."""
        return document_key(f"{self.text.text}\n{case.direction}\n{case.control}\n{case.replica}")


def _flag(rows: Sequence[Substitutions]) -> None:
    """Replacements by a word of another sign change what is said, whatever the gender."""
    words = sorted({word for row in rows for word in folded([row.word, row.replacement])})
    signs = dict(zip(words, np.sign(vader_scores(words)).tolist(), strict=True)) if words else {}
    for row in rows:
        word, other = folded([row.word, row.replacement])
        row.is_flagged = signs[word] != signs[other]
