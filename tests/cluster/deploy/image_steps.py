"""Does what a Dockerfile says, step by step, in a folder of this machine and with the rights of whoever asks.

    python -m tests.cluster.deploy.image_steps <empty folder> [PROCESSOR=cuda ...]

With ``TORCH=`` torch is of the wheels that ``UV_FIND_LINKS`` names.

The folder takes the place of an image's ``/``: absolute paths of every step lie in it. What changes a system (packages
of Debian, users) is noted and not done. Each stage begins with an empty folder, so that the last one has what it copies
of others.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCKERFILE = ROOT / "cluster/deploy/Dockerfile"
SYSTEM = ("apt-get", "useradd")
"""Programs that need a system of their own."""
ABSOLUTE = re.compile(r"(?<![\w.$}/*])/(?=[a-z])")


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """The instructions of a Dockerfile with what follows each; lines that go on are joined, and comments left out."""
    lines = (line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    for line in re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines():
        name, _, rest = line.partition(" ")
        yield name, rest.strip()


def context(tree: Path) -> list[Path]:
    """What ``COPY . .`` would bring: names that ``.dockerignore`` lets through after its ``*``."""
    lines = [line for line in (tree / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    assert lines[0] == "*"
    return [tree / line[1:] for line in lines[1:] if line.startswith("!")]


def brought(source: Path, target: Path) -> None:
    """Copy a file or a folder, without what the last lines of ``.dockerignore`` leave out."""
    if source.is_dir():
        without = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(source, target, symlinks=True, ignore=without, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target)


def layered(source: Path, target: Path) -> None:
    """Lay the files of a stage over a folder, as links: pip replaces files and does not change them."""
    shutil.copytree(source, target, symlinks=True, copy_function=os.link, dirs_exist_ok=True)


@dataclass(frozen=True)
class Stage:
    """Where a build stands: its variables, its folder, and who it is."""

    variables: dict[str, str]
    folder: str = "/"
    user: str = "root"
    base: str = ""
    command: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)


class Build:
    """A build in an empty folder.

    Attributes:
        image: the folder that stands for ``/``.
        stages: those that are finished, by their names.
        steps: what was done, and by whom.
        system: the commands that were noted and not done.
    """

    def __init__(self, folder: Path, arguments: dict[str, str]) -> None:
        self.image, self.kept, self.arguments = folder / "image", folder / "stages", arguments
        self.stages: dict[str, Stage] = {}
        self.steps: list[str] = []
        self.programs = folder / "bin"
        self.programs.mkdir(parents=True)
        self.kept.mkdir()
        for name in SYSTEM:
            (self.programs / name).write_text(f'#!/bin/sh\necho {name} "$@" >>{folder}/system\n')
            (self.programs / name).chmod(0o755)
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        for name in ("python", "python3", f"python{version}"):
            (self.programs / name).symlink_to(Path(sys.base_prefix) / "bin" / f"python{version}")
        self.globals = {"PYTHON": version}
        self.stage: Stage | None = None
        self.name = ""

    def run(self, text: str) -> Stage:
        """All steps up to the last; returns the stage that the image is."""
        wanted = self._wanted(text)
        for name, rest in instructions(text):
            if name == "FROM":
                self._finish()
                words = rest.split()
                self.name = words[2] if words[1:2] == ["AS"] else "image"
                self.stage = self._begin(self._filled(words[0], self.globals)) if self.name in wanted else None
            elif name == "ARG" and not self.name:
                key, _, usual = rest.partition("=")
                self.globals[key] = self.arguments.get(key, self.globals.get(key, usual))
            elif self.stage:
                self.stage = getattr(self, f"_{name.lower()}")(self.stage, rest)
        assert self.stage
        return self.stage

    def _wanted(self, text: str) -> set[str]:
        """Stages that the last one needs, as only those are built."""
        needs: dict[str, set[str]] = {}
        name, variables = "", dict(self.globals)
        for word, rest in instructions(text):
            if word == "FROM":
                base, *named = self._filled(rest, variables).split()
                name = named[1] if named else "image"
                needs[name] = {base}
            elif word == "ARG" and not name:
                key, _, usual = rest.partition("=")
                variables[key] = self.arguments.get(key, variables.get(key, usual))
            elif match := re.match(r"--from=(\S+)", rest):
                needs[name].add(match[1])
        reached, ahead = set(), {"image"}
        while ahead:
            reached |= ahead
            ahead = {base for stage in ahead for base in needs.get(stage, ())} - reached
        return reached

    @staticmethod
    def _filled(text: str, variables: dict[str, str]) -> str:
        return re.sub(r"\$\{?(\w+)\}?", lambda match: variables[match[1]], text)

    def _inside(self, text: str) -> str:
        """The text with its absolute paths in the image's folder."""
        return ABSOLUTE.sub(f"{self.image}/", text)

    def _finish(self) -> None:
        if self.stage:
            self.stages[self.name] = self.stage
            shutil.move(self.image, self.kept / self.name)
            self.stage = None

    def _begin(self, base: str) -> Stage:
        if base in self.stages:
            layered(self.kept / base, self.image)
            return self.stages[base]
        assert re.fullmatch(rf"python:{self.globals['PYTHON']}-slim-\w+", base), (
            f"{base} is another Python than this one"
        )
        for folder in ("etc/profile.d", "var/lib/apt/lists", "home/ray"):
            (self.image / folder).mkdir(parents=True)
        return Stage({"PATH": f"{self.programs}:/usr/bin:/bin"}, base=base)

    def _arg(self, stage: Stage, rest: str) -> Stage:
        key, _, usual = rest.partition("=")
        return replace(stage, variables=stage.variables | {key: self.arguments.get(key, usual)})

    def _env(self, stage: Stage, rest: str) -> Stage:
        pairs = (word.split("=", 1) for word in shlex.split(rest))
        set_here = {key: self._filled(self._inside(value), stage.variables) for key, value in pairs}
        return replace(stage, variables=stage.variables | set_here)

    def _label(self, stage: Stage, rest: str) -> Stage:
        return replace(stage, labels=dict(word.split("=", 1) for word in shlex.split(rest)))

    def _workdir(self, stage: Stage, rest: str) -> Stage:
        Path(self._inside(rest)).mkdir(parents=True, exist_ok=True)
        return replace(stage, folder=rest)

    def _user(self, stage: Stage, rest: str) -> Stage:
        return replace(stage, user=rest)

    def _cmd(self, stage: Stage, rest: str) -> Stage:
        return replace(stage, command=tuple(json.loads(rest)))

    def _copy(self, stage: Stage, rest: str) -> Stage:
        words = rest.split()
        stage_name = words.pop(0).removeprefix("--from=") if words[0].startswith("--from=") else None
        *sources, target = words
        place = Path(self._inside(target if target.startswith("/") else f"{stage.folder}/{target}"))
        if stage_name:
            [source] = sources
            layered(self.kept / stage_name / source.lstrip("/"), place)
            return stage
        offered = context(ROOT)
        for path in offered if sources == ["."] else [ROOT / source for source in sources]:
            assert path in offered, f"{path.name} is not in the context: .dockerignore leaves it out"
            brought(path, place / path.name)
        return stage

    def _run(self, stage: Stage, rest: str) -> Stage:
        command = self._inside(rest)
        self.steps.append(f"{self.name}, {stage.user}: {rest}")
        print(f"--- {self.steps[-1]}", flush=True)
        outside = {
            key: value for key, value in os.environ.items() if key.startswith(("PIP_", "UV_", "SSL_", "REQUESTS_"))
        }
        home = {"HOME": str(self.image / "home/ray")}
        subprocess.run(
            ["sh", "-ec", command], cwd=self._inside(stage.folder), env=outside | home | stage.variables, check=True
        )
        return stage

    @property
    def system(self) -> list[str]:
        """The commands that were noted and not done."""
        return (self.programs.parent / "system").read_text().splitlines()


def main() -> None:
    """Build in the folder of the command line, and show what the image would run."""
    folder, *arguments = sys.argv[1:]
    build = Build(Path(folder).absolute(), dict(word.split("=", 1) for word in arguments))
    stage = build.run(DOCKERFILE.read_text())
    print(*build.system, sep="\n")
    subprocess.run(stage.command, cwd=build.image / stage.folder.lstrip("/"), env=stage.variables, check=True)


if __name__ == "__main__":
    main()
