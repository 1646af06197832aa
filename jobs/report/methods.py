"""What a run computed, in words ready to be adapted for a paper, with the papers that it rests on, as BibTeX.

A template of each job, in ``method_texts``, says it of its settings and tables; ``shared.jinja`` has the sentences
that several jobs have alike. Lines of a template may break anywhere; an empty line parts paragraphs.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePath
from typing import Any

import jinja2
import polars as pl

from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.runtime.wording import listed, plural
from tiltmeter.storage.files.redaction import redacted_text
from tiltmeter.storage.store.runs import METHODS, REFERENCES

TEXTS = Path(__file__).with_name("method_texts")
_OTHERS = "of_other_packages"
_ENTRY = re.compile(r"^@\w+\{(\w+),\n.*?^\}\n", re.MULTILINE | re.DOTALL)
_CITED = re.compile(r"(?<![\w`])@(\w+)")


def write_methods(run: Run[Any, Any], tables: Frames) -> None:
    """Write ``methods.md`` and ``references.bib``, and note in ``run.json`` which papers are cited.

    Args:
        tables: that were published; of those that a text says the sizes of, columns are read.

    Raises:
        StorageError: if they can't be written.
    """
    directory, failures = run.directory, run.runner.failures.values()
    record = directory.record | {"failed": sum(map(len, failures)), "version": _version()}
    text = methods(run.config, record, tables)
    keys = cited(text)
    directory.write_record(papers=keys)
    directory.write_text(METHODS, text)
    directory.write_text(REFERENCES, "\n".join(papers()[key] for key in keys) or "% No paper is cited.\n")


def methods(config: CommonConfig, record: Mapping[str, Any], tables: Frames) -> str:
    """The text, as Markdown with citations as Pandoc has them.

    Args:
        record: of the run, as in ``run.json``, with how many units ``failed`` and the ``version`` of this package.
    """
    name = config.job.name
    template = _environment().get_template(f"{name if name in templates() else _OTHERS}.jinja")
    text = template.render(c=config, record=record, **_facts(tables))
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    return "\n\n".join(part for part in paragraphs if part) + "\n"


def _version() -> str:
    try:
        return version("tiltmeter")
    except PackageNotFoundError:
        return ""


def cited(text: str) -> list[str]:
    """Keys of the papers that a text cites, in the order of the papers.

    >>> cited("As published [@pennington2014glove; @holm1979simple], by `@nobody`.")
    ['holm1979simple', 'pennington2014glove']
    """
    keys = set(_CITED.findall(text))
    return [key for key in papers() if key in keys]


@cache
def papers() -> dict[str, str]:
    """The BibTeX entries of all papers by their keys."""
    content = (TEXTS / "papers.bib").read_text(encoding="utf-8")
    return {match[1]: match[0] for match in _ENTRY.finditer(content)}


@cache
def templates() -> frozenset[str]:
    """The jobs that have a text."""
    return frozenset(path.stem for path in TEXTS.glob("*.jinja"))


def _facts(tables: Frames) -> dict[str, Any]:
    """What templates ask of the tables; of one that was not published they get nothing."""

    def table(name: str) -> pl.DataFrame:
        return tables[name] if name in tables else pl.DataFrame()

    def rows(name: str, **cells: str) -> int:
        if name not in tables:
            return 0
        return int(tables.scan(name).filter(**cells).select(pl.len()).collect(engine="streaming").item())

    def values(name: str, column: str) -> list[Any]:
        if name not in tables:
            return []
        cells = tables.scan(name).select(pl.col(column).drop_nulls().unique(maintain_order=True))
        return cells.collect(engine="streaming").to_series().to_list()

    has_reasons = any("reason" in tables.scan(name).collect_schema() for name in tables)
    return {"table": table, "rows": rows, "values": values, "has_reasons": has_reasons}


def _names(words: Iterable[object]) -> str:
    """Words of a user in a list, each as it is written, on one line.

    >>> _names(["a@b", "c`d\\n"])
    "`a@b` and `c'd`"
    """
    return listed([f"`{' '.join(redacted_text(str(word)).replace('`', chr(39)).split())}`" for word in words])


def _models(places: Iterable[str]) -> str:
    """Models by their names on the hub, or by those of their folders.

    >>> _models(["google-bert/bert-base-cased", "/data/models/mine"])
    '`google-bert/bert-base-cased` and `mine`'
    """
    return _names(PurePath(place).name if place.startswith(("/", ".", "~")) else place for place in places)


def _listed(numbers: Iterable[object], last: str = "and") -> str:
    return listed([str(_written(number)) for number in numbers], last)


def _percent(share: float) -> str:
    """A share in percent, as it is set.

    >>> _percent(0.95), _percent(0.07)
    ('95 %', '7 %')
    """
    return f"{100 * share:.10g} %"


def _written(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEXTS),
        autoescape=False,  # noqa: S701 - it is Markdown, in which words of users stand as code
        undefined=jinja2.StrictUndefined,
        finalize=_written,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"names": _names, "models": _models, "listed": _listed, "percent": _percent}
    environment.globals |= {"plural": plural}
    return environment
