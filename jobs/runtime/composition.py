"""From composed YAML to one frozen, checked record; nothing of Hydra goes further than this."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pydantic
from omegaconf import DictConfig, MissingMandatoryValue, OmegaConf
from omegaconf.errors import InterpolationResolutionError
from pydantic_core import ErrorDetails

from tiltmeter.jobs.classifiers.decoys.config import DecoyBenchmarkRun
from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.embedding.config import EmbeddingsRun, corpora_by_key, with_corpora
from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.sentiment.gru_training.config import GRUTrainingRun
from tiltmeter.jobs.sentiment.rating.config import RatingRun
from tiltmeter.jobs.upkeep.compare.config import ComparisonRun
from tiltmeter.jobs.upkeep.overnight.config import OvernightRun
from tiltmeter.jobs.upkeep.prune.config import PruneRun

RunConfig = (
    ComparisonRun
    | DecoyBenchmarkRun
    | EmbeddingsRun
    | GRUTrainingRun
    | OvernightRun
    | PrivacyMetricsRun
    | PruneRun
    | RatingRun
    | ResolutionRun
)

_OTHER_RUNS = {
    "compare": ComparisonRun,
    "decoy_benchmark": DecoyBenchmarkRun,
    "entity_resolution": ResolutionRun,
    "gru_training": GRUTrainingRun,
    "overnight": OvernightRun,
    "privacy_metrics": PrivacyMetricsRun,
    "prune": PruneRun,
    "sentiment_rating": RatingRun,
}
"""Jobs that have nothing to do with embeddings."""


def build(composed: DictConfig, overrides: Sequence[str] = ()) -> RunConfig:
    """Check a composed config and turn it into plain records.

    Args:
        composed: by Hydra.
        overrides: what the user asked for.

    Raises:
        ConfigError: naming every wrong key at once.
    """
    try:
        plain = cast(dict[str, Any], OmegaConf.to_container(composed, resolve=True, throw_on_missing=True))
        kind = next((kind for name, kind in _OTHER_RUNS.items() if plain["job"]["name"] == name), EmbeddingsRun)
        ready = with_corpora(plain, overrides) if kind is EmbeddingsRun else plain
        return cast(RunConfig, pydantic.TypeAdapter(kind).validate_python(ready))
    except MissingMandatoryValue as error:
        key = error.full_key or str(error)
        raise ConfigError(f"{key} has no value: set it with {key}=<value>") from error
    except InterpolationResolutionError as error:
        raise ConfigError(str(error).partition("\n")[0]) from error
    except pydantic.ValidationError as error:
        # A list that is too short only says again that its items are wrong.
        wrong = [details for details in error.errors() if details["type"] != "too_short" or error.error_count() == 1]
        raise ConfigError("\n".join(_explain(details, composed) for details in wrong)) from error


def _explain(details: ErrorDetails, composed: Mapping[Any, Any]) -> str:
    message = details["msg"].removeprefix("Value error, ")
    keys, parts = [], list(details["loc"])
    if parts[:1] == ["corpora"] and len(parts) > 1:
        keys.append(list(corpora_by_key(composed.get("corpus", {})))[int(parts[1])])
        parts[:2] = []
        node = OmegaConf.select(cast(DictConfig, composed), keys[0])
    else:
        node = composed
    # A union adds its member's name to the location; only what is in the composed config is a key.
    for part in parts:
        if isinstance(node, Mapping) and part in node:
            node = node[part]
            keys.append(str(part))
    if details["type"] == "missing":
        keys.append(str(details["loc"][-1]))
    key, value = ".".join(keys), details["input"]
    if not key or "=" in message.split(":")[0] or message.startswith(key):
        return message
    shown = "" if isinstance(value, Mapping) or dataclasses.is_dataclass(value) else f"={value}"
    return f"{key}{shown}: {message[0].lower()}{message[1:]}; set it with {key}=<value>"
