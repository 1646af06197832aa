import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.store import accounts
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.marks import open_store
from tiltmeter.storage.store.processes import Process


def spent(amounts):
    return sum(amount["epsilon"] for amount in amounts)


def enter(store, account, entry, amount, limit):
    """What is spent, and whether this entry is new; None if it is turned down."""
    balance = accounts.enter(store, account, entry, {"epsilon": amount}, lambda amounts: spent(amounts) <= limit)
    return balance and (spent(balance.amounts), balance.is_new)


@pytest.fixture
def store(tmp_path):
    store = Store(str(tmp_path))
    open_store(store)
    return store


def test_entries_add_up_until_the_limit(store):
    assert enter(store, "people", "a", 2.0, 5.0) == (2.0, True)
    assert enter(store, "people", "b", 3.0, 5.0) == (5.0, True)
    assert enter(store, "people", "c", 0.5, 5.0) is None
    assert enter(store, "people", "c", 0.5, 6.0) == (5.5, True)


def test_an_entry_counts_once_however_often_it_is_made(store):
    assert [enter(store, "people", "a", 2.0, 3.0) for _ in range(3)] == [(2.0, True), (2.0, False), (2.0, False)]


def test_what_is_turned_down_is_not_spent(store):
    assert enter(store, "people", "a", 9.0, 3.0) is None
    assert enter(store, "people", "b", 3.0, 3.0) == (3.0, True)


def test_accounts_know_nothing_of_each_other(store):
    enter(store, "people", "a", 3.0, 3.0)
    assert enter(store, "places", "a", 3.0, 3.0) == (3.0, True)


def test_an_amount_is_kept_as_it_is_and_put_together_by_whoever_asks(store):
    first, second = {"epsilon": 3.0, "law": "norm"}, {"epsilon": 1.0, "delta": 1e-6, "law": "gaussian"}
    seen = []
    for name, amount in {"a": first, "b": second}.items():
        accounts.enter(store, "people", name, amount, lambda amounts: not seen.append(amounts))
    assert seen[-1] == [first, second]


def test_entries_of_earlier_versions_are_a_number_and_its_unit(store, tmp_path):
    enter(store, "people", "b", 1.0, 9.0)
    [entry] = tmp_path.rglob("b.json")
    entry.write_text('{"amount": 3, "unit": "epsilon per unit of distance", "confirmed": true}')
    balance = accounts.enter(store, "people", "b", {}, lambda _: False)
    assert balance.amounts == [{"epsilon": 3.0, "unit": "epsilon per unit of distance"}]


@pytest.mark.parametrize("name", ["../x", "", "a/b"])
def test_a_name_that_leads_elsewhere_is_refused(store, name):
    with pytest.raises(ValueError, match="must be letters"):
        enter(store, name, "a", 1.0, 1.0)


def test_a_damaged_entry_stops_everything(store, tmp_path):
    enter(store, "people", "a", 1.0, 9.0)
    [entry] = tmp_path.rglob("a.json")
    entry.write_text("{}")
    with pytest.raises(StorageError, match="nothing more may be"):
        enter(store, "people", "b", 1.0, 9.0)


def killed_before_it_is_confirmed(store, *entry):
    """Killed between the entry and its confirmation, in a process of its own."""
    script = (
        "import os, sys\n"
        "from tiltmeter.storage.store import accounts\n"
        "from tiltmeter.storage.store.ledger import Store\n"
        "write = accounts._write\n"
        "def dying(store, path, name, entry):\n"
        "    if entry.is_confirmed: os._exit(9)\n"
        "    write(store, path, name, entry)\n"
        "accounts._write = dying\n"
        f"account, name, amount, limit = {entry!r}\n"
        f"accounts.enter(Store({store.root!r}), account, name, {{'epsilon': amount}}, lambda _: True)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9


def test_an_entry_that_a_death_left_unconfirmed_counts_and_allows_nothing_by_itself(store):
    killed_before_it_is_confirmed(store, "people", "a", 2.0, 5.0)
    assert enter(store, "people", "b", 4.0, 5.0) is None
    assert enter(store, "people", "b", 3.0, 5.0) == (5.0, True)
    assert enter(store, "people", "a", 2.0, 4.0) is None
    assert enter(store, "people", "a", 2.0, 5.0) == (5.0, True)
    assert enter(store, "people", "a", 2.0, 1.0) == (5.0, False)


def test_what_a_killed_process_has_half_written_stops_nothing_and_goes(store, tmp_path):
    enter(store, "people", "a", 1.0, 9.0)
    path = f"{store.path}/accounts/people/b.json"
    half = Path(f"{path}.{replace(Process.current(), number=2**22 + 1).name}-0123abcd.partial")
    half.write_bytes(b"")
    assert enter(store, "people", "b", 1.0, 9.0) == (2.0, True)
    assert store.sweep() == 1
    assert not half.exists()
    assert enter(store, "people", "c", 1.0, 9.0) == (3.0, True)


@pytest.mark.parametrize("amount", ["NaN", "-5", "Infinity", '"many"'])
def test_an_amount_that_is_none_stops_everything(store, tmp_path, amount):
    enter(store, "people", "a", 1.0, 9.0)
    [entry] = tmp_path.rglob("a.json")
    entry.write_text(f'{{"amount": {amount}, "unit": "1/distance", "confirmed": true}}')
    with pytest.raises(StorageError, match="nothing more may be"):
        enter(store, "people", "b", 1.0, 9.0)


def test_who_is_turned_down_takes_back_nothing_that_another_has_entered(store, tmp_path, monkeypatch):
    """While one has claimed an entry, another enters the same and spends it, and a third claims something else."""
    write, third = accounts._write, tmp_path / "accounts/people/c.json"

    def write_while_others_enter(*arguments):
        monkeypatch.setattr(accounts, "_write", write)
        write(*arguments)
        assert enter(store, "people", "a", 6.0, 10.0) == (6.0, True)
        third.write_text('{"entry": "c", "amount": {"epsilon": 6.0}, "confirmed": false}')

    monkeypatch.setattr(accounts, "_write", write_while_others_enter)
    assert enter(store, "people", "a", 6.0, 10.0) is None
    third.unlink()
    assert enter(store, "people", "c", 6.0, 10.0) is None
    assert enter(store, "people", "a", 6.0, 10.0) == (6.0, False)
    assert enter(store, "people", "b", 4.0, 10.0) == (10.0, True)


def test_what_was_turned_down_because_another_came_first_leaves_no_claim(store, tmp_path, monkeypatch):
    write, other = accounts._write, tmp_path / "accounts/people/c.json"

    def write_after_another(*arguments):
        write(*arguments)
        other.write_text('{"entry": "c", "amount": {"epsilon": 6.0}, "confirmed": true}')

    with monkeypatch.context() as patch:
        patch.setattr(accounts, "_write", write_after_another)
        assert enter(store, "people", "a", 6.0, 10.0) is None
    assert enter(store, "people", "b", 4.0, 10.0) == (10.0, True)


@pytest.mark.parametrize("place", ["accounts", "accounts/people", "accounts/people/a.json"])
def test_an_account_that_a_link_has_replaced_is_not_begun_anew(store, tmp_path, place):
    enter(store, "people", "a", 2.0, 3.0)
    (tmp_path / place).rename(tmp_path / "elsewhere")
    (tmp_path / place).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match=rf"/{place}: is a symbolic link"):
        enter(store, "people", "b", 2.0, 3.0)
