"""`corpus_export` beside WikiExtractor on one file, in one sitting.

    <an environment of Python 3.10>/bin/pip install wikiextractor
    .venv/bin/python -m benchmarks.corpus_export <its python> [--copies 45] [--cpus 2] [--turns 3]

The file is gensim's extract of the English Wikipedia (206 pages, 106 of them articles), its pages so many times under
other ids. Each program is a process that ends with JSON lines on disk, ours from an empty store. Both are run on one
copy too, by turns: seconds of the larger file beyond those of the smaller one are those of the documents alone, without
the start of Ray. Last comes the Simple English Wikipedia as JSON lines, which WikiExtractor, a reader of dumps, can't
read.
"""

import argparse
import bz2
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from gensim.test.utils import datapath

from benchmarks.command import DATA

DUMP = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"


def repeated(copies: int, place: Path) -> None:
    """The dump with its pages so many times, as plain XML; titles and ids differ, as a dump has each once."""
    text = bz2.decompress(Path(datapath(DUMP)).read_bytes()).decode()
    head, *pages = text.split("<page>")
    pages[-1], _, tail = pages[-1].partition("</mediawiki>")
    with place.open("w") as file:
        file.write(head)
        for copy in range(copies):
            for number, page in enumerate(pages):
                named = page.replace("</title>", f" {copy}</title>", 1)
                numbered = re.sub(r"<id>\d+</id>", f"<id>{copy * len(pages) + number + 1}</id>", named, count=1)
                file.write(f"<page>{numbered}")
        file.write(f"</mediawiki>{tail}")


def timed(words: Sequence[str], place: Path) -> tuple[int, float]:
    """How many documents with a text a program writes below a place, and in how many seconds."""
    # Ray's workers give way to all other processes of a machine, those of WikiExtractor to none.
    environment = os.environ | {"RAY_worker_niceness": "0"}
    started = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    seconds = time.monotonic() - started
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stderr}")
    lines = (line for file in place.rglob("*") if file.is_file() for line in file.read_text().splitlines())
    return sum(bool(json.loads(line)["text"].strip()) for line in lines), seconds


def main() -> None:
    """Run both by turns, and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", help="of an environment with WikiExtractor")
    parser.add_argument("--copies", type=int, default=45)
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    asked = parser.parse_args()
    ours = [sys.executable, "-m", "tiltmeter.jobs.app", "job=corpus_export", "corpus=file", "corpus.language=en"]
    ours += ["export.format=jsonl", f"cluster.num_cpus={asked.cpus}"]
    peer = [asked.python, "-m", "wikiextractor.WikiExtractor", "--json", "--no-templates", "-q"]
    peer += ["--processes", str(asked.cpus)]

    def exported(path: Path | str, place: Path) -> tuple[int, float]:
        return timed(
            [*ours, f"corpus.path={path}", f"store={place}/store", f"run_dir={place}/run"], place / "run/dataset/data"
        )

    taken: dict[tuple[str, int], list[tuple[int, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for copies in (1, asked.copies):
            repeated(copies, folder / f"{copies}.xml")
        for turn in range(asked.turns):
            for copies in (1, asked.copies):
                dump, place = folder / f"{copies}.xml", folder / f"{turn}_{copies}"
                made = timed([*peer, "-o", f"{place}_peer", str(dump)], Path(f"{place}_peer"))
                taken.setdefault(("wikiextractor", copies), []).append(made)
                taken.setdefault(("corpus_export", copies), []).append(exported(dump, place))
        for program in ("wikiextractor", "corpus_export"):
            few, start = map(statistics.median, zip(*taken[program, 1], strict=True))
            many, seconds = map(statistics.median, zip(*taken[program, asked.copies], strict=True))
            beyond = (many - few) / (seconds - start)
            print(f"{program}, medians of {asked.turns}: {few:,.0f} documents in {start:.1f} s,")
            print(f"  {many:,.0f} in {seconds:.1f} s: {many / seconds:,.0f} a second, {beyond:,.0f} beyond the start")
        num, seconds = exported(DATA / "corpora/en/simplewiki.jsonl.bz2", folder / "simple")
        print(f"Simple English: {num:,} documents in {seconds:.1f} s, {num / seconds:,.0f} a second")


if __name__ == "__main__":
    main()
