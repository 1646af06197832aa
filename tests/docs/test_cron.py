"""The line for cron, run as cron runs lines: by sh, with next to no environment."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT


@pytest.mark.long
def test_the_line_works_as_it_stands(tmp_path):
    """But for its two paths: the night's list is read, and refused for what it holds."""
    [line] = re.findall(r"^0 22 \* \* \*  (.*)$", (ROOT / "docs/overnight.md").read_text(), re.MULTILINE)
    assert line.count("/opt/tiltmeter/bin/tiltmeter ") == line.count("cd /data ") == 1
    (tmp_path / "night.yaml").write_text("first: job=no_such_job\n")
    command = line.replace("/opt/tiltmeter/bin", str(Path(sys.executable).parent)).replace("/data", str(tmp_path))
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "SHELL": "/bin/sh"}
    done = subprocess.run(
        ["/bin/sh", "-c", command], env=environment, cwd="/", capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "night.yaml" in done.stderr
    assert "no_such_job" in done.stderr
