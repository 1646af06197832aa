"""Commands, settings, code and links of the pages, without running a job; test_runs.py runs them."""

import json
import re
import shlex
import shutil
from functools import reduce
from operator import getitem
from pathlib import Path

import hydra
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from benchmarks import gallery
from tests.docs.pages import PAGES, ROOT, Command, quoted
from tiltmeter.jobs import catalogue
from tiltmeter.jobs.composing import build
from tiltmeter.jobs.runtime.settings.known import COMMANDS as OTHERS
from tiltmeter.jobs.upkeep.overnight.config import read_jobs
from tiltmeter.jobs.upkeep.plan.config import read_command

INSTALLED = (
    "tiltmeter job=word_lengths",
    "tiltmeter job=association corpus=enwiki_sample 'measures=[nearest_share]'",
    "tiltmeter job=bootstrap corpus=file corpus.language=en corpus.path=films corpus.format=subtitles",
    "tiltmeter job=sentiment_rating 'sentiment=[vader,package]'",
)
"""How lines begin that need a package of the examples; tests/docs/test_extending.py runs them, installed."""

NOT_RUN = {
    "head -c": "makes a key; tests/docs/samples.py has one",
    "make": "runs the tests, or sets up an environment",
    ".venv/bin/pytest": "runs the tests",
    ".venv/bin/python -m tests.fuzz": "tries a file that was found so",
    "0 22 * * *": "is for cron",
    "export RAY_AUTH_MODE": "is for a cluster; tests/cluster starts one",
    "ray": "is for a cluster; tests/cluster starts one and submits to it",
    "source .venv/bin/activate": "is for a shell",
    "sbatch": "needs SLURM; tests/cluster/deploy/test_slurm.py runs its script",
    "docker": "needs a registry",
    "pip install 'tiltmeter[figures]'": "needs a registry",
    "pip install 'tiltmeter[mlflow]'": "needs a registry",
    "pip install 'tiltmeter[wandb]'": "needs a registry",
    "pip install 'tiltmeter[postgres]'": "needs a registry",
    "pip install 'tiltmeter[posterior]'": "needs a registry",
    "pandoc": "is another program",
    "gh pr comment": "is another program",
    "cat run/exports/summary.md": "is for a pipeline of GitHub",
    "tiltmeter job=association exports.mlflow=": "needs a server",
    "WANDB_MODE=offline": "needs a package; tests/jobs/report/test_trackers.py runs it",
    "tiltmeter runs": "is no job; tests/jobs/upkeep/test_runs.py runs it",
    "tiltmeter lookup": "is no job; tests/jobs/resolution/test_nights.py asks",
    "tiltmeter init": "is no job; tests/jobs/upkeep/test_init.py runs it",
    "tiltmeter doctor": "is no job; tests/jobs/upkeep/test_doctor.py runs it",
    "eval": "is for a shell; tests/jobs/test_completion.py asks it",
    "kubectl": "needs Kubernetes",
    "tiltmeter cluster=existing": "needs a cluster",
    "tiltmeter job=survey cluster=existing": "needs a cluster",
    **dict.fromkeys(INSTALLED, "needs a package of the examples"),
    "tiltmeter job=bootstrap corpus=wikipedia": "downloads a dump",
    "tiltmeter job=relation_rules data.path=train.json": "needs TACRED, which is licensed",
    "tiltmeter job=relation_rules data.path=train.txt": "needs SemEval-2010's sentences, and vectors of a large corpus",
    "tiltmeter job=association embedding=encoder embedding.model=google-bert": "downloads a model",
    "tiltmeter job=association embedding=bert_cls": "downloads a model",
    "tiltmeter job=association corpus=dewiki wordset=": "needs a corpus with these words",
    "tiltmeter job=association embedding=seat embedding.model=models/minilm": "there is no such folder",
    "tiltmeter job=association embedding=encoder embedding.model=models/potion": "there is no such folder",
    "tiltmeter job=sentiment_rating 'sentiment=[vader,transformer]'": "downloads models",
    "tiltmeter --config-dir mine job=sentiment_rating": "needs models that were trained, or downloads them",
}
"""How lines begin that stand in blocks which only show commands, or that a test must not run, and why."""

NOT_CODE = {"CONTRIBUTING.md": "a pattern", "docs/extending.md": "tests/docs/test_extending.py runs it"}
"""Pages whose blocks of Python can't be run by themselves, and why."""

NOTEBOOKS = {"docs/library.md"}
"""Pages whose blocks of Python go on from each other; on other pages each stands alone."""

COMMANDS = [command for page in PAGES.values() for command in page.commands]


def why_not(command: Command) -> str | None:
    """Why a command is not run."""
    return next((why for start, why in NOT_RUN.items() if command.line.startswith(start)), None)


