"""What a structure such as a list of mappings looks like on a command line: an example that would do, from its type."""

import dataclasses
import re
import types
import typing
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Annotated, Any, Literal

import pydantic
from pydantic.fields import FieldInfo

_ELSE = re.compile(r"[-+]?[\d._]+(e[-+]?\d+)?|true|false|yes|no|on|off|null|~", re.IGNORECASE)
"""What YAML takes for a number, for true or false, or for nothing."""

_VALUES: Mapping[Any, int | float] = {int: 1, float: 0.5, bool: True}


def example_at(kind: Any, location: Sequence[int | str]) -> str | None:
    """An example of what stands at a location of a record; None where that is no structure, or none is known.

    It is that of the type, ``Field(examples=[...])``, or else made of its parts.

    >>> example_at(dict[str, tuple[int, ...]], []), example_at(dict[str, tuple[int, ...]], ["any"])
    ('{name: [1]}', '[1]')
    """
    kind = reduce(_inside, location, kind)
    value = _example(kind)
    return written(value) if isinstance(value, dict | list) and _is_valid(value, kind) else None


def names_at(kind: Any, location: Sequence[int | str]) -> list[str]:
    """The fields of the record that stands at a location; none where no record does."""
    arms = [arm for arm in _arms(reduce(_inside, location, kind)) if dataclasses.is_dataclass(arm)]
    return [field.name for arm in arms for field in dataclasses.fields(arm)]


def _is_valid(value: Any, kind: Any) -> bool:
    try:
        pydantic.TypeAdapter(kind).validate_python(value)
    except pydantic.ValidationError:
        return False
    return True


def _inside(kind: Any, part: int | str) -> Any:
    for arm in _arms(kind):
        origin, arguments = typing.get_origin(arm), typing.get_args(arm)
        if dataclasses.is_dataclass(arm):
            hints = typing.get_type_hints(arm, include_extras=True)
            if part in hints:
                return hints[part]
            # In an error, a member of a union stands under its own name, or that of its kind.
            if part in (getattr(arm, "__name__", ""), *typing.get_args(hints.get("kind"))):
                return arm
        elif _is(origin, Mapping):
            return arguments[1]
        elif _is(origin, Sequence) and isinstance(part, int):
            return arguments[0]
    return None


def _example(kind: Any) -> Any:
    if typing.get_origin(kind) is Annotated:
        inner, *metadata = typing.get_args(kind)
        fields = [item for item in metadata if isinstance(item, FieldInfo)]
        return next((field.examples[0] for field in fields if field.examples), _example(inner))
    arm = next(iter(_arms(kind)), None)
    if arm is not kind:
        return _example(arm)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return arguments[0]
    if _is(origin, Mapping):
        return {_name(arguments[0]): _example(arguments[1])}
    if _is(origin, Sequence):
        return [_example(argument) for argument in arguments if argument is not Ellipsis]
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        needed = [field.name for field in dataclasses.fields(kind) if _is_needed(field)]
        return {name: _example(hints[name]) for name in needed or list(hints)[:1]}
    return _VALUES.get(kind, "text")


def _arms(kind: Any) -> list[Any]:
    """What a union may be but None; any other type by itself, without its annotations."""
    if typing.get_origin(kind) is Annotated:
        return _arms(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return [arm for member in typing.get_args(kind) if member is not types.NoneType for arm in _members(member)]
    return [kind]


def _members(kind: Any) -> list[Any]:
    """A member of a union that is annotated keeps its examples."""
    return [kind] if typing.get_origin(kind) is Annotated else _arms(kind)


def _name(kind: Any) -> Any:
    value = _example(kind)
    return "name" if value == "text" else value


def _is(origin: Any, base: type) -> bool:
    return isinstance(origin, type) and issubclass(origin, base)


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    return field.name == "kind" or field.default is field.default_factory is dataclasses.MISSING


def written(value: Any) -> str:
    """A value as a command line has it; a text is quoted where it would be taken for something else.

    >>> written({"a": [True, None]}), written("3"), written("text")
    ('{a: [true, null]}', "'3'", 'text')
    """
    match value:
        case dict():
            return "{" + ", ".join(f"{name}: {written(item)}" for name, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(written, value)) + "]"
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str() if _ELSE.fullmatch(value):
            return f"'{value}'"
    return str(value)
