"""What each extra brings: environments that hold the packages of the core, and of one extra, and what runs there."""

import json
import re
import subprocess
import sys
import sysconfig
import tomllib
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tiltmeter.cluster.environment import PACKAGES
from tiltmeter.jobs.catalogue import names
from tiltmeter.jobs.runtime.settings.extras import EXTRAS, install

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL = PROJECT["optional-dependencies"]
SITE = Path(sysconfig.get_path("purelib"))
IMPORTED = {"arviz-stats": "arviz_stats", "huggingface-hub": "huggingface_hub", "mlflow-skinny": "mlflow"}
IMPORTED |= {"psycopg": "psycopg", "scikit-learn": "sklearn", "vaderSentiment": "vaderSentiment"}
IMPORTED |= {"hydra-core": "hydra", "pyyaml": "yaml"}
"""Names to import of distributions that are called otherwise."""

CAME_ALONG = {"choreographer", "omegaconf", "llvmlite", "packaging", "pydantic_core", "tokenizers", "triton"}
"""Of kaleido, hydra, numba, Ray, pydantic, transformers, and torch where it is CUDA's."""

MODELS = {"gru_training", "relation_rules", "sentence_pairs"}
CLASSIFIERS = {"attribution", "decoy_benchmark", "error_characterisation", "gender_adversary", "privacy_metrics"}
CLASSIFIERS |= {"word_influence"}
RUN = {
    "chinese": set(),
    "classifiers": CLASSIFIERS | MODELS | {"sentiment_rating"},
    "figures": set(),
    "models": MODELS,
    "posterior": CLASSIFIERS | MODELS | {"sentiment_posterior", "sentiment_rating"},
    "postgres": set(),
    "resolution": {"entity_resolution"},
    "sentiment": {"sentiment_rating"},
    "vectors": {"mitigation", "private_vectors"},
}
"""Jobs that run with an extra and not without any."""

SEVERAL = "corpus=zhwiki wordset=weat_chinese embedding.device=cuda job.covariance=graphical_lasso exports.figures=true"
COMMANDS = {
    f"job=association {SEVERAL} exports.mlflow=s3://key:secret@tracked exports.wandb=tilts": {
        "exports.figures=true": "figures",
        "exports.mlflow=s3://tracked": "mlflow",
        "exports.wandb=tilts": "wandb",
        "job.covariance=graphical_lasso": "vectors",
        "corpus.zhwiki.language=zh": "chinese",
        "embedding.device=cuda": "models",
    },
    "job=association embedding=encoder embedding.model=a embedding.language=zh wordset=weat_chinese": {
        "embedding.model=a": "models",
        "embedding.language=zh": "chinese",
    },
    "job=association embedding=ceat embedding.model=[a,b]": {"embedding.model=[a, b]": "models"},
    "job=association embedding=file embedding.path=x embedding.language=zh wordset=weat_chinese": {
        "embedding.language=zh": "chinese"
    },
    "job=bootstrap job.export=[safetensors]": {"job.export=[safetensors]": "vectors"},
    "job=survey": {},
    "job=association": {},
}
"""Commands, and what is refused of each where only the core is installed, with the extra that is named."""

PROGRAM = """
import importlib, json, sys
site, commands, others = map(json.loads, sys.argv[1:])
sys.path[:0] = [site, {source!r}]
from tiltmeter.jobs.catalogue import job, names
from tiltmeter.jobs.composing import compose
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.provenance import provenance
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.jobs.runtime.settings.extras import check_job
answers = {{}}
def ask(name, question):
    try:
        question()
        answers[name] = None
    except ConfigError as error:
        answers[name] = str(error)
for name in names():
    job(name).load_page()
    ask(name, lambda: check_job(name, job(name).extras))
for command in commands:
    ask(command, lambda: compose(command.split()))
answers["versions"], answers["on a GPU"] = sorted(provenance()["versions"]), uses_gpus("auto", num_gpus=1)
for extra, sys.path[0] in others.items():
    importlib.invalidate_caches()
    for name in names():
        ask(f"{{name}} with {{extra}}", lambda: check_job(name, job(name).extras))
print(json.dumps(answers))
"""


def required(texts):
    """Distributions that these requirements bring, with all that those need; extras of ours are looked up."""
    found, waiting = set(), [(Requirement(text), "") for text in texts]
    while waiting:
        wanted, extra = waiting.pop()
        name = canonicalize_name(wanted.name)
        if wanted.marker and not wanted.marker.evaluate({"extra": extra}):
            continue
        if name == "tiltmeter":
            waiting += [(Requirement(text), "") for own in wanted.extras for text in OPTIONAL[own]]
            continue
        for one in (*sorted(wanted.extras), ""):
            if (name, one) not in found:
                found.add((name, one))
                waiting += [(Requirement(text), one) for text in distribution(name).requires or ()]
    return {name for name, _ in found}


@pytest.fixture(scope="module")
def site_of(tmp_path_factory):
    """Makes a folder with links to what these requirements install, and nothing else."""

    def make(*requirements):
        folder = tmp_path_factory.mktemp("site")
        for name in required(requirements):
            tops = {Path(file).parts[0] for file in distribution(name).files or ()} - {"..", "__pycache__"}
            for top in tops:
                if not (folder / top).is_symlink():
                    (folder / top).symlink_to(SITE / top)
        return folder

    return make


