"""Files of words that say which candidates may stand in for others."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.adversary.config import CandidateConfig
from tiltmeter.operators.classifiers.adversary.constraints import Constraints
from tiltmeter.storage.records import read_records


def constraints_of(config: Mapping[str, Any]) -> Constraints:
    """What leaves candidates out, by the settings of a unit."""
    settings: CandidateConfig = config["candidates"]
    tags: dict[str, set[str]] = {}
    for word, tag in word_pairs(config, "parts_of_speech"):
        tags.setdefault(word, set()).add(tag)
    return Constraints(settings.min_cosine, settings.inflections, word_pairs(config, "antonyms"), tags)


def word_pairs(config: Mapping[str, Any], name: str) -> frozenset[tuple[str, str]]:
    """Of a file of pairs, in small letters; none without a file."""
    if not (file := config["lists"].get(name)):
        return frozenset()
    columns = ["column_1", "column_2"]
    return frozenset(read_records(file["uri"], columns, header=False).select(pl.col(columns).str.to_lowercase()).rows())
