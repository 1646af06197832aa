"""Apertium in its pipes: what it translates, which of its programs die, and which directions are installed."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from unittest.mock import Mock

import psutil
import pytest

from tiltmeter.jobs.sentiment.translation import apertium
from tiltmeter.jobs.sentiment.translation.apertium import Apertium, TranslationError, direction, installed_directions
from tiltmeter.jobs.sentiment.translation.pipes import TextPipe

SUBJECTS = ["Alonzo", "Lakisha", "My sister", "This man", "The woman", "I", "She", "They"]
VERBS = ["feels", "made me feel", "found", "saw", "left", "thinks it is", "has worn", "bought"]
ENDINGS = ["happy.", "sad", "furious!", "a light suit", "the party well.", "quickly gloomy", "well.", "joyful?"]
SENTENCES = [f"{subject} {verb} {ending}" for subject in SUBJECTS for verb in VERBS for ending in ENDINGS]

needs_engine = pytest.mark.skipif(
    not shutil.which("apertium") or "eng-spa" not in installed_directions(),
    reason="Apertium is not installed for English and Spanish: apt-get install apertium apertium-eng-spa",
)


@pytest.fixture(scope="module")
def spanish():
    with Apertium("eng-spa") as engine:
        yield engine


def programs():
    """What this process has started and what that has started, as far as it still runs."""
    return [program for program in psutil.Process().children(recursive=True) if runs(program)]


def runs(program):
    with suppress(psutil.NoSuchProcess):
        return program.status() != psutil.STATUS_ZOMBIE
    return False


def remaining(pids):
    """Those that are still there; any may end while it is looked for."""
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            yield psutil.Process(pid)


def are_gone(started):
    """In a moment: those that have lost their parent are waited for by nobody."""
    return any(not any(map(runs, started)) or time.sleep(0.01) for _ in range(12_000))


@pytest.fixture
def running():
    """An engine that has translated, and its programs."""
    before = {*programs()}
    with Apertium("eng-spa") as engine:
        engine.translate(["Sad"])
        yield engine, [program for program in programs() if program not in before]


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """Directions of an installation that is made up, whose pipes are what they are called with."""

    def install(**pipes):
        programs, modes = tmp_path / "bin", tmp_path / "share" / "apertium" / "modes"
        programs.mkdir()
        modes.mkdir(parents=True)
        for name, script in {"apertium-wblank-mode": "cat $2", "apertium": "echo Apertium 0.1"}.items():
            (programs / name).write_text(f"#!/bin/sh\n{script}\n")
            (programs / name).chmod(0o755)
        for mode, pipe in pipes.items():
            (modes / f"{mode.replace('_', '-')}.mode").write_text(pipe)
        monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
        monkeypatch.delenv("APERTIUM_DATADIR", raising=False)

    return install


ENDS = ["", ".", "..", "...", "!", "?", '."', " ."]
MARKS = [*"[]{}^$/\\@<>*~#\0\x01\n\xa0\u2028\ud800\ufffe\uffff😀", "[]", "[65]", "\\n", "^x<y>$", "\r\n\t", "&amp;"]
TRANSLATED = {
    "a sentence": ("The woman is angry.", "La mujer es enojada."),
    "no full stop": ("This man feels happy", "Este hombre siente feliz"),
    "an unknown word": ("The blorp is sad", "El blorp es triste"),
    "a word that is marked as unknown": ("*blorp*", "*blorp*"),
    "a dropped pronoun": ("I feel sad.", "Siento triste."),
    "a dropped pronoun within": ("Now I feel sad.", "Ahora siento triste."),
    **{f"end {end}": (f"The man is sad{end}", f"El hombre es triste{end}") for end in ENDS},
    **{f"mark {mark!r} alone": (mark, mark) for mark in MARKS},
    **{f"mark {mark!r} in text": (f"Sad {mark} sad{mark}", f"Triste {mark} triste{mark}") for mark in MARKS},
    "no text": ("", ""),
    "a blank": (" ", " "),
    "empty lines": ("\n\n", "\n\n"),
    "blanks around": (" Sad ", " Triste "),
    "a tabulator": ("\tSad\n", "\tTriste\n"),
    "paragraphs": ("The man.\n\nThe  woman.\n", "El hombre.\n\nLa  mujer.\n"),
    "more than a pipe holds": ("The man is sad. " * 4500, "El hombre es triste. " * 4500),
    "after that": ("Sad", "Triste"),
}


@pytest.mark.long
@needs_engine
def test_texts_are_translated_with_their_marks_and_blanks(spanish):
    found = spanish.translate([text for text, _ in TRANSLATED.values()])
    assert dict(zip(TRANSLATED, found, strict=True)) == {name: text for name, (_, text) in TRANSLATED.items()}
    assert spanish.translate([]) == []
    with Apertium("spa-eng") as english:
        assert english.translate(["La mujer es enojada."]) == ["The woman is angry."]


@needs_engine
def test_translations_do_not_depend_on_the_other_texts(spanish):
    texts = random.Random(0).sample(SENTENCES, 100)
    translated = dict(zip(texts, spanish.translate(texts), strict=True))
    shuffled = random.Random(1).sample(texts, len(texts))
    assert spanish.translate(shuffled) == [translated[text] for text in shuffled]


@needs_engine
def test_the_tagger_forgets_words_that_its_model_lacks(spanish):
    """'makes' is taken for a noun here, but for a verb by a tagger that has met 'worn' before."""
    text = "The situation makes Lakisha feel sad"
    with Apertium("eng-spa") as alone:
        assert spanish.translate(["worn", text])[1:] == alone.translate([text])


@pytest.mark.long
@needs_engine
@pytest.mark.parametrize("name", ["lt-proc", "lrx-proc", "all"])
def test_programs_that_are_killed_are_reported_with_the_first_text_not_done(running, name):
    engine, started = running
    if name == "all":
        os.killpg(os.getpgid(started[-1].pid), signal.SIGKILL)
    else:
        next(program for program in started if program.name() == name).kill()
    with pytest.raises(TranslationError, match=r"apertium: eng-spa was ended by SIGKILL before it did 'The man\.'"):
        engine.translate(["The man.", "The woman."])
    assert are_gone(started)
    assert engine.translate(["Sad"]) == ["Triste"]


@needs_engine
def test_programs_end_with_the_process_that_started_them():
    script = """
