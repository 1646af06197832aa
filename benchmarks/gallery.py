"""A real page of each job, at the size of the development data, with a picture of it, for the gallery of the site.

    python -m benchmarks.gallery [name ...] [--runs FOLDER] [--check]

Each job's lines run in `gallery/runs`, on one store. `gallery/<job>` then has `report.html`, `picture.png`, which Chromium takes, and
`about.json`: the command, the commit and the seconds. `--runs` takes run directories called as their jobs, instead of running any.
`--check` says of which pages the code has changed since.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tiltmeter.jobs.library import FinishedRun, read_run

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "gallery"
ROOMS = ("jobs", "operators", "storage", "cluster", "conf")
"""Of which each line may change a page."""

_SST = "data.path=$TILTMETER_DATA/sentiment/sst2"
_COLUMNS = "data.header=false data.text=column_1 data.label=column_2"
_PARTS = f"{_SST}/train.tsv data.development=$TILTMETER_DATA/sentiment/sst2/dev.tsv data.test=$TILTMETER_DATA/sentiment/sst2/test.tsv {_COLUMNS}"
_WORDS = "corpus=simplewiki embedding.num_replicas=8"
_RECORDS = "$TILTMETER_DATA/er/csv_example"
_GENDERS = "{Chandler: male, Joey: male, Ross: male, Monica: female, Phoebe: female, Rachel: female}"
_CHECKPOINT = """
import torch, transformers
words = "[PAD] [UNK] [CLS] [SEP] [MASK] the a was is man woman he she boss nurse tired kind late smith left right here".split()
torch.manual_seed(0)
config = transformers.BertConfig(vocab_size=len(words), hidden_size=12, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
transformers.BertForMaskedLM(config).save_pretrained("untrained")
transformers.BertTokenizer(vocab={word: number for number, word in enumerate(words)}).save_pretrained("untrained")
verbs = "was tired,is tired,was kind,is kind,was late,is late,was here,is here".split(",")
for name, more, less in (("pairs", "woman", "man"), ("neutral", "right", "left")):
    lines = [f"the {more} {verb},the {less} {verb}" for verb in verbs]
    open(f"{name}.csv", "w").write("\\n".join(["more,less", *lines]) + "\\n")
"""
_LEXICON = """
import os, pathlib
folder = pathlib.Path(os.environ["TILTMETER_DATA"]) / "sentiment/huliu"
rows = [f"{word},{side}" for side in ("positive", "negative") for word in (folder / f"{side}-words.txt").read_text("latin-1").split()]
pathlib.Path("lexicon.csv").write_text("\\n".join(["word,polarity", *rows]) + "\\n")
"""
_NIGHT = "printf 'ratings: job=sentiment_rating rating.num_resamples=200\\nsurvey: job=survey\\n' > night.yaml"

COMMANDS = {
    "survey": f"tiltmeter {_WORDS}",
    "bootstrap": f"tiltmeter job=bootstrap {_WORDS} job.export=[word2vec_binary]",
    "psychophysics": f"tiltmeter job=psychophysics {_WORDS}",
    "association": f"tiltmeter job=association {_WORDS}",
    "mitigation": f"tiltmeter job=mitigation {_WORDS} tests=[weat6,weat7,weat8]",
    "vector_quality": f"tiltmeter job=vector_quality {_WORDS}",
    "gender_survey": "tiltmeter job=gender_survey corpus=[simplewiki,wowiki] embedding.num_replicas=8",
    "corpus_export": "tiltmeter job=corpus_export corpus=simplewiki",
    "private_vectors": "tiltmeter job=private_vectors embedding.path=bootstrap/exports/*.bin vocabulary.words=10000",
    "sentiment_rating": "tiltmeter job=sentiment_rating",
    "gru_training": "tiltmeter job=gru_training labelled.path=$TILTMETER_DATA/sentiment/sst2/train.tsv labelled.header=false "
    "labelled.text=column_1 labelled.label=column_2",
    "sentiment_posterior": f"python -c '{_LEXICON}'\ntiltmeter job=sentiment_posterior {_SST}/train.tsv {_COLUMNS} lexicon.path=lexicon.csv",
    "entity_resolution": f"tiltmeter job=entity_resolution pairs={_RECORDS}/pairs.parquet gold={_RECORDS}/gold.parquet",
    "attribution": f"tiltmeter job=attribution {_SST}/dev.tsv {_COLUMNS} data.limit=100 classifier.learns=$TILTMETER_DATA/sentiment/sst2/train.tsv",
    "word_influence": f"tiltmeter job=word_influence {_PARTS}",
    "decoy_benchmark": f"tiltmeter job=decoy_benchmark {_PARTS}",
    "error_characterisation": f"tiltmeter job=error_characterisation {_SST}/dev.tsv {_COLUMNS} base.path=$TILTMETER_DATA/sentiment/sst2/train.tsv",
    "gender_adversary": f"tiltmeter job=gender_adversary {_SST}/train.tsv {_COLUMNS}",
    "privacy_metrics": "tiltmeter job=privacy_metrics data.path=$TILTMETER_DATA/sentiment/meld/train_sent_emo.csv data.text=Utterance "
    f"data.label=Sentiment data.group=Speaker 'data.genders={_GENDERS}' across.path=$TILTMETER_DATA/sentiment/meld/test_sent_emo.csv",
    "sentence_pairs": f"python -c '{_CHECKPOINT}'\ntiltmeter job=sentence_pairs data.path=pairs.csv data.control=neutral.csv "
    "models.checkpoints={untrained:untrained}",
    "relation_rules": "tiltmeter job=relation_rules",
    "compare": "tiltmeter job=sentiment_rating run_dir=first\n"
    "tiltmeter job=sentiment_rating rating.convention=published run_dir=second\n"
    "tiltmeter job=compare 'runs=[first,second]'",
    "overnight": f"{_NIGHT}\ntiltmeter job=overnight jobs=night.yaml",
    "plan": f"tiltmeter job=plan job.of=survey {_WORDS}",
    "prune": "tiltmeter job=prune job.keep=7",
}
"""Shell lines of each job, of which the last one makes the run."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(COMMANDS)}")
    parser.add_argument("--runs", type=Path, help="a folder of run directories called as their jobs")
    parser.add_argument("--check", action="store_true", help="whether the pages are those of this commit")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(COMMANDS):
        parser.error(f"no job is called {', '.join(sorted(unknown))}; there are {', '.join(COMMANDS)}")
    if arguments.check:
        sys.exit("\n".join(f"{job}: {reason}" for job, reason in outdated(GALLERY).items()) or None)
    for name in arguments.names or COMMANDS:
        made = arguments.runs / name if arguments.runs else run(name, GALLERY / "runs")
        if made.exists():
            show(read_run(made), COMMANDS[name].rpartition("\n")[2], GALLERY / name)
            print(f"{name}: {GALLERY / name}", flush=True)


