"""A real page of each job, at the size of the development data, with a picture of it, for the gallery of the site.

    python -m benchmarks.gallery [name ...] [--runs FOLDER] [--check]

The lines of `gallery.yaml` run in the folder `gallery/runs`, on one store. `gallery/<job>` then has `report.html`,
`picture.png`, which Chromium takes, and `about.json`: the command, the commit and the seconds. `--runs` takes run
directories called as their jobs, and runs nothing. `--check` says of which pages the code has changed since.
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

import yaml

from tiltmeter.jobs.library import FinishedRun, read_run
from tiltmeter.storage.errors import Refusal

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "gallery"
ROOMS = ("jobs", "operators", "storage", "cluster", "conf")
"""Of which each line may change a page."""

COMMANDS: dict[str, str] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


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
    failed = []
    for name in arguments.names or COMMANDS:
        try:
            made = arguments.runs / name if arguments.runs else run(name, GALLERY / "runs")
            show(read_run(made), COMMANDS[name].rpartition("\n")[2], GALLERY / name)
        except (subprocess.CalledProcessError, Refusal) as error:
            failed.append(f"{name}: {error}")
    sys.exit("\n".join(failed) or None)


def run(name: str, place: Path) -> Path:
    """The run directory of a job, whose lines are run in a folder."""
    place.mkdir(parents=True, exist_ok=True)
    usual = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TILTMETER_DATA": str(ROOT / "../shared/data"),
    }
    lines = f"set -e\n{COMMANDS[name]} run_dir={name}"
    environment = usual | os.environ | {"PATH": usual["PATH"]}
    done = subprocess.run(
        ["bash", "-c", lines], cwd=place, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return place / re.findall(r"^run directory: (.*)$", done.stdout, re.MULTILINE)[-1]


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
    """Pages that are not those of the commit that is checked out, with the reason: code that makes them differs."""
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
