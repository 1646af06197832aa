"""Slices of losses by columns of the user's own, as a file, and tested again on other rows."""

import json
import random
import re

import numpy as np
import pytest

from tests.jobs.classifiers.errors.made_up_tweets import SMALL, WATCHED, by_row, numbers
from tests.jobs.classifiers.rows import read_rows, write_rows
from tiltmeter.jobs.classifiers.errors.config import find_sources
from tiltmeter.jobs.classifiers.errors.tables import in_words
from tiltmeter.operators.statistics.designs.one_sided import positive_p
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.storage.errors import InputError, Refusal

OWN = ["data.columns=[age, country, premium, day, same]", "data.edges={age: [30, 50]}"]


def losses_by_columns(seed, num_rows=1600):
    """Rows of users with eight each; losses are large of one country and plan from 50 on, and then grew."""
    rng, rows = random.Random(seed), []
    for row in range(num_rows):
        age, country, premium = rng.randrange(18, 80), rng.choice(["DE", "FR"]), rng.random() < 0.5
        is_worse = age >= 50 and country == "DE" and premium
        loss, before = (2 * is_worse * late + rng.gauss(0, 1) ** 2 for late in (1, 0))
        cells = [f"r{row}", age, country, str(premium), f"202{row % 3}-03-{1 + row % 28:02}", loss]
        rows.append([*cells, -loss if row != 5 else "", -before, f"user {row // 8}"])
    return [["id", "age", "country", "premium", "day", "same", "score", "score_before", "user"], *rows]


@pytest.fixture(scope="module")
def rows_of_losses(tmp_path_factory):
    """1,600 rows of 200 users, one of them without a loss."""
    return write_rows(tmp_path_factory.mktemp("losses") / "rows.csv", losses_by_columns(3))


@pytest.fixture(scope="module")
def large(run_here, rows_of_losses, tmp_path_factory):
    place = tmp_path_factory.mktemp("large")
    return run_here(*losses_of(rows_of_losses), f"store={place}/store", f"run_dir={place}/run", watched=WATCHED)


def losses_of(file):
    given = [f"data.path={file}", "data.text=null", "data.label=null", "data.id=id", "data.group=user"]
    given += [*OWN, "data.loss=score", "data.previous_loss=score_before", "data.high_is_good=true", *SMALL]
    return ["job=error_characterisation", *given]


