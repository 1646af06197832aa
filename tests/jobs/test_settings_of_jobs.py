"""Every job that the catalogue names is whole, and so are its settings: none takes what is no number, or true for one,
each has a shape that messages can show, and those that refusals name are there.
"""

import ast
import dataclasses
import math
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, get_args

import pytest

from tests.choices import arms
from tests.docs.test_settings import ENDINGS, is_known, settings_of
from tiltmeter.jobs import catalogue
from tiltmeter.jobs.runtime.config import CommonConfig, ConfigError
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.settings.composition import build
from tiltmeter.jobs.runtime.settings.shapes import example_at, written

ROOT = Path(__file__).parents[2]


def test_every_file_of_settings_is_of_a_job_and_every_job_has_one():
    assert catalogue.names() == sorted(path.stem for path in (ROOT / "conf/job").glob("*.yaml"))


@pytest.mark.parametrize("name", catalogue.names())
def test_a_job_has_a_config_of_its_name_a_page_docs_and_tests(name):
    job = catalogue.job(name)
    assert issubclass(job.config, CommonConfig)
    settings = job.config.__dataclass_fields__["job"].type
    assert get_args(settings.__dataclass_fields__["name"].type) == (name,)
    assert callable(job.load_page())
    assert job.tables
    assert (ROOT / f"docs/{name}.md").exists()
    package = Path(*catalogue.OURS[name].split(":")[0].split(".")[1:-1])
    assert list((ROOT / "tests" / package).rglob("test_*.py")) or list((ROOT / "tests" / package.parent).glob("test_*"))


def test_what_another_package_offers_must_be_a_job_and_takes_no_name_of_ours(monkeypatch):
    offered = {"theirs": "tiltmeter.jobs.catalogue:GROUP", "survey": "tiltmeter.jobs.catalogue:GROUP"}
    points = [SimpleNamespace(name=name, value=value, module="theirs.job") for name, value in offered.items()]
    monkeypatch.setattr(catalogue, "entry_points", lambda **_: points)
    catalogue._theirs.cache_clear()
    try:
        assert "theirs" in catalogue.names()
        assert catalogue.settings_packages() == ["theirs.conf"]
        assert isinstance(catalogue.job("survey"), Job)
        said = r"job=theirs: tiltmeter.jobs.catalogue:GROUP is a str, and must be a Job"
        with pytest.raises(ConfigError, match=said):
            catalogue.job("theirs")
    finally:
        catalogue._theirs.cache_clear()


# --- numbers --------------------------------------------------------------------------------------------------------

FOLDERS = catalogue.settings_folders()


class FloatSetting(NamedTuple):
    """Attributes:
    key: as messages name it, which say nothing of places in a list.
    composed: a config that gives it a value, and nothing else but the kinds of the records that it is in.
    """

    key: tuple[str, ...]
    composed: Callable[[float], Any]


def float_settings(kind: Any, wanted: type = float) -> Iterator[FloatSetting]:
    """All that is within a type and takes a number with a fraction, or what else is wanted."""
    for arm in arms(kind):
        origin, arguments = typing.get_origin(arm), typing.get_args(arm)
        if arm is wanted:
            yield FloatSetting((), lambda value: value)
        elif dataclasses.is_dataclass(arm):
            hints = typing.get_type_hints(arm, include_extras=True)
            kinds = {name: hint.__args__[0] for name, hint in hints.items() if typing.get_origin(hint) is Literal}
            yield from (_within(name, inner, kinds) for name in hints for inner in float_settings(hints[name], wanted))
        elif isinstance(origin, type) and issubclass(origin, Mapping):
            yield from (_within("name", inner, {}) for inner in float_settings(arguments[1], wanted))
        elif isinstance(origin, type) and issubclass(origin, Sequence):
            items = enumerate(argument for argument in arguments if argument is not ...)
            yield from (_listed(number, inner) for number, item in items for inner in float_settings(item, wanted))


def _within(name: str, inner: FloatSetting, kinds: Mapping[str, str]) -> FloatSetting:
    return FloatSetting((name, *inner.key), lambda value: kinds | {name: inner.composed(value)})


def _listed(number: int, inner: FloatSetting) -> FloatSetting:
    return FloatSetting((), lambda value: [*[None] * number, inner.composed(value)])


def accepting(kind: type[CommonConfig], name: str, wanted: type, values: Sequence[Any]) -> Iterator[str]:
    """The settings of a job that take a number which is not finite, or other values, or do not say which it was.

    Those that all jobs have are looked at for the first of them.
    """
    fields, common = kind.__dataclass_fields__, CommonConfig.__dataclass_fields__
    shared = {key for key in common if fields[key].type == common[key].type and name != catalogue.names()[0]}
    settings = (setting for setting in float_settings(kind, wanted) if setting.key[0] not in shared)
    for setting in settings:
        for value in values:
            # Embeddings that are trained ask for a corpus before anything is looked at.
            composed = {"corpus": {"one": {}}, "job": {"name": name}} | setting.composed(value)
            key = ".".join(setting.key)
            if "corpora" in composed:
                [corpus] = composed.pop("corpora")
                key = f"corpus.one.{[*corpus][-1]}"
                composed |= {"corpus": {"one": corpus}, "embedding": {"kind": "trained"}}
            with pytest.raises(ConfigError) as refused:
                build(kind, composed, [], FOLDERS)
            if not any(line.startswith(f"{key}={written(value)}: ") for line in str(refused.value).splitlines()):
                yield f"{key}={value}"


