"""The reference: each setting, each column and each public function once, from what the program itself reads.

Settings come from the comments of the files of settings, as ``--help`` has them, columns from the schemas of tables,
functions from the docstrings of what each package of operators hands on.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules

import pyarrow as pa
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import tiltmeter.operators
from tiltmeter.jobs import catalogue
from tiltmeter.jobs.runtime.settings.files import Setting, SettingsFolders
from tiltmeter.storage.store.tables import documentation

_LONGEST_VALUE = 60
_DATA = ("wordset", "explanation_words", "readable_words", "inverses")
"""Groups of word lists, which are no settings."""

_ROLE = re.compile(r":\w+:`~?([^`]+)`|``([^`]+)``")
_PART = re.compile(r"^(Args|Returns|Raises|Yields|Attributes):$", re.MULTILINE)
_ARGUMENT = re.compile(r"^ {4}(\S[^:\n]*): ", re.MULTILINE)


def on_config(config: MkDocsConfig) -> None:
    """Put the pages of the reference into the navigation, before the proof."""
    jobs = [{name: f"reference/{name}.md"} for name in catalogue.OURS]
    functions = [{name: f"reference/functions/{name}.md"} for name in packages()]
    section = [{"Settings of all jobs": "reference/settings.md"}, {"Jobs": jobs}, {"Functions": functions}]
    (config.nav or []).insert(-1, {"Reference": section})


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages."""
    for path, text in pages().items():
        files.append(File.generated(config, f"reference/{path}.md", content=text))


def pages() -> dict[str, str]:
    """Markdown of all pages by their path without the ending."""
    folders, owners = catalogue.settings_folders(), owners_of(tables())
    made = {name: "\n".join(_job(name, folders, owners)) for name in catalogue.OURS}
    made |= {f"functions/{name}": "\n".join(_package(name)) for name in packages()}
    return made | {"settings": "\n".join(_shared(folders))}


# --- settings -------------------------------------------------------------------------------------------------------


def _shared(folders: SettingsFolders) -> Iterator[str]:
    """Settings that several jobs have, and what can be chosen of groups."""
    yield "# Settings of all jobs\n\nThose of one job are on its page, which links to the files here that it takes in."
    yield from ("\n## All jobs\n", *_settings(folders.file(catalogue.CONFIG).settings))
    for name in taken_in(folders):
        yield f"\n## {name}\n\n{folders.file(name).about}\n"
        yield from _settings(folders.file(name).settings)
    for group in folders.groups:
        if group != "job" and not group.startswith(_DATA):
            yield f"\n## {group}="
            for option in folders.options(group):
                file = folders.file(f"{group}/{option}")
                yield f"\n### {group}={option}\n\n{file.about}\n"
                yield from _settings(file.settings)


def taken_in(folders: SettingsFolders) -> list[str]:
    """Files at the top, which others take in."""
    return [name for name in folders.options("") if name != catalogue.CONFIG]


def _settings(settings: Iterable[Setting]) -> Iterator[str]:
    rows = [setting for setting in settings if not setting.is_block and setting.key != "job.name"]
    if rows:
        yield "| setting | usual | meaning |\n|---|---|---|"
    for setting in rows:
        value = "must be given" if setting.value is None else f"`{_short(setting.value)}`"
        yield f"| `{setting.key}` | {_cell(value)} | {_cell(setting.meaning)} |"


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST_VALUE else f"{value[:_LONGEST_VALUE]}…"


def _cell(text: str) -> str:
    parts = " ".join(text.split()).replace("|", r"\|").split("`")
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]  # not in code
    return "`".join(parts)


# --- jobs and columns -----------------------------------------------------------------------------------------------


def tables() -> dict[str, Mapping[str, pa.Schema]]:
    """The schemas of each job."""
    return {name: catalogue.job(name).tables for name in catalogue.OURS}


def owners_of(jobs: Mapping[str, Mapping[str, pa.Schema]]) -> dict[tuple[str, str], str]:
    """Of each job and table, the job on whose page its columns stand: the one with the fewest tables among those alike.

    >>> owners_of({"a": {"t": pa.schema([]), "u": pa.schema([])}, "b": {"t": pa.schema([])}})
    {('b', 't'): 'b', ('a', 't'): 'b', ('a', 'u'): 'a'}
    """
    owners: dict[tuple[str, str], str] = {}
    by_size = sorted(jobs, key=lambda name: len(jobs[name]))
    for name in by_size:
        for table, schema in jobs[name].items():
            others = ((other, jobs[other].get(table)) for other in by_size)
            owners[name, table] = next(
                other for other, its in others if its is not None and its.equals(schema, check_metadata=True)
            )
    return owners


