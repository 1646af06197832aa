"""The job `private_vectors` on made-up vectors: nights, refusals, few words, encoders, and its page."""

import traceback

import numpy as np
import polars as pl
import pytest

from tests.jobs.embedding.private_vectors.expected import settings
from tiltmeter.jobs.changes.comparing import Comparison
from tiltmeter.jobs.changes.past_runs import past_run
from tiltmeter.jobs.embedding.private_vectors.job import JOB
from tiltmeter.jobs.embedding.private_vectors.page import SECTIONS, findings
from tiltmeter.jobs.embedding.private_vectors.sources import PrivateSources, lines_of
from tiltmeter.jobs.embedding.private_vectors.tables import Audits
from tiltmeter.jobs.embedding.private_vectors.vocabulary import words_to_encode
from tiltmeter.jobs.report.views import shown
from tiltmeter.storage.corpora.sources import find_file
from tiltmeter.storage.errors import InputError, Refusal
from tiltmeter.storage.store.tables import key_columns

QUICK = [
    *("mechanisms=[M1]", "dimensions=4", "epsilons=[1.0]", "audit.epsilon=1.0", "exact_epsilons=[]", "audit.pairs=0"),
    *("deniability.words=0", "distances={words: 10, runs: 20, epsilons: [1.0], betas: []}"),
]


@pytest.fixture(scope="module")
def nights(run_here, folder, words, vectors, write_vectors):
    """What differs between a night and others: with vectors a little farther out, with other noise, and one that
    calls the words otherwise."""
    write_vectors(folder / "farther.bin", words, vectors * np.float32(1.05))
    write_vectors(folder / "renamed.bin", [f"{word}s" for word in words], vectors * np.float32(1.05))
    runs = {
        name: run_here(*settings(folder, f"night {name}", *QUICK, *more, file=f"{file}.bin"))
        for name, file, *more in (
            ("vectors", "vectors"),
            ("farther", "farther"),
            ("reseeded", "farther", "seed=1"),
            ("renamed", "renamed"),
        )
    }
    before = past_run(runs.pop("vectors").path)
    return {
        name: {
            (row["table"], row["key"]): row
            for row in Comparison(before, past_run(run.path)).differences().to_pylist()
            if row["table"] == "distances"
        }
        for name, run in runs.items()
    }


def test_nights_with_the_same_noise_on_the_same_words_are_paired_run_by_run(nights):
    paired, unpaired = nights["farther"], nights["renamed"]
    assert paired.keys() == unpaired.keys() == nights["reseeded"].keys()
    for name, rows in nights.items():
        kind = "replicas" if name == "farther" else "unpaired"
        assert {(row["paired_by"], row["num_draws"]) for row in rows.values()} == {(kind, 20)}
    for key, row in paired.items():
        # The noise that both nights share is much of what parts one run from another.
        assert row["difference"] == unpaired[key]["difference"]
        assert row["high"] - row["low"] < 0.5 * (unpaired[key]["high"] - unpaired[key]["low"])


def test_audits_of_few_words_are_told_apart(run_here, folder):
    """The nearest word may be the random one too, and the second pair may be of the first one's words; a bad row is
    none of them."""
    (folder / "three.vec").write_text("a 0 1\nb 2 0\nbad nan 1\nc 3 3\n")
    more = ["mechanisms=[gaussian]", "dimensions=2", "audit.pairs=2", "audit.draws=800", "audit.batch=100"]
    run = run_here(*settings(folder, "three", *QUICK, *more, "distances.epsilons=[]", file="three.vec"))
    [left_out] = run.record["left_out"]
    assert (left_out["num"], left_out["first"], left_out["file"]) == (1, "line 3", f"{folder}/three.vec")
    rows = run.rows("audits")
    choices = {f"{kind} {number}" for kind in ("nearest", "random") for number in range(2)}
    assert {row["choice"] for row in rows} == choices
    assert len({row["pair"] for row in rows}) > 1
    assert len({tuple(row[key] for key in key_columns(Audits.schema())) for row in rows}) == 4 * 7 == len(rows)


