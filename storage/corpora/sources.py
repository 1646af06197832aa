"""The files of a corpus: found under what the config names, and told apart by their content."""

import importlib.util
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, NamedTuple, NoReturn
from urllib.parse import unquote

import pydantic
from pyarrow import fs
from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from tiltmeter.storage import extensions
from tiltmeter.storage.bad_records import BadRecords, collect
from tiltmeter.storage.corpora.archives import members
from tiltmeter.storage.corpora.formats.mediawiki import read_header
from tiltmeter.storage.corpora.formats.parquet_pages import check_columns
from tiltmeter.storage.corpora.pages import (
    FORMATS,
    ArchiveSource,
    Compression,
    Format,
    Markup,
    ReaderSource,
    Repairs,
    Source,
    Span,
)
from tiltmeter.storage.corpora.readers import GROUP, find_reader
from tiltmeter.storage.corpora.recognition import UnknownFormat, recognised
from tiltmeter.storage.errors import InputError, meant_path
from tiltmeter.storage.files.files import file_state, is_web, reading, resolve, state_of, uri_of
from tiltmeter.storage.files.listing import file_identity, listed_files
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.files.state import FileState

_PACKAGE_SCHEME = "package://"
_NUM_THREADS = 16
_SETTING = "corpus.path"


def _as_paths(path: str | tuple[str, ...]) -> tuple[str, ...]:
    return (path,) if isinstance(path, str) else path


_Finite = Annotated[float, Field(allow_inf_nan=False)]


def _rising(cuts: tuple[float, ...]) -> tuple[float, ...]:
    if any(not low < high for low, high in pairwise(cuts)):
        raise ValueError(f"must be numbers, each larger than the one before, not {list(cuts)}")
    return cuts


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


_Value = Annotated[str, pydantic.BeforeValidator(_as_text)]
"""A year may stand without quotes."""

_Path = Annotated[str, Field(min_length=1)]
Paths = Annotated[_Path | Annotated[tuple[_Path, ...], Field(min_length=1)], pydantic.AfterValidator(_as_paths)]
"""A path or several, kept as several: a path and a list of it ask the same, and their runs are of one series."""


def language_extras(language: str) -> Mapping[str, str]:
    """The extra that a setting ``language`` needs, by that name: Chinese is cut into words by packages of its own."""
    return {"language": "chinese"} if language.partition("-")[0] == "zh" else {}