@pytest.mark.once("error_characterisation")
def test_slices_of_losses_by_columns_alone(large, rows_of_losses):
    run = large
    assert run.published == {"texts", "features", "slices", "flagged", "versions", "columns"}
    [first, *_] = run.rows("slices", leading=1)
    assert first["predicates"][0].startswith("same >= ")  # the loss itself
    others = [row for row in run.rows("slices") if not any("same" in name for name in row["predicates"])]
    planted = max((row for row in others if row["p_value"] <= 0.05), key=lambda row: row["confirmed_difference"])
    assert {*planted["predicates"]} == {"age >= 50", "country = DE", "premium = true"}
    assert planted["p_value"] <= 0.05
    cells = [row[1:] for row in read_rows(rows_of_losses)[1:]]
    halves = by_row(run, "texts", "half")
    assert [row for row in halves if halves[row] is None] == [5]
    [unjudged] = run.rows("texts", row=5)
    assert (unjudged["status"], unjudged["reason"]) == ("no_loss", "the row has no loss")
    facts = {"country = DE": lambda cell: cell[1] == "DE", "premium = true": lambda cell: cell[2] == "True"}
    facts |= {"age >= 50": lambda cell: int(cell[0]) >= 50, "age in [30, 50)": lambda cell: 30 <= int(cell[0]) < 50}
    facts |= {"day.year = 2021": lambda cell: cell[3].startswith("2021")}
    units, checked = units_of([cell[7] for cell in cells], "group"), 0
    for row in (row for row in run.rows("slices") if {*row["predicates"]} <= facts.keys()):
        checked += 1
        for prefix, half in (("", "exploration"), ("confirmed_", "confirmation")):
            inside = np.array(
                [
                    halves[at] == half and all(facts[name](cell) for name in row["predicates"])
                    for at, cell in enumerate(cells)
                ]
            )
            values = np.array([-float(cells[at][5]) for at in np.flatnonzero(inside)])
            ends = mean(values, units.part(inside), level=0.9)
            given = numbers(row, *(f"{prefix}{name}" for name in ("rate" if prefix else "error_rate", "low", "high")))
            assert given == pytest.approx([ends.value, ends.low, ends.high])
            everyone = np.mean([-float(cell[5]) for at, cell in enumerate(cells) if halves[at] == half])
            assert row[f"{prefix}difference"] == pytest.approx(ends.value - everyone)
    assert checked > 8
    worse = max(
        (row for row in run.rows("versions") if not any("same" in name for name in row["predicates"])),
        key=lambda row: row["change"],
    )
    assert {*worse["predicates"]} < {"age >= 50", "country = DE", "premium = true"}  # of two at most
    assert worse["p_value"] <= 0.05
    everything = run.rows("versions", slice="all texts")[0]
    both = [(-float(cell[5]), -float(cell[6])) for at, cell in enumerate(cells) if at != 5]
    assert (everything["after"], everything["before"]) == pytest.approx(tuple(np.mean(both, axis=0)))
    listed = run.rows("flagged")
    assert all(row["predicted"] is row["score"] is row["label"] is None for row in listed)
    assert [row["id"] for row in sorted(listed, key=lambda row: row["row"])] == [f"r{row}" for row in range(1600)]
    assert {row["row"]: row["loss"] for row in listed} == {
        at: pytest.approx(-float(cell[5])) if cell[5] else None for at, cell in enumerate(cells)
    }
    assert next(row for row in listed if row["row"] == 5)["status"] == "no_loss"
    facts |= {"same >=": lambda cell: float(cell[4]) >= float(first["predicates"][0].removeprefix("same >= "))}
    confirmed = [row["predicates"] for row in run.rows("slices") if (row["confirmed_p"] or 0.05) < 0.05]
    assert confirmed == [first["predicates"]]
    assert {row["row"]: row["reasons"] for row in listed} == {
        at: [in_words(first["predicates"])] * facts["same >="](cell) for at, cell in enumerate(cells)
    }
    leak, *others = columns = run.rows("columns")
    assert (leak["column"], leak["is_leak"], leak["auroc"]) == ("same", True, 1.0)
    assert [row["is_leak"] for row in others] == [False] * 4
    assert {row["column"]: row["type"] for row in columns} == {
        "age": "number",
        "country": "category",
        "premium": "boolean",
        "day": "date",
        "same": "number",
    }
    assert run.rows("columns", column="age")[0]["edges"] == [30.0, 50.0]
    page_text = (run.path / "report.html").read_text()
    assert "Same tells alone which losses are large" in page_text


def test_infinite_losses_are_refused_with_their_rows_and_signs_that_a_score_has_not(configured, tmp_path):
    file = write_rows(tmp_path / "bad.csv", [["a", "loss"], ["x", "1.5"], ["y", "inf"], ["z", "-0.5"], ["z", "-inf"]])
    given = ["job=error_characterisation", f"data.path={file}", "data.text=null", "data.label=null", "data.columns=[a]"]
    message = r"data.loss: column 'loss' of .* is infinite in 2 of 4 rows \(counted from 0: 1, 3\); bound it"
    with pytest.raises(InputError, match=message):
        find_sources(configured(*given, "data.loss=loss"))
    write_rows(file, [["a", "loss"], ["x", "1.5"], ["z", "-0.5"]])
    with pytest.raises(InputError, match=r"slices.score=sliceline: is for losses of 0 and more; data.loss has others"):
        find_sources(configured(*given, "data.loss=loss", "slices.score=sliceline"))
    with pytest.raises(InputError, match=r"data.path: .* has no column 'b'; its columns are 'a', 'loss'"):
        find_sources(configured(*given, "data.loss=loss", "data.columns=[b]"))


# --- slices as a file, and tested again -------------------------------------------------------------------------------


def condition(name, operator, value=None, part=""):
    known = {"of": "column", "operator": operator, "name": name, "value": value, "part": part}
    return {key: one for key, one in known.items() if one not in (None, "")}


OLD, GERMAN, PAYING = condition("age", ">=", 50.0), condition("country", "=", "DE"), condition("premium", "=", "true")
BY_HAND = {
    "old, German and paying": [OLD, GERMAN, PAYING],
    "French": [condition("country", "=", "FR"), condition("age", "<", 50)],
    "from a day on": [condition("day", ">=", "2021-06-01", "day"), condition("age", "missing")],
    "of 2020": [condition("day", "=", "2020", "year")],
}
"""What was planted, what was not, what no row has, and what another cut of days has."""


