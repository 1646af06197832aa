"""The files that put Tiltmeter on a cluster: they fit Ray's own rules, the lock, and what the jobs ask for."""

import copy
import re
import shlex
import tomllib
from functools import reduce
from operator import getitem
from pathlib import Path

import hydra
import jsonschema
import pytest
import ray
import yaml
from ray.autoscaler._private.util import prepare_config, validate_config
from ray.scripts.scripts import start

from tiltmeter.cluster.capacity import Node, num_workers_on, usual_request
from tiltmeter.cluster.config import ClusterConfig
from tiltmeter.jobs.composing import build

ROOT = Path(__file__).parents[3]
DEPLOYMENTS = ROOT / "cluster/deploy"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKED = dict(re.findall(r"^([\w.-]+)(?:\[[\w,]+\])?==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
IMAGE = f"tiltmeter:{PROJECT['version']}-ray{LOCKED['ray']}"
RAY_JOB = jsonschema.Draft202012Validator(yaml.safe_load((Path(__file__).parent / "rayjob_schema.yaml").read_text()))
GIBIBYTE = 2**30
RAY_ITSELF = 1_500_000_000
"""Bytes that a node's own processes take beside its workers and the object store."""


def compose(command):
    """The config of a command line, as the command would build it."""
    program, *overrides = shlex.split(command)
    assert program == "tiltmeter"
    with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"):
        return build(hydra.compose("tiltmeter", overrides), overrides)


def told_commands():
    """Every command line of Tiltmeter in the files that tell how to use a cluster."""
    told = [
        ROOT / "docs/cluster.md",
        ROOT / "cluster/TUNING.md",
        *(DEPLOYMENTS / name for name in ("kuberay.yaml", "slurm.sh")),
    ]
    setting = r"""(?:"[^"\n]+"|\+?[\w.]+=(?:'[^'\n]+'|[^\s'"`<>]+))"""
    lines = (re.findall(rf"\btiltmeter(?: {setting})+(?=\n|$)", path.read_text()) for path in told)
    return sorted({line for found in lines for line in found})


@pytest.mark.slow
@pytest.mark.parametrize("command", told_commands())
def test_commands_in_the_guide_are_runs_on_a_cluster(command):
    config = compose(command)
    assert config.cluster.kind == "existing"
    assert config.store.startswith(("/", "s3://"))


# --- KubeRay --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def manifests():
    return list(yaml.safe_load_all((DEPLOYMENTS / "kuberay.yaml").read_text()))


@pytest.fixture(scope="module")
def ray_cluster_spec(manifests):
    return manifests[1]["spec"]["rayClusterSpec"]


def groups(spec):
    return [spec["headGroupSpec"], *spec["workerGroupSpecs"]]


def pod(group):
    return group["template"]["spec"]


def container(group):
    [only] = pod(group)["containers"]
    return only


def quantity(text):
    """Of Kubernetes, in bytes or pieces."""
    digits, unit = re.fullmatch(r"(\d+)(\w*)", text).groups()
    return int(digits) * {"": 1, "Gi": GIBIBYTE}[unit]


def test_the_manifest_has_the_structure_of_a_ray_job(manifests, ray_cluster_spec):
    claim, job = manifests
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert ray_cluster_spec["authOptions"] == {"mode": "token"}
    RAY_JOB.validate(job)


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        ("backoffLimits", 1),
        ("ttlSecondsAfterFinished", "600"),
        ("rayClusterSpec.rayVersion", 2.6),
        ("rayClusterSpec.authOptions.mode", "tokens"),
        ("rayClusterSpec.headGroupSpec.rayStartParams.num-cpus", 0),
        ("rayClusterSpec.workerGroupSpecs.0.replica", 2),
        ("rayClusterSpec.workerGroupSpecs.0.minReplicas", None),
        ("rayClusterSpec.workerGroupSpecs.0.template.containers", []),
    ],
)
def test_what_kuberay_would_not_take_is_noticed(manifests, place, wrong):
    job = copy.deepcopy(manifests[1])
    *path, last = (int(name) if name.isdecimal() else name for name in place.split("."))
    reduce(getitem, path, job["spec"])[last] = wrong
    with pytest.raises(jsonschema.ValidationError):
        RAY_JOB.validate(job)


def test_its_claim_and_its_pods_are_what_kubernetes_takes(manifests, ray_cluster_spec, check, tmp_path):
    pods = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number}"}, "spec": pod(group)}
        for number, group in enumerate(groups(ray_cluster_spec))
    ]
    (tmp_path / "core.yaml").write_text(yaml.safe_dump_all([manifests[0], *pods]))
    status, said = check("kubernetes-validate", "--strict", "core.yaml", cwd=tmp_path)
    assert status == 0, said
    pods[0]["spec"]["containers"][0]["volumeMount"] = []
    (tmp_path / "wrong.yaml").write_text(yaml.safe_dump(pods[0]))
    assert check("kubernetes-validate", "--strict", "wrong.yaml", cwd=tmp_path)[0] != 0


