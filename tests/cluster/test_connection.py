"""Where a cluster is looked for, what is refused before anything starts, and the token that a local cluster gets."""

import stat

import pytest

from tiltmeter.cluster.authentication import require_token
from tiltmeter.cluster.connection import ClusterConfig, ClusterError, _address, _connect

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
    ray_start("10.0.0.1:6379")
    assert _address(EXISTING)[0] == "10.0.0.1:6379"
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    assert _address(EXISTING)[0] == "10.0.0.1:6379"
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.2:6379")
    assert _address(EXISTING) == ("10.0.0.2:6379", "RAY_ADDRESS=10.0.0.2:6379")
    named = ClusterConfig(kind="existing", address="[fd00::3]:6379")
    assert _address(named) == ("[fd00::3]:6379", "cluster.address=[fd00::3]:6379")


def test_without_any_address_what_to_set_is_said(ray_start):
    with pytest.raises(
        ClusterError, match=r"RAY_ADDRESS is not set, and no `ray start`.*set cluster.address=<host>:<port>"
    ):
        _address(EXISTING)


@pytest.mark.parametrize("told", ["local", "nonsense", "http://head:8265", "ray://head:10001", "head:65536", "head:"])
def test_nonsense_in_the_environment_is_refused_by_its_name(ray_start, monkeypatch, told):
    monkeypatch.setenv("RAY_ADDRESS", told)
    with pytest.raises(ClusterError, match=rf"RAY_ADDRESS={told}: must be <host>:<port>.*`ray job submit`"):
        _address(EXISTING)


def test_a_cluster_that_is_not_there_is_named():
    with pytest.raises(ClusterError, match=r"cluster.address=127.0.0.1:1: no Ray cluster there .*`ray start --head`"):
        _connect(ClusterConfig(kind="existing", address="127.0.0.1:1"))


def test_an_address_of_another_kind_is_no_setting():
    with pytest.raises(ValueError, match="must be <host>:<port>, as `ray start` prints it"):
        ClusterConfig(kind="existing", address="ray://head:10001")


# --- its token ------------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_a_token_is_made_once_for_its_owner_alone(home):
    require_token()
    file = home / ".ray/auth_token"
    token = file.read_text()
    assert len(bytes.fromhex(token)) == 32
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)] == [0o600, 0o700]
    require_token()
    assert file.read_text() == token
    assert list(file.parent.iterdir()) == [file]


def test_a_token_that_everyone_could_read_is_kept_and_closed(home):
    file = home / ".ray/auth_token"
    file.parent.mkdir()
    file.write_text("f" * 64)
    file.chmod(0o644)
    require_token()
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("f" * 64, 0o600)


def test_a_token_in_the_environment_needs_no_file(home, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "f" * 64)
    require_token()
    assert list(home.iterdir()) == []


def test_authentication_is_not_switched_off(home, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with pytest.raises(ClusterError, match=r"RAY_AUTH_MODE=disabled: .*run programs as you: unset RAY_AUTH_MODE"):
        require_token()


def test_a_home_that_can_not_be_written_is_named_with_what_else_to_set(home):
    (home / ".ray").touch()
    with pytest.raises(ClusterError, match=r"auth_token: .* can't be kept there \(.*set RAY_AUTH_TOKEN"):
        require_token()
