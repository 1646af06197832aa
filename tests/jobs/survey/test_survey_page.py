"""The three sentences, the picture and the commands that a survey with a control begins and ends with."""

import random
import shlex

import polars as pl
import pytest

from tiltmeter.jobs.report.html.elements import Listing
from tiltmeter.jobs.report.lead import Bar, Picture
from tiltmeter.jobs.report.terminal import bars
from tiltmeter.jobs.survey.page import _COMMANDS, findings, picture
from tiltmeter.jobs.survey.tables import Control, SmallestDifferences

MODEL = {"model": "sample", "language": "en"}
QUICK = ("embedding.num_replicas=2", "embedding.trainer.epochs=1", "embedding.trainer.dimensions=4")


def pooled(**pses):
    rows = [
        MODEL | {"word": word, "pse": value, "pse_low": low, "pse_high": high, "status": "ok", "reason": ""}
        for word, (value, low, high) in pses.items()
    ]
    return pl.DataFrame(rows)


def control(share=0.5, difference=(0.4, 0.2, 0.6), p=0.001, **cells):
    ends = dict(zip(("difference", "difference_low", "difference_high"), difference, strict=True))
    ends |= {f"{half}{end}": 0.5 for half in ("first", "second") for end in ("", "_low", "_high")}
    row = MODEL | {"word": "time", "share": share, "p": p, "status": "ok", "reason": ""} | ends | cells
    return {name: row.get(name) for name in Control.schema().names}


def limits(num_apart=0):
    row = MODEL | {"num_numbers": 4, "num_differences": 6, "num_apart": num_apart, "smallest": 0.2, "widest": 0.3}
    row |= {"smallest_tenfold": 0.0632, "num_tokens": 1234567, "status": "ok", "reason": ""}
    return pl.DataFrame([row]).select(SmallestDifferences.schema().names)


def said(**tables):
    return list(findings(tables))


def test_a_text_that_shows_nothing_is_said_to_show_nothing():
    [text] = said(pooled_psychometrics=pooled(maid=(0.6, 0.4, 0.8), smith=(0.35, 0.1, 0.7)))
    assert text.startswith("No side can be told of 2 occupations")
    assert text.endswith("The furthest is “smith”, PSE 0.350 [0.100, 0.700].")


def test_sides_are_counted_with_how_many_chance_would_name():
    rows = pooled(maid=(0.7, 0.6, 0.8), nurse=(0.9, 0.6, 1.0), smith=(0.3, 0.2, 0.4), cook=(0.5, 0.4, 0.6))
    [text] = said(pooled_psychometrics=rows)
    assert "Of 4 occupations, 2 to the female side (“nurse” and “maid”) and 1 to the male side (“smith”)" in text
    assert text.endswith("by chance about 0.2 would.")
    assert "could be measured" in said(pooled_psychometrics=rows.with_columns(status=pl.lit("too_few_pairs")))[0]


@pytest.mark.parametrize(
    ("num", "part"), [(0, "none can be told apart here"), (1, "1 is told apart here"), (3, "3 are told apart here")]
)
def test_limits_are_said_with_their_chance_and_what_they_assume(num, part):
    [text] = said(smallest_differences=limits(num))
    assert part in text
    for one in ("1,234,567 running words", "80% if it is 0.20 or more", "6 pairs", "0.06 at best, if"):
        assert one in text


@pytest.mark.parametrize(
    ("cells", "part"),
    [
        ({}, "was found: with a female cue before 50% of the occurrences of one half of “time”"),
        ({"p": 0.011}, "was not found"),
        ({"difference": (-0.4, -0.6, -0.2)}, "was not found"),
        ({"share": 0.0, "p": 0.4}, "Where nothing was planted, nothing was found: the halves of “time” differ by 0.40"),
        ({"share": 0.0, "difference": (-0.4, -0.6, -0.2)}, "by chance that comes in 1 of 100 texts"),
    ],
)
def test_a_control_is_found_by_its_p_and_its_side(cells, part):
    [text] = said(control=pl.DataFrame([control(**cells)]))
    assert part in text