def test_every_line_in_a_block_of_commands_is_run_or_has_a_reason_not_to():
    for command in COMMANDS:
        runs = command.runs and command.is_ours and not why_not(command)
        assert runs or why_not(command), f"{command.page}: {command.line}: mark its block sh, or add it to NOT_RUN"
    for start in NOT_RUN:
        assert any(command.line.startswith(start) for command in COMMANDS), f"{start} is in no page"


def test_what_make_is_asked_for_is_there():
    rules = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {command.words[1] for command in COMMANDS if command.words[0] == "make"} <= set(rules)


# --- settings ---------------------------------------------------------------------------------------------------------


NAMED_TESTS = set(re.findall(r"\bweat\d+", " ".join(command.line for command in COMMANDS)))
LONG = ("percent_women", "professions", "defining")


def shortened(node, key=""):
    """Word lists cut to their first words: composing a config takes a time for every word."""
    if isinstance(node, list):
        return node[:2]
    if isinstance(node, dict):
        kept = list(node.items())[: 3 if key in LONG else None]
        return {name: shortened(item, name) for name, item in kept if key != "associations" or name in NAMED_TESTS}
    return node


@pytest.fixture(scope="module")
def compose(tmp_path_factory):
    """Composes the config of a command from `conf` with short word lists, and the files that its page spells out."""
    conf = tmp_path_factory.mktemp("composed") / "conf"
    shutil.copytree(ROOT / "conf", conf)
    for path in conf.glob("wordset/**/*.yaml"):
        head = path.read_text().partition("\n")[0]
        path.write_text(f"{head}\n{json.dumps(shortened(yaml.safe_load(path.read_text())))}")

    def composed(arguments: list[str], files: dict[str, str]):
        folder = written(files, tmp_path_factory.mktemp("page"))
        overrides = [*arguments]
        if "--config-dir" in overrides:
            at = overrides.index("--config-dir")
            overrides[at : at + 2] = [f"hydra.searchpath=[file://{folder}/{overrides[at + 1]}]"]
        overrides = [first_of(override) for override in overrides if override not in ("--multirun", "--cfg", "job")]
        return hydra.compose("tiltmeter", [*overrides, *in_english(overrides)]), overrides

    with hydra.initialize_config_dir(str(conf), version_base="1.3"):
        yield composed


def written(files: dict[str, str], folder: Path) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def in_english(overrides: list[str]) -> list[str]:
    """Leaves out the word lists of eight languages, for a command on embeddings that has no corpus in another one."""
    jobs = {"survey", "bootstrap", "association", "psychophysics", "gender_survey", "mitigation", "vector_quality"}
    is_other = any(word.startswith("job=") and word[4:] not in jobs for word in overrides)
    return [] if is_other or any(word.startswith("corpus") for word in overrides) else ["wordset/gender=[english]"]


def first_of(override: str) -> str:
    """The first value of a sweep, which --multirun would begin with."""
    if override.startswith("--"):
        return override
    [parsed] = OverridesParser.create().parse_overrides([override])
    if not parsed.is_sweep_override():
        return override
    return f"{parsed.get_key_element()}={next(parsed.sweep_string_iterator())}"


@pytest.mark.long
def test_every_command_has_settings_that_exist_and_are_valid(compose):
    done = set()
    for command in COMMANDS:
        is_other = command.arguments[:1] and command.arguments[0] in OTHERS
        if not command.is_ours or command.line in done or is_other or command.line.startswith(INSTALLED):
            continue
        done.add(command.line)
        try:
            asked = read_command(command.arguments)
            asked.config(build(*compose(asked.words, PAGES[command.page].files)))
        except Exception as error:
            # Packages are looked at when all settings are valid; those of trackers are no part of the tests.
            if not re.search(r": needs (mlflow|wandb), which is not installed", str(error)):
                raise AssertionError(f"{command.page}: {command.line}: {error}") from error
    assert len(done) > 30


@pytest.mark.long
def test_every_command_of_the_gallery_has_settings_that_exist_and_are_valid(compose):
    for line in (line for lines in gallery.COMMANDS.values() for line in lines.splitlines()):
        if line.startswith("tiltmeter "):
            asked = read_command(shlex.split(line)[1:])
            asked.config(build(*compose(asked.words, {})))


@pytest.mark.long
def test_every_line_of_a_night_has_settings_that_exist_and_are_valid(compose):
    [text] = [text for name, text in PAGES["docs/overnight.md"].files.items() if name == "night.yaml"]
    listed = read_jobs(text, "night.yaml")
    assert len(listed) == 16
    for job in listed:
        build(*compose(list(job.words), {}))


JOB_OF_PAGE = {"README.md": "survey"} | {
    f"docs/{job}.md": job for job in catalogue.names() if f"docs/{job}.md" in PAGES
}
_VALUE = re.compile(r"`[^`]+`|[-+.\d_e]+|null|true|false")
"""What is a value, and not said in words."""

