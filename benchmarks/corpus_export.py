"""`corpus_export` beside WikiExtractor on one file, in one sitting.

    <an environment of Python 3.10>/bin/pip install wikiextractor
    .venv/bin/python -m benchmarks.corpus_export <its python> [--copies 40] [--cpus 2]

The file is gensim's extract of the English Wikipedia (206 pages, 106 of them articles), its pages repeated under other
ids, since a start takes either program longer than 106 articles. Each is a process that ends with its files on disk:
WikiExtractor's JSON lines and ours, from an empty store. Beside it, the Simple English Wikipedia as JSON lines, which
WikiExtractor, a reader of dumps, can't read.
"""

import argparse
import bz2
import json
import re
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
                file.write(
                    "<page>" + re.sub(r"<id>\d+</id>", f"<id>{copy * len(pages) + number + 1}</id>", named, count=1)
                )
        file.write(f"</mediawiki>{tail}")


def timed(words: Sequence[str], folder: Path) -> float:
    """Seconds of a process."""
    started = time.monotonic()
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stderr}")
    return time.monotonic() - started


def documents_in(files: Sequence[Path]) -> int:
    """JSON lines whose text says anything."""
    lines = (line for file in files for line in file.read_text().splitlines())
    return sum(bool(json.loads(line)["text"].strip()) for line in lines)


def main() -> None:
    """Run both, and print what was run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", help="of an environment with WikiExtractor")
    parser.add_argument("--copies", type=int, default=40)
    parser.add_argument("--cpus", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repeated(asked.copies, folder / "dump.xml")
        ours = [sys.executable, "-m", "tiltmeter.jobs.app", "job=corpus_export", "corpus=file", "corpus.language=en"]
        ours += ["export.format=jsonl", f"cluster.num_cpus={asked.cpus}"]
        peer = [asked.python, "-m", "wikiextractor.WikiExtractor", "--json", "--processes", str(asked.cpus), "-q"]
        runs = {
            "wikiextractor, no templates": [*peer, "--no-templates", "-o", "peer", "dump.xml"],
            "wikiextractor, with templates": [*peer, "-o", "peer_templates", "dump.xml"],
            "corpus_export": [*ours, "corpus.path=dump.xml", "store=store", "run_dir=ours"],
            "corpus_export, Simple English": [
                *ours,
                f"corpus.path={DATA / 'corpora/en/simplewiki.jsonl.bz2'}",
                *("store=simple_store", "run_dir=simple"),
            ],
        }
        places = {"wikiextractor, no templates": "peer", "wikiextractor, with templates": "peer_templates"}
        for what, words in runs.items():
            seconds = timed(words, folder)
            root = folder / places.get(what, "simple/dataset/data" if "Simple" in what else "ours/dataset/data")
            num = documents_in([path for path in root.rglob("*") if path.is_file()])
            print(f"{what}: {num:,} documents in {seconds:.1f} s, {num / seconds:,.0f} a second", flush=True)
            print(f"  {' '.join(words)}", flush=True)


if __name__ == "__main__":
    main()
