"""Programs that check files which this project has no use of itself."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PLACES = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
"""Where a program is looked for: beside the interpreter first, whose environment no shell need have activated."""


@pytest.fixture
def check():
    """Calls a checker on files, and returns what it says of them; skips where it is not there."""

    def called(program, *words, **options):
        place = shutil.which(program, path=PLACES)
        if place is None:
            pytest.skip(f"needs {program}: pip install 'tiltmeter[checks]'")
        checked = subprocess.run([place, *words], capture_output=True, text=True, check=False, **options)
        return checked.returncode, checked.stdout + checked.stderr

    return called
