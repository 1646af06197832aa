"""The tables of printed figures and ours, from the development data.

    python -m benchmarks.papers [name ...] [--write]
    python -m benchmarks.papers <name> --record <run directory> ...

Without names, all of them. `--write` puts each into its page of the docs, where tests compare it. Where a table needs
runs of hours, what they found is kept beside its module by `--record`; the page of the docs has their commands.
"""

import argparse
import importlib
import pkgutil
from pathlib import Path

import benchmarks.papers
from benchmarks.papers.figures import markdown, write_marked

PAPERS = [
    module.name
    for module in pkgutil.iter_modules(benchmarks.papers.__path__)
    if module.name not in ("__main__", "figures")
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(PAPERS)}")
    parser.add_argument("--write", action="store_true", help="into docs/")
    parser.add_argument("--record", nargs="+", type=Path, metavar="run", help="keep what these found, for one name")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(PAPERS):
        parser.error(f"no paper is called {', '.join(sorted(unknown))}; there are {', '.join(PAPERS)}")
    papers = {name: importlib.import_module(f"benchmarks.papers.{name}") for name in arguments.names or PAPERS}
    if arguments.record:
        if len(arguments.names) != 1 or not hasattr(papers[arguments.names[0]], "record"):
            parser.error("--record takes one paper whose table needs runs")
        papers[arguments.names[0]].record(*arguments.record)
    for name, paper in papers.items():
        table = markdown(paper.figures())
        print(f"{name}: {paper.TITLE}\n\n{table}")
        if arguments.write:
            write_marked(paper.PAGE, name, table)


if __name__ == "__main__":
    main()
