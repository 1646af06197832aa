"""YAML that somebody else has written: how deep it is nested, and what its aliases stand for, before it is built."""

from collections.abc import Iterator
from typing import Any, cast

import yaml

MOST_LEVELS = 50
_MOST_VALUES = 100_000
"""That aliases stand for in all; what is written out may be longer."""


def yaml_events(text: str) -> Iterator[yaml.Event]:
    """The events of a text, none of which leads deeper or stands for more than it looks.

    >>> [type(event).__name__ for event in yaml_events("a: 1")][2:5]
    ['MappingStartEvent', 'ScalarEvent', 'ScalarEvent']

    Raises:
        MarkedYAMLError: for more than 50 levels, an alias within what it stands for, and aliases for over 100,000
            values; of its subclasses, if it is not YAML.
    """
    parents: list[tuple[str | None, int]] = []
    """What is open: its anchor, and how many values it has so far."""
    sizes: dict[str | None, int] = {}
    num_repeated = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        num_values = 0
        if isinstance(event, yaml.CollectionStartEvent):
            parents.append((event.anchor, 1))
            if len(parents) > MOST_LEVELS:
                raise _limit(event, f"is nested more than {MOST_LEVELS} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, num_values = parents.pop()
            sizes[anchor] = num_values
        elif isinstance(event, yaml.ScalarEvent):
            num_values = sizes[event.anchor] = 1
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in (anchor for anchor, _ in parents):
                raise _limit(event, f"*{event.anchor} stands within itself")
            num_values = sizes.get(event.anchor, 1)
            num_repeated += num_values
            if num_repeated > _MOST_VALUES:
                raise _limit(
                    event, f"its aliases, such as *{event.anchor}, stand for more than {_MOST_VALUES:,} values"
                )
        if parents:
            anchor, num_before = parents[-1]
            parents[-1] = anchor, num_before + num_values
        yield event


def check_yaml(text: str) -> None:
    """Refuse what :func:`yaml_events` refuses."""
    for _ in yaml_events(text):
        pass


def place_of(mark: Any) -> str:
    """Where in a text something is, by a mark of YAML, as people count."""
    return f"line {mark.line + 1}, column {mark.column + 1}"


def _limit(event: yaml.Event, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=cast(yaml.Mark, event.start_mark))
