"""The words that are asked about: of the lexicon, of groups, and the frequent ones."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.jobs.sentiment.posterior.config import SentimentPosteriorRun
from tiltmeter.jobs.sentiment.posterior.sources import POLARITIES, lexicon_entries
from tiltmeter.jobs.sentiment.posterior.texts import LANGUAGE, Texts
from tiltmeter.operators.sentiment.posterior import made_up
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

ABSENT = -1
"""In the place of a word's number in the vocabulary."""

_SCHEMA = pa.schema(
    [
        ("word", pa.string()),
        ("number", pa.int64()),
        ("count", pa.int64()),
        ("polarity", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
    ]
)


def find_words(
    runner: Runner, config: SentimentPosteriorRun, sources: Files, texts: Texts, vectors: TableRef
) -> TableRef:
    """The table ``word``, ``number`` in the vocabulary, ``count``, ``polarity``, ``status`` and ``reason``.

    Raises:
        InputError: if no word of the lexicon has a vector.
    """
    settings = {
        "lexicon": _source(config, sources),
        "tokens": Tokenizer(LANGUAGE).identity,
        "words": config.words,
        "groups": sorted({word for groups in config.groups.values() for side in groups.values() for word in side}),
    }
    inputs = {"vocabulary": [texts.vocabulary], "vectors": [vectors]}
    unit = Unit("posterior_asked/1", "words", settings, inputs)
    [done] = runner.run_whole(Stage("find words", each(_find), {"words": [unit]}))["words"]
    _check(runner.store, done.tables["words"])
    return done.tables["words"]


def check_lexicon(store: Store, config: SentimentPosteriorRun, sources: Files, texts: Texts) -> None:
    """Refuse a lexicon of which no word is in the texts, before vectors are trained on these.

    Raises:
        InputError: if a polarity has no word.
    """
    words, tokenizer = set(store.read(texts.vocabulary.select("word"))["word"].to_pylist()), Tokenizer(LANGUAGE)
    listed = {word: next(iter(sides)) for word, sides in _lexicon(_source(config, sources)).items() if len(sides) == 1}
    _refuse((word, side, vocabulary_entry(tokenizer, word) in words) for word, side in listed.items())


def _source(config: SentimentPosteriorRun, sources: Files) -> Any:
    if "lexicon" not in sources.files:
        return made_up.VERSION
    columns = (config.lexicon.word, config.lexicon.polarity)
    return {"file": sources.files["lexicon"].identity, "columns": columns}


def _check(store: Store, words: TableRef) -> None:
    rows = [row for row in store.read(words).to_pylist() if row["polarity"]]
    _refuse((row["word"], row["polarity"], row["status"] == "ok") for row in rows)


def _refuse(rows: Iterable[tuple[str, str, bool]]) -> None:
    """Of words, their polarities, and whether there is a vector."""
    every = list(rows)
    for polarity in POLARITIES:
        listed = [(word, is_known) for word, side, is_known in every if side == polarity]
        if not any(is_known for _, is_known in listed):
            names = ", ".join(word for word, _ in listed[:3]) or "there is none"
            raise InputError(
                f"lexicon.path: none of the {len(listed)} {polarity} words ({names}) has a vector; take a lexicon in "
                "the language of the texts, or lower vectors.min_count"
            )


def _find(store: Store, unit: Unit) -> Tables:
    vocabulary = store.read(unit.input("vocabulary")).to_pydict()
    known = np.asarray(store.read(unit.input("vectors"))["vector"].is_valid())
    numbers = {word: number for number, word in enumerate(vocabulary["word"])}
    lexicon, tokenizer = _lexicon(unit.config["lexicon"]), Tokenizer(LANGUAGE)
    frequent = _frequent(vocabulary, unit.config["words"])
    rows = []
    for word in dict.fromkeys([*lexicon, *unit.config["groups"], *frequent]):
        number = numbers.get(vocabulary_entry(tokenizer, word), ABSENT)
        count = 0 if number == ABSENT else vocabulary["count"][number]
        status = _status(word, number, known, lexicon.get(word, frozenset()))
        sides = lexicon.get(word, frozenset())
        polarity = next(iter(sides)) if len(sides) == 1 else None
        rows.append({"word": word, "number": number, "count": count, "polarity": polarity} | status)
    yield "words", pa.Table.from_pylist(sorted(rows, key=lambda row: row["word"]), _SCHEMA)


def _lexicon(config: Any) -> Mapping[str, frozenset[str]]:
    """Polarities by word."""
    sides: dict[str, frozenset[str]] = {}
    for word, polarity in _entries(config):
        sides[word] = sides.get(word, frozenset()) | {polarity}
    return sides


def _entries(config: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(config, Mapping):
        for polarity, words in zip(POLARITIES, (made_up.POSITIVE, made_up.NEGATIVE), strict=True):
            yield from ((word, polarity) for word in words)
        return
    yield from lexicon_entries(config["file"]["uri"], *config["columns"])


def _frequent(vocabulary: Mapping[str, list[Any]], settings: Any) -> list[str]:
    """The vocabulary has the most frequent words first."""
    pairs = zip(vocabulary["word"], vocabulary["count"], strict=True)
    return [word for word, count in pairs if count >= settings.min_count][: settings.most]


def vocabulary_entry(tokenizer: Tokenizer, word: str) -> str:
    """As the vocabulary writes it; what has no letter as it is."""
    try:
        return tokenizer.entry(word)
    except ValueError:
        return word


def _status(word: str, number: int, known: Any, sides: frozenset[str]) -> Row:
    if len(sides) > 1:
        return failed("both_sides", f"the lexicon has {word!r} as positive and as negative")
    if number == ABSENT:
        return failed("no_vector", f"{word!r} occurs less often in the texts than vectors.min_count says")
    return OK if known[number] else failed("no_vector", f"the vectors have none for {word!r}")
