"""A valence lexicon that a user brings, as words with a valence from -1 to 1."""

from collections.abc import Mapping

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.privacy.config import ValenceLexicon
from tiltmeter.operators.text.listed_words import normalised
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records import numbers, read_records
from tiltmeter.storage.store.ledger import Store, TableRef, Unit
from tiltmeter.storage.store.tables import column

LEXICON = pa.schema(
    [
        column("word", pa.string(), "the word, in lower case", key=True),
        column("valence", pa.float64(), "from -1, the lowest, to 1, the highest; mean if the file has several"),
    ]
)


def read_lexicon(runner: Runner, lexicon: ValenceLexicon, file: FoundFile | None) -> TableRef | None:
    """The words of the file that are far enough from the middle of its scale; None without a file.

    Raises:
        UnitsFailed: if a valence is no number, or lies outside the scale.
    """
    if file is None:
        return None
    unit = Unit("valence_lexicon/1", "valence lexicon", {"file": file.identity, "read": _read_as(lexicon)})
    [done] = runner.run_whole(Stage("read lexicon", each(_read), {"lexicon": [unit]}))["lexicon"]
    return done.tables["lexicon"]


def _read_as(lexicon: ValenceLexicon) -> dict[str, str | float | bool]:
    return {name: getattr(lexicon, name) for name in ("header", "word", "valence", "low", "high", "least")}


def _read(_: Store, unit: Unit) -> Tables:
    file, read = unit.config["file"], unit.config["read"]
    rows = read_records(file["uri"], list(dict.fromkeys([read["word"], read["valence"]])), header=read["header"])
    values = numbers(rows, read["valence"], f"lexicon.path: {redacted(file['uri'])}")
    _check(values, read, redacted(file["uri"]))
    words = rows[read["word"]].cast(pl.String).fill_null("").map_elements(normalised, return_dtype=pl.String)
    valences = (values - read["low"]) / (read["high"] - read["low"]) * 2.0 - 1.0
    table = pl.DataFrame({"word": words, "valence": valences}).drop_nulls().group_by("word").mean().sort("word")
    yield "lexicon", table.filter(pl.col("valence").abs() >= read["least"]).to_arrow().cast(LEXICON)


def _check(valences: pl.Series, read: Mapping[str, float], name: str) -> None:
    outside = valences.filter((valences < read["low"]) | (valences > read["high"]))
    if outside.len():
        raise InputError(
            f"lexicon.path: {name} has the valence {outside[0]:g}, outside the scale from {read['low']:g} to "
            f"{read['high']:g}; set lexicon.low and lexicon.high"
        )
    if not valences.is_finite().any():
        raise InputError(f"lexicon.path: {name} has no word with a valence")


def valences_of(words: list[str], lexicon: Mapping[str, float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """``[words]``; NaN for a word that the lexicon does not have."""
    return np.array([lexicon.get(normalised(word), np.nan) for word in words], dtype=np.float64)
