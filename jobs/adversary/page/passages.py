"""Texts before and after, with what changed in colour and slurs masked."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
import regex

from tiltmeter.jobs.adversary.config import ReportConfig
from tiltmeter.jobs.adversary.page.findings import direction_label
from tiltmeter.jobs.report.html.elements import Passage, Passages, Token
from tiltmeter.jobs.report.wording import number, percent
from tiltmeter.jobs.runtime.published import Frames

Row = Mapping[str, Any]

_FLIPPED = ("flipped", "flipped_minimal")
_PALEST = 0.3
_MOST_WORDS = 60
_CUT = Token("…")
_WORDS = regex.compile(r"[\p{L}\p{N}]+")


def masked(text: str, slurs: Sequence[str]) -> str:
    """A text in which words that begin like a slur have their first letter alone, also within a token.

    >>> masked("Darned!", ["darn"]), masked("barn", ["darn"]), masked("so-darned", ["darn"])
    ('D•••••!', 'barn', 'so-d•••••')
    """
    beginnings = tuple(slurs)

    def hidden(match: regex.Match[str]) -> str:
        word: str = match.group()
        return word[0] + "•" * (len(word) - 1) if word.lower().startswith(beginnings) else word

    hidden_words: str = _WORDS.sub(hidden, text)
    return hidden_words


def shown(text: str, config: ReportConfig) -> str:
    """A text as the page has it."""
    return masked(text, config.slurs) if config.mask else text


def passages(config: ReportConfig, frames: Frames) -> Iterator[Passages]:
    """The first texts that flip, each once."""
    chosen = _chosen(frames["attacks"], config.num_texts)
    if chosen.is_empty():
        return
    texts = {(row["row"], row["victim"]): row for row in frames["texts"].iter_rows(named=True)}
    changes = frames["substitutions"].filter(search="ladder")
    rows = [
        _row(attack, texts[attack["row"], attack["victim"]], changes, config) for attack in chosen.iter_rows(named=True)
    ]
    caption = (
        "The first texts that flip with the fewest changes. Replaced words are orange before and blue after, the "
        "deeper the more of the fall lies on them; the number is that share."
    )
    yield Passages(f"{caption}{' Slurs are masked (report.mask=false shows them).' if config.mask else ''}", rows)


def _chosen(attacks: pl.DataFrame, number_of_texts: int) -> pl.DataFrame:
    """Directions in turn, so that the first does not take all places."""
    flips = attacks.filter(pl.col("status").is_in(_FLIPPED), search="ladder")
    turns = flips.with_columns(pl.col("row").rank("ordinal").over("victim", "direction").alias("turn"))
    return (
        turns.sort("turn", "victim", "direction").unique("row", keep="first", maintain_order=True).head(number_of_texts)
    )


def _row(attack: Row, text: Row, changes: pl.DataFrame, config: ReportConfig) -> list[Passage]:
    key = {name: attack[name] for name in ("row", "victim", "direction")}
    changed = {row["position"]: row for row in changes.filter(**key).iter_rows(named=True)}
    total = sum(row["shapley"] or 0.0 for row in changed.values()) or 1.0
    shares = {place: (row["shapley"] or 0.0) / total for place, row in changed.items()}
    tokens = text["text"].split()
    before = [_token(token, -shares[place] if place in shares else 0.0, config) for place, token in enumerate(tokens)]
    after = [
        _token(changed[place]["replacement"], shares[place], config, number_of=True)
        if place in changed
        else _token(token, 0.0, config)
        for place, token in enumerate(tokens)
    ]
    first = min(changed, default=0)
    name = f"{text['predicted']}, p {number(attack['probability_before'], 2)}"
    along = f"{attack['victim']}, {direction_label(attack['direction'])}"
    outcome = f"no longer, p {number(attack['probability_after'], 2)}; {along}"
    return [Passage(name, _cut(before, first)), Passage(outcome, _cut(after, first))]


def _token(text: str, share: float, config: ReportConfig, *, number_of: bool = False) -> Token:
    if not share:
        return Token(shown(text, config))
    weight = max(_PALEST, min(abs(share), 1.0)) * (1.0 if share > 0.0 else -1.0)
    return Token(shown(text, config), weight, percent(share, 0) if number_of else "")


def _cut(tokens: Sequence[Token], first: int) -> list[Token]:
    """As many words as are shown, around the first that changes."""
    start = min(max(0, first - _MOST_WORDS // 2), max(0, len(tokens) - _MOST_WORDS))
    end = start + _MOST_WORDS
    return [*([_CUT] if start else []), *tokens[start:end], *([_CUT] if end < len(tokens) else [])]
