import io
import re
from types import SimpleNamespace

import pytest
from rich.console import Console

from tiltmeter.cluster.progress import Display


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The seconds that it shows, which pass only where a test says so."""
    seconds = [1000.0]
    monkeypatch.setattr("tiltmeter.cluster.progress.time", SimpleNamespace(monotonic=lambda: seconds[0]))
    return seconds


def show(clock, terminal):
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=120, get_time=lambda: clock[0])
    with Display(console) as display:
        display.start("train", total=3, reused=1)
        clock[0] += 4.0
        display.advance()
        display.advance(failed=True)
        display.end()
    return out.getvalue()


def test_a_log_file_hears_of_a_long_first_unit(clock):
    out = io.StringIO()
    display = Display(Console(file=out, force_terminal=False, width=120))
    display.start("read", total=1, reused=0)
    clock[0] += 4.9
    display.tick()
    assert out.getvalue() == ""
    clock[0] += 0.1
    display.tick()
    assert re.fullmatch(r"read +0 / 1 done, for 5 s\n", out.getvalue())


def test_a_terminal_gets_a_live_row_with_counts_rate_and_time_left_and_a_log_file_a_line(clock):
    line = "train             2 / 2 done, 1 reused, 1 failed, 0.5 units/s in 4.0 s"
    assert show(clock, terminal=False).strip() == line
    shown = show(clock, terminal=True)
    for part in ("train", "2/2", "0.5 units/s", "1 reused, 1 failed", "0:00:04", "0:00:00"):
        assert part in shown


def test_a_terminal_that_moves_no_cursor_gets_lines(clock):
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=120, no_color=True, _environ={"TERM": "dumb"})
    with Display(console) as display:
        display.start("read", total=1, reused=0)
        clock[0] += 5.0
        display.tick()
        assert "0 / 1 done, for 5 s" in out.getvalue()
        display.end()
    assert "\x1b[?25" not in out.getvalue()