def slice_file(place, **changed):
    """A file by hand, of these slices."""
    slices = [{"slice": name, "conditions": conditions} for name, conditions in BY_HAND.items()]
    file = {"format": "tiltmeter.slices/1", "loss": "score", "high_is_good": True, "by_prediction": False}
    path = place / "slices.json"
    path.write_text(json.dumps(file | {"slices": slices} | changed))
    return path


@pytest.fixture(scope="module")
def fresh(run_here, tmp_path_factory):
    place = tmp_path_factory.mktemp("fresh")
    file = write_rows(place / "fresh.csv", losses_by_columns(11, 800))
    given = [*losses_of(file), "slices.max_predicates=1", f"data.slices={slice_file(place)}"]
    return run_here(*given, f"store={place}/store", f"run_dir={place}/run"), file


def test_the_file_says_where_slices_are_from_and_how_large_they_were(large, rows_of_losses):
    file = json.loads((large.path / "exports" / "slices.json").read_text())
    [row] = [row for row in large.rows("slices") if row["leading"] == 1]
    [known] = file.pop("slices")
    edge = float(row["predicates"][0].removeprefix("same >= "))
    assert known["conditions"] == [condition("same", ">=", edge)]
    words = f"texts where same >= {row['predicates'][0].removeprefix('same >= ')}"
    assert (known["slice"], known["words"], known["direction"]) == (row["slice"], words, "above")
    names = {"size": "confirmed_size", "loss": "confirmed_rate", "p_value": "p_value", "confirmed_p": "confirmed_p"}
    assert {name: known[name] for name in names} == {name: row[column] for name, column in names.items()}
    confirming = by_row(large, "texts", "group", half="confirmation")
    losses = {at: -float(cell[6]) for at, cell in enumerate(read_rows(rows_of_losses)[1:]) if cell[6]}
    values = np.array([losses[at] for at in confirming])  # the column is the loss itself
    inside = values >= edge
    assert known["num_groups"] == len({group for group, kept in zip(confirming.values(), inside, strict=True) if kept})
    assert known["difference"] == pytest.approx(values[inside].mean() - values[~inside].mean())
    assert known["difference_low"] < known["difference"] < known["difference_high"]
    digest = file["data"].pop("digest")
    assert re.fullmatch("[0-9a-f]{32}", digest)
    about = {"loss": "score", "high_is_good": True, "by_prediction": False, "level": 0.9}
    about["data"] = {"name": "rows.csv", "rows": 1600, "seed": 4}
    assert file == {"format": "tiltmeter.slices/1"} | about


def test_slices_by_hand_are_tested_on_all_rows_each_as_one_hypothesis(fresh):
    run, file = fresh
    cells = [row for at, row in enumerate(read_rows(file)[1:]) if at != 5]
    values, units = np.array([-float(row[6]) for row in cells]), units_of([row[8] for row in cells], "group")
    ages, countries = ([row[place] for row in cells] for place in (1, 2))
    old = np.array([int(age) >= 50 for age in ages])
    german, paying = (np.array([row[place] == one for row in cells]) for place, one in ((2, "DE"), (3, "True")))
    of_2020 = np.array([row[4].startswith("2020") for row in cells])
    assert {*countries} == {"DE", "FR"}
    expected = [old & german & paying, ~german & ~old, np.zeros(len(cells), dtype=bool), of_2020]
    rows, p_values = run.rows("retests"), []
    assert [row["slice"] for row in rows] == [*BY_HAND]
    for row, inside in zip(rows, expected, strict=True):
        assert (row["size"], row["num_groups"]) == (inside.sum(), units.part(inside).num)
        if not inside.any():
            assert (row["status"], row["error_rate"], row["p_value"], row["holm_p"]) == ("too_few_units", *[None] * 3)
            continue
        assert row["error_rate"] == pytest.approx(values[inside].mean())
        x, residuals = inside - inside.mean(), values - values.mean()
        assert row["difference"] == pytest.approx(values[inside].mean() - values[~inside].mean())
        assert row["difference_low"] < row["difference"] < row["difference_high"]
        sums = units.sums(x * residuals)
        p, _ = positive_p(sums, units.sums(x * x), "group")
        assert row["p_value"] == pytest.approx(p)
        p_values.append(p)
    known = [row["holm_p"] for row in rows if row["holm_p"] is not None]
    assert known == pytest.approx(holm(np.array(p_values)).tolist())
    assert [row["holm_p"] <= 0.05 for row in rows if row["holm_p"] is not None] == [True, False, False]
    text = (run.path / "report.html").read_text()
    assert "Old, German and paying, tested again: shown to be worse, with a difference of " in text
    assert "French, tested again: not shown to be worse, with a difference of " in text


