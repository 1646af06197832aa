"""A tiny corpus with a store, and the words of its bootstraps."""

import pytest

from tests.fixtures.plans import TRAINING


@pytest.fixture(scope="module")
def folder(tmp_path_factory, made_up, write_lines):
    """Of the corpus, the store and the runs."""
    folder = tmp_path_factory.mktemp("plan")
    write_lines(folder / "en.jsonl", made_up("en"))
    return folder


@pytest.fixture(scope="module")
def line(folder, one_corpus):
    """The settings of a bootstrap of so many replicas, as a list of jobs has them."""
    return lambda num: [*one_corpus("en", folder / "en.jsonl"), *TRAINING, f"embedding.num_replicas={num}"]


@pytest.fixture(scope="module")
def words(folder, line):
    """The same with a store and a run directory."""
    return lambda num, *more: [*line(num), f"store={folder}/store", f"run_dir={folder}/run{num}", *more]
