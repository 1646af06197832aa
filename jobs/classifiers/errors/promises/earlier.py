"""An earlier run, whose forest and thresholds are used on other texts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tiltmeter.jobs.classifiers.errors.feature_columns import probability_classes
from tiltmeter.jobs.classifiers.errors.tables import ERROR_FOREST, GUARANTEES
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.storage.records import read_records

_SETTING = "data.scored_by"
_FEATURES = ("tags", "lexicon", "conllu")


def find_earlier(
    path: str, words: Mapping[str, Sequence[str]], features: Mapping[str, Any], classes: Sequence[str] | None
) -> Files:
    """The tables ``error_forest`` and ``guarantees`` of a run directory.

    Args:
        path: the directory.
        words, features: of this run; the forest knows features by those of its own.
        classes: whose probabilities the file of texts has; None: a base model gives them.

    Raises:
        InputError: if there are no such tables.
        ConfigError: if the earlier run counted other features, or its forest looks at probabilities that there are not.
    """
    run = Path(path).expanduser().absolute()
    files = {
        name: find_table(str(run / f"{name}.parquet"), _SETTING, schema.names)
        for name, schema in (("error_forest", ERROR_FOREST), ("guarantees", GUARANTEES))
    }
    _check_features(run, words, features)
    seen = read_records(files["error_forest"].uri, ["feature"])["feature"].drop_nulls().unique().sort()
    needed = probability_classes(seen.to_list())
    if classes is not None and (missing := sorted({*needed} - {*classes})):
        raise ConfigError(
            f"data.probabilities: the forest of {_SETTING}={path} looks at those of {', '.join(missing)}; name their "
            "columns"
        )
    return Files(files)


def _check_features(run: Path, words: Mapping[str, Sequence[str]], features: Mapping[str, Any]) -> None:
    try:
        before = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
        known = {name: before["features"][name] for name in _FEATURES}
        lists = {name: list(values) for name, values in before["readable_words"].items()}
    except (OSError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise ConfigError(f"{_SETTING}={run}: is no run of error_characterisation with a config.yaml") from error
    for name in _FEATURES:
        is_switch = name == "tags"
        ours, theirs = (value[name] if is_switch else value[name] is not None for value in (features, known))
        if ours != theirs:
            raise ConfigError(
                f"features.{name}={features[name]}: the forest of {_SETTING}={run} was trained with "
                f"features.{name}={known[name]}; set it so"
            )
    if lists != {name: list(values) for name, values in words.items()}:
        raise ConfigError(f"readable_words: are not those of {_SETTING}={run}; choose the same with readable_words=...")
