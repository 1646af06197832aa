"""The tables of printed figures and ours, from the development data.

    python -m benchmarks.papers [name ...] [--write]

Without names, all of them. `--write` puts each into its page of the docs, where tests compare it.
"""

import argparse
import importlib
import pkgutil

import benchmarks.papers
from benchmarks.papers.figures import markdown, write_table

PAPERS = [
    module.name
    for module in pkgutil.iter_modules(benchmarks.papers.__path__)
    if module.name not in ("__main__", "figures") and not module.ispkg
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(PAPERS)}")
    parser.add_argument("--write", action="store_true", help="into docs/")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(PAPERS):
        parser.error(f"no paper is called {', '.join(sorted(unknown))}; there are {', '.join(PAPERS)}")
    for name in arguments.names or PAPERS:
        paper = importlib.import_module(f"benchmarks.papers.{name}")
        figures = paper.figures()
        print(f"{name}: {paper.TITLE}\n\n{markdown(figures)}")
        if arguments.write:
            write_table(paper.PAGE, name, figures)


if __name__ == "__main__":
    main()