def test_rows_in_which_a_slice_was_found_say_nothing_of_it(large, run_here, rows_of_losses, tmp_path):
    given = [*losses_of(rows_of_losses), f"data.slices={large.path}/exports/slices.json", "slices.max_predicates=1"]
    [row] = run_here(*given, f"store={tmp_path}/store", f"run_dir={tmp_path}/run").rows("retests")
    assert (row["status"], row["p_value"], row["holm_p"], row["size"] > 300) == ("same_rows", None, None, True)


ANOTHER = "data.slices={path}: is about data.loss={}, data.high_is_good={} and {} prediction, and this run has "
ANOTHER += "data.loss=score, data.high_is_good=true and no prediction: that is another hypothesis"
SLICE = "data.slices: slice 'a' of {path}: column {} of {file} has no "
FORM = "{path}, slices: "
FORMAT = "data.slices: {path} has format {} and not 'tiltmeter.slices/1'; name exports/slices.json of a run of "
FORMAT += "error_characterisation"
REFUSED = [
    ("", "{path} is not JSON: Expecting value: line 1 column 1 (char 0)"),
    ([], FORMAT.replace("{}", "None")),
    ({"format": "tiltmeter.slices/2"}, FORMAT.replace("{}", "'tiltmeter.slices/2'")),
    (
        {"slices": 2 * [{"slice": "a", "conditions": [OLD]}]},
        FORM + "it: Value error, each slice must have a name of its own, and not {",
    ),
    ({"slices": [{"slice": "a", "conditions": []}]}, FORM + "slices.0.conditions: Tuple should have at least 1 item"),
    ({"colour": 1}, FORM + "colour: Unexpected keyword argument, and not 1"),
    ({"loss": "squared"}, ANOTHER.replace("{}", "squared", 1).replace("{}", "true", 1).replace("{}", "no")),
    ({"high_is_good": False}, ANOTHER.replace("{}", "score", 1).replace("{}", "false", 1).replace("{}", "no")),
    ({"by_prediction": True}, ANOTHER.replace("{}", "score", 1).replace("{}", "true", 1).replace("{}", "a")),
    (condition("height", "<", 2), "data.columns: lacks height, which slices of {path} are about; add it there"),
    (condition("country", "=", "IT"), SLICE.replace("{}", "'country'") + "value 'IT'; it has 'DE', 'FR'"),
    (
        condition("day", "=", "2019", "year"),
        SLICE.replace("{}", "'day'") + "year '2019'; it has '2020', '2021', '2022'",
    ),
    (condition("country", "<", 3), SLICE.replace("{}", "'country'") + "number"),
    (condition("age", "<", "2020-01-01", "day"), SLICE.replace("{}", "'age'") + "day"),
    (
        condition("age", "<", "old"),
        FORM + "slices.0.conditions.0: Value error, of, name, operator, value and part do not go together",
    ),
    (
        {"of": "feature", "name": "links", "operator": ">", "value": 0},
        "data.text: is null, and slices of {path} are about ",
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_files_that_are_not_of_these_rows_are_refused_before_any_work(
    configured, rows_of_losses, tmp_path, change, message
):
    is_condition = isinstance(change, dict) and "operator" in change
    changed = {"slices": [{"slice": "a", "conditions": [change]}]} if is_condition else change
    path = slice_file(tmp_path, **(changed if isinstance(changed, dict) else {}))
    if not isinstance(changed, dict):
        path.write_text(changed if isinstance(changed, str) else json.dumps(changed))
    with pytest.raises(Refusal) as refused:
        find_sources(configured(*losses_of(rows_of_losses), f"data.slices={path}"))
    assert str(refused.value).startswith(message.replace("{path}", str(path)).replace("{file}", str(rows_of_losses)))
