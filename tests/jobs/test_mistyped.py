"""Mistyped commands, each of which is answered with the nearest name; the list is mistyped.txt."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from tiltmeter.jobs.app import main

LINES = (Path(__file__).parent / "mistyped.txt").read_text().splitlines()
MISTYPED = [line.split(" -> ") for line in LINES]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files with the columns, the jobs and the settings that are meant."""
    place = tmp_path_factory.mktemp("mistyped")
    rows = [f"{number} it rains,{number % 3 > 0},{number % 2 > 0},{20 + number}" for number in range(12)]
    (place / "texts.csv").write_text("text,label,predicted,age\n" + "\n".join(rows))
    (place / "letters.jsonl").write_text('{"text": "it rains in the afternoon"}\n')
    for name in "ab":
        (place / f"{name}.jsonl").write_text("".join(json.dumps({"doc_id": n, "acc": 1}) + "\n" for n in range(8)))
    (place / "wrong.yaml").write_text("test: asociation\n")
    (place / "night.yaml").write_text("test: association\n")
    (place / "mine").mkdir()
    (place / "mine/main.yaml").write_text("defaults: [tiltmeter, _self_]\n")
    return place


@pytest.mark.long
@pytest.mark.parametrize(("words", "answer"), MISTYPED, ids=[words for words, _ in MISTYPED])
def test_a_mistyped_command_is_answered_with_what_was_meant(folder, words, answer, monkeypatch, capfd, hydra_restored):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["tiltmeter", *shlex.split(words)])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capfd.readouterr().err
    assert (ended.value.code, answer in said) == (2, True), said


def test_the_list_is_long_and_names_everything_once():
    assert len({words for words, _ in MISTYPED}) == len(MISTYPED) >= 30
