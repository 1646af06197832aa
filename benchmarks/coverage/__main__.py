"""How often 95 % intervals hold what they should: disjoint samples of four Wikipedias, trained and compared.

    python -m benchmarks.coverage [corpus ...] [--folder ./coverage] [--replicas <number>] [--write] [key=value ...]

Whole articles of the Simple English, the Spanish, an English and the German Wikipedia are dealt at random into
disjoint samples of a million tokens. Each is embedded with its bootstrap replicas, drawn in several ways, as
`job=bootstrap` does it; what has been trained is found in the folder again. Everything that the product measures is
measured in every model, and every interval that could be made of it is held against the other samples. Prints the
tables of docs/how_sure.md, which `--write` puts there. `--replicas` and fewer corpora are for a try.
"""

import argparse
import time
from pathlib import Path

from benchmarks.coverage import plan
from benchmarks.coverage.samples import CORPORA
from benchmarks.coverage.study import Study
from benchmarks.coverage.tables import tables
from benchmarks.papers.figures import write_marked

_PAGE = "how_sure"


def main() -> None:
    """Train, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="*", metavar="corpus", help=f"of {', '.join(CORPORA)}, or key=value")
    parser.add_argument("--folder", type=Path, default=Path("coverage"), help="for samples, store and models")
    parser.add_argument("--replicas", type=int, help="of everything, for a try")
    parser.add_argument("--write", action="store_true", help="the tables into docs/")
    known = parser.parse_args()
    settings = dict(word.split("=", 1) for word in known.corpora if "=" in word)
    chosen = [word for word in known.corpora if "=" not in word] or list(CORPORA)
    if unknown := set(chosen) - set(CORPORA):
        parser.error(f"no corpus is called {', '.join(sorted(unknown))}; there are {', '.join(CORPORA)}")
    started, folder = time.monotonic(), known.folder.absolute()
    rows = plan.measure(folder, {name: plan.variants(name, known.replicas) for name in chosen}, settings)
    rows.write_parquet(folder / "values.parquet")
    for name, text in tables(Study(rows)).items():
        print(f"{name}\n\n{text}")
        if known.write:
            write_marked(_PAGE, name, text)
    print(_told(folder, time.monotonic() - started))


def _told(folder: Path, seconds: float) -> str:
    cost = plan.total_cost(folder)
    trained = f"{cost.num_models:,} models were trained in {cost.core_seconds:,.0f} core-seconds"
    return f"{processor()}; {trained}; this command took {seconds:,.0f} s."


def processor() -> str:
    """What the machine calls it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "an unknown processor"


if __name__ == "__main__":
    main()
