"""gensim's own files, which are pickles, read without doing what a pickle asks for.

A pickle is a program: to load it is to call whatever it names. Here nothing is called. What the file names becomes a
record of the name, of the arguments and of the state, out of which words and numbers are taken; and a file that names
anything but what vectors of gensim are made of is refused.
"""

import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from tiltmeter.storage.corpora.packed import check_growth

_NAMES = re.compile(
    r"gensim(\.\w+)+|numpy\.(ndarray|dtype|_?core\.multiarray\._reconstruct|random(\.\w+)+)|_codecs\.encode"
    r"|collections\.(defaultdict|OrderedDict)|(builtins|__builtin__)\.(int|long|object|hash)|copy_?reg\._reconstructor"
)
_ALLOWED = "classes of gensim, arrays and random states of numpy, and Python's own containers"
_NUMBERS = ("f2", "f4", "f8")
_RECONSTRUCT = "_reconstruct"
_STATE_LENGTH = 5


class GensimVectors(NamedTuple):
    """Attributes:
    words: each with its vector.
    vectors: ``[words, dimensions]``.
    """

    words: list[str]
    vectors: NDArray[np.floating]


class _Record:
    """What a pickle says of an object; it is never made."""

    name = ""

    def __new__(cls, *arguments: Any, **_: Any) -> "_Record":
        made = object.__new__(cls)
        made.arguments, made.state = arguments, None
        return made

    arguments: tuple[Any, ...]
    state: Any

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __setitem__(self, key: Any, value: Any) -> None:
        """Contents of a container; no vectors are in any."""

    def append(self, item: Any) -> None:
        """As above."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Its attributes by name."""
        return self.state if isinstance(self.state, dict) else {}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type[_Record]:
        """A record in place of whatever is named."""
        if not _NAMES.fullmatch(f"{module}.{name}"):
            raise pickle.UnpicklingError(f"it asks for {module}.{name} to be run; allowed are {_ALLOWED}")
        return type(name, (_Record,), {"name": name})


def read_gensim(path: str, stream: BinaryIO) -> GensimVectors:
    """Words and vectors of KeyedVectors, or of a whole Word2Vec or FastText model.

    Args:
        path: of the file, on a local disk; large arrays lie beside it.
        stream: its content.

    Raises:
        UnpicklingError: if it is damaged, asks for anything else to be run, or holds no vectors.
        OSError, ValueError: if what lies beside it is missing, damaged or no array of numbers.
    """
    holder, place = _Reader(stream, encoding="latin1").load(), path
    if isinstance(holder, _Record) and isinstance(holder.attributes.get("wv"), _Record):
        holder, place = holder.attributes["wv"], f"{path}.wv"
    if not isinstance(holder, _Record):
        raise pickle.UnpicklingError(f"it holds a {type(holder).__name__}, and no word vectors")
    return _Vectors(holder.attributes, place, path).read()


class _Vectors:
    """The attributes of KeyedVectors.

    Args:
        attributes: by name; they were called otherwise before gensim 4.
        place: what the names of files beside it begin with.
        path: the file itself; next to a packed one, arrays are packed too.
    """

    def __init__(self, attributes: Mapping[str, Any], place: str, path: str) -> None:
        self._attributes, self._place = attributes, place
        self._ending = "npz" if path.endswith((".gz", ".bz2")) else "npy"

    def read(self) -> GensimVectors:
        """Words and vectors."""
        words = self._attributes.get("index_to_key", self._attributes.get("index2word"))
        if not isinstance(words, list):
            raise pickle.UnpicklingError("it holds no word vectors")
        if not all(isinstance(word, str) for word in words):
            raise pickle.UnpicklingError(f"its keys are not words, but such as {words[0]!r}")
        name = next((name for name in ("vectors", "syn0") if self._has(name)), None)
        return GensimVectors(words, self._array(name) if name else self._of_subwords(words))

    def _has(self, name: str) -> bool:
        return self._attributes.get(name) is not None or name in self._attributes.get("__numpys", ())

    def _array(self, name: str) -> NDArray[np.floating]:
        value = self._attributes.get(name)
        return _array(value) if value is not None else _beside(Path(f"{self._place}.{name}.{self._ending}"))

    def _of_subwords(self, words: list[str]) -> NDArray[np.floating]:
        """As gensim composes them: the mean of a word's own vector and those of its character n-grams."""
        from gensim.models.fasttext import ft_ngram_hashes

        shortest, longest, num_buckets = (self._attributes.get(name) for name in ("min_n", "max_n", "bucket"))
        if not self._has("vectors_vocab") or not self._attributes.get("compatible_hash"):
            raise pickle.UnpicklingError("it holds no vectors of words that this version can compose")
        vectors, grams = np.array(self._array("vectors_vocab")), self._array("vectors_ngrams")
        if len(vectors) != len(words) or num_buckets not in (0, len(grams)):
            raise pickle.UnpicklingError("its vectors are not as many as its words and n-grams")
        for row, word in enumerate(words if num_buckets else ()):
            buckets = ft_ngram_hashes(word, shortest, longest, num_buckets)
            for bucket in buckets:
                vectors[row] += grams[bucket]
            vectors[row] /= len(buckets) + 1
        return vectors


def _array(value: Any) -> NDArray[np.floating]:
    """An array out of its record: of the state the shape, the type, the order and the bytes."""
    if not isinstance(value, _Record) or value.name != _RECONSTRUCT or len(value.state or ()) != _STATE_LENGTH:
        raise pickle.UnpicklingError("its vectors are no array of numbers")
    _, shape, kind, is_fortran, content = value.state
    code, order = str(kind.arguments[0]), str(kind.state[1])
    if code not in _NUMBERS or order not in "<>=|":
        raise pickle.UnpicklingError(f"its vectors are of type {order}{code}, not floating-point numbers")
    numbers = np.frombuffer(_bytes(content), np.dtype(f"{order}{code}"))
    return numbers.reshape(shape, order="F" if is_fortran else "C")


def _bytes(content: Any) -> bytes:
    """Python 2 wrote them as text, and Python 3 a call that makes them out of text."""
    text = content.arguments[0] if isinstance(content, _Record) else content
    return bytes(text) if isinstance(text, bytes) else str(text).encode("latin1")


def _beside(path: Path) -> NDArray[np.floating]:
    if path.suffix == ".npz":
        with ZipFile(path) as archive:
            for member in archive.infolist():
                check_growth(member.compress_size, member.file_size)
        return np.asarray(np.load(path, allow_pickle=False)["val"])
    # Mapped, so that nothing is taken for numbers that the file does not have.
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
