"""Job `word_lengths`: how long the words of each text are."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import pyarrow as pa

from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.settings.fields import Count, Text, settings
from tiltmeter.jobs.runtime.table import Table, doc, key, schemas
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.records import read_records
from tiltmeter.storage.store.ledger import Store, TableRef


@settings
class WordLengthsJob:
    name: Literal["word_lengths"]
    unit_texts: Count


@settings
class WordLengthsRun(CommonConfig):
    job: WordLengthsJob
    path: Text
    text: Text
    language: Text


class WordLengths(Table, name="word_lengths"):
    row: int = key("row of the text in its file, from 0")
    mean_length: float = doc("mean length of its words; null if it has none", "characters")


class ReadTexts(Work, unit="word_lengths_texts/1", stage="read"):
    """The texts of a file in parts; tables of columns that only later units read need no class."""

    file: Mapping[str, Any]
    column: str
    unit_texts: int

    def tables(self, _: Store) -> Iterator[tuple[str, pa.Table]]:
        texts = read_records(self.file["uri"], [self.column])[self.column].cast(str).to_list()
        table = pa.table({"row": range(len(texts)), "text": pa.array(texts, pa.string())})
        for start in range(0, len(texts), self.unit_texts):
            yield f"rows_{start:08d}", table.slice(start, self.unit_texts)


class MeasureWords(Work, unit="word_lengths/1", stage="measure", makes=[WordLengths]):
    """(1 / n) sum_i |w_i| over the n words w_i of each text of a part; the tokeniser's versions are settings, too."""

    texts: TableRef
    language: str
    tokens: Mapping[str, Any]

    def rows(self, store: Store) -> Iterator[WordLengths]:
        tokenizer = Tokenizer(self.language)
        for text in store.read(self.texts).to_pylist():
            if words := tokenizer(text["text"] or ""):
                yield WordLengths(row=text["row"], mean_length=sum(map(len, words)) / len(words))
            else:
                yield WordLengths(row=text["row"]).fail("no_word", "there is no word in the text")


def find_texts(config: WordLengthsRun) -> Files:
    """Look for the file; InputError if it is missing, can't be read, or lacks the column."""
    return Files({"texts": find_table(config.path, "path", [config.text])})


def run(run: Run[WordLengthsRun, Files]) -> None:
    """Read the texts, and measure them part by part; what is measured is published."""
    config, file = run.config, run.sources.files["texts"].identity
    [(_, read)] = run.do([ReadTexts(file=file, column=config.text, unit_texts=config.job.unit_texts)]).pairs
    same: Mapping[str, Any] = {"language": config.language, "tokens": Tokenizer(config.language).identity}
    run.do(MeasureWords(label=name, texts=part, **same) for name, part in read.tables.items())


JOB = Job(WordLengthsRun, find_texts, run, schemas(WordLengths), "word_lengths.page:page")
