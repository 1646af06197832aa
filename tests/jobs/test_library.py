"""Jobs from a notebook, and how little a run needs that finds everything done."""

import json
import subprocess
import sys

import pytest

import tiltmeter.jobs
from tiltmeter.jobs.runtime.config import ConfigError

PAIRS = "left,right,weight\na,b,1.5\nb,c,-2\nc,d,0.5\na,c,-1\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    (folder / "pairs.csv").write_text(PAIRS)
    return folder


@pytest.fixture(scope="module")
def settings(folder):
    return {"pairs": folder / "pairs.csv", "store": str(folder / "store"), "run_dir": str(folder / "run")}


@pytest.fixture(scope="module")
def finished(settings, lasting_workers):
    return tiltmeter.jobs.run(
        "entity_resolution", settings | {"cluster.num_cpus": 1, "drawn": [0]}, missing="zero", seed=3
    )


def test_a_run_gives_its_tables_and_its_record_and_is_opened_again_by_its_directory(finished, folder):
    assert finished["clusters"].sort("record")["cluster"].to_list() == [0, 0, 1, 1]
    assert finished.scan("components").collect().height == len(finished["components"])
    assert set(finished) >= {"clusters", "components", "pair_counts"}
    assert (finished.record["seed"], finished.record["status"]) == (3, "succeeded")
    assert (finished.path, len(finished)) == (folder / "run", len(list(finished)))
    again = tiltmeter.jobs.read_run(finished.path)
    assert again["clusters"].equals(finished["clusters"])
    with pytest.raises(KeyError, match="has no table words; it has "):
        again["words"]


def test_what_is_no_run_and_a_wrong_setting_are_refused(tmp_path, settings):
    with pytest.raises(ConfigError, match="is not a run directory"):
        tiltmeter.jobs.read_run(tmp_path)
    with pytest.raises(ConfigError, match=r"time_limit=-1: .*; set it with time_limit=<value>"):
        tiltmeter.jobs.run("entity_resolution", settings, time_limit=-1)


PROGRAM = """
import json, sys
import tiltmeter.jobs
finished = tiltmeter.jobs.run("entity_resolution", json.loads(sys.argv[1]), missing="zero", seed=3, drawn=[0])
print(json.dumps({"units": finished.record["units"], "cluster": finished.record.get("cluster"),
    "loaded": sorted({"ray", "torch", "transformers", "gensim"} & {*sys.modules})}))
"""


def test_a_run_that_finds_everything_done_starts_no_cluster_and_loads_no_ray(finished, settings):
    words = json.dumps({key: str(value) for key, value in settings.items()})
    ran = subprocess.run([sys.executable, "-c", PROGRAM, words], capture_output=True, text=True, check=True)
    outcome = json.loads(ran.stdout.splitlines()[-1])
    assert outcome["units"]["done"] == 0
    assert outcome["units"]["reused"] == finished.record["units"]["done"] > 0
    assert (outcome["cluster"], outcome["loaded"]) == (None, [])
