"""Runs on files of vectors with bad rows: counted in the record, and a file with too many of them is refused."""

import numpy as np
import pytest

from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.command import execute
from tiltmeter.storage.errors import InputError

SIDES = {"target_x": ["a", "b"], "target_y": ["c", "d"], "attribute_a": ["e", "f"], "attribute_b": ["g", "h"]}


@pytest.fixture
def files(tmp_path):
    """Of 40 words, of which one is bad, and of 40, of which 12 are."""
    draws = np.random.default_rng(0).normal(size=(40, 3)).round(3)
    words = [chr(97 + number) if number < 26 else f"w{number}" for number in range(40)]
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(words, draws.tolist(), strict=True)]
    (tmp_path / "sound.txt").write_text("\n".join([*lines[:30], "w30 1 2", *lines[31:]]))
    (tmp_path / "bad.txt").write_text("\n".join([*lines[:28], *("x 1" for _ in range(12))]))
    return tmp_path


def test_bad_rows_are_counted_by_the_run(configured, run_here, word_lists, word_sets, files):
    sets = word_lists("en", associations={"made_up": word_sets(**SIDES)}, wefats=None)
    same = ["job=association", *sets, "embedding=file", f"store={files}/store", "job.statistics=[mean]"]
    sound = {"file": f"{files}/sound.txt", "reason": "not 3 numbers after a word", "kind": "bad", "num": 1}
    for name in ("first", "again"):  # of what the store has, too
        record = run_here(*same, f"embedding.path={files}/sound.txt", f"run_dir={files}/{name}").record
        assert record["left_out"] == [sound | {"first": "line 31"}]
    with pytest.raises(UnitsFailed, match=r"bad\.txt: 12 of 40 records are bad \(30%\), more than reading"):
        run_here(*same, f"embedding.path={files}/*.txt", f"run_dir={files}/both")
    with pytest.raises(InputError, match=r"reading\.max_bad_share=0\.1 allows"):
        execute(configured(*same, f"embedding.path={files}/bad.txt", "reading.max_bad_share=0.1"))
