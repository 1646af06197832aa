"""What a job is: what it is asked, what it starts from, what it does, publishes and shows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

import pyarrow as pa

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.runtime.context import Run, Sources

Config = TypeVar("Config", bound=CommonConfig)
Found = TypeVar("Found", bound=Sources)

_DEFAULT_PAGE = "tiltmeter.jobs.report.default_page:page_of"


def _nothing(*_: object) -> Sequence[ResourceRequest]:
    return ()


@dataclass(frozen=True)
class Job(Generic[Config, Found]):
    """A job, as the package of its capability declares it and the catalogue names it.

    Attributes:
        config: the record that its settings are checked against.
        find_sources: looks for what it starts from, before any work.
        run: plans its units, has them done, and publishes its tables.
        tables: schemas of all tables that it may publish, by name.
        page: where the function is that makes its page, as ``module:name``: it draws, and is loaded when it is needed.
            Without one, the page shows what the schemas of the tables say.
        resources: what its stages ask of workers beyond the usual, given its config, its sources and the number of
            free GPUs.
        check: raises what a run failed with after its page was written, beside units.
        has_units: whether it does units; a job without them needs no workers, and no later run looks back at it.
        stages: what those that take a while do, by their names, for readers who see a run for the first time.
        extras: of the distribution that it needs whatever its settings are; what single settings need, their block
            says (:func:`.extras.check_settings`).
    """

    config: type[Config]
    find_sources: Callable[[Config], Found]
    run: Callable[[Run[Config, Found]], None]
    tables: Mapping[str, pa.Schema]
    page: str = ""
    resources: Callable[[Config, Found, int], Sequence[ResourceRequest]] = _nothing
    check: Callable[[Run[Config, Found]], object] = _nothing
    has_units: bool = True
    stages: Mapping[str, str] = field(default_factory=dict)
    extras: Sequence[str] = ()

    def load_page(self) -> Callable[[Run[Config, Found], Any], Any]:
        """The function that makes its page of a run and the tables that it published."""
        page = loaded(self.page) if self.page else cast(Any, loaded(_DEFAULT_PAGE))(self.tables)
        return cast(Callable[[Run[Config, Found], Any], Any], page)


def loaded(place: str) -> object:
    """What stands at a place such as ``tiltmeter.jobs.survey.job:JOB``; places come from code, never from a config."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
