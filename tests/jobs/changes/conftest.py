"""What is said of two runs, as lines of a text."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
import pytest

from tests.fixtures.history import past
from tests.fixtures.page_models import check_text
from tests.jobs.report.test_models import lines
from tiltmeter.jobs.changes.comparing import compare
from tiltmeter.jobs.changes.detail import Detail
from tiltmeter.jobs.changes.past_runs import PastRun
from tiltmeter.jobs.changes.sections import change_findings, change_sections

KEYS = ["kind", "table", "column", "item", "row", "key"]


def _said(before: Any, after: Any, has_page: bool = False, **detail: Any) -> Iterator[str]:
    """Each change but for what is null, and the findings of a page; with its sections, if they are asked for."""
    runs = [
        run if isinstance(run, PastRun) else past(run if isinstance(run, Mapping) else {"tests": run})
        for run in (before, after)
    ]
    changes = pl.DataFrame(compare(*runs, Detail(**detail)))
    assert changes.select(KEYS).is_unique().all()
    for row in changes.to_dicts():
        yield row.pop("sentence")
        known = {name: value for name, value in row.items() if value is not None}
        shown = {name: f"{value:.9g}" if isinstance(value, float) else str(value)[:99] for name, value in known.items()}
        yield f"  {'; '.join(f'{name}: {value}' for name, value in shown.items())}"
    yield from (f"- {finding}" for finding in change_findings(changes))
    for section in change_sections(changes) if has_page else []:
        yield f"[{section.title} ({section.anchor})]"
        for block in section.blocks:
            yield from lines(block)


@pytest.fixture
def check_cases(request):
    """Holds what is said of cases, each two runs or tables and how finely they are compared, against a text.

    ``TILTMETER_MODELS=write`` writes the text; look at what has changed in it.
    """

    def check(name, cases):
        said = (
            line
            for case, (before, after, *detail) in cases.items()
            for line in [f"\n# {case}", *_said(before, after, **(detail[0] if detail else {}))]
        )
        check_text(request.path, name, said)

    return check
