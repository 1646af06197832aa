"""What is spent of an account: each entry once, whoever dies or comes between."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.store import accounts
from tiltmeter.storage.store.processes import Process

pytestmark = pytest.mark.usefixtures("marked")


def spent(amounts):
    return sum(amount["epsilon"] for amount in amounts)


def enter(store, entry, amount, limit, account="people"):
    """What is spent, and whether this entry is new; None if it is turned down."""
    balance = accounts.enter(store, account, entry, {"epsilon": amount}, lambda amounts: spent(amounts) <= limit)
    return balance and (spent(balance.amounts), balance.is_new)


def test_entries_of_an_account_add_up_once_each_until_the_limit(store):
    for asked, answer in [
        (("a", 9.0, 3.0), None),
        (("a", 2.0, 2.0), (2.0, True)),
        (("a", 2.0, 2.0), (2.0, False)),
        (("b", 3.0, 5.0), (5.0, True)),
        (("c", 0.5, 5.0), None),
        (("c", 0.5, 6.0), (5.5, True)),
        (("a", 3.0, 3.0, "places"), (3.0, True)),
    ]:
        assert enter(store, *asked) == answer


def test_an_amount_is_kept_as_it_is_and_put_together_by_whoever_asks(store):
    """Entries of earlier versions are a number and its unit."""
    first, second = {"epsilon": 3.0, "law": "norm"}, {"epsilon": 1.0, "delta": 1e-6, "law": "gaussian"}
    seen = []
    for name, amount in {"a": first, "b": second}.items():
        accounts.enter(store, "people", name, amount, lambda amounts: not seen.append(amounts))
    assert seen[-1] == [first, second]
    row = '{"amount": 3, "unit": "epsilon per unit of distance", "confirmed": true}'
    (store.local_path / "accounts/people/b.json").write_text(row)
    balance = accounts.enter(store, "people", "b", {}, lambda _: False)
    assert balance.amounts == [first, {"epsilon": 3.0, "unit": "epsilon per unit of distance"}]


@pytest.mark.parametrize("name", ["../x", "", "a/b"])
def test_a_name_that_leads_elsewhere_is_refused(store, name):
    with pytest.raises(ValueError, match="must be letters"):
        enter(store, "a", 1.0, 1.0, name)


@pytest.mark.parametrize("amount", [None, "NaN", "-5", "Infinity", '"many"'])
def test_an_entry_that_is_damaged_or_of_no_amount_stops_everything(store, amount):
    enter(store, "a", 1.0, 9.0)
    row = f'{{"amount": {amount}, "unit": "1/distance", "confirmed": true}}' if amount else "{}"
    (store.local_path / "accounts/people/a.json").write_text(row)
    with pytest.raises(StorageError, match="nothing more may be"):
        enter(store, "b", 1.0, 9.0)


DYING = """
import os, sys
from tiltmeter.storage.store import accounts
from tiltmeter.storage.store.ledger import Store

write = accounts._write

def dying(store, path, name, entry):
    if entry.is_confirmed:
        os._exit(9)
    write(store, path, name, entry)

accounts._write = dying
accounts.enter(Store(sys.argv[1]), "people", "a", {"epsilon": 2.0}, lambda _: True)
"""


def test_an_entry_that_a_death_left_unconfirmed_counts_and_allows_nothing_by_itself(store):
    assert subprocess.run([sys.executable, "-c", DYING, store.root], check=False).returncode == 9
    assert enter(store, "b", 4.0, 5.0) is None
    assert enter(store, "b", 3.0, 5.0) == (5.0, True)
    assert enter(store, "a", 2.0, 4.0) is None
    assert enter(store, "a", 2.0, 5.0) == (5.0, True)
    assert enter(store, "a", 2.0, 1.0) == (5.0, False)


def test_what_a_killed_process_has_half_written_stops_nothing_and_goes(store):
    enter(store, "a", 1.0, 9.0)
    path = f"{store.path}/accounts/people/b.json"
    half = Path(f"{path}.{replace(Process.current(), number=2**22 + 1).name}-0123abcd.partial")
    half.write_bytes(b"")
    assert enter(store, "b", 1.0, 9.0) == (2.0, True)
    assert store.clean_up() == 1
    assert not half.exists()
    assert enter(store, "c", 1.0, 9.0) == (3.0, True)


def test_who_is_turned_down_takes_back_nothing_that_another_has_entered(store, monkeypatch):
    """While one has claimed an entry, another enters the same and spends it, and a third claims something else."""
    write, third = accounts._write, store.local_path / "accounts/people/c.json"

    def write_while_others_enter(*arguments):
        monkeypatch.setattr(accounts, "_write", write)
        write(*arguments)
        assert enter(store, "a", 6.0, 10.0) == (6.0, True)
        third.write_text('{"entry": "c", "amount": {"epsilon": 6.0}, "confirmed": false}')

    monkeypatch.setattr(accounts, "_write", write_while_others_enter)
    assert enter(store, "a", 6.0, 10.0) is None
    third.unlink()
    assert enter(store, "c", 6.0, 10.0) is None
    assert enter(store, "a", 6.0, 10.0) == (6.0, False)
    assert enter(store, "b", 4.0, 10.0) == (10.0, True)


def test_what_was_turned_down_because_another_came_first_leaves_no_claim(store, monkeypatch):
    write, other = accounts._write, store.local_path / "accounts/people/c.json"

    def write_after_another(*arguments):
        write(*arguments)
        other.write_text('{"entry": "c", "amount": {"epsilon": 6.0}, "confirmed": true}')

    with monkeypatch.context() as patch:
        patch.setattr(accounts, "_write", write_after_another)
        assert enter(store, "a", 6.0, 10.0) is None
    assert enter(store, "b", 4.0, 10.0) == (10.0, True)


@pytest.mark.parametrize("place", ["accounts", "accounts/people", "accounts/people/a.json"])
def test_an_account_that_a_link_has_replaced_is_not_begun_anew(store, tmp_path, place):
    enter(store, "a", 2.0, 3.0)
    (store.local_path / place).rename(tmp_path / "elsewhere")
    (store.local_path / place).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match=rf"/{place}: is a symbolic link"):
        enter(store, "b", 2.0, 3.0)
