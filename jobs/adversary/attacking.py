"""Attacks on the texts of a unit: what each search finds along each direction, and what the controls come to."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from math import ceil, log10
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.adversary import tables
from tiltmeter.jobs.adversary.config import SHIFTS, AdversarySources, GenderAdversaryRun
from tiltmeter.jobs.adversary.finding import NEIGHBOURS, direction_name, genders
from tiltmeter.jobs.adversary.training import load_trained
from tiltmeter.jobs.adversary.victims import FoundVictim
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.operators.classifiers.adversary import bounded, genetic, ladder, linear, search, shares
from tiltmeter.operators.classifiers.adversary import words as adversary_words
from tiltmeter.operators.classifiers.adversary.ladder import SearchConfig, all_at_once, greedy_attack, single_fall
from tiltmeter.operators.classifiers.adversary.search import Attack
from tiltmeter.operators.classifiers.adversary.shares import shares_of_fall
from tiltmeter.operators.classifiers.adversary.spaces import Queries, change_limit, level_sizes
from tiltmeter.operators.classifiers.adversary.victims import Reader, Space
from tiltmeter.operators.classifiers.adversary.words import (
    GenderedWords,
    folded,
    gender_of,
)
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.sentiment import lexicons
from tiltmeter.operators.sentiment.lexicons import vader_scores
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_NUM_UNITS, _MOST_TEXTS = 64, 25
"""Units that texts are cut into at least, for as many workers, and texts of one, as each may take seconds."""

ATTACKED = ("texts", "attacks", "substitutions", "outcomes")
_OPERATORS = (ladder, search, bounded, genetic, shares, linear, adversary_words, lexicons)
_REASONS = {
    "no_candidate": "no word of the text has a replacement along this direction",
    "unreadable": "the victim has no answer to this text",
}


def attack_texts(
    runner: Runner,
    config: GenderAdversaryRun,
    sources: AdversarySources,
    models: Mapping[str, TableRef],
    parts: Sequence[TableRef],
    spaces: Sequence[TableRef],
    candidates: TableRef,
) -> dict[str, list[TableRef]]:
    """Tables by name, each in parts: those of ``ATTACKED``."""
    gathered: dict[str, list[TableRef]] = {name: [] for name in ATTACKED}
    size = config.unit_texts or min(_MOST_TEXTS, max(1, ceil(sum(part.num_rows for part in parts) / _NUM_UNITS)))
    for name, victim in sources.victims.items():
        on_gpu = uses_gpus(victim.device, runner.pool.num_gpus, f"victim.{name}.device")
        settings = _settings(config, name, victim) | {"on_gpu": on_gpu}
        trained = {"model": [models[name]]} if name in models else {}
        units = [
            Unit(
                "adversary_attack/2",
                f"{name} part {number}{f' from text {start}' if size < part.num_rows else ''}",
                settings | ({"texts": (start, start + size)} if size < part.num_rows else {}),
                {"part": [part], "spaces": [space], "candidates": [candidates], **trained},
            )
            for number, (part, space) in enumerate(zip(parts, spaces, strict=True))
            for start in range(0, max(1, part.num_rows), size)
        ]
        work = _Attacking(victim, "cuda" if on_gpu else "cpu")
        done = runner.run_whole(Stage(f"attack {name}", work, {"texts": units}, on_gpu=on_gpu))["texts"]
        for table, refs in gathered.items():
            refs += [finished.tables[table] for finished in done]
    return gathered


def _settings(config: GenderAdversaryRun, name: str, victim: FoundVictim) -> Row:
    return {
        "operators": [module.VERSION for module in _OPERATORS],
        "victim": name,
        "identity": victim.identity,
        "search": config.search,
        "words": config.words,
        "directions": directions(config),
        "seed": config.seed,
    }


def directions(config: GenderAdversaryRun) -> list[str]:
    """By the names of the tables, in order."""
    names: list[str] = []
    for kind in config.direction.kinds:
        both = [direction_name(kind, gender) for gender in genders(config.direction)]
        names += [NEIGHBOURS] if kind == NEIGHBOURS else both
    return names


def has_controls(direction: str) -> bool:
    """Whether it is a direction of the embedding."""
    return direction.startswith(tuple(f"{kind}_to_" for kind in SHIFTS))


class _Case(NamedTuple):
    """What the words of a text may become along one direction, and how many further ones are unlikely."""

    direction: str
    control: int
    replica: int
    space: Space
    num_unlikely: int


@dataclass(frozen=True)
class _Attacking:
    victim: FoundVictim
    device: str

    def __call__(self, store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        for unit in units:
            key = (digest([self.victim.identity, _contents(unit)]), self.device)
            with resident(key, partial(self._reader, store, unit)) as reader:
                attacks = _UnitAttacks(store, unit, reader)
                attacks.run()
            yield unit, attacks.tables()

    def _reader(self, store: Store, unit: Unit, _: ExitStack) -> Reader:
        if self.victim.load is None:
            return load_trained(store, unit.input("model"), self.device)
        return self.victim.load(store, self.device)


def _contents(unit: Unit) -> list[Any]:
    return [list(ref.columns.items()) for ref in unit.inputs.get("model", ())]


class _UnitAttacks:
    """The texts of a unit, one after the other, and the rows that come of them."""

    def __init__(self, store: Store, unit: Unit, reader: Reader) -> None:
        self._reader, self._config = reader, unit.config
        self._texts = store.read(unit.input("part")).to_pylist()[slice(*unit.config.get("texts", (None,)))]
        rows = [text["row"] for text in self._texts]
        self._cases = _cases(pl.DataFrame(store.read(unit.input("spaces"))).filter(pl.col("row").is_in(rows)))
        candidates = store.read(unit.input("candidates").select("direction", "word", "candidate", "kind")).to_pylist()
        self._kinds = {(row["direction"], row["word"], row["candidate"].lower()): row["kind"] for row in candidates}
        self._words: GenderedWords = unit.config["words"].gendered()
        self._rows: dict[str, list[Row]] = {name: [] for name in ATTACKED}

    def tables(self) -> Tables:
        schemas = tables.TABLES | {"outcomes": tables.OUTCOMES}
        _flag(self._rows["substitutions"])
        for name in ATTACKED:
            yield name, table_of(self._rows[name], schemas[name])

    def run(self) -> None:
        for text in self._texts:
            self._attack(text)

    def _attack(self, text: Row) -> None:
        tokens, cases = text["text"].split(), self._cases.get(text["row"], [])
        victim_of = self._reader.open(tokens, [case.space for case in cases])
        probabilities = victim_of({})(np.zeros((1, 0), dtype=np.int64))[0]
        named = {case.direction: case for case in cases if (case.control, case.replica) == (-1, 0)}
        same = {"row": text["row"], "victim": self._config["victim"]}
        self._rows["texts"].append(same | self._described(text, tokens, probabilities, named.values()))
        if np.isnan(probabilities).any():
            self._leave_out(same, "unreadable", {})
            return
        label = int(probabilities.argmax())
        self._leave_out(same, "no_candidate", {"probability_before": float(probabilities[label])}, named)
        for case in cases:
            queries = Queries(victim_of(case.space), label)
            self._rows["outcomes"].append(self._climb(text, tokens, case, queries))
            if case.direction in named and named[case.direction] is case:
                self._refer(text, tokens, case, lambda case=case: Queries(victim_of(case.space), label))

    def _described(self, text: Row, tokens: Sequence[str], probabilities: Any, cases: Any) -> Row:
        gendered = {gender_of(token, self._words) for token in tokens}
        row = {name: text[name] for name in ("text", "group", "label")}
        row |= {"num_words": len(tokens), "num_eligible": len({place for case in cases for place in case.space})}
        row |= {"has_female": "female" in gendered, "has_male": "male" in gendered}
        if np.isnan(probabilities).any():
            return row | {"status": "unreadable", "reason": _REASONS["unreadable"]}
        first, second = np.sort(probabilities)[::-1][:2]
        predicted = self._reader.classes[int(probabilities.argmax())]
        row |= {"predicted": predicted, "is_correct": predicted == text["label"], "margin": float(first - second)}
        if row["num_eligible"]:
            return row | {"status": "ok", "reason": ""}
        return row | {"status": "no_candidate", "reason": "no word of the text has a replacement along any direction"}

    def _leave_out(self, same: Row, status: str, known: Row, named: Mapping[str, _Case] | None = None) -> None:
        """Rows of the directions along which nothing can be searched."""
        for direction in self._config["directions"]:
            if named is None or direction not in named:
                row = {"direction": direction, "search": "ladder", "status": status, "reason": _REASONS[status]}
                self._rows["attacks"].append(same | row | known)

    def _climb(self, text: Row, tokens: Sequence[str], case: _Case, queries: Queries) -> Row:
        settings: SearchConfig = self._config["search"]
        sizes, limit = _sizes(case), change_limit(len(tokens), settings.max_share)
        attack = ladder.ladder(queries, sizes, limit, settings, self._config["seed"], _key(text, case))
        fall = single_fall(queries, sizes, attack.before)
        size = log10(1 + sum(level_sizes(sizes, min(limit, len(sizes)))))
        if (case.control, case.replica) == (-1, 0):
            self._keep(text, tokens, case, "ladder", attack, queries, {"log10_size": size, "fall": fall})
        is_flip = attack.status in ("flipped", "flipped_minimal")
        row = {"row": text["row"], "victim": self._config["victim"], "direction": case.direction}
        row |= {"control": case.control, "replica": case.replica}
        return row | {"is_flip": is_flip, "fall": fall, "num_candidates": sum(sizes), "log10_size": size}

    def _refer(self, text: Row, tokens: Sequence[str], case: _Case, queries: Any) -> None:
        """The searches beside the ladder."""
        searches = {"swap": all_at_once} if not (has_controls(case.direction) or case.direction == NEIGHBOURS) else {}
        if self._config["search"].greedy:
            searches["greedy"] = greedy_attack
        for name, run in searches.items():
            asked = queries()
            self._keep(text, tokens, case, name, run(asked, _sizes(case)), asked, {})

    def _keep(
        self, text: Row, tokens: Sequence[str], case: _Case, name: str, attack: Attack, queries: Queries, more: Row
    ) -> None:
        same = {"row": text["row"], "victim": self._config["victim"], "direction": case.direction, "search": name}
        changes = _changes(case, attack)
        changed = [changes.get(place, token) for place, token in enumerate(tokens)]
        row = {"status": attack.status, "reason": "", "num_changes": attack.num_changes, **more}
        row |= {"is_minimal": attack.status == "flipped_minimal", "changed_text": " ".join(changed)}
        row |= {"probability_before": attack.before, "probability_after": attack.after}
        row |= {"num_queries": attack.num_queries, "num_distinct": queries.num_distinct}
        row |= {"num_candidates": sum(_sizes(case)), "num_unlikely": case.num_unlikely}
        self._rows["attacks"].append(same | row)
        settings, seed = self._config["search"], self._config["seed"]
        shares = shares_of_fall(queries, np.array(attack.choices), settings.shapley_orders, seed, _key(text, case))
        for number, place in enumerate(case.space):
            if place in changes:
                row = {"position": place, "shapley": shares.values[number], "shapley_error": shares.errors[number]}
                self._rows["substitutions"].append(
                    same | row | self._replacement(case, tokens[place], changes[place], attack)
                )

    def _replacement(self, case: _Case, token: str, option: str, attack: Attack) -> Row:
        word, candidate = folded([token, option])
        return {
            "word": token,
            "replacement": option,
            "kind": self._kinds.get((case.direction, word, candidate), "definitional"),
            "is_known": self._reader.knows(option),
            "is_flip": attack.status in ("flipped", "flipped_minimal"),
        }


def _key(text: Row, case: _Case) -> int:
    """Of the text and the direction, for draws."""
    return document_key(f"{text['text']}\n{case.direction}\n{case.control}\n{case.replica}")


def _sizes(case: _Case) -> list[int]:
    return [len(options) for options in case.space.values()]


def _changes(case: _Case, attack: Attack) -> dict[int, str]:
    """What stands at each position that has changed."""
    chosen = zip(case.space.items(), attack.choices, strict=True)
    return {place: options[choice - 1] for (place, options), choice in chosen if choice}


def _flag(rows: Sequence[Row]) -> None:
    """Replacements by a word of another sign change what is said, whatever the gender."""
    words = sorted({word for row in rows for word in folded([row["word"], row["replacement"]])})
    signs = dict(zip(words, np.sign(vader_scores(words)).tolist(), strict=True)) if words else {}
    for row in rows:
        word, other = folded([row["word"], row["replacement"]])
        row["is_flagged"] = signs[word] != signs[other]


def _cases(spaces: pl.DataFrame) -> dict[int, list[_Case]]:
    """By the row of the text, in the order of the table; only words that have a likely candidate are in a space."""
    cases: dict[int, list[_Case]] = {}
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
            cases.setdefault(row, []).append(_Case(direction, control, replica, space, num_unlikely))
    return cases
