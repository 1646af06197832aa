"""Sets of pairs and questions, what an embedding makes of one, and what its replicas make of that."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.lookup import MIN_REPLICAS, OfReplicas, too_few_replicas
from tiltmeter.jobs.embedding.pages import left_out_table
from tiltmeter.jobs.embedding.vector_quality.tables import WHOLE, Quality, Scores
from tiltmeter.jobs.embedding.vectors import matrix
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.embedding import quality
from tiltmeter.operators.embedding.bootstrap import ORIGINAL
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT, IntervalSettings, Scale, of_size
from tiltmeter.operators.statistics.replicas import taken_apart
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.ledger import Store, TableRef

Task = Literal["similarity", "analogies"]

_UNDEFINED = {
    "similarity": "fewer than three pairs have both words, or all are as similar",
    "analogies": "no question has all its words",
}
_HALF = 0.5
_WORDS = {"similarity": ["word_1", "word_2"], "analogies": ["a", "b", "c", "expected"]}


def read_set(uri: str, task: Task, bad: BadRecords) -> pl.DataFrame:
    """The items of a file: ``section``, their words, and of pairs ``human``; lines that are none are counted.

    Lines of a comment (#) are skipped, and columns after those that are needed; words are parted by tabs or blanks.
    """
    with opened(uri) as file:
        lines = file.read().decode("utf-8-sig", "replace").splitlines()
    section, rows, name = WHOLE, list[tuple[Any, ...]](), redacted(uri)
    bad.read(name, len(lines))
    for number, line in enumerate(lines, 1):
        if task == "analogies" and line.startswith(":"):
            section = line[1:].strip()
            section = f"section {section}" if section == WHOLE else section
            continue
        cells = line.split("\t") if "\t" in line else line.split()
        if not cells or line.startswith("#"):
            continue
        if task == "analogies" and len(cells) == 4:
            rows.append((section, *cells, math.nan))
        elif task == "similarity" and len(cells) >= 3 and math.isfinite(human := _number(cells[2])):
            rows.append((section, *cells[:2], human))
        else:
            what = "two words and a number" if task == "similarity" else "four words"
            bad.add(name, f"not {what}", f"line {number}")
    schema = ["section", *_WORDS[task], "human"]
    return pl.DataFrame(
        rows, {column: pl.Float64 if column == "human" else pl.String for column in schema}, orient="row"
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


class ReadSet(Work, unit="quality_set/1", stage="read sets"):
    """A set, as a table ``items``."""

    file: Mapping[str, Any]
    task: Task

    def tables(self, _: Store) -> Tables:
        bad = BadRecords()
        items = read_set(self.file["uri"], self.task, bad)
        yield from left_out_table(bad)
        yield "items", pa.table(items.to_dict(as_series=False))


class ScoreVectors(Work, unit="quality_scores/1", stage="score", makes=[Scores]):
    """One embedding on one set: by section, and as a whole.

    Attributes:
        measure: version of what is computed.
        vectors: ``word``, the most frequent first, and ``vector``.
    """

    task: Task
    measure: str
    most_words: int | None
    fold_case: bool
    items: TableRef
    vectors: TableRef

    def rows(self, store: Store) -> Iterator[Scores]:
        table = store.read(self.vectors).slice(0, self.most_words)
        words = [word.lower() if self.fold_case else word for word in table["word"].to_pylist()]
        first = {word: row for row, word in reversed([*enumerate(words)])}
        kept = sorted(first.values())
        place = {words[row]: number for number, row in enumerate(kept)}
        vectors = matrix(table["vector"].take(pa.array(kept)))[np.newaxis]
        items = pl.DataFrame(store.read(self.items))
        asked = [[word.lower() if self.fold_case else word for word in items[name]] for name in _WORDS[self.task]]
        places = np.array([[place.get(word, -1) for word in column] for column in asked], np.int64).T
        same = {"num_words": int(np.isfinite(vectors[0]).all(axis=1).sum())}
        yield from (_pairs if self.task == "similarity" else _questions)(vectors, places, items, same)


def _pairs(vectors: Any, places: Any, items: pl.DataFrame, same: Row) -> Iterator[Scores]:
    made = quality.word_similarity(vectors, places, items["human"].to_numpy())
    row = Scores(section=WHOLE, num_items=len(places), num_missing=made.num_missing.item(), **same)
    row.value, row.value_of_all = made.rho.item(), made.rho_of_all.item()
    yield row


def _questions(vectors: Any, places: Any, items: pl.DataFrame, same: Row) -> Iterator[Scores]:
    answers = quality.analogies(vectors, places)
    names = items["section"].unique(maintain_order=True).to_list()
    codes = items["section"].replace_strict(names, range(len(names)), return_dtype=pl.Int64).to_numpy()
    parts = [] if names == [WHOLE] else [(codes, names)]
    for sections, labels in (*parts, (np.zeros_like(codes), [WHOLE])):
        without, missing = quality.accuracies(answers.without_inputs, places[:, 3], sections, len(labels))
        inputs, _ = quality.accuracies(answers.with_inputs, places[:, 3], sections, len(labels))
        num = np.bincount(sections)
        for row, section in enumerate(labels):
            share, lacking = without[0, row], int(missing[0, row])
            yield Scores(
                section=section,
                value=share,
                value_of_all=np.nan_to_num(share) * (1 - lacking / num[row]),
                value_with_inputs=inputs[0, row],
                num_items=int(num[row]),
                num_missing=lacking,
                **same,
            )


class SummariseQuality(Work, unit="vector_quality/1", stage="intervals", makes=[Quality]):
    """What a model makes of a set, with the intervals of its replicas.

    Attributes:
        scores: of the original, its replicas, and further starts.
    """

    model: str
    language: str
    draws: Scheme | None
    set: str
    task: Task
    num_replicas: int
    settings: IntervalSettings
    scores: Sequence[TableRef]

    @property
    def scheme(self) -> Scheme | None:
        return self.draws

    def rows(self, store: Store) -> Iterator[Quality]:
        tables = [{row.section: row for row in Scores.read(store, ref)} for ref in self.scores]
        for section, first in tables[ORIGINAL].items():
            row = Quality(model=self.model, language=self.language, set=self.set, section=section, task=self.task)
            row.num_items, row.num_missing, row.num_words = first.num_items, first.num_missing, first.num_words
            row.missing = first.num_missing / first.num_items
            of_section = [table[section] for table in tables]
            values = taken_apart(_column(of_section, "value"), self.num_replicas)
            row.value = OfReplicas(values, self.settings, self._scale(float(values.original)))
            for name in ("value_of_all", *(["value_with_inputs"] if self.task == "analogies" else [])):
                original, replicas, _ = taken_apart(_column(of_section, name), self.num_replicas)
                low, high, _ = self.settings.around(original, replicas, self._scale(float(original)))
                setattr(row, name, Estimate(float(original), float(low), float(high), replicas))
            if self.task == "analogies" and section == WHOLE:
                self._over_sections(row, [one for name, one in tables[ORIGINAL].items() if name != WHOLE])
            row.num_replicas = int(np.isfinite(values.replicas).sum())
            if not np.isfinite(values.original):
                row.fail("undefined", _UNDEFINED[self.task])
            elif self.num_replicas and row.num_replicas < MIN_REPLICAS:
                row.fail(**too_few_replicas(row.num_replicas))
            yield row

    def _scale(self, value: float) -> Scale:
        """On which replicas, whose vectors have more noise and are worse, spread as far as the original or further: of
        small shares the logit, of large ones and of correlations the linear one."""
        if self.task == "analogies" and value < _HALF:
            return LOGIT._replace(is_size=True)
        return of_size(LOGIT if self.task == "analogies" else FISHER)

    def _over_sections(self, row: Quality, sections: Sequence[Scores]) -> None:
        asked = np.array([one.num_items - one.num_missing for one in sections], dtype=np.int64)
        right = np.round(asked * np.nan_to_num([one.value or 0.0 for one in sections]))
        units = units_of(np.arange(len(sections)), "section")
        share = means.share(right, units, level=self.settings.level, sizes=asked)
        row.by_section, row.num_sections = Estimate(share.value, share.low, share.high), int((asked > 0).sum())


def _column(rows: Sequence[Scores], name: str) -> Any:
    return np.array([math.nan if getattr(row, name) is None else getattr(row, name) for row in rows])
