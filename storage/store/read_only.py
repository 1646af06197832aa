"""A store that can be read and not written, whoever asks, as its file system itself refuses; and a run directory that
keeps nothing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import fs

from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit
from tiltmeter.storage.store.runs import RunDirectory


class WriteRefused(Exception):
    """Something was about to be written into a store that is only read; nothing was."""


class ReadOnlyStore(Store):
    """Finds and reads units as the store itself does.

    Args:
        root: as of :class:`.Store`.

    Raises:
        WriteRefused: by whatever would write, remove or move something.
    """

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.filesystem = fs.PyFileSystem(_ReadOnly(self.filesystem))

    def commit(self, unit: Unit, tables: Iterable[tuple[str, pa.Table]]) -> Finished:  # noqa: ARG002
        """Refused before the first table is made."""
        raise _refusal(unit.name)

    def save_state(self, unit: Unit, state: Mapping[str, NDArray[Any]]) -> None:  # noqa: ARG002
        """Refused."""
        raise _refusal(unit.name)

    def clean_up(self) -> int:
        """Removes nothing."""
        return 0


class _ReadOnly(fs.FileSystemHandler):  # type: ignore[misc]
    """Arrow's names, of another file system that alone is asked to read."""

    def __init__(self, inner: fs.FileSystem) -> None:
        self._inner = inner

    def get_type_name(self) -> str:
        return f"read-only {self._inner.type_name}"

    def normalize_path(self, path: str) -> str:
        return str(self._inner.normalize_path(path))

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        return list(self._inner.get_file_info(paths))

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        return list(self._inner.get_file_info(selector))

    def open_input_stream(self, path: str) -> pa.NativeFile:
        return self._inner.open_input_stream(path)

    def open_input_file(self, path: str) -> pa.NativeFile:
        return self._inner.open_input_file(path)

    def create_dir(self, path: str, recursive: bool) -> NoReturn:  # noqa: ARG002
        raise _refusal(path)

    def delete_dir(self, path: str) -> NoReturn:
        raise _refusal(path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> NoReturn:  # noqa: ARG002
        raise _refusal(path)

    def delete_root_dir_contents(self) -> NoReturn:
        raise _refusal("/")

    def delete_file(self, path: str) -> NoReturn:
        raise _refusal(path)

    def move(self, src: str, dest: str) -> NoReturn:  # noqa: ARG002
        raise _refusal(src)

    def copy_file(self, src: str, dest: str) -> NoReturn:  # noqa: ARG002
        raise _refusal(dest)

    def open_output_stream(self, path: str, metadata: Any) -> NoReturn:  # noqa: ARG002
        raise _refusal(path)

    def open_append_stream(self, path: str, metadata: Any) -> NoReturn:  # noqa: ARG002
        raise _refusal(path)


class NoRunDirectory(RunDirectory):
    """A run directory that keeps no file; one that would be made of all that was done is not begun."""

    def write_pieces(self, name: str, pieces: Callable[[], Iterable[pa.Table]]) -> None:
        """Nothing is written."""

    def link_table(self, name: str, store: Store, parts: Sequence[tuple[str, TableRef]]) -> None:
        """Nothing is written."""

    def export_bytes(self, name: str, content: bytes) -> None:
        """Nothing is written."""

    def write_text(self, name: str, content: str) -> None:
        """Nothing is written."""

    def dataset(self) -> NoReturn:
        """As :meth:`export`."""
        self.export("dataset")

    def export(self, name: str) -> NoReturn:
        """Refused, as it may take long.

        Raises:
            WriteRefused: always.
        """
        raise WriteRefused(f"{name} is written first, of what was done")


def _refusal(place: str) -> WriteRefused:
    return WriteRefused(f"{place}: nothing may be written into a store that is only read")
