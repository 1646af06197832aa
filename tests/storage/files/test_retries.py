import errno
import os

import pytest

from tiltmeter.storage.files.retries import Retries, is_transient

AWAY = OSError(errno.ESTALE, os.strerror(errno.ESTALE))
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Store:
    """Fails as it is told, and then answers."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.num_calls = 0

    def __call__(self):
        self.num_calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Pauses, which take no time but are believed to."""
    pauses = []
    monkeypatch.setattr("tenacity.nap.time.sleep", pauses.append)
    monkeypatch.setattr("time.monotonic", lambda: sum(pauses))
    return pauses


def s3(answer):
    return OSError(f"When reading information for key 'x' in bucket 'b': AWS Error {answer} during HeadObject")


PASSING = ["ESTALE", "EIO", "ETIMEDOUT", "ECONNREFUSED", "EHOSTUNREACH"]
"""What a network file system says of a server that is away."""
LASTING = ["ENOSPC", "EDQUOT", "EACCES", "EROFS", "ENOENT", "ENAMETOOLONG"]
IN_TROUBLE = [
    "NETWORK_CONNECTION",
    "SLOW_DOWN",
    "INTERNAL_FAILURE",
    "SERVICE_UNAVAILABLE",
    "HTTP status 503",
    "HTTP status 429",
]
"""What an object store answers then."""
REFUSING = ["ACCESS_DENIED", "NO_SUCH_BUCKET", "SIGNATURE_DOES_NOT_MATCH", "INVALID_ACCESS_KEY_ID", "HTTP status 400"]


@pytest.mark.parametrize("name", [*PASSING, *LASTING, *IN_TROUBLE, *REFUSING])
def test_what_waiting_helps_against(name):
    error = (
        OSError(getattr(errno, name), "")
        if name in PASSING + LASTING
        else s3(f"UNKNOWN ({name})" if " " in name else name)
    )
    assert is_transient(error) == (name in PASSING + IN_TROUBLE)


def test_other_errors_do_not_pass():
    assert not is_transient(ValueError("AWS Error SLOW_DOWN"))
    assert not is_transient(None)


def test_an_operation_is_repeated_until_the_store_answers(clock):
    store = Store(AWAY, s3("SLOW_DOWN"), AWAY)
    assert Retries()(store) == "answer"
    assert store.num_calls == 4
    assert len(clock) == 3


def test_an_error_that_stays_is_raised_at_once(clock):
    store = Store(FULL)
    with pytest.raises(OSError, match="No space left") as error:
        Retries()(store)
    assert error.value is FULL
    assert (store.num_calls, clock) == (1, [])


def test_pauses_are_random_grow_and_stay_below_ten_seconds(clock):
    Retries(seconds=1e6)(Store(*[AWAY] * 200))
    assert all(pause <= min(0.5 * 2**number, 10) for number, pause in enumerate(clock))
    assert len(set(clock)) == 200
    assert 3 < sum(clock[20:]) / 180 < 7


def test_the_last_error_is_raised_when_the_time_is_over(clock):
    with pytest.raises(OSError, match="Stale file handle"):
        Retries(seconds=60)(Store(*[AWAY] * 1000))
    assert 60 <= sum(clock) < 70


def test_a_store_that_stays_away_costs_its_time_once(clock):
    retries, store = Retries(seconds=60), Store(*[AWAY] * 1000)
    for _ in range(3):
        with pytest.raises(OSError, match="Stale file handle"):
            retries(store)
    assert sum(clock) < 70
    store.errors.clear()
    assert retries(store) == "answer"
    store.errors += [AWAY, AWAY]
    assert retries(store) == "answer"
