"""The files of records that a scorer learns from and scores."""

from typing import Annotated, Self

import pydantic
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.resolution.records.scorer import Scorer

_Path = Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class RecordScorer(Scorer):
    """A scorer, with its files; each unit scores a part.

    Attributes:
        path: file of records, CSV or Parquet.
        labelled: file of labelled pairs: ``left, right, is_match``.
        clusters: file of true clusters instead, from which labelled pairs are drawn: ``record, cluster``.
    """

    path: _Path
    labelled: _Path | None = None
    clusters: _Path | None = None

    @pydantic.model_validator(mode="after")
    def _one_source_of_labels(self) -> Self:
        given = [name for name in ("labelled", "clusters") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"records.labelled: {' and '.join(given) or 'nothing'} is given to learn from: set "
                "records.labelled=<file of labelled pairs> or records.clusters=<file of true clusters>"
            )
        return self
