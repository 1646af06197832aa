"""What a night costs of which 1 % of the articles changed, and slices of one corpus to look at.

    python -m benchmarks.slices <folder> nights|blocks|pages [--every 12] [key=value ...]

Every twelfth article of the Simple English Wikipedia extract, 3,003 of them, or every one in so many, is written with
three fields: ``half``, of which there are two, ``block``, of which there are twenty in the order of the articles, and
``version``. An article is replaced by another one of the extract that is not among them, under its own id.

``nights`` trains the corpus; then with 1 % of the articles replaced, at places all over it; then with 1 % at its end,
where a Wikipedia gets its new articles. ``blocks`` trains the twenty blocks as slices; then with the same 1 %, which
lies in the last block. Each night finds the store of the cold run. Printed is, in Markdown, the worker-seconds of
each stage, the units done and found, and the share of the cold run's. ``pages`` runs the survey on the halves, and on
the corpus and its copy with 1 % replaced as two slices, to be looked at.
"""

import argparse
import bz2
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.command import DATA, Outcome, run_command

NUM_BLOCKS = 20
SHARE = 0.01
SETTINGS = ("reading.shard_megabytes=0.25", "cluster.num_cpus=1")
"""Shards so small that there are several; embeddings are as usual."""

STAGES = ("read", "join slices", "documents", "tokens", "co-occurrence", "merge", "train")

Article = dict[str, Any]


def articles(every: int) -> tuple[list[Article], list[Article]]:
    """Those of the corpus, with their fields, and as many others."""
    with bz2.open(DATA / "corpora/en/simplewiki.jsonl.bz2", "rt", encoding="utf-8") as lines:
        known = [json.loads(line) for line in lines]
    chosen, others = known[::every], known[1::every]
    fields = (
        {"half": ("first", "second")[number % 2], "block": f"{number * NUM_BLOCKS // len(chosen):02d}"}
        for number in range(len(chosen))
    )
    return [article | more for article, more in zip(chosen, fields, strict=True)], others


def replaced(corpus: Sequence[Article], others: Sequence[Article], places: Iterable[int]) -> list[Article]:
    """The corpus with the texts of other articles at some places."""
    changed = list(corpus)
    for place, other in zip(places, others, strict=False):
        changed[place] = corpus[place] | {"text": other["text"], "title": other["title"]}
    return changed


def written(path: Path, corpus: Iterable[Article]) -> Path:
    """A file of the articles."""
    path.write_text("".join(json.dumps(article, ensure_ascii=False) + "\n" for article in corpus), encoding="utf-8")
    return path


def corpora(folder: Path, every: int) -> dict[str, Path]:
    """The corpus, and those of the two nights."""
    corpus, others = articles(every)
    num = round(SHARE * len(corpus))
    anywhere = random.Random(0).sample(range(len(corpus)), num)
    versions = {"cold": corpus, "anywhere": replaced(corpus, others, anywhere)}
    versions["at_the_end"] = replaced(corpus, others, range(len(corpus) - num, len(corpus)))
    both = [row | {"version": name} for name in ("cold", "anywhere") for row in versions[name]]
    return {name: written(folder / f"{name}.jsonl", rows) for name, rows in (versions | {"both": both}).items()}


def run(folder: Path, store: Path, path: Path, *settings: str) -> Outcome:
    """A run on a file."""
    folder.mkdir(exist_ok=True)
    chosen = ("corpus=file", "corpus.name=simple", "corpus.language=en", f"corpus.path={path}", "series=simple")
    return run_command(folder, *chosen, *SETTINGS, *settings, store=store)


def print_costs(runs: Mapping[str, Outcome]) -> None:
    """Worker-seconds of the stages, and of what share of the first run's."""
    cold = sum(stage["worker_seconds"] for stage in next(iter(runs.values())).record["stages"])
    print(f"| run | {' | '.join(STAGES)} | all, worker-seconds | of cold | whole command, s |")
    print(f"|{'---|' * (len(STAGES) + 4)}")
    for name, outcome in runs.items():
        stages = {stage["name"]: stage for stage in outcome.record["stages"]}
        cells = [_cell(stages.get(stage)) for stage in STAGES]
        total = sum(stage["worker_seconds"] for stage in stages.values())
        print(f"| {name} | {' | '.join(cells)} | {total:.1f} | {total / cold:.1%} | {outcome.seconds:.0f} |")


def _cell(stage: Mapping[str, Any] | None) -> str:
    if stage is None:
        return "–"
    return f"{stage['num_done']} of {stage['num_done'] + stage['num_reused']}, {stage['worker_seconds']:.1f}"


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("part", choices=("nights", "blocks", "pages"))
    parser.add_argument("settings", nargs="*")
    parser.add_argument("--every", type=int, default=12, help="take every so many articles")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    files = corpora(given.folder, given.every)
    store, place = given.folder / f"store_{given.part}", given.folder / given.part
    place.mkdir(exist_ok=True)
    if given.part == "nights":
        names, settings = ("cold", "anywhere", "at_the_end"), ["job=bootstrap", *given.settings]
        print_costs({name: run(place / name, store, files[name], *settings) for name in names})
    elif given.part == "blocks":
        settings = ["job=bootstrap", "corpus.slices=block", *given.settings]
        print_costs({name: run(place / name, store, files[name], *settings) for name in ("cold", "at_the_end")})
    else:
        for field, name in (("half", "cold"), ("version", "both")):
            run(place / field, store, files[name], "job=survey", f"corpus.slices={field}", *given.settings)


if __name__ == "__main__":
    main()
