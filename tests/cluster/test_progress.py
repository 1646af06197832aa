import io
import re

from rich.console import Console

from tiltmeter.cluster.progress import Display


def show(terminal):
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=120)
    with Display(console) as display:
        display.start("train", total=3, reused=1)
        display.advance()
        display.advance(failed=True)
        display.end()
    return out.getvalue()


def test_a_log_file_gets_a_line_per_stage():
    line = re.sub(r"[\d.e+]+ units/s|[\d.]+ s$", "#", show(terminal=False).strip())
    assert line == "train             2 / 2 done, 1 reused, 1 failed, # in #"


def test_a_log_file_hears_of_a_long_first_unit(monkeypatch):
    out = io.StringIO()
    display = Display(Console(file=out, force_terminal=False, width=120))
    display.start("read", total=1, reused=0)
    display.tick()
    assert out.getvalue() == ""
    monkeypatch.setattr("tiltmeter.cluster.progress._SECONDS_BETWEEN_LINES", 0.0)
    display.tick()
    assert re.fullmatch(r"read +0 / 1 done, for 0 s\n", out.getvalue())


def test_a_terminal_gets_a_live_row_with_counts_rate_and_time_left():
    shown = show(terminal=True)
    for part in ("train", "2/2", "units/s", "1 reused, 1 failed", "0:00:00"):
        assert part in shown
