import pytest

from cluster.connection import ClusterConfig, ClusterError, connected


@pytest.mark.parametrize("name", ["jobs.py", "storage/__init__.py"])
def test_modules_that_workers_would_take_for_ours_are_refused(ray_cluster, tmp_path, monkeypatch, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    refusal = rf"{name}: workers would import this and not.*rename it, or run in another folder"
    with pytest.raises(ClusterError, match=refusal), connected(ClusterConfig()):
        pass


def test_folders_of_data_with_our_names_are_no_modules(ray_cluster, tmp_path, monkeypatch):
    (tmp_path / "storage").mkdir()
    monkeypatch.chdir(tmp_path)
    with connected(ClusterConfig(num_cpus=2)) as workers:
        assert workers.num_workers == 2
