"""No setting of any job takes a number that is not finite, or true for a number, and each says so by its name."""

import dataclasses
import math
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import pytest

from tests.choices import arms
from tiltmeter.jobs import catalogue
from tiltmeter.jobs.runtime.config import CommonConfig, ConfigError
from tiltmeter.jobs.runtime.settings.composition import build
from tiltmeter.jobs.runtime.settings.shapes import written

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


def accepting(
    kind: type[CommonConfig], name: str, wanted: type = float, values: Sequence[Any] = (math.inf, -math.inf, math.nan)
) -> Iterator[str]:
    """The settings of a job that take a number which is not finite, or other values, or do not say which it was."""
    for setting in float_settings(kind, wanted):
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


@pytest.mark.parametrize("name", catalogue.names())
def test_no_setting_takes_a_number_that_is_not_finite(name):
    assert not [*accepting(catalogue.job(name).config, name)]


@pytest.mark.parametrize("name", catalogue.names())
def test_no_setting_takes_true_for_a_number_or_a_number_for_true(name):
    config = catalogue.job(name).config
    assert not [*accepting(config, name, float, [True, "0.5"])]
    assert not [*accepting(config, name, int, [True, "3", 0.5])]
    assert not [*accepting(config, name, bool, [1, 0.0, "yes"])]


def test_settings_are_found_in_lists_and_unions_and_by_names():
    keys = {".".join(setting.key) for setting in float_settings(catalogue.job("entity_resolution").config)}
    assert keys > {"time_limit", "records.fields.name.within", "records.prior"}