import os, psutil, signal
from tiltmeter.jobs.sentiment.translation.apertium import Apertium
engine = Apertium("eng-spa")
engine.translate(["Sad"])
print(*(program.pid for program in psutil.Process().children(recursive=True)), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    pids = [int(pid) for pid in killed.stdout.split()]
    assert killed.returncode == -signal.SIGKILL
    assert len(pids) > 3
    assert are_gone([*remaining(pids)])


@needs_engine
def test_version_names_release_and_direction():
    assert re.fullmatch(r"Apertium 3\.[\d.]+ eng-spa [0-9a-f]{32}", apertium.version("eng-spa"))
    assert apertium.version("eng-spa") == apertium.version("eng-spa")


def test_versions_change_with_the_data(made_up, tmp_path):
    data = tmp_path / "eng-spa.bin"
    data.write_bytes(b"old")
    made_up(eng_spa=f"sed -zu '{data}'")
    before = apertium.version("eng-spa")
    data.write_bytes(b"new")
    assert before.startswith("Apertium 0.1 eng-spa ")
    assert apertium.version("eng-spa") != before


def test_directions_are_found_by_either_code(made_up):
    made_up(eng_spa="cat", en_ca="cat", dan_nor="cat", spa_ast="cat")
    assert installed_directions() == {"eng-spa", "en-ca", "dan-nor", "spa-ast"}
    assert [direction("en", "es"), direction("en", "ca"), direction("es", "ast")] == ["eng-spa", "en-ca", "spa-ast"]


def test_directions_that_are_not_installed_are_refused_with_the_command_that_installs_them(
    made_up, tmp_path, monkeypatch
):
    made_up(eng_spa="cat")
    command = "'apt-get install apertium apertium-eng-spa'"
    with pytest.raises(TranslationError, match=rf"from 'es' to 'en' is installed \(installed: eng-spa\).*{command}"):
        direction("es", "en")
    for refused in (apertium.version, Apertium):
        with pytest.raises(TranslationError, match=r"no direction 'spa-eng' is installed.*set translator=marian"):
            refused("spa-eng")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installed_directions() == frozenset()
    with pytest.raises(TranslationError, match=r"installed: none"):
        direction("en", "es")


CANNOT_START = r"ended with status 127 \(.*no-such-program.*\) before it did 'a{80}\.\.\.'"
HALF = r"""sh -c 'printf "b[]\0half\0\0"; exit 3'"""
"""What a dying program still writes is no answer."""
FAILING = {
    "can't start": ("no-such-program | sed -zu s/a/b/", "a" * 100, CANNOT_START),
    "dies": (HALF, "first", r"ended with status 3 \(no message\) before it did 'second'"),
    "hangs": ("sed -zu s/a/b/ | sleep 600", "first", r"hung for 0\.1 s before it did 'first'"),
}


@pytest.mark.parametrize(("pipe", "first", "message"), FAILING.values(), ids=FAILING)
def test_a_pipe_that_fails_is_ended_and_says_why(made_up, pipe, first, message):
    made_up(eng_spa=pipe)
    before = {*programs()}
    with Apertium("eng-spa", timeout=0.1 if "hung" in message else 60.0) as engine:
        with pytest.raises(TranslationError, match=f"eng-spa {message}"):
            engine.translate([first, "second", "third"])
        assert are_gone([program for program in programs() if program not in before])


def test_a_batch_that_is_broken_off_leaves_no_answers_to_the_next(made_up, monkeypatch):
    made_up(eng_spa="sed -zu s/a/b/")
    with Apertium("eng-spa") as engine:
        with monkeypatch.context() as patched:
            patched.setattr(TextPipe, "_read", Mock(side_effect=KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                engine.translate(["a", "a"])
        assert engine.translate(["c", "d"]) == ["c", "d"]
