"""What pyproject.toml can't say: a source archive that is the same, byte for byte, whenever and wherever it is made."""

import gzip
import os
import tarfile
import time
from pathlib import Path

from setuptools import setup
from setuptools.command.sdist import sdist


class SourceArchive(sdist):
    """Without the owner and the time of its files, which setuptools keeps."""

    def make_archive(self, base_name: str, *_: str, base_dir: str, **__: str | None) -> str:
        """Pack a folder; its time is ``SOURCE_DATE_EPOCH``, or now."""
        moment = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))

        def without_origin(member: tarfile.TarInfo) -> tarfile.TarInfo:
            member.mtime, member.mode = moment, 0o755 if member.isdir() else 0o644
            member.uid, member.gid, member.uname, member.gname = 0, 0, "", ""
            return member

        path = f"{base_name}.tar.gz"
        with (
            open(path, "wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=moment) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            for inner in sorted(Path(base_dir).rglob("*")):
                archive.add(inner, recursive=False, filter=without_origin)
        return path


setup(cmdclass={"sdist": SourceArchive})
