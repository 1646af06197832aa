"""From composed YAML to one frozen, checked record; nothing of Hydra goes further than this."""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import pydantic
from omegaconf import DictConfig, MissingMandatoryValue, OmegaConf
from omegaconf.errors import InterpolationResolutionError
from pydantic_core import ErrorDetails, SchemaValidator

from tiltmeter.jobs.runtime.config import CommonConfig, ConfigError
from tiltmeter.jobs.runtime.settings.files import SettingsFolders
from tiltmeter.jobs.runtime.settings.known import Known
from tiltmeter.jobs.runtime.settings.shapes import example_at, names_at, written
from tiltmeter.jobs.runtime.wording import listed
from tiltmeter.storage.errors import listing, meant

_STRUCTURES = {"dict_type": "must be values by their names", "tuple_type": "must be a list"}
_STRUCTURES |= {"dataclass_type": _STRUCTURES["dict_type"], "list_type": _STRUCTURES["tuple_type"]}
_STRUCTURES |= {"model_attributes_type": _STRUCTURES["dict_type"]}
_QUOTE = "'"
_SCALARS = ("bool", "float", "int")
_OPAQUE = ("default", "metadata", "serialization")


def plain(composed: DictConfig, kind_of: Callable[[str], type[CommonConfig]]) -> dict[str, Any]:
    """A composed config as mappings, lists and values.

    Args:
        composed: by Hydra.
        kind_of: the record of a job, by its name.

    Raises:
        ConfigError: for a value that is missing, or an interpolation that leads nowhere.
    """
    try:
        return cast(dict[str, Any], OmegaConf.to_container(composed, resolve=True, throw_on_missing=True))
    except MissingMandatoryValue as error:
        key = error.full_key or str(error)
        kind = None if key.startswith("job") else kind_of(composed.job.name)
        raise ConfigError(f"{key} has no value: {_advice(key, kind, key.split('.'))}") from error
    except InterpolationResolutionError as error:
        place = f"{error.full_key}: " if error.full_key else ""
        raise ConfigError(f"{place}{str(error).splitlines()[0]}") from error


def build(
    kind: type[CommonConfig], composed: Mapping[str, Any], overrides: Sequence[str], folders: SettingsFolders
) -> CommonConfig:
    """Check a composed config and turn it into a job's record.

    Args:
        kind: of record.
        composed: by Hydra, as :func:`plain` gives it.
        overrides: what the user asked for.
        folders: with the settings of other jobs, for messages.

    Raises:
        ConfigError: naming every wrong key at once.
    """
    try:
        # Not with the validators that pydantic has built for the records within, which are not strict.
        validator = SchemaValidator(_strict(pydantic.TypeAdapter(kind).core_schema), _use_prebuilt=False)
        return cast(CommonConfig, validator.validate_python(kind.arranged(composed, overrides)))
    except pydantic.ValidationError as error:
        wrong = _without_echoes(error.errors())
        known = Known(composed, folders)
        raise ConfigError("\n".join(_explain(details, kind, known) for details in wrong)) from error


