"""gensim's files are pickles. Vectors are picked out of them, and nothing that they ask for is run."""

import bz2
import gzip
import pickle
import pickletools

import numpy as np
import pytest
from gensim.models import FastText, KeyedVectors, Word2Vec
from gensim.test.utils import datapath

from tiltmeter.storage.vectors.files import EmbeddingFileError, read_embedding

SENTENCES = [["new york", "is", "large"], ["rome", "is", "old"]] * 3
SIZES = {"vector_size": 4, "min_count": 1, "workers": 1}


def read(path):
    return read_embedding(str(path), allow_pickle=True)


@pytest.fixture
def vectors():
    made = KeyedVectors(3)
    made.add_vectors(["a", "b"], np.arange(6, dtype=np.float32).reshape(2, 3))
    return made


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
@pytest.mark.parametrize("protocol", range(2, 6))
def test_a_payload_is_refused_though_pickles_are_allowed(tmp_path, payload, protocol, pack):
    (tmp_path / "vectors").write_bytes(pack(pickle.dumps(payload, protocol)))
    with pytest.raises(
        EmbeddingFileError, match=r"vectors: .* asks for posix\.mkdir to be run; allowed are classes of ge"
    ):
        read(tmp_path / "vectors")


@pytest.mark.parametrize("place", ["state", "word", "vectors", "unused"])
def test_a_payload_within_vectors_is_refused(tmp_path, vectors, payload, place):
    if place == "word":
        vectors.index_to_key[0] = payload
    else:
        setattr(vectors, {"state": "expandos", "vectors": "vectors", "unused": "comment"}[place], payload)
    (tmp_path / "vectors").write_bytes(pickle.dumps(vectors, 4))
    with pytest.raises(EmbeddingFileError, match=r"asks for posix\.mkdir to be run"):
        read(tmp_path / "vectors")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("numpy", "load"),
        ("numpy.lib", "os.mkdir"),
        ("importlib", "import_module"),
        ("functools", "partial"),
        ("builtins", "interpreter"),
        ("numpy", "ndarray.tofile"),
    ],
)
def test_no_function_is_allowed_that_could_be_used(tmp_path, module, name):
    words = [module.encode(), name.encode()]
    called = b"".join(b"\x8c" + bytes([len(word)]) + word for word in words) + b"\x93)R."
    (tmp_path / "vectors").write_bytes(b"\x80\x04" + called)
    with pytest.raises(EmbeddingFileError, match=rf"asks for {module}\.{name} to be run; allowed are"):
        read(tmp_path / "vectors")


def test_functions_of_gensim_are_recorded_and_not_called(tmp_path, payload):
    """gensim has one that loads any other pickle."""
    (tmp_path / "inner").write_bytes(pickle.dumps(payload))
    place = str(tmp_path / "inner").encode()
    call = b"cgensim.utils\nunpickle\n(V" + place + b"\ntR."
    assert "REDUCE" in {operation.name for operation, _, _ in pickletools.genops(call)}
    (tmp_path / "vectors").write_bytes(b"\x80\x04" + call)
    with pytest.raises(EmbeddingFileError, match="holds no word vectors"):
        read(tmp_path / "vectors")


def test_every_kind_of_model_is_read_as_gensim_reads_it(tmp_path):
    models = {"word2vec": Word2Vec(SENTENCES, **SIZES), "fasttext": FastText(SENTENCES, bucket=50, **SIZES)}
    for name, model in models.items():
        model.save(str(tmp_path / name))
        model.wv.save(str(tmp_path / f"{name}.kv.gz"), separately=["vectors", "vectors_vocab", "vectors_ngrams"])
    places = {path: models[path.name.split(".")[0]].wv for path in tmp_path.iterdir() if path.suffix in ("", ".gz")}
    old, older = datapath("old_w2v_models/w2v_3.4.0.mdl"), datapath("old_keyedvectors_320.dat")
    for path, expected in (places | {old: KeyedVectors.load(old).wv, older: KeyedVectors.load(older)}).items():
        found = read(path)
        assert found.words == expected.index_to_key
        assert np.array_equal(found.vectors, expected.vectors)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x80\x04" + b"]" * 100_000 + b"a" * 99_999 + b".", "holds a list"),
        (b"\x80\x04\x8e" + (10**12).to_bytes(8, "little") + b"x.", "cannot be read as vectors of gensim"),
        (b"\x80\x04\x82\x01.", "unregistered extension code"),
        (b"\x80\x04cgensim.models.keyedvectors\nKeyedVectors\n)\x81}b.", "holds no word vectors"),
    ],
    ids=["deep", "long", "extension", "empty"],
)
def test_a_made_up_pickle_is_refused(tmp_path, content, message):
    (tmp_path / "vectors").write_bytes(content)
    with pytest.raises(EmbeddingFileError, match=f"vectors: .*{message}"):
        read(tmp_path / "vectors")


def test_arrays_beside_a_file_are_what_they_claim_to_be(tmp_path, vectors, payload):
    beside = tmp_path / "a.kv.vectors.npy"
    vectors.save(str(tmp_path / "a.kv"), separately=["vectors"])
    assert read(tmp_path / "a.kv").vectors.tolist() == [[0, 1, 2], [3, 4, 5]]
    with beside.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (10**12, 3)})
    with pytest.raises(EmbeddingFileError, match="greater than file size"):
        read(tmp_path / "a.kv")
    np.save(beside, np.array([payload], dtype=object), allow_pickle=True)
    with pytest.raises(EmbeddingFileError, match="Python objects in dtype"):
        read(tmp_path / "a.kv")
    np.save(beside, np.ones((3, 3), np.float32))
    with pytest.raises(EmbeddingFileError, match=r"has 2 words, and vectors of shape \[3, 3\]"):
        read(tmp_path / "a.kv")
    beside.unlink()
    with pytest.raises(EmbeddingFileError, match=r"a\.kv: cannot be read as .*a\.kv\.vectors\.npy"):
        read(tmp_path / "a.kv")