def _job(name: str, folders: SettingsFolders, owners: Mapping[tuple[str, str], str]) -> Iterator[str]:
    file = folders.file(f"job/{name}")
    yield f"# {name}\n\n{file.about} ([more](../{name}.md)).\n\n```text\n{file.example or f'tiltmeter job={name}'}\n```"
    yield from ("\n## Settings\n", *_settings(file.settings))
    chosen = [f"`{choice.group.strip('/')}={','.join(choice.options)}`" for choice in file.choices if choice.group]
    paths = [choice.options[0] for choice in file.choices if not choice.group]
    files = [f"[{path[1:]}](settings.md#{path[1:]})" if path[0] == "/" else f"[{path}]({path}.md)" for path in paths]
    if chosen or files:
        yield f"\nIt takes in {', '.join([*files, *chosen])}, and [what all jobs have](settings.md)."
    schemas = catalogue.job(name).tables
    for table in (table for table in schemas if owners[name, table] == name):
        yield from (f"\n## Table {table}\n", *_columns(schemas[table]))
    others = [(table, owner) for table in schemas if (owner := owners[name, table]) != name]
    if others:
        yield "\n## Tables of other jobs too\n"
    yield from (f"- [{table}]({owner}.md#table-{table}), as of {owner}" for table, owner in others)


def _columns(schema: pa.Schema) -> Iterator[str]:
    yield "| column | type | unit | what it holds |\n|---|---|---|---|"
    for row in documentation(schema):
        cells = [f"`{row['name']}`", row["type"], row.get("unit", ""), row.get("description", "")]
        yield f"| {' | '.join(map(_cell, cells))} |"


# --- functions ------------------------------------------------------------------------------------------------------


def packages() -> list[str]:
    """Those of operators that hand something on."""
    return [name for _, name, _ in iter_modules(tiltmeter.operators.__path__) if _package_of(name).__doc__]


def _package_of(name: str) -> object:
    return import_module(f"tiltmeter.operators.{name}")


def _package(name: str) -> Iterator[str]:
    package = _package_of(name)
    about, _, rest = _plain(inspect.getdoc(package) or "").partition("\n")
    yield f"# tiltmeter.operators.{name}\n\n{about}\n\n```text\n{rest.strip()}\n```"
    for public in getattr(package, "__all__", ()):
        value = getattr(package, public)
        if callable(value):
            yield f"\n## {public}\n\n```python\n{public}{_signature(value)}\n```\n"
        yield described(inspect.getdoc(value) or "") if callable(value) else f"\n## {public}\n"


def _signature(value: Callable[..., object]) -> str:
    """Without the modules of types; a long one has a line for each argument."""
    text = re.sub(r"(?:\w+\.)+(\w+)", r"\1", str(inspect.signature(value)))
    text = re.sub(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[(\w+)\]\]", r"NDArray[\1]", text)
    return text if len(text) <= _LONGEST_VALUE else re.sub(r"(?<=^\()|(?<=,) (?=\w+: |\*)", "\n    ", text)


def described(text: str) -> str:
    """A docstring in Markdown: parts as lists, examples as code, indented formulas as they are.

    >>> print(described("The mean of ``x``.\\n\\nArgs:\\n    x: numbers."))
    The mean of `x`.
    <BLANKLINE>
    **Args**
    <BLANKLINE>
    - `x`: numbers.
    """
    text = _ROLE.sub(lambda role: f"`{role[1] or role[2]}`", text)
    text = re.sub(
        r"^>>> .*?(?=\n\n|\Z)", lambda code: f"```pycon\n{code[0]}\n```", _plain(text), flags=re.MULTILINE | re.DOTALL
    )
    head, *parts = _PART.split(text)
    for part, body in zip(parts[::2], parts[1::2], strict=True):
        items = _ARGUMENT.sub(r"- `\1`: ", body.strip("\n")) if part != "Returns" else body
        head += f"**{part}**\n\n{re.sub(r'^ {4}', '', items, flags=re.MULTILINE).strip()}\n\n"
    return head.strip()


def _plain(text: str) -> str:
    """With names in backticks, whatever their role."""
    return _ROLE.sub(lambda role: f"`{role[1] or role[2]}`", text)