def _known_format(name: str) -> str:
    known = ["auto", *FORMATS]
    if name not in known and name not in (brought := extensions.names(GROUP)):
        expected = ", ".join(f"'{one}'" for one in [*known, *brought])
        raise PydanticCustomError("literal_error", "must be one of {expected}", {"expected": expected})
    return name


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class CorpusConfig:
    """One corpus.

    Attributes:
        name: what tables and reports call it, e.g. ``enwiki_sample``.
        language: lower-case language code, e.g. ``en``, ``zh``, ``pt-br``.
        path: a local path, a URI (``http``, ``https``, ``s3``, ``gs``, ``file``), or ``package://<package>/<file>`` for
            a file that an installed Python package carries. On a disk or object store it may be a folder or hold the
            wildcards ``*`` and ``**``. Several paths are the parts of one corpus, in this order.
        format: ``auto`` looks at the content; plain text must be named, since anything might be that, and so must what
            a reader of another package reads (:mod:`.readers`).
        download: copy files from web servers into the store first.
        slices: a field of the documents by which the corpus is cut; each slice is a corpus called ``<name>/<value>``.
        slice_by: whether a slice is a value of the field, or the decade, year, quarter or month of the date that it is.
        slice_cuts: numbers, or years, between which slices lie; none: each number is a slice.
        slice_values: the slices that are kept; none: all.
    """

    name: Annotated[str, Field(pattern=r"^\w[\w.-]*$")]
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[a-z0-9]{1,8})*$")]
    path: Paths
    format: Annotated[str, AfterValidator(_known_format)] = "auto"
    download: bool = False
    slices: Annotated[str, Field(min_length=1)] | None = None
    slice_by: Literal["value", "decade", "year", "quarter", "month"] = "value"
    slice_cuts: Annotated[tuple[_Finite, ...], pydantic.AfterValidator(_rising)] = ()
    slice_values: tuple[_Value, ...] = ()

    @property
    def extras(self) -> Mapping[str, str]:
        """The extra that its language needs (:func:`language_extras`)."""
        return language_extras(self.language)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths, however many."""
        return _as_paths(self.path)


class FoundFile(NamedTuple):
    """A file that was named, or found under a folder or wildcard that was."""

    uri: str
    state: FileState
    is_named: bool

    @property
    def identity(self) -> dict[str, str | int]:
        """Where it is and what it is at the moment, for the identity of a unit that reads it."""
        return {"uri": self.uri, "bytes": self.state.num_bytes, "version": self.state.version}

    @property
    def redacted(self) -> dict[str, str | int]:
        """The same without credentials, for ``run.json``."""
        return {"name": redacted(self.uri), "bytes": self.state.num_bytes, "version": self.state.version}


def find_sources(config: CorpusConfig) -> list[Source]:
    """The files of a corpus, in the order of its paths and within a folder or wildcard by name.

    Hidden files of a folder are left out, and so is the index of a multistream dump: it isn't needed. A file to which
    several links lead below one folder comes once. One that is damaged from its beginning is among them, and fails when
    it is read.

    Raises:
        InputError: if a path names no file, an empty one, the same one as another path, one of unknown format, or one
            of rows that has no texts.
    """
    files = find_files(config.paths, _SETTING)
    _check_each_once(files)
    files = list(_not_empty(files))
    names = _names([unquote(redacted(file.uri)) if "://" in file.uri else file.uri for file in files])
    for name, number in Counter(names).items():
        if number > 1:
            raise InputError(f"corpus.path: {number} files are called {name!r}; name each file once, under its own")
    chosen = None if config.format == "auto" else config.format
    with ThreadPoolExecutor(_NUM_THREADS) as threads:
        sources = threads.map(lambda file, name: _source(file, name, chosen), files, names)
        documents = [source for source in sources if source is not None]
    if not documents:
        raise InputError(f"{_where(config.paths[0])}: only empty files and indexes of dumps; name those that hold text")
    return documents


def find_files(paths: Sequence[str], setting: str) -> list[FoundFile]:
    """Files in the order of the paths, and within a folder or wildcard by name; hidden ones only if they are named.

    Args:
        paths: local paths, URIs, folders, wildcards, or ``package://<package>/<file>``.
        setting: what names the paths, such as ``corpus.path``, for messages.

    Raises:
        InputError: if a path names no file.
    """
    return [file for path in paths for file in _files(path, setting)]


def find_file(path: str, setting: str) -> FoundFile:
    """The only file that a path names; arguments as of :func:`find_files`.

    Raises:
        InputError: if it names none, or several.
    """
    files = find_files([path], setting)
    if len(files) > 1:
        raise InputError(f"{_where(path, setting)}: names {len(files)} files; give one")
    return files[0]


def _check_each_once(files: Sequence[FoundFile]) -> None:
    """Several paths may lead to one file, by links or as they stand."""
    known: dict[tuple[int, int] | str, str] = {}
    for file in files:
        if (uri := known.setdefault(file_identity(file.uri), file.uri)) != file.uri:
            raise InputError(f"corpus.path: {redacted(uri)} and {redacted(file.uri)} are one file; name it once")


def _not_empty(files: Sequence[FoundFile]) -> Iterator[FoundFile]:
    """The files that hold something; of a folder or pattern, others are counted and left out."""
    for file in files:
        if file.state.num_bytes:
            yield file
        elif file.is_named:
            raise InputError(f"corpus.path: {redacted(file.uri)} is empty (0 bytes)")
        else:
            empty = BadRecords({redacted(file.uri): 0})
            empty.add(redacted(file.uri), "an empty file", "byte 0", kind="empty")
            collect(empty)


def _where(path: str, setting: str = _SETTING) -> str:
    return f"{setting}={redacted(path)}"


def _source(file: FoundFile, name: str, chosen: Format | None = None) -> Source | None:
    try:
        form, compression, encoding, prefixes = _content(file.uri, chosen)
    except InputError as error:
        if not error.is_unreadable:
            raise
        form, compression, encoding, prefixes = "unreadable", "none", "", ()
    if form is None and file.is_named:
        raise InputError(f"{_where(file.uri)}: is the index of a multistream dump; name the dump, it needs no index")
    if form is None:
        return None
    markup: Markup = "wikitext" if prefixes else "plain"
    num_bytes, version, _ = file.state
    source = Source(file.uri, name, num_bytes, version, form, compression, encoding, markup, prefixes)
    reader = find_reader(chosen) if chosen and chosen not in FORMATS else None
    if chosen and form == "archive":
        version = reader.version if reader else ""
        return ArchiveSource(**vars(source), member_format=chosen, member_reader=version)
    if reader and form == chosen:
        return ReaderSource(**vars(source), reader=reader.version, is_divisible=reader.is_divisible)
    return source


def _content(uri: str, chosen: Format | None) -> tuple[Format | None, Compression, str, tuple[str, ...]]:
    what = recognised(uri, chosen)
    prefixes: tuple[str, ...] = ()
    if what.format == "mediawiki":
        prefixes = read_header(uri, what.compression, what.encoding).media_prefixes()
    if what.format in ("parquet", "arrow"):
        check_columns(uri, what.format)
    if what.format == "archive":
        repairs = Repairs()
        first = next(_members(uri, "", chosen, repairs), None)
        if first is None and (others := repairs.bad.rows()):
            raise UnknownFormat(
                f"{redacted(uri)}: none of its files is in a format that is read, the first is {others[0]['first']}; "
                "if they are plain text, set corpus.format=text or name them .txt"
            )
        prefixes = first.media_prefixes if first else ()
    return *what, prefixes


def archived(source: Source, repairs: Repairs) -> Iterator[Source]:
    """The members of an archive that hold documents, each of which can be read until the next one is asked for.

    Args:
        source: the archive.
        repairs: counts members of other formats, such as a licence, which are left out.

    Raises:
        InputError: if the archive is damaged, or has an archive within.
    """
    chosen = source.member_format if isinstance(source, ArchiveSource) else None
    if isinstance(source, ArchiveSource) and source.member_reader:
        find_reader(source.member_format, source.member_reader)  # of the version that the run began with
    return _members(source.uri, source.name, chosen, repairs)


def _members(uri: str, name: str, chosen: Format | None, repairs: Repairs) -> Iterator[Source]:
    for member in members(uri):
        file = FoundFile(member.uri, FileState(member.num_bytes, version="", has_ranges=True), is_named=False)
        try:
            source = _source(file, f"{name}/{member.name}", chosen) if member.num_bytes else None
        except UnknownFormat:
            repairs.file = redacted(uri)
            repairs.leave_out("a file of no format that is read", repr(member.name), "empty")
            continue
        if source:
            repairs.file = redacted(member.uri)
            yield source


def read_unreadable(
    source: Source, _span: Span, _repairs: Repairs, _document_bytes: int, _field: str | None = None
) -> NoReturn:
    """Fail as when the file was found.

    Raises:
        InputError: saying what is wrong with it.
    """
    _content(source.uri, None)
    raise InputError(f"{redacted(source.uri)}: could not be read when the run began, and can be now; run again")


def _names(paths: Sequence[str]) -> list[str]:
    """What of each path lies below the folder that all have in common."""
    parts = [path.split("/") for path in paths]
    folders = [file[:-1] for file in parts]
    depth = next((i for i, level in enumerate(zip(*folders, strict=False)) if len(set(level)) > 1), None)
    shared = min(map(len, folders), default=0) if depth is None else depth
    return ["/".join(file[shared:]) for file in parts]


def _files(path: str, setting: str) -> Iterator[FoundFile]:
    if is_web(path):
        if "*" in path:
            raise InputError(f"{_where(path, setting)}: a web server can't be searched; name each file")
        yield FoundFile(path, file_state(path), is_named=True)
        return
    beside = _in_package(path, setting) if path.startswith(_PACKAGE_SCHEME) else path
    filesystem, place = resolve(beside)
    with reading(path):
        info = filesystem.get_file_info(place)
    if info.is_file:
        yield FoundFile(uri_of(info.path, beside), state_of(info), is_named=True)
        return
    files = []
    if "*" in place or info.type == fs.FileType.Directory:
        with reading(path):
            files = listed_files(filesystem, place, is_pattern=info.type == fs.FileType.NotFound)
    if not files:
        hint = meant_path(place) if isinstance(filesystem, fs.LocalFileSystem) else ""
        what = "no file matches" if "*" in place else "there is no file"
        raise InputError(f"{_where(path, setting)}: {what} {place}; set {setting} to one that is there{hint}")
    yield from (FoundFile(uri_of(file.path, beside), state_of(file), is_named=False) for file in files)


def _in_package(uri: str, setting: str) -> str:
    """Asks only where the top-level package lies, which does not import it."""
    package, _, inside = uri.removeprefix(_PACKAGE_SCHEME).partition("/")
    if not package.isidentifier() or not inside or ".." in PurePosixPath(inside).parts:
        raise InputError(f"{setting}={uri}: must read package://<package>/<file inside it>")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(f"{setting}={uri}: no package {package!r} is installed; install it or set {setting}")
    places = [Path(folder) / inside for folder in spec.submodule_search_locations]
    return str(next((place for place in places if place.exists()), places[0]).absolute())
