"""Packages that some capabilities alone need, by the extra that brings them, and the refusal of work without them."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from tiltmeter.jobs.runtime.config import CommonConfig, ConfigError
from tiltmeter.jobs.runtime.settings.shapes import written
from tiltmeter.jobs.runtime.wording import listed, verb
from tiltmeter.storage.files.redaction import redacted_values

_MODELS = ("huggingface_hub", "safetensors", "sentencepiece", "torch", "transformers")
_CLASSIFIERS = (*_MODELS, "captum", "sklearn", "textblob", "vaderSentiment")

EXTRAS: Mapping[str, Sequence[str]] = {
    "chinese": ("opencc", "rjieba"),
    "classifiers": _CLASSIFIERS,
    "figures": ("kaleido",),
    "mlflow": ("mlflow",),
    "models": _MODELS,
    "posterior": (*_CLASSIFIERS, "arviz_stats", "blackjax", "jax"),
    "postgres": ("psycopg",),
    "resolution": ("duckdb", "highspy", "networkx", "pulp", "sklearn", "splink"),
    "sentiment": ("sklearn", "textblob", "vaderSentiment"),
    "vectors": ("huggingface_hub", "randomgen", "safetensors", "sklearn"),
    "wandb": ("wandb",),
}
"""Names to import of what each extra of ``pyproject.toml`` brings for our own code."""


def install(extra: str) -> str:
    """The command that brings an extra."""
    return f"pip install 'tiltmeter[{extra}]'"


def check_job(name: str, extras: Sequence[str]) -> None:
    """Refuse a job whose packages are not here, whatever its settings are.

    Raises:
        ConfigError: naming the packages that are absent, and the command that installs them.
    """
    _refuse([("job", name, extra) for extra in extras])


def check_settings(config: CommonConfig, composed: Mapping[str, Any]) -> None:
    """Refuse settings whose packages are not here: a block of settings says in ``extras`` which of its settings, as
    they are, need which extra.

    Args:
        config: of the run.
        composed: what it was made of.

    Raises:
        ConfigError: naming each such setting, as :func:`check_job`.
    """
    needs = []
    for location, value, extra in _needs(config):
        place = config.place(location, composed)
        needs.append((".".join(map(str, (*place.keys, *place.rest))), value, extra))
    _refuse(needs)


def _needs(settings: Any, location: tuple[int | str, ...] = ()) -> Iterator[tuple[tuple[int | str, ...], Any, str]]:
    """Where a setting stands whose packages are an extra's, its value, and the extra."""
    children: Any = ()
    if dataclasses.is_dataclass(settings):
        for name, extra in getattr(settings, "extras", {}).items():
            yield (*location, name), getattr(settings, name), extra
        children = ((field.name, getattr(settings, field.name)) for field in dataclasses.fields(settings))
    elif isinstance(settings, Mapping):
        children = settings.items()
    elif isinstance(settings, Sequence) and not isinstance(settings, str):
        children = enumerate(settings)
    for name, child in children:
        yield from _needs(child, (*location, name))


def _refuse(needs: Sequence[tuple[str, Any, str]]) -> None:
    refusals = []
    for key, value, extra in needs:
        if absent := [name for name in EXTRAS[extra] if not is_installed(name)]:
            shown = written(redacted_values([*value] if isinstance(value, tuple) else value))
            are = verb(len(absent), "be")
            refusals.append(f"{key}={shown}: needs {listed(absent)}, which {are} not installed: {install(extra)}")
    if refusals:
        raise ConfigError("\n".join(refusals))


def is_installed(package: str) -> bool:
    """Whether a package can be imported, as far as that is known without importing it."""
    try:
        return find_spec(package) is not None
    except ValueError:  # of a module that is there without having been found
        return False
