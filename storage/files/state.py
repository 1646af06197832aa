"""What is known of a file without reading it."""

from typing import NamedTuple


class FileState(NamedTuple):
    """A file at the moment.

    Attributes:
        num_bytes: its size.
        version: see :class:`.pages.Source`.
        has_ranges: whether it can be read from any byte on.
    """

    num_bytes: int
    version: str
    has_ranges: bool
