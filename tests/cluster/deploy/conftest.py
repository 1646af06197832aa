"""Programs that check files which this project has no use of itself."""

import shutil
import subprocess

import pytest


@pytest.fixture
def check():
    """Calls a checker on files, and returns what it says of them; skips where it is not there."""

    def called(program, *words, **options):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}: pip install 'tiltmeter[checks]'")
        checked = subprocess.run([program, *words], capture_output=True, text=True, check=False, **options)
        return checked.returncode, checked.stdout + checked.stderr

    return called
