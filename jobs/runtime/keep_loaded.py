"""What takes long to load, such as a model or an engine, stays in a worker process from unit to unit."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

_resident: dict[Hashable, tuple[Any, ExitStack]] = {}


@contextmanager
def resident(key: Hashable, load: Callable[[ExitStack], T]) -> Iterator[T]:
    """What ``key`` stands for: loaded unless it is there; what was there before goes, as memory is for one at a time.

    After an error within the block it goes too, since nothing is known of its state.

    Args:
        load: is given a stack for what has to be closed.
    """
    if key not in _resident:
        _dismiss()
        with ExitStack() as opening:
            loaded = load(opening)
            _resident[key] = loaded, opening.pop_all()
    try:
        yield _resident[key][0]
    except BaseException:
        _dismiss()
        raise


def _dismiss() -> None:
    while _resident:
        _, (_, closing) = _resident.popitem()
        closing.close()