COMPOSED_WITH = {
    "docs/your_own.md": ["job=association", "embedding=encoder", "embedding.model=x"],
    "docs/sentence_encoders.md": ["job=association", "embedding=ceat", "embedding.model=x"],
    "docs/entity_resolution.md": ["job=entity_resolution", "+records=csv"],
}


@pytest.mark.long
def test_settings_that_a_page_lists_have_the_values_that_it_says(compose):
    num = 0
    for page in PAGES.values():
        rows = [*page.tables("setting"), *page.tables("setting of all jobs")]
        if not rows:
            continue
        overrides = COMPOSED_WITH.get(page.name) or [f"job={JOB_OF_PAGE[page.name]}"]
        composed = OmegaConf.to_container(compose(overrides, {})[0])
        for keys, usual, *_ in rows:
            names = quoted(keys)
            values = usual.split(", ") if len(names) > 1 else [usual]
            for name, value in zip(names, values, strict=len(values) == len(names)):
                try:
                    found = reduce(getitem, name.split("."), composed)
                except KeyError:
                    raise AssertionError(f"{page.name}: {name}: there is no such setting") from None
                if _VALUE.fullmatch(value):
                    assert found == yaml.safe_load(value.strip("`")), f"{page.name}: {name}"
                num += 1
    assert num > 60


# --- jobs and tables --------------------------------------------------------------------------------------------------


def test_the_table_of_jobs_has_every_job_with_its_first_words_and_tables_that_it_publishes():
    rows = {quoted(row[0])[0]: row for row in PAGES["README.md"].tables("job")}
    assert set(rows) == {path.stem for path in ROOT.glob("conf/job/*.yaml")}
    for name in catalogue.names():
        assert rows[name][1].startswith(catalogue.settings_folders().file(f"job/{name}").about), name
        assert set(quoted(rows[name][2])) <= set(catalogue.job(name).tables), name


def test_pages_of_jobs_list_tables_that_they_publish():
    for page, job in JOB_OF_PAGE.items():
        listed = {name for row in PAGES[page].tables("table") for name in quoted(row[0])}
        assert listed <= set(catalogue.job(job).tables), page
        assert listed or page in ("README.md", "docs/compare.md", "docs/survey.md"), page


RUNS = {
    "run": ("survey", "gender_survey"),
    "scored": ("vector_quality",),
    "rated": ("sentiment_rating",),
    "gru": ("gru_training",),
    "resolved": ("entity_resolution",),
    "night": ("overnight",),
    "pruned": ("prune",),
    "decoyed": ("decoy_benchmark",),
    "errors": ("error_characterisation",),
    "attacked": ("gender_adversary",),
    "expected": ("sentiment_posterior",),
    "compared": ("compare",),
    "erased": ("mitigation",),
}
"""The run directories that the pages read, and the jobs whose tables are in them."""


def column_of(field: pa.Field) -> pa.Array:
    """Three values of a type; the words differ, and the second row has no result."""
    kind = field.type
    if field.name == "status":
        return pa.array(["ok", "missing_words", "ok"])
    if pa.types.is_string(kind):
        return pa.array(["music", "art", "music"] if field.name != "word" else ["music", "art", "king"])
    if pa.types.is_fixed_size_list(kind):
        return pa.array([[1.0] * kind.list_size] * 3, kind)
    if pa.types.is_list(kind):
        return pa.array([[], None, []], kind)
    if pa.types.is_boolean(kind):
        return pa.array([True, False, True])
    if pa.types.is_timestamp(kind):
        return pa.array([0, 1, 2], kind)
    return pa.array([1, None, 2], kind)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Run directories with tables of the declared schemas, as the pages' code reads them."""
    folder = tmp_path_factory.mktemp("results")
    for place, jobs in RUNS.items():
        published = {name: schema for job in jobs for name, schema in catalogue.job(job).tables.items()}
        for name, schema in published.items():
            parts = ["embeddings/corpus=enwiki_sample/en_replica_0000"] if name == "embeddings" else [name]
            for part in parts:
                path = folder / place / f"{part}.parquet"
                path.parent.mkdir(parents=True, exist_ok=True)
                pq.write_table(pa.Table.from_arrays([column_of(field) for field in schema], schema=schema), path)
        tables = {name: {"rows": 3} for name in published}
        record = {"job": jobs[0], "versions": {}, "status": "succeeded", "tables": tables}
        (folder / place / "run.json").write_text(json.dumps(record))
    return folder


def python_blocks(page: str) -> list[str]:
    return [block.text for block in PAGES[page].blocks if block.language == "python"]


@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page) and page not in NOT_CODE])
def test_code_runs_on_tables_of_the_declared_columns(page, results, monkeypatch):
    monkeypatch.chdir(results)
    variables = {"__name__": page}
    for text in python_blocks(page):
        exec(compile(text, page, "exec"), variables if page in NOTEBOOKS else {"__name__": page})
