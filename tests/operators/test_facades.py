"""What `from tiltmeter.operators.<capability> import ...` gives a notebook."""

import inspect
import subprocess
import sys
from importlib import import_module

import pytest

PACKAGES = [
    *("association", "classifiers", "embedding", "gender", "psychophysics"),
    *("relations", "resolution", "sentiment", "statistics", "text"),
]
MODULES = [
    *(f"tiltmeter.operators.{name}" for name in PACKAGES),
    *(f"tiltmeter.operators.sentiment.{name}" for name in ("gru", "gru_training", "lexicons")),
    *(f"tiltmeter.storage.models.{name}" for name in ("gru_files", "load")),
    *("tiltmeter.operators.embedding.encoders", "tiltmeter.operators.text.lengths"),
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


def test_no_package_imports_what_takes_seconds():
    command = f"import sys, {', '.join(MODULES)}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout.split()
    assert "tiltmeter.operators.association.scores" in loaded
    assert HEAVY & set(loaded) == set()
