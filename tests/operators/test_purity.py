"""Operators take arrays, frames and tables, and give such; what their packages hand on; their settings."""

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from pydantic import ValidationError

from tiltmeter.operators.embedding.cooccurrence import CooccurrenceConfig
from tiltmeter.operators.embedding.glove import GloveConfig
from tiltmeter.operators.sentiment.gru import GRUConfig
from tiltmeter.operators.sentiment.seq2seq import Seq2SeqConfig
from tiltmeter.operators.sentiment.transformer_scores import ClassifierConfig

OPERATORS = Path(__file__).parents[2] / "operators"
ACCESS = re.compile(r"(scan|read|write|sink)_\w+|open|loadtxt|genfromtxt|fromfile|tofile|memmap|savez?|savetxt")


def accesses(source):
    """Line and name of each call that reads or writes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if ACCESS.fullmatch(name):
                yield f"{node.lineno}: {name}"


@pytest.mark.long
def test_operators_neither_read_nor_write():
    files = list(OPERATORS.rglob("*.py"))
    assert len(files) > 80
    assert [f"{path.name}:{access}" for path in files for access in accesses(path.read_text())] == []


def test_what_reads_or_writes_is_seen_and_not_what_only_sounds_alike():
    seen = "pl.scan_parquet(a); frame.lazy().sink_csv(a); frame.write_ipc(a); pq.read_table(a); open(a); np.save(a)"
    assert len(list(accesses(seen))) == 6
    assert list(accesses("words_read(a); reading(b); frame.select(c); self._opened(d)")) == []


# --- kernels ---------------------------------------------------------------------------------------------------------


def kernels(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(mark) for mark in node.decorator_list):
            yield node


def imports_of(tree):
    """Where names come from, of those that a module takes from others."""
    taken = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {name.asname or name.name: str(node.module) for node in taken for name in node.names}


def used_by_kernels(tree):
    """Names of our other modules in the bodies of kernels, and these modules."""
    modules = {name: module for name, module in imports_of(tree).items() if module.startswith("tiltmeter.")}
    for kernel in kernels(tree):
        words = {word.id for line in kernel.body for word in ast.walk(line) if isinstance(word, ast.Name)}
        yield from ((word, modules[word]) for word in words & modules.keys())


def test_kernels_take_what_they_use_from_files_that_mention_numba():
    """The cache of compiled kernels is kept as long as those files do not change (see the Makefile)."""
    paths = [path for path in OPERATORS.rglob("*.py") if "numba" in path.read_text()]
    mentioned = {".".join(("tiltmeter", *path.relative_to(OPERATORS.parent).with_suffix("").parts)) for path in paths}
    used = [use for path in paths for use in used_by_kernels(ast.parse(path.read_text()))]
    assert len(used) > 10
    assert [(name, module) for name, module in used if module not in mentioned] == []


PACKAGES = [
    *("association", "classifiers", "embedding", "gender", "psychophysics"),
    *("relations", "resolution", "sentiment", "statistics", "text"),
]
MODULES = [
    *(f"tiltmeter.operators.{name}" for name in PACKAGES),
    *(f"tiltmeter.operators.sentiment.{name}" for name in ("gru", "gru_training", "lexicons")),
    *(f"tiltmeter.storage.models.{name}" for name in ("gru_files", "load")),
    *("tiltmeter.operators.embedding.encoders.words", "tiltmeter.operators.text.lengths"),
]
HEAVY = {"torch", "transformers", "gensim", "ray", "hydra", "sklearn", "captum", "splink", "duckdb", "highspy"}
HEAVY |= {"textblob", "nltk", "vaderSentiment", "safetensors"}


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_hands_on_at_most_ten_names_that_its_index_explains(name):
    package = import_module(f"tiltmeter.operators.{name}")
    assert 1 <= len(package.__all__) <= 10
    for handed in package.__all__:
        assert not inspect.ismodule(getattr(package, handed)), handed
        assert handed in package.__doc__, handed
        assert inspect.getdoc(getattr(package, handed)), handed
    assert ">>> " in package.__doc__


def test_names_do_not_hide_modules():
    for name in PACKAGES:
        package = import_module(f"tiltmeter.operators.{name}")
        for handed in package.__all__:
            with pytest.raises(ModuleNotFoundError):
                import_module(f"{package.__name__}.{handed}")


@pytest.mark.long
def test_no_package_imports_what_takes_seconds():
    command = f"import sys, {', '.join(MODULES)}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout.split()
    assert "tiltmeter.operators.association.scores" in loaded
    assert HEAVY & set(loaded) == set()


WRONG = {
    CooccurrenceConfig: [{"window": 11}],
    GloveConfig: [{"dimensions": 0}, {"epochs": 0}, {"learning_rate": 0}, {"x_max": 0}, {"alpha": 0}],
    GRUConfig: [{"hidden": 0}, {"dropout": 1.0}, {"learning_rate": 2.0}, {"layers": 2}],
    Seq2SeqConfig: [{"num_beams": 0}, {"max_tokens": 0}, {"max_new_tokens": 0}, {"beams": 1}],
    ClassifierConfig: [
        *({"labels": {"A": 1.5}}, {"labels": {"A": float("nan")}}, {"score": "mean"}, {"max_tokens": 0}, {"batch": 1}),
    ],
}


@pytest.mark.parametrize(("config", "wrong"), [(config, one) for config, each in WRONG.items() for one in each])
def test_settings_that_cannot_be_are_refused(config, wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        config(**wrong)
