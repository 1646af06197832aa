"""How small a difference between occupations a text can show, by the draws of their pooled PSE."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tiltmeter.jobs.embedding.models import Model
from tiltmeter.jobs.psychophysics.tables import PooledPsychometrics
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.jobs.survey.tables import SmallestDifferences
from tiltmeter.operators.statistics import differences
from tiltmeter.operators.statistics.designs.contrasts import apart, smallest_in_longer
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg
from tiltmeter.storage.store.ledger import Store, TableRef

_Q = 0.05
_TENFOLD = 10.0
_MIN_DRAWS = 2


class FindLimits(Work, unit="smallest_differences/1", stage="smallest differences", makes=[SmallestDifferences]):
    """Of every model with two occupations or more; ``num_tokens``: by model."""

    num_tokens: Mapping[str, int]
    operators: str = differences.VERSION
    draws: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[SmallestDifferences]:
        known: dict[tuple[str, str], list[list[float | None]]] = defaultdict(list)
        for row in (row for ref in self.draws for row in store.read(ref).to_pylist()):
            key = json.loads(row["key"])
            if row["table"] == PooledPsychometrics.table_name and key["model"] in self.num_tokens:
                known[key["model"], key["language"]].append(row["values"])
        for (model, language), numbers in known.items():
            draws = np.array(numbers, dtype=np.float64)
            shared = draws[:, np.isfinite(draws).all(axis=0)]
            if len(draws) > 1 and shared.shape[1] >= _MIN_DRAWS:
                num_tokens = self.num_tokens[model]
                made = SmallestDifferences(model=model, language=language, num_tokens=num_tokens)
                yield _filled(made, *apart(shared), num=len(draws))


def _filled(row: SmallestDifferences, value: Any, judged: Any, smallest: Any, num: int) -> SmallestDifferences:
    row.num_numbers, row.num_differences = num, value.size
    row.num_apart = int((benjamini_hochberg(judged.p) <= _Q).sum())
    row.smallest, row.widest = float(np.median(smallest)), float(np.abs(value).max())
    row.smallest_tenfold = smallest_in_longer(row.smallest, _TENFOLD)
    return row


def find_limits(run: Run[Any, Any], models: Sequence[Model]) -> None:
    """Publish the table ``smallest_differences`` of the models whose corpus is known."""
    num_tokens = {model.name: model.num_tokens for model in models if model.num_tokens is not None}
    draws = list(run.runner.draws.values())
    if num_tokens and draws:
        run.do([FindLimits(num_tokens=num_tokens, draws=draws)], in_driver=True)