def test_every_pod_runs_the_image_of_the_lock_with_its_volumes_and_parameters(manifests, ray_cluster_spec):
    assert ray_cluster_spec["rayVersion"] == LOCKED["ray"] == ray.__version__
    for group in groups(ray_cluster_spec):
        assert container(group)["image"].rpartition("/")[2] == IMAGE
        volumes = {volume["name"]: volume for volume in pod(group)["volumes"]}
        assert {mount["name"] for mount in container(group)["volumeMounts"]} == set(volumes)
        assert volumes["data"]["persistentVolumeClaim"]["claimName"] == manifests[0]["metadata"]["name"]
        assert container(group)["resources"]["requests"] == container(group)["resources"]["limits"]
        words = [f"--{name}={value}" for name, value in group["rayStartParams"].items()]
        assert start.make_context("start", words).params["object_store_memory"] == 256 * 2**20


def test_each_pod_has_room_for_a_worker_on_each_cpu(ray_cluster_spec):
    for group in ray_cluster_spec["workerGroupSpecs"]:
        limits, params = container(group)["resources"]["limits"], group["rayStartParams"]
        memory, num_cpus = int(params["memory"]), quantity(limits["cpu"])
        assert memory + int(params["object-store-memory"]) + RAY_ITSELF <= quantity(limits["memory"])
        megabytes = memory // 1_000_000
        node = Node("", group["groupName"], num_cpus, num_cpus, 0, 0, megabytes, megabytes)
        assert num_workers_on(node, usual_request(ClusterConfig(kind="existing"))) == num_cpus


def test_no_worker_runs_beside_the_driver_and_those_with_a_gpu_have_one_each(ray_cluster_spec):
    assert ray_cluster_spec["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    gpus = [
        container(group)["resources"]["limits"].get("nvidia.com/gpu") for group in ray_cluster_spec["workerGroupSpecs"]
    ]
    assert gpus == [None, "1"]


@pytest.mark.long
def test_the_entrypoint_is_a_run_on_the_cluster_with_a_shared_store(manifests, ray_cluster_spec):
    config = compose(manifests[1]["spec"]["entrypoint"])
    mounts = {
        mount["name"]: mount["mountPath"] for mount in container(ray_cluster_spec["headGroupSpec"])["volumeMounts"]
    }
    assert config.cluster.kind == "existing"
    assert config.store.startswith(mounts["data"] + "/")
    assert config.cluster.scratch == mounts["scratch"]


# --- ray up ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def launched():
    """What the cluster launcher makes of the file."""
    config = prepare_config(yaml.safe_load((DEPLOYMENTS / "ray_up.yaml").read_text()))
    validate_config(config)
    return config


def test_the_cluster_launcher_takes_the_file(launched):
    node_type = launched["available_node_types"][launched["head_node_type"]]
    assert node_type["min_workers"] == node_type["max_workers"] == len(launched["provider"]["worker_ips"])
    assert launched["docker"]["image"].rpartition("/")[2] == IMAGE
    wrong = launched | {"worker_ips": []}
    with pytest.raises(jsonschema.ValidationError):
        validate_config(wrong)


def test_the_launched_cluster_asks_for_its_token(launched):
    assert launched["file_mounts"] == {"~/.ray/auth_token": "~/.ray/auth_token"}
    started = [command for role in ("head", "worker") for command in launched[f"{role}_start_ray_commands"][1:]]
    for command in started:
        mode, program, verb, *words = command.split()
        assert (mode, program, verb) == ("RAY_AUTH_MODE=token", "ray", "start")
        params = start.make_context("start", [word.replace("$RAY_HEAD_IP", "192.0.2.10") for word in words]).params
        assert params["dashboard_host"] in (None, "127.0.0.1", "localhost")


# --- the workflow ---------------------------------------------------------------------------------------------------

WORKFLOW = ROOT / ".github/workflows/ci.yml"


def test_the_workflow_is_one_of_github_by_its_schema_and_its_linter(check):
    schema, linter = "vendor.github-workflows", ("actionlint", "-no-color", WORKFLOW)
    assert check("check-jsonschema", "--builtin-schema", schema, WORKFLOW)[0] == 0
    assert check(*linter) == (0, "")


def test_the_workflow_runs_all_on_every_python_and_two_processors_with_actions_that_stay_what_they_are():
    text = WORKFLOW.read_text()
    workflow = yaml.safe_load(text)
    matrix = workflow["jobs"]["test"]["strategy"]["matrix"]
    classified = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if ":: Python :: 3." in name]
    assert matrix["python"] == classified
    assert [name.endswith("-arm") for name in matrix["machine"]] == [False, True]
    assert {"run": ".ci/run"} in workflow["jobs"]["test"]["steps"]
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", action) for action, _ in used)
    assert all(re.fullmatch(r" # v\d+\.\d+\.\d+", version) for _, version in used)
    assert workflow["permissions"] == {"contents": "read"}
