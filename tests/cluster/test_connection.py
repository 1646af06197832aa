"""Where a cluster is looked for, what is refused before anything starts, and the token that a local cluster gets."""

import os
import re
import stat
import tempfile
from pathlib import Path

import pytest

from tiltmeter.cluster.authentication import require_token
from tiltmeter.cluster.connection import ClusterConfig, ClusterError, _address, _connect, _session_folder

EXISTING = ClusterConfig(kind="existing")


@pytest.fixture
def ray_start(tmp_path, monkeypatch):
    """Writes what `ray start` leaves on a machine."""
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)

    def start(address):
        (tmp_path / "ray").mkdir()
        (tmp_path / "ray/ray_current_cluster").write_text(address)

    return start


def test_an_address_goes_before_the_environment_and_that_before_this_machine(ray_start, monkeypatch):
    with pytest.raises(ClusterError, match=r"RAY_ADDRESS is not set, and no `ray start`.*set cluster.address=<host>:"):
        _address(EXISTING)
    ray_start("10.0.0.1:6379")
    assert _address(EXISTING)[0] == "10.0.0.1:6379"
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    assert _address(EXISTING)[0] == "10.0.0.1:6379"
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.2:6379")
    assert _address(EXISTING) == ("10.0.0.2:6379", "RAY_ADDRESS=10.0.0.2:6379")
    named = ClusterConfig(kind="existing", address="[fd00::3]:6379")
    assert _address(named) == ("[fd00::3]:6379", "cluster.address=[fd00::3]:6379")


@pytest.mark.parametrize("told", ["local", "nonsense", "http://head:8265", "ray://head:10001", "head:65536", "head:"])
def test_nonsense_in_the_environment_is_refused_by_its_name(ray_start, monkeypatch, told):
    monkeypatch.setenv("RAY_ADDRESS", told)
    with pytest.raises(ClusterError, match=rf"RAY_ADDRESS={told}: must be <host>:<port>.*`ray job submit`"):
        _address(EXISTING)


def test_a_cluster_that_is_not_there_is_named():
    with pytest.raises(ClusterError, match=r"cluster.address=127.0.0.1:1: no Ray cluster there .*`ray start --head`"):
        _connect(ClusterConfig(kind="existing", address="127.0.0.1:1"))


# --- its folder ---------------------------------------------------------------------------------------------------


@pytest.fixture
def temporary(monkeypatch):
    """Makes a folder the system's for temporary files."""

    def choose(path):
        monkeypatch.delenv("RAY_TMPDIR", raising=False)
        monkeypatch.setattr("tempfile.tempdir", str(path))
        return path

    return choose


def test_a_session_has_a_new_folder_of_its_owner_where_paths_of_sockets_are_short_enough(temporary, tmp_path):
    with tempfile.TemporaryDirectory(prefix="a", dir="/tmp") as short:
        for place, parent in [(short, short), (tmp_path / ("b" * 30), "/tmp")]:
            temporary(place)
            with _session_folder() as folder:
                private = Path(folder).parent
                state = private.stat()
                assert (str(private.parent), stat.S_IMODE(state.st_mode), state.st_uid) == (parent, 0o700, os.getuid())
                assert len(f"{folder}/session_2026-11-25_17-45-38_742662_4194304/sockets/plasma_store") < 108
                (private / "ray").mkdir()
            assert not private.exists()


def test_a_place_where_no_folder_can_be_made_is_named(temporary):
    temporary("/proc/self")
    with pytest.raises(ClusterError, match=r"Ray's session can't lie in /proc/self \(.*; set TMPDIR to a short path"):
        _session_folder().__enter__()


# --- its token ------------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_a_token_is_made_once_for_its_owner_alone(home):
    file, tokens = home / ".ray/auth_token", set()
    for _ in range(2):
        require_token()
        tokens.add(file.read_text())
    [token] = tokens
    assert len(bytes.fromhex(token)) == 32
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)] == [0o600, 0o700]
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("bit", [0o40, 0o20, 0o10, 0o4, 0o2, 0o1])
def test_a_token_that_others_could_read_or_write_is_kept_and_closed(home, bit):
    file = home / ".ray/auth_token"
    file.parent.mkdir()
    file.write_text("f" * 64)
    file.chmod(0o600 | bit)
    require_token()
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("f" * 64, 0o600)


def test_authentication_is_not_switched_off(home, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "f" * 64)
    require_token()
    assert list(home.iterdir()) == [], "a token in the environment needs no file"
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with pytest.raises(ClusterError, match=r"RAY_AUTH_MODE=disabled: .*run programs as you: unset RAY_AUTH_MODE"):
        require_token()


@pytest.mark.parametrize("folder", ["none", "file", "/proc"])
def test_without_a_home_that_can_be_written_the_token_is_in_no_file(home, monkeypatch, folder):
    (home / "file").mkdir()
    (home / "file/.ray").touch()
    before = sorted(home.rglob("*"))
    monkeypatch.setenv("HOME", str(home / folder))
    # What is set below is taken back after the test.
    tokens = set()
    for _ in range(2):
        monkeypatch.setenv("RAY_AUTH_TOKEN", "")
        require_token()
        tokens.add(os.environ["RAY_AUTH_TOKEN"])
    assert len(tokens) == 2
    assert all(re.fullmatch("[0-9a-f]{64}", token) for token in tokens)
    assert sorted(home.rglob("*")) == before
