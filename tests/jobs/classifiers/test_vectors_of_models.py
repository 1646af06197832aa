"""Bad rows of the vectors that models start from are counted before any work, and held against the share allowed."""

import pytest

from tests.jobs.classifiers.rows import write_rows
from tiltmeter.jobs.classifiers.networks import _vectors
from tiltmeter.storage.bad_records import collected
from tiltmeter.storage.corpora.sources import find_file
from tiltmeter.storage.errors import InputError


@pytest.fixture
def settings(tmp_path):
    """Of a run on texts, and on 400 vectors of which 12 are cut short."""
    lines = [f"word{number} 1 {number}" if number % 33 or not number else f"word{number} 1" for number in range(400)]
    (tmp_path / "vectors.txt").write_text("\n".join(lines))
    texts = [(f"text {number} of these", "good" if number % 3 else "bad") for number in range(60)]
    path = write_rows(tmp_path / "texts.csv", [["text", "label"], *texts])
    return ["job=decoy_benchmark", f"data.path={path}", f"models.vectors={tmp_path}/vectors.txt"]


def test_too_many_are_refused_before_any_work(run_here, settings, tmp_path):
    with pytest.raises(InputError, match=r"12 of 400 records are bad .*raise reading\.max_bad_share"):
        run_here(*settings, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    assert not (tmp_path / "run").exists()


def test_others_are_counted_and_models_start_without_them(configured, settings, tmp_path):
    from tiltmeter.jobs.classifiers.decoys.job import JOB

    config = configured(*settings, "reading.max_bad_share=0.05")
    with collected() as bad:
        JOB.find_sources(config)
    [row] = bad.rows()
    assert (row["num"], row["kind"], row["first"]) == (12, "bad", "line 34")
    bad.check(config.reading.max_bad_share)
    known = _vectors(find_file(f"{tmp_path}/vectors.txt", "models.vectors"))
    assert (len(known), "word33" in known, "word34" in known) == (388, False, True)
