"""Every command of the pages that can be run is run, in their order, on small files of the names that they use."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, Page, quoted
from tests.docs.samples import provide
from tests.docs.test_commands import NOT_CODE, python_blocks, why_not, written

_TRAINING = ("embedding.num_replicas=3", "embedding.trainer.epochs=1", "embedding.trainer.dimensions=8")
_MODELS = ("models.training.max_epochs=1", "intervals.num_resamples=10")
_SMALL = {
    "sentiment_rating": ("rating.num_resamples=10",),
    "corpus_export": (),
    "gru_training": ("gru.max_epochs=2", "gru.dimensions=4", "gru.hidden=4"),
    "entity_resolution": ("time_limit=5",),
    "decoy_benchmark": (
        *(*_MODELS, "models.number=1", "explanations.num_pools=2", "explanations.pool_size=4"),
        *("improvement.budgets=[4]", "contamination.budgets=[0.2]", "contamination.num_texts=40"),
    ),
    "error_characterisation": (
        *("splits.number=2", "forest.num_trees=5", "forest.num_search_trees=3", "forest.num_folds=2"),
        *("slices.min_size=10", "slices.num_permutations=50"),
        *("models.training.max_epochs=1", "rounds.num_seeds=2", "rounds.number=1", "rounds.size=5", "rounds.start=20"),
    ),
    "private_vectors": (
        *("audit.pairs=1", "audit.draws=800", "audit.batch=100", "distances.words=10", "distances.runs=2"),
        *("deniability.words=2", "deniability.draws=10", "utility.runs=1", "utility.penalties=[1.0]", "dimensions=4"),
    ),
    "sentiment_posterior": (
        *("vectors.trainer.epochs=1", "vectors.trainer.dimensions=8", "classifier.hidden=[4]", "classifier.seeds=1"),
        *("classifier.folds=2", "exact.draws=200", "exact.proposals=500", "nuts.chains=2", "nuts.warmup=50"),
        "nuts.draws=50",
    ),
    "gender_adversary": (
        "controls.number=9",
        "controls.few=true",
        "candidates.min_count=0",
        "job.num_resamples=10",
        "victim.linear.linear.min_count=2",
    ),
    "relation_rules": (
        *("data.sentences=60", "seeds=1", "training.max_epochs=2", "job.num_resamples=10", "encoder.words=8"),
        *("encoder.lstm=8", "encoder.gcn=8", "encoder.ffn=8", "decoder.hidden=8", "decoder.max_length=12"),
    ),
    "sentence_pairs": ("intervals.num_resamples=10",),
    "attribution": (
        *("classifier.training.max_epochs=1", "intervals.num_resamples=10", "data.limit=6", "measures.num_random=2"),
        *("attribution.num_samples=10", "measures.num_parts=16", "measures.num_sets=50", "attribution.exact_words=4"),
        *("attribution.most_orders=8", "measures.points=4", "measures.randomised_texts=2"),
    ),
    "privacy_metrics": (*_MODELS, "models.num_seeds=1", "explanations.max_sentences=4"),
    "word_influence": (
        *("models.training.max_epochs=1", "num_students=1", "student.max_epochs=1", "ratios.num_contexts=20"),
        *("ratios.max_words=20", "masking.max_texts=4", "masking.num_samples=10", "masking.max_words=10"),
        *("intervals.num_resamples=10", "student.hidden=4"),
    ),
} | dict.fromkeys(("compare", "prune", "overnight"), ())
"""Settings that make a job small."""

_SCORES = "tiltmeter job=sentiment_rating scores=scores.csv"
_NIGHTS = [f"{_SCORES} run_dir=nights/1", f"{_SCORES} rating.convention=published run_dir=nights/2"]
BEFORE = {"docs/compare.md": _NIGHTS, "docs/overnight.md": _NIGHTS, "docs/prune.md": [_SCORES]}
"""What must have been run before a page's commands."""

COMMANDS = {
    name: [command.line for command in page.commands if command.runs and not why_not(command)]
    for name, page in PAGES.items()
}


@pytest.fixture(scope="session")
def samples(tmp_path_factory, write_bert):
    folder = tmp_path_factory.mktemp("samples")
    provide(folder, write_bert)
    return folder


@pytest.fixture(scope="session")
def shared_store(tmp_path_factory):
    """For pages that are not about the store itself: they train the same embeddings."""
    return tmp_path_factory.mktemp("store")


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", [name for name, lines in COMMANDS.items() if lines])
def test_commands_run_and_publish_the_tables_of_their_page(name, samples, shared_store, tmp_path):
    page, place = PAGES[name], tmp_path / "place"
    shutil.copytree(samples, place)
    written({file: small_night(text) if file == "night.yaml" else text for file, text in page.files.items()}, place)
    store = [] if name in BEFORE else [f"store={shared_store}"]
    runs = [run(place, small(line, store)) for line in [*BEFORE.get(name, []), *COMMANDS[name]]]
    published = {table for records in runs for record in records for table, entry in record["tables"].items() if entry}
    assert promised(page) <= published
    if name not in NOT_CODE:
        for text in python_blocks(name):
            in_shell(place, shlex.join([sys.executable, "-c", text]))


def promised(page: Page) -> set[str]:
    tables = {table for row in page.tables("table") for table in quoted(row[0])}
    if not any("corpus.slices" in command.line for command in page.commands):
        tables -= {"corpus_slices", "slice_differences", "slice_trends"}
    return tables if shutil.which("apertium") else tables - {"translations", "protected_words", "comparisons"}


def small(line: str, store: list[str] = ()) -> str:
    """A command with settings that make it small, in the store that others share if it names none."""
    words = shlex.split(line, comments=True)
    named = [word.partition("=")[2] for word in words if word.startswith(("job=", "job.of="))]
    job = named[-1] if named else "survey"
    more = _SMALL.get(job, () if any(word.startswith("embedding=") for word in words[1:]) else _TRAINING)
    if "embedding=word2vec" in words or "embedding=fasttext" in words:
        more = _TRAINING
    places = [] if any(word.startswith("store=") for word in words) else store
    return " ".join([line.partition("  # ")[0].partition("  #")[0].rstrip(), *more, "cluster.num_cpus=1", *places])


def small_night(text: str) -> str:
    """The jobs of a night, each made small."""

    def line(found: re.Match[str]) -> str:
        return f"{found[1]}: {small(found[2])}"

    return re.sub(r"^(\w+): (job=.*)$", line, text, flags=re.MULTILINE)


def run(place: Path, line: str) -> list[dict]:
    """The records of the runs of a command, all of which must have succeeded."""
    output = in_shell(place, line)
    records = [
        json.loads((Path(path) / "run.json").read_text())
        for path in re.findall(r"^run directory: (.*)$", output, re.MULTILINE)
    ]
    assert records or "--cfg" in line, f"{line}\n{output}"
    assert {record["status"] for record in records} <= {"succeeded"}
    return records


def in_shell(place: Path, line: str) -> str:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TILTMETER_DATA": str(place / "data"),
    }
    done = subprocess.run(["bash", "-c", line], cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout
