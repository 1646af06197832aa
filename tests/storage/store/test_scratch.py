"""Arrays on a disk, whose memory can be given back."""

import numpy as np
import psutil
import pytest

from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.store.scratch import Scratch

SETTING = "cluster.scratch=<path>"


def memory_of_files():
    return psutil.Process().memory_info().shared


def test_content_stays_when_its_memory_is_given_back(tmp_path):
    scratch = Scratch(str(tmp_path), SETTING)
    first, second = scratch.empty(20_000_000, np.int32), scratch.empty(3, np.float32)
    before = memory_of_files()
    first[:] = np.arange(first.size)
    second[:] = [1, 2, 3]
    assert memory_of_files() - before > 79_000_000
    scratch.release()
    assert memory_of_files() - before < 1_000_000
    assert np.array_equal(first, np.arange(first.size))
    assert second.tolist() == [1, 2, 3]


def test_arrays_leave_no_file_and_their_space_with_them(tmp_path):
    scratch = Scratch(str(tmp_path), SETTING)
    arrays = [scratch.empty(1000, np.int64), scratch.empty(0, np.int64)]
    assert [array.size for array in arrays] == [1000, 0]
    assert not list(tmp_path.iterdir())
    mapped = [part.path for part in psutil.Process().memory_maps() if part.path.startswith(str(tmp_path))]
    assert len(mapped) == 1
    arrays.clear()
    assert not [part.path for part in psutil.Process().memory_maps() if part.path.startswith(str(tmp_path))]
    scratch.release()


def test_a_disk_that_is_too_small_is_refused_before_anything_is_written(small_disk):
    scratch = Scratch(str(small_disk("1m")), SETTING)
    kept = scratch.empty(100_000, np.int64)
    with pytest.raises(StorageError, match=r"8,000,000 bytes into \S*disk0: No space left.*cluster.scratch=<path>"):
        scratch.empty(1_000_000, np.int64)
    kept[:] = 1
    assert kept.sum() == kept.size


def test_a_folder_that_is_not_there_is_named_and_without_any_the_setting(tmp_path, monkeypatch):
    with pytest.raises(StorageError, match=r"nowhere: No such file.*cluster.scratch=<path>"):
        Scratch(str(tmp_path / "nowhere"), SETTING).empty(1, np.int8)
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: ["/proc/none"])
    with pytest.raises(StorageError, match=r"directory found in \['/proc/none'\]; set the environment's TMPDIR=<path>"):
        Scratch(None, SETTING)
