"""What a small file of text holds: JSON, JSON lines or YAML, checked against a form."""

import json
from collections.abc import Iterator
from typing import Any, TypeVar

import pydantic
import yaml

from tiltmeter.storage.corpora.packed import unpacked
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.files.redaction import redacted

_T = TypeVar("_T")


def text_of(uri: str) -> str:
    """A file's text, which may be packed.

    Raises:
        InputError: naming the byte, if it is not UTF-8.
    """
    with opened(uri) as file:
        content = unpacked(file).read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{redacted(uri)}: byte {error.start} is not UTF-8") from error


def json_of(text: str, uri: str) -> Any:
    """What a text of JSON says.

    Raises:
        InputError: naming the line, if it is none.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{redacted(uri)} is not JSON: {error}") from error


def json_lines_of(text: str, uri: str) -> Iterator[tuple[str, Any]]:
    """For each line that is not blank, where it stands and what it says.

    Raises:
        InputError: naming the line, if it is not JSON.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            where = f"line {number}"
            try:
                yield where, json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{redacted(uri)}, {where}, is not JSON: {error}") from error


def yaml_of(text: str, uri: str) -> Any:
    """What a text of YAML says, of plain values only.

    Raises:
        InputError: naming the line, if it is none, or repeats parts by name, which a few lines can make huge.
    """
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
            raise InputError(f"{redacted(uri)} has YAML aliases (*name): write out what they stand for")
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{redacted(uri)} is not YAML: {' '.join(str(error).split())}") from error


def checked(adapter: pydantic.TypeAdapter[_T], value: Any, uri: str, where: str) -> _T:
    """A value in the form of an adapter.

    Raises:
        InputError: naming the file, the place and the first thing that differs from the form.
    """
    try:
        return adapter.validate_python(value)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        place = repr(".".join(map(str, first["loc"])))[1:-1] or "it"  # with escapes for what can't be shown
        raise InputError(
            f"{redacted(uri)}, {where}: {place}: {first['msg']}, and not {first['input']!r:.60}"
        ) from error