def test_a_control_without_a_result_says_why():
    [text] = said(control=pl.DataFrame([control(status="too_rare", reason="'time' occurs too rarely")]))
    assert text == "The control could not be measured: 'time' occurs too rarely."


def test_several_models_are_named():
    rows = pl.concat([limits(), limits().with_columns(model=pl.lit("other"))])
    assert [text.split(":")[0] for text in said(smallest_differences=rows)] == ["sample", "other"]


# --- the picture ------------------------------------------------------------------------------------------------------


def test_a_picture_has_both_ends_of_the_occupations_and_all_halves():
    pses = {f"word{number}": (number / 10, 0.0, 1.0) for number in range(9)}
    made = picture({"pooled_psychometrics": pooled(**pses), "control": pl.DataFrame([control(), control(0.0)])})
    labels = [bar.label for bar in made.bars]
    assert labels[:6] == ["word8", "word7", "word6", "word2", "word1", "word0"]
    assert labels[6:] == ["time, with female cues", "time, with male cues", "time, one half", "time, other half"]
    assert picture({}) is None


@pytest.mark.parametrize(("encoding", "signs"), [("utf-8", "─├●┤┼"), ("ascii", "-|o|+"), ("latin-1", "-|o|+")])
@pytest.mark.parametrize("width", [40, 80, 133])
def test_bars_lie_where_their_numbers_are(encoding, signs, width):
    rng = random.Random(width)
    made = [Bar(f"w{number}", *sorted(rng.uniform(-1, 2) for _ in range(3))) for number in range(5)]
    made = [Bar(label, middle, low, high) for label, low, middle, high in made]
    _, *lines, scale = bars(Picture("title", 0.5, made), width, encoding)
    low, high = min(bar.low for bar in made), max(bar.high for bar in made)
    start, columns = 5, width - 2 - 9
    for bar, line in zip(made, lines, strict=True):
        assert len(line) <= width
        drawn = line[start : start + columns]
        places = [round((one - low) / (high - low) * (columns - 1)) for one in (bar.low, bar.value, bar.high)]
        assert drawn[places[1]] == signs[2]
        assert drawn.index(signs[1]) == places[0] or places[0] == places[1]
        assert {*drawn[places[0] + 1 : places[2]]} <= {signs[0], signs[2], signs[4]}
        assert set(drawn[: places[0]] + drawn[places[2] + 1 :]) <= {" ", "┊" if encoding == "utf-8" else ":"}
        assert line.endswith(f"{bar.value:.2f}".replace("-", "−"))
        line.encode(encoding) if encoding == "utf-8" else drawn.encode(encoding)
    assert scale.split()[0] == f"{low:.2f}".replace("-", "−")
    assert scale.split()[-1] == f"{high:.2f}"


# --- what to type next ------------------------------------------------------------------------------------------------


def test_the_commands_run_as_they_are_printed(run_here, made_up, tmp_path, monkeypatch):
    [own, wikipedia] = [line for block in _COMMANDS if isinstance(block, Listing) for line in block.text.splitlines()]
    monkeypatch.chdir(tmp_path)
    rng = random.Random(0)
    words = [*(f"w{number}" for number in range(20)), "she", "he", "woman", "man", "nurse", "lawyer", "soldier"]
    words += ["rose", "tulip", "ant", "wasp", "love", "peace", "hatred", "war"]
    (tmp_path / "my_texts.txt").write_text("\n".join(" ".join(rng.choices(words, k=20)) for _ in range(200)))
    program, *settings = shlex.split(own)
    assert program == "tiltmeter"
    assert run_here(*settings, *QUICK, "job.num_resamples=10").record["status"] == "succeeded"
    german = ["frau", "mann", "ärztin", "arzt", "lehrerin", "lehrer", *words[:20]]
    (tmp_path / "dump.txt").write_text("\n".join(" ".join(rng.choices(german, k=20)) for _ in range(200)))
    program, *settings = shlex.split(wikipedia)
    in_its_place = [f"corpus.path={tmp_path}/dump.txt", "corpus.format=text"]
    assert run_here(*settings, *in_its_place, *QUICK).record["job"] == "survey"