@pytest.mark.long
@pytest.mark.parametrize("name", catalogue.names())
def test_no_setting_takes_a_number_that_is_not_finite_or_true_for_a_number_or_a_number_for_true(name):
    config = catalogue.job(name).config
    assert not [*accepting(config, name, float, [math.inf, -math.inf, math.nan, True, "0.5"])]
    assert not [*accepting(config, name, int, [True, "3", 0.5])]
    assert not [*accepting(config, name, bool, [1, 0.0, "yes"])]


def test_settings_are_found_in_lists_and_unions_and_by_names():
    keys = {".".join(setting.key) for setting in float_settings(catalogue.job("entity_resolution").config)}
    assert keys > {"time_limit", "records.fields.name.within", "records.prior"}


# --- settings that messages name ------------------------------------------------------------------------------------

ROOMS = ("jobs", "operators", "storage", "cluster")
ANY = "\0"
"""What a message puts in while it is written."""

_WORD = rf"[a-z_][a-z0-9_]*|<\w+>|{ANY}"
_KEY = re.compile(rf"(?<![\w./{ANY}:@<-])((?:{_WORD})(?:\.(?:{_WORD}))+)(?![\w/(@{ANY}-]|\.\w)")
_ASSIGNED = re.compile(r"\bset (?:it with )?([a-z_]+)=")
_OF_WORD_SETS = "operators/text/"
"""Its messages know no language, which a record's place adds: :func:`.composition._placed`."""


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The texts of a module that are no docstrings, with their lines."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Expr | ast.JoinedStr | ast.Constant)]
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    inner = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if id(node) in docs or id(node) in inner:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else ANY for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def named(text: str) -> Iterator[str]:
    """The keys that a text may name."""
    if " " in text:
        yield from (match[1] for match in [*_KEY.finditer(text), *_ASSIGNED.finditer(text)])


@cache
def is_there(key: str) -> bool:
    """Whether a setting may be what a key names, whatever is put in where it is not yet written."""
    pattern = re.compile(r"\.".join(r"[\w.]+" if ANY in part or "<" in part else part for part in key.split(".")))
    return any(map(pattern.fullmatch, settings())) or is_known(key.replace(ANY, "x"), settings())


@cache
def settings() -> set[str]:
    return settings_of(catalogue.settings_folders())


def wrong_names(source: str) -> list[tuple[int, str]]:
    """The settings that the texts of a module name and that are not there, with their lines."""
    roots = {key for key in settings() if "." not in key}
    return [
        (line, key)
        for line, text in texts(ast.parse(source))
        for key in named(text)
        if (key.partition(".")[0] in roots or "." not in key) and key.rpartition(".")[2] not in ENDINGS
        if not is_there(key)
    ]


@pytest.mark.long
@pytest.mark.parametrize("room", ROOMS)
def test_each_setting_that_a_message_names_is_there(room):
    wrong = []
    for path in sorted((ROOT / room).rglob("*.py")):
        place = str(path.relative_to(ROOT))
        text = path.read_text()
        if place.startswith(_OF_WORD_SETS):
            text = text.replace("wordset.", "wordset.en.")
        wrong += [f"{place}:{line}: {key}" for line, key in wrong_names(text)]
    assert wrong == []


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("raise InputError(f'{x} is wrong: set classifier.labels to {y}')", ["classifier.labels"]),
        ("raise InputError('a ' f'corpus: set corpus.slyces=<field>')", ["corpus.slyces"]),
        ("x = f'set stoer=<path> for {y}'", ["stoer"]),
        ("x = f'set corpus.{name}.slice_by, or data.path'", []),
        ("x = f'set sentiment.<name>.classifier.label to {y}'", ["sentiment.<name>.classifier.label"]),
    ],
)
def test_one_that_is_not_there_is_noticed(code, names):
    assert [key for _, key in wrong_names(code)] == names


# --- shapes ---------------------------------------------------------------------------------------------------------

MESSY = ["job=entity_resolution", "+records=csv", "records.path=r.csv", "records.clusters=c.csv"]


def test_the_shapes_of_records_can_be_set_as_they_are_shown(configured):
    rules = "[{phone: null}, {name: 4, born: 4}]"
    fields = "{name: {kind: string}, born: {kind: date, within: [1, 31]}}"
    scorer = configured(*MESSY, f"records.fields={fields}", f"records.blocking={rules}").records
    assert scorer.fields["born"].within == (1.0, 31.0)
    assert scorer.blocking == ({"phone": None}, {"name": 4, "born": 4})


@pytest.mark.parametrize("job", catalogue.names())
def test_every_setting_of_every_job_has_a_shape_or_none(job):
    config = catalogue.job(job).config
    shapes = {field.name: example_at(config, [field.name]) for field in dataclasses.fields(config)}
    assert shapes["cluster"] == "{kind: local}"
    assert shapes["seed"] is None
    assert not any(shape and re.search("object at|<class|typing", shape) for shape in shapes.values())


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        (dict[str, int], "{name: 1}"),
        (tuple[tuple[str, str], ...], "[[text, text]]"),
        (dict[typing.Literal["a", "b"], bool] | None, "{a: true}"),
        (typing.Annotated[tuple[int, ...], "in order"], "[1]"),
        (int, None),
        (str | None, None),
    ],
)
def test_shapes_are_made_of_types(kind, shape):
    assert example_at(kind, []) == shape