def _without_echoes(errors: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """A list that is too short only says again that its items are wrong."""
    places = [details["loc"] for details in errors]
    others = [details for details in errors if details["type"] != "too_short"]
    return others or [
        details for details in errors if sum(place[: len(details["loc"])] == details["loc"] for place in places) == 1
    ]


def _strict(schema: Any) -> Any:
    """A schema in which nothing is taken for a number, or for true or false, that is written as something else."""
    if isinstance(schema, dict):
        inner = {key: value if key in _OPAQUE else _strict(value) for key, value in schema.items()}
        return inner | ({"strict": True} if schema.get("type") in _SCALARS else {})
    return type(schema)(map(_strict, schema)) if isinstance(schema, list | tuple) else schema


def _explain(details: ErrorDetails, kind: type[CommonConfig], known: Known) -> str:
    message = details["msg"].removeprefix("Value error, ")
    place = kind.place(details["loc"], known.composed)
    keys, node = list(place.keys), place.node
    # A union adds its member's name to the location; only what is in the composed config is a key.
    named = len(details["loc"]) - len(place.rest)
    for number, part in enumerate(details["loc"][named:], start=named + 1):
        if isinstance(node, Mapping) and part in node:
            node = node[part]
            keys.append(str(part))
            named = number
    if details["type"] == "missing" and not any(isinstance(part, int) for part in details["loc"][named:]):
        keys.append(str(details["loc"][-1]))
        named = len(details["loc"])
    key, value, rest = ".".join(keys), details["input"], details["loc"][named:]
    message = _placed(message, keys, known.composed)
    if not key or "=" in message.split(":")[0] or message.startswith((key, f"{'.'.join(keys[:2])}.")):
        return message
    is_listed = any(isinstance(part, int) for part in rest)
    shown = "" if isinstance(value, Mapping) or dataclasses.is_dataclass(value) else f"={written(value)}"
    advice = _advice(key, kind, details["loc"][:named])
    if details["type"] == "unexpected_keyword_argument":
        if not is_listed:
            return f"{key}{shown}: {known.without(key).no_such(key)}"
        names = names_at(kind, details["loc"][:-1])
        there = f"{meant(str(rest[-1]), names) or ';'} there are {listing(str(rest[-1]), names)}"
        return f"{key}{_inside(rest)}{shown}: there is no such setting{there}"
    if details["type"] == "missing" and is_listed:
        return f"{key}{_inside(rest)}: field required; {advice}"
    if details["type"] == "literal_error" or details["type"].startswith("bool_"):
        expected = details.get("ctx", {}).get("expected", "'true' or 'false'")
        return f"{key}{shown}: {_one_of(expected, str(value))}"
    if details["type"] == "string_pattern_mismatch" and re.fullmatch(details["ctx"]["pattern"], str(value).lower()):
        advice += f"; did you mean {str(value).lower()}?"
    reason = _kinds(details) or _STRUCTURES.get(details["type"], f"{message[0].lower()}{message[1:]}")
    return f"{key}{shown}: {reason}; {advice}"


def _placed(message: str, keys: Sequence[str], composed: Mapping[str, Any]) -> str:
    """A message about one of several of a kind, which it does not know the name of.

    >>> _placed("wordset.cues: none", ["wordset", "en", "cues"], {"wordset": {"en": {"cues": []}}})
    'wordset.en.cues: none'
    """
    match keys:
        case [group, name, *_] if (match := re.match(rf"{group}\.(\w+)", message)) and match[1] not in composed[group]:
            return message.replace(f"{group}.", f"{group}.{name}.")
    return message


def _inside(location: Sequence[int | str]) -> str:
    """Where in a list something is; nothing where no list is.

    >>> _inside([0, "column"]), _inside([1, "Kind", 2]), _inside(["str"])
    ('[0].column', '[1][2]', '')
    """
    # A union adds its member's name.
    places = "".join(f"[{part}]" for part in location if isinstance(part, int))
    return f"{places}.{location[-1]}" if places and isinstance(location[-1], str) else places


def _kinds(details: ErrorDetails) -> str:
    """What is wrong with the kind of something of which there are several."""
    if details["type"] == "union_tag_not_found":
        return "has no {discriminator}".format(**details["ctx"])
    if details["type"] == "union_tag_invalid":
        return "{discriminator} is {tag}, and must be one of {expected_tags}".format(**details["ctx"])
    return ""


def _one_of(expected: str, word: str) -> str:
    """What a word must be that is none of a list, and which one was meant.

    >>> _one_of("'glove' or 'word2vec'", "glov"), _one_of("1 or 2", "3")
    ('must be glove or word2vec; did you mean glove?', 'must be 1 or 2')
    """
    names = re.findall(f"{_QUOTE}([^{_QUOTE}]*){_QUOTE}", expected)
    return f"must be {listed(names, 'or') or expected}{meant(word, names)}"


def _advice(key: str, kind: type[CommonConfig] | None, location: Sequence[int | str]) -> str:
    """How to set a key, with a shape that would do if it is a structure."""
    example = example_at(kind, location)
    return f"set it as in '{key}={example}'" if example else f"set it with {key}=<value>"