@pytest.fixture(scope="module")
def answers(site_of, tmp_path_factory):
    """What is said, in one process, to all jobs and to commands where only the core is installed, and to all jobs with
    each extra; None where nothing is wrong.
    """
    folder, core = tmp_path_factory.mktemp("asked"), PROJECT["dependencies"]
    with_extras = {extra: str(site_of(*core, f"tiltmeter[{extra}]")) for extra in RUN}
    arguments = [str(site_of(*core)), [*COMMANDS], with_extras]
    program = PROGRAM.format(source=str(ROOT / "src"))
    command = [sys.executable, "-S", "-c", program, *map(json.dumps, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False, env={"PATH": ""})
    assert ran.returncode == 0, ran.stderr
    assert not list(folder.iterdir())
    return json.loads(ran.stdout)


@pytest.mark.long
def test_with_the_core_alone_every_job_loads_and_those_with_an_extra_are_refused(answers):
    assert {name for name in names() if answers[name]} == set().union(*RUN.values())


@pytest.mark.parametrize("command", COMMANDS)
def test_settings_whose_packages_are_absent_are_refused_with_the_commands_that_install_them(answers, command):
    lines = (answers[command] or "").splitlines()
    said = dict(
        re.fullmatch(r"(.*): needs [\w, ]+, which (?:is|are) not installed: (.*)", line).groups() for line in lines
    )
    assert said == {shown: install(extra) for shown, extra in COMMANDS[command].items()}


@pytest.mark.parametrize("extra", RUN)
def test_with_an_extra_its_jobs_run_beside_those_that_need_none_and_no_others(answers, extra):
    run = {name for name in names() if answers[f"{name} with {extra}"] is None}
    assert run == RUN[extra] | {name for name in names() if answers[name] is None}


def test_the_record_of_a_run_names_the_versions_of_what_is_installed_and_auto_is_the_cpu_without_torch(answers):
    recorded = {"gensim", "mwparserfromhell", "numba", "numpy", "polars", "pyarrow", "python", "ray", "regex", "scipy"}
    assert {*answers["versions"]} == recorded
    assert answers["on a GPU"] is False


def test_a_job_names_its_extra_and_the_packages(answers):
    needed = "duckdb, highspy, networkx, pulp, sklearn and splink"
    command = "pip install 'tiltmeter[resolution]'"
    assert answers["entity_resolution"] == f"job=entity_resolution: needs {needed}, which are not installed: {command}"


@pytest.mark.long
def test_the_command_ends_with_status_2_before_anything_is_written_or_asked(site_of, tmp_path):
    site = site_of(*PROJECT["dependencies"])
    program = f"import sys; sys.path[:0] = [{str(site)!r}, {str(ROOT / 'src')!r}]; "
    program += "from tiltmeter.jobs.app import main; sys.argv = ['tiltmeter', 'job=sentence_pairs']; main()"
    ran = subprocess.run(
        [sys.executable, "-S", "-c", program], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("tiltmeter: job=sentence_pairs: needs huggingface_hub, safetensors, ")
    assert ran.stderr.endswith(f"which are not installed: {install('models')}\n")
    assert not list(tmp_path.iterdir())


# --- what the project says --------------------------------------------------------------------------------------------


def names_of(texts):
    """What distributions are imported as; of our own extras, what these bring."""
    for text in texts:
        wanted = Requirement(text)
        if wanted.name == "tiltmeter":
            for extra in wanted.extras:
                yield from names_of(OPTIONAL[extra])
        else:
            yield IMPORTED.get(wanted.name, wanted.name)


NOT_OURS = ("all", "checks", "cluster", "dev", "site")
"""Extras without a package that our own code imports."""


def test_the_table_of_extras_is_that_of_the_project():
    assert {extra: {*names} for extra, names in EXTRAS.items()} == {
        extra: {*names_of(texts)} for extra, texts in OPTIONAL.items() if extra not in NOT_OURS
    }
    assert all(len(names) == len({*names}) for names in EXTRAS.values())


def test_all_has_each_extra_but_trackers_and_what_develops():
    assert {*names_of(OPTIONAL["all"])} == {
        *names_of(
            text
            for extra in OPTIONAL.keys() - {"all", "checks", "dev", "mlflow", "site", "wandb"}
            for text in OPTIONAL[extra]
        )
    }


@cache
def imports():
    """Each import of another package: the file, the name, and whether it waits for a call, or is for types alone."""
    ours = {*sys.stdlib_module_names, "tiltmeter", "_typeshed"}
    return {
        (path.relative_to(ROOT), name, bool(indent))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for indent, name in re.findall(
            r"^( *)(?:import|from) (\w+)(?=[\w.]*(?: import | as |\n))", path.read_text(), re.MULTILINE
        )
        if name not in ours
    }


def test_every_package_that_is_imported_is_one_of_the_core_or_of_an_extra():
    core = {*names_of(PROJECT["dependencies"])}
    others = {name for names in EXTRAS.values() for name in names}
    assert {name for _, name, _ in imports()} - core - others <= CAME_ALONG
    # The modules that load one at once are loaded by functions: jobs were loaded with the core alone.
    early = {path.parts[:2] for path, name, is_later in imports() if name in others - core and not is_later}
    assert {parts[0] for parts in early} == {"operators"}


def test_everything_that_an_extra_brings_is_imported_somewhere():
    used = {name for _, name, _ in imports()}
    assert {name for names in EXTRAS.values() for name in names} - used == {"sentencepiece"}  # by tokenizers of models
    assert {*names_of(PROJECT["dependencies"])} <= used


def test_every_distribution_of_the_project_is_in_the_lock_with_its_hashes():
    locked = re.findall(
        r"^([\w.-]+)==\S+.*\\\n((?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)",
        (ROOT / "requirements.lock").read_text(),
        re.MULTILINE,
    )
    lines = re.findall(r"^[\w.-]+==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert len(locked) == len(lines) > 200
    texts = [*PROJECT["dependencies"], *(text for texts in OPTIONAL.values() for text in texts)]
    wanted = {canonicalize_name(Requirement(text).name) for text in texts} - {"tiltmeter"}
    assert wanted <= {name for name, _ in locked}