def test_the_page_says_that_a_map_breaks_the_published_promise_and_gives_each_row_of_a_task_a_line():
    about = {"projection": "gaussian", "dimensions": 6, "beta": 0.9}
    for stretch, is_broken in ((1.899, False), (1.901, True)):
        kinds = {"published": 1.9, "exact_vocabulary": stretch, "spectral": 2.1}
        rows = [about | {"sensitivity_kind": kind, "sensitivity": value} for kind, value in kinds.items()]
        [finding] = findings({"sensitivity": pl.DataFrame(rows)})
        assert finding.startswith(f"The map to 6 dimensions stretches no pair of words by more than {stretch}")
        assert finding.endswith("By this map M2 does not promise what is published.") == is_broken
    about = {"task": "t", "measure": "accuracy", "value": 0.5, "low": 0.4, "high": 0.6, "status": "ok", "reason": ""}
    about |= {"exact_epsilon": None, "epsilon": None}
    subjects = [("constant", 0, "nominal", "none")]
    subjects += [("M2", 54, kind, noise) for kind in ("nominal", "exact") for noise in ("occurrence", "word")]
    subjects += [("noise_only norm", num, "nominal", noise) for num in (54, 300) for noise in ("occurrence", "word")]
    names = ("mechanism", "dimensions", "compared_at", "noise_per")
    rows = [about | dict(zip(names, subject, strict=True)) for subject in subjects]
    rows = [row | ({"epsilon": 10.0} if row["mechanism"] == "M2" else {}) for row in rows]
    [section] = shown(SECTIONS, {"utility": pl.DataFrame(rows)})
    lines = section.blocks[0].figures["t"].layout["yaxis"]["ticktext"]
    assert len(set(lines)) == len(subjects)
    assert lines[-1] == "constant"


def test_bad_vectors_and_more_dimensions_than_there_are_are_refused_before_any_work(
    configured, run_here, folder, nights
):
    for content, message in {
        "a 1 2\nb 1 2\nc 1 2\nd 2 2\n": "has 2 different vectors, and must have 3 at least",
        "a 1 2\nb 2 2\nc 1 inf\n": "has 2 different vectors",
        "a 1 2\nb 2 2\nc 1 1\n": "dimensions=13: the vectors have 2",
    }.items():
        (folder / "bad.vec").write_text(content)
        with pytest.raises(Refusal, match=message):
            JOB.find_sources(configured(*settings(folder, "bad", "dimensions=13", file="bad.vec")))
    for store in ("wide", "night vectors"):  # the second has the vectors already, which are not read again
        with pytest.raises(InputError, match="dimensions=13: the vectors have 12"):
            run_here(*settings(folder, store, "dimensions=13", f"run_dir={folder}/wide_run"))
    assert not (folder / "wide").exists()


def test_lines_end_where_a_line_ends(tmp_path):
    """A file from another system has as many, and a separator within a line is none."""
    (tmp_path / "words.txt").write_bytes("\ufeffone\r\ntwo\u2028and\x0cmore\n\nfour".encode())
    assert lines_of(str(tmp_path / "words.txt"), "release.words") == ["one", "two\u2028and\x0cmore", "", "four"]
    (tmp_path / "words.txt").write_bytes(b"")
    assert lines_of(str(tmp_path / "words.txt"), "release.words") == []
    (tmp_path / "words.txt").write_bytes(b"s3cret \xff")
    with pytest.raises(
        InputError, match=r"^release.words: is no text in UTF-8; nothing is said of it here$"
    ) as refused:
        lines_of(str(tmp_path / "words.txt"), "release.words")
    assert "s3cret" not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize(
    ("content", "message"), [(b"a\n\xff\n", "is no text in UTF-8"), (b"a\nb\na\n", "has 2 different words")]
)
def test_words_that_no_encoder_could_take_are_refused(configured, tmp_path, content, message):
    (tmp_path / "words.txt").write_bytes(content)
    encoder = ["embedding=encoder", "embedding.model=none", f"vocabulary.word_file={tmp_path}/words.txt"]
    sources = PrivateSources(words=find_file(str(tmp_path / "words.txt"), "vocabulary.word_file"))
    with pytest.raises(InputError, match=f"^vocabulary.word_file: {message}"):
        words_to_encode(configured("job=private_vectors", *encoder), sources)
