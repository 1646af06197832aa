"""A valence lexicon that a user brings, as words with a valence from -1 to 1."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.privacy.config import ValenceLexicon
from tiltmeter.operators.classifiers.privacy.metrics import UNBINNED
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.records import numbers, read_records
from tiltmeter.storage.records.cells import GIVEN, between
from tiltmeter.storage.store.ledger import Store, TableRef, Unit
from tiltmeter.storage.store.tables import column

LEXICON = pa.schema(
    [
        column("word", pa.string(), "the word, in lower case", key=True),
        column("valence", pa.float64(), "from -1, the lowest, to 1, the highest; mean if the file has several"),
        column("bin", pa.int64(), "number of the class that its valence is in, from 0"),
    ]
)


def read_lexicon(runner: Runner, lexicon: ValenceLexicon, num_classes: int, file: FoundFile | None) -> TableRef | None:
    """The words of the file; None without a file.

    Raises:
        UnitsFailed: if it can't be read.
    """
    if file is None:
        return None
    settings = {name: getattr(lexicon, name) for name in ("header", "word", "valence", "low", "high")}
    settings["upper_ends"] = lexicon.upper_ends(num_classes)
    unit = Unit("valence_lexicon/3", "valence lexicon", {"file": file.identity, "read": settings})
    [done] = runner.run_whole(Stage("read lexicon", each(_read), {"lexicon": [unit]}))["lexicon"]
    return done.tables["lexicon"]


def _read(_: Store, unit: Unit) -> Tables:
    file, read = unit.config["file"], unit.config["read"]
    names, scale = list(dict.fromkeys([read["word"], read["valence"]])), between(read["low"], read["high"])
    rows = read_records(file["uri"], names, header=read["header"], rules={read["valence"]: [GIVEN, scale]})
    values = numbers(rows, read["valence"])
    words = rows[read["word"]].cast(pl.String).fill_null("").map_elements(folded, return_dtype=pl.String)
    table = pl.DataFrame({"word": words, "valence": values}).drop_nulls().group_by("word").mean().sort("word")
    bins = np.searchsorted(read["upper_ends"], table["valence"].to_numpy(), side="left")
    scaled = (pl.col("valence") - read["low"]) / (read["high"] - read["low"]) * 2.0 - 1.0
    yield "lexicon", table.with_columns(scaled, bin=pl.Series(bins)).to_arrow().cast(LEXICON)


class BinnedLexicon(NamedTuple):
    """Attributes:
    valences: of words, in [-1, 1].
    bins: of words, from 0.
    """

    valences: Mapping[str, float]
    bins: Mapping[str, int]

    def valences_of(self, words: Sequence[str], least: float) -> NDArray[np.float64]:
        """``[words]``; NaN for a word that the lexicon does not have, or less than ``least`` from the middle."""
        values = np.array([self.valences.get(folded(word), np.nan) for word in words], dtype=np.float64)
        return np.where(np.abs(values) >= least, values, np.nan)

    def bins_of(self, words: Sequence[str]) -> NDArray[np.int64]:
        """``[words]``; ``UNBINNED`` for a word that the lexicon does not have."""
        return np.array([self.bins.get(folded(word), UNBINNED) for word in words], dtype=np.int64)


def binned_lexicon(store: Store, ref: TableRef) -> BinnedLexicon:
    """The lexicon of a table."""
    rows = store.read(ref).to_pylist()
    return BinnedLexicon(*({row["word"]: row[name] for row in rows} for name in ("valence", "bin")))