def run(name: str, place: Path) -> Path:
    """The run directory of a job, whose lines are run in a folder."""
    place.mkdir(parents=True, exist_ok=True)
    usual = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TILTMETER_DATA": str(ROOT / "../shared/data"),
    }
    lines = f"set -e\n{COMMANDS[name]} run_dir={name}"
    subprocess.run(["bash", "-c", lines], cwd=place, env=usual | os.environ | {"PATH": usual["PATH"]}, check=True)
    return place / name


def show(finished: FinishedRun, command: str, folder: Path) -> None:
    """Put the page of a run into a folder, with a picture, and what they are of."""
    folder.mkdir(parents=True, exist_ok=True)
    page = (finished.path / "report.html").read_text(encoding="utf-8")
    (folder / "report.html").write_text(alone(page), encoding="utf-8")
    picture(folder / "report.html", folder / "picture.png")
    (folder / "about.json").write_text(json.dumps(about(finished.record, command), indent=1) + "\n", encoding="utf-8")


def about(record: Any, command: str) -> dict[str, Any]:
    """What the gallery says of a run."""
    return {"job": record["job"], "command": command, "commit": record["git_commit"], "seconds": record["seconds"]}


def alone(page: str) -> str:
    """A page without links to files that are not with it.

    >>> alone('<a href="#a">a</a> <a href="pse.parquet">b</a>')
    '<a href="#a">a</a> <a>b</a>'
    """
    return re.sub(r'(<a\b[^>]*?) href="(?!#)[^"]*"', r"\1", page)


def picture(page: Path, path: Path) -> None:
    """Of a page's top, as a desktop shows it."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        raise SystemExit("pictures are taken by Chromium or Chrome, and there is none on PATH")
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--window-size=1000,750",
        "--virtual-time-budget=5000",
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([browser, *flags, f"--screenshot={path}", page.resolve().as_uri()], check=True, **quiet)


def outdated(gallery: Path, root: Path = ROOT) -> dict[str, str]:
    """Pages that are not those of the commit that is checked out, and why: its rooms differ from those that made them."""
    abouts = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(gallery.glob("*/about.json"))]
    return {item["job"]: reason for item in abouts if (reason := _change_since(item["commit"], root))}


def _change_since(commit: str | None, root: Path) -> str:
    if commit is None or commit.endswith("+changes"):
        return f"its commit is {commit}: run it from a checkout without changes"
    asked = ["git", "-C", str(root), "diff", "--stat", commit, "--", *ROOMS]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    if found.returncode:
        return f"there is no commit {commit} here"
    return f"since {commit[:8]}:{found.stdout.splitlines()[-1]}" if found.stdout else ""


if __name__ == "__main__":
    main()
