"""Two run directories, or logs of two systems on the same items, as the command compares them; what is refused."""

import json
import shutil
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

from tests.fixtures.page_models import check_text
from tests.jobs.report.test_models import lines as shown_lines
from tiltmeter.jobs.changes.comparing import common_tables, compare
from tiltmeter.jobs.changes.past_runs import past_run, run_under_way
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.draws import draws_of, with_draws
from tiltmeter.jobs.upkeep.compare.log_settings import Logs
from tiltmeter.jobs.upkeep.compare.logs import find_logs
from tiltmeter.jobs.upkeep.compare.logs_page import page_of_systems
from tiltmeter.jobs.upkeep.compare.systems import systems_table
from tiltmeter.jobs.upkeep.overnight.tables import Changes, Jobs
from tiltmeter.operators.statistics.items.paired_items import paired_items
from tiltmeter.operators.statistics.units import each, units_of
from tiltmeter.storage.bad_records import collected
from tiltmeter.storage.errors import InputError, StorageError
from tiltmeter.storage.store.runs import opened


@pytest.fixture
def directory(tmp_path):
    """Makes the directory of a run that has these tables."""

    def make(name, tables, status="succeeded", settings="seed: 0\n", job="association", inputs=None):
        with opened(tmp_path / str(name)) as run:
            run.begin([*tables], job=job, versions={}, started=f"2026-11-2{name}T01:02:03+00:00")
            run.record["inputs"] = inputs or {}
            for table, content in tables.items():
                run.write_table(table, content)
            run.write_text("config.yaml", settings)
            run.write_record(status=status)
        return run.path

    return make


@pytest.fixture
def compared(run_here, tmp_path):
    """What the command makes of two directories."""

    def run(before, after, *words):
        places = [f"store={tmp_path}/store", f"run_dir={tmp_path}/found"]
        return run_here("job=compare", f"runs=['{before}','{after}']", *places, *words)

    return run


def test_two_directories_are_compared_and_reported(directory, history, compared):
    before = directory(1, {"tests": history.table({"a": {}, "b": {}})})
    after = directory(2, {"tests": history.table({"a": {"d": 9.0}})}, settings="seed: 1\n")
    found = compared(before, after)
    assert found.table("changes")["sentence"].to_pylist() == [
        "setting seed was 0 and is 1 now.",
        "table tests differs (1 row, before 2): 1 of 1 number with an interval moved beyond it.",
        "tests: row word b is gone.",
        "tests: d of word a moved beyond its interval, from 1 [0, 2] to 9 [0, 2], by 8 half-widths.",
    ]
    page = (found.path / "report.html").read_text()
    assert "What changed: association" in page
    assert page.index("2026-11-21 01:02:03 UTC") < page.index("2026-11-22 01:02:03 UTC")
    assert "1 of 1 number with an interval moved beyond it, 1 of them by half its width or more" in page
    started = {name: f"2026-11-2{name}T01:02:03+00:00" for name in (1, 2)}
    assert found.record["inputs"] == {
        "before": {"name": str(before), "job": "association", "started": started[1]},
        "after": {"name": str(after), "job": "association", "started": started[2]},
    }


def test_differences_are_corrected_together_and_changes_as_finely_listed_as_asked(history, directory, compared):
    """Of six words with draws one moved far, one little, and one whose p alone would do."""
    moves = {"far": 0.5, "near": 0.02, "alone": 0.035, "still": 0.0, "calm": 0.001, "quiet": -0.001}
    noise = np.array([0.01, -0.02, 0.0, 0.02, -0.01, 0.01, 0.0, -0.01])

    def made(place, values, num):
        table = history.table({word: {"d": value, "count": num} for word, value in values.items()})
        draws = np.linspace(-1.0, 1.0, 8) + place * noise
        rows = [row | draws_of("d", row["d"] + draws) for row in table.to_pylist()]
        tables = with_draws({"tests": (rows, history.schema)}, {"paired_by": "replicas", "seed": 0})
        return directory(place, dict(tables))

    before = made(0, dict.fromkeys(moves, 1.0), 7)
    after = made(1, {word: 1.0 + moved for word, moved in moves.items()}, 8)
    found = compared(before, after, "job.max_listed=5")
    changes, rows = pl.DataFrame(found.table("changes")), found.rows("differences")
    corrected = stats.false_discovery_control([row["p"] for row in rows])
    assert [row["q"] for row in rows] == pytest.approx(corrected.tolist())
    assert {row["row"]: row["difference"] for row in rows} == pytest.approx(
        {f"word {word}": moved for word, moved in moves.items()}
    )
    moved = {row["row"] for row in rows if row["q"] <= 0.05}
    assert {row["row"] for row in rows if row["verdict"] == "moved"} == moved
    assert {row["row"] for row in rows if row["p"] <= 0.05} - moved == {"word alone"}
    assert set(changes.filter("beyond")["row"]) == moved
    [count] = changes.filter(column="count").to_dicts()
    assert (count["num_changed"], count["difference"], count["median_difference"]) == (6, 1.0, 1.0)
    [table] = changes.filter(kind="table").to_dicts()
    assert (table["num_changed"], table["num_compared"]) == (len(moved), 6)


def test_a_run_under_way_is_read_before_its_record_is_complete(history, tmp_path):
    with opened(tmp_path / "run") as run:
        run.begin(["tests"], job="association", versions={})
        run.write_table("tests", history.table({"a": {}}))
        assert json.loads((run.path / "run.json").read_text())["tables"] == {"tests": {}}
        found = run_under_way(run, {"seed": 0})
    assert (found.tables["tests"]["rows"], found.settings) == (1, {"seed": 0})
    assert found.read("tests").equals(history.table({"a": {}}))


@pytest.fixture
def past_night(directory, history):
    """A night of these jobs, whose inputs and tables are given."""

    def make(number, versions, words):
        jobs = pa.Table.from_pylist([{"name": job, "status": "ok"} for job in versions], Jobs.schema())
        tables = {"jobs": jobs, "changes": Changes.schema().empty_table()}
        night = directory(number, tables, settings=f"jobs: night.yaml\nrun_dir: {number}\n", job="overnight")
        for job, version in versions.items():
            inputs = {"pairs": {"name": f"{job}.csv", "bytes": 9, "version": version}}
            settings = f"seed: {len(job)}\nseries: {job}\nrun_dir: {number}/{job}\n"
            directory(f"{number}/runs/{job}", {"tests": history.table(words[job])}, settings=settings, inputs=inputs)
        return past_run(night)

    return make


def test_two_nights_are_compared_by_the_inputs_and_tables_of_their_jobs(past_night):
    same = {"a": {"w": {}}, "bb": {"w": {}}, "same": {"w": {}}}
    before = past_night(1, {"a": "x", "bb": "y", "same": "z"}, same)
    after = past_night(2, {"a": "x2", "bb": "y2", "same": "z"}, same | {"a": {"w": {"d": 9.0}}})
    changes = pl.DataFrame(compare(before, after))
    assert changes.filter(kind="input")["item"].to_list() == ["a/pairs", "bb/pairs"]
    assert changes.filter(kind="setting").is_empty()
    assert changes.filter("beyond").select("table", "column", "row").rows() == [("a/tests", "d", "model en, word w")]
    assert set(changes["table"].drop_nulls()) <= {"a/tests", "jobs"}
    assert common_tables(before, after) == ["jobs", "a/tests", "bb/tests", "same/tests"]


# --- refusals -------------------------------------------------------------------------------------------------------


def spoil(path, how):
    if how == "gone":
        shutil.rmtree(path)
    elif how.startswith("settings: "):
        (path / "config.yaml").write_text(how.removeprefix("settings: "))
    elif how == "no settings":
        (path / "config.yaml").unlink()
    elif how == "outside":
        record = json.loads((path / "run.json").read_text())
        (path / "run.json").write_text(json.dumps(record | {"tables": {"../../secret": {"rows": 1}}}))
    else:
        (path / "run.json").write_text(how)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            "gone",
            r"runs: \S+ is not a run directory: it has no run.json that can be read \(No such file or directory\)",
        ),
        ("{", r"runs: \S+ is not a run directory: its run.json is not JSON"),
        ("[]", r"its run.json is of another program"),
        ("outside", r"its run.json is of another program"),
        ("no settings", r"its config.yaml can't be read"),
        ("settings: [1]", r"its config.yaml has no settings"),
        ("settings: !!python/object/apply:os.getcwd []", r"its config.yaml is not plain YAML \(could not determine a"),
    ],
)
def test_what_is_no_run_directory_is_refused(directory, how, message):
    path = directory(1, {})
    spoil(path, how)
    with pytest.raises(ConfigError, match=message):
        past_run(path)


def test_a_run_that_did_not_end_is_refused_and_one_that_failed_unless_that_is_allowed(directory, history, compared):
    at_work = directory(0, {}, status="running")
    before, after = (
        directory(number, {"tests": history.table({"a": {"d": number}})}, status="failed") for number in (1, 3)
    )
    with pytest.raises(ConfigError, match=r"is at work, or was killed: wait for it, or start it again with the same"):
        past_run(at_work, allow_failed=True)
    with pytest.raises(ConfigError, match=r"lack what failed: set job.allow_failed=true to compare the others"):
        compared(before, after)
    [row] = compared(before, after, "job.allow_failed=true").rows("differences")
    assert (row["difference"], row["verdict"]) == (2.0, "moved")


def test_a_table_that_is_gone_is_named(directory, history, compared):
    before, after = (directory(number, {"tests": history.table({"a": {"count": number}})}) for number in (1, 2))
    (before / "tests.parquet").unlink()
    with pytest.raises(StorageError, match=r"1: its table tests can't be read .*; run that job again"):
        compared(before, after)


# --- two systems, from logs of an evaluation harness ----------------------------------------------------------------

ITEMS = 40


def sample(number, acc, **more):
    """A line as lm-evaluation-harness writes it."""
    doc = {"question": f"question {number}", "template": f"template {number % 8}"}
    line = {"doc_id": number, "doc": doc, "target": 1, "filtered_resps": [[-1.5, False]], "acc": acc}
    return line | {"doc_hash": "ab", "arguments": {"gen_args_0": {"arg_0": "text"}}} | more


@pytest.fixture
def logs(tmp_path):
    """Writes logs of two systems, and settings that name them."""

    def write(first, second, **settings):
        for side, lines in (("first", first), ("second", second)):
            text = lines if isinstance(lines, str) else "".join(json.dumps(line) + "\n" for line in lines)
            (tmp_path / f"samples_{side}_2026-11-22.jsonl").write_text(text)
        places = {side: str(tmp_path / f"samples_{side}_*.jsonl") for side in ("first", "second")}
        return Logs(**places, **settings)

    return write


@pytest.fixture
def systems():
    right = np.random.default_rng(0).random((2, ITEMS)) < [[0.5], [0.8]]
    return [[sample(number, float(acc)) for number, acc in enumerate(row)] for row in right], right


def compared_systems(settings):
    return systems_table(find_logs(settings).pairs, settings)


def rows_of(settings):
    return compared_systems(settings).to_pylist()


def page_of(settings):
    return page_of_systems(settings, pl.DataFrame(compared_systems(settings)))


def test_systems_are_compared_item_by_item_whatever_the_order_of_the_lines(logs, systems):
    lines, (first, second) = systems
    [row] = rows_of(logs(lines[0], lines[1][::-1]))
    assert (row["num_items"], row["num_clusters"]) == (ITEMS, ITEMS)
    assert row["difference"] == pytest.approx(second.mean() - first.mean())
    assert (row["first_only"], row["second_only"]) == ((first & ~second).sum(), (second & ~first).sum())
    exact = stats.binomtest(row["first_only"], row["first_only"] + row["second_only"])
    assert row["mcnemar_p"] == pytest.approx(exact.pvalue)
    assert row["difference_low"] < row["difference"] < row["difference_high"]
    assert row["q"] == row["p"] == row["mcnemar_p"]


@pytest.mark.once("compare")
def test_columns_within_others_tell_what_are_units(logs, run_here, tmp_path):
    """Ten items of each of eight templates, of which seven favour the second system in six of their items."""
    right = [[float(at % 10 < 2), float(at % 10 < (8 if at < 70 else 1))] for at in range(80)]
    lines = [
        [sample(at, pair[side]) | {"doc": {"template": f"template {at // 10}"}} for at, pair in enumerate(right)]
        for side in (0, 1)
    ]
    written = logs(*lines)
    places = [f"logs.first='{written.first[0]}'", f"logs.second='{written.second[0]}'"]
    command = ["job=compare", *places, "logs.level=0.8", f"store={tmp_path}"]
    [row], [apart] = (
        run_here(*command, *more, f"run_dir={tmp_path}/run{len(more)}").rows("systems")
        for more in (["logs.cluster=doc.template"], [])
    )
    known = paired_items(*np.array(right).T, units_of(np.repeat(np.arange(8), 10), "template"), 0.8).difference
    assert (row["difference_low"], row["difference_high"]) == pytest.approx((known.low, known.high))
    sums = [6] * 7 + [-1]
    signs = np.array(list(product((-1, 1), repeat=8)))
    assert row["num_clusters"] == 8
    assert row["mcnemar_p"] == pytest.approx(np.mean(np.abs(signs @ sums) >= sum(sums)))
    assert row["p"] == row["mcnemar_p"]
    by_item = paired_items(*np.array(right).T, each(80, "item"), 0.8).difference
    assert (apart["num_clusters"], apart["p"]) == (80, pytest.approx(by_item.p))
    assert (apart["difference_low"], apart["difference_high"]) == pytest.approx((by_item.low, by_item.high))


def test_few_units_that_differ_have_no_p_value(logs):
    lines = [[sample(at, float(at < 5 * (1 - side))) for at in range(20)] for side in (0, 1)]
    [row] = rows_of(logs(*lines))
    assert (row["p"], row["q"], row["mcnemar_p"], row["status"]) == (None, None, None, "too_few_units")
    assert row["reason"].startswith('there is too little to go by: 5 of the unit "item that differs", and 6 are needed')
    [finding, *_] = page_of(logs(*lines)).lead.findings[0].items
    assert "the second system is neither clearly higher nor lower" in finding
    # Nor is a p-value 0 where nothing spreads.
    [row] = rows_of(logs(*[[sample(at, float(side)) for at in range(9)] for side in (0, 1)]))
    assert (row["p"], row["mcnemar_p"]) == (2**-8, 2**-8)
    assert row["difference_low"] < row["difference"] == 1.0


def test_scores_that_are_no_shares_have_no_exact_test_and_several_are_corrected_together(logs, systems):
    lines, (first, second) = systems
    more = [
        [line | {"f1": line["acc"] / 2 + number % 3, "exact": bool(line["acc"])} for number, line in enumerate(side)]
        for side in lines
    ]
    more[1] = [line | {"same": 0.5 + 0.1 * (number % 2) * (number < 14)} for number, line in enumerate(more[1])]
    more[0] = [line | {"same": 0.5 + 0.1 * (number % 5 == 0)} for number, line in enumerate(more[0])]
    rows = rows_of(logs(*more, score=["f1", "exact", "same"]))
    f1, exact, same = rows
    assert (f1["mcnemar_p"], f1["first_only"]) == (None, None)
    assert f1["difference"] == pytest.approx((second.mean() - first.mean()) / 2)
    assert exact["mcnemar_p"] == exact["p"] < same["p"]
    corrected = stats.false_discovery_control([row["p"] for row in rows])
    assert [row["q"] for row in rows] == pytest.approx(corrected.tolist())


@pytest.mark.parametrize(
    ("change", "settings", "message"),
    [
        (list, {"score": "accuracy"}, r"no column 'accuracy', which logs.score names; it has doc_id, doc"),
        (list, {"cluster": "doc.family"}, r"no column 'doc.family', which logs.cluster names; it has que"),
        (list, {"item": "id"}, r"no column 'id', which logs.item names"),
        (list, {"score": "doc.question"}, r"no line can be used: no number in doc.question.* \(40, first at line 1\)"),
        (lambda lines: lines[:-2], {}, r"logs.second: lacks 2 items of logs.first, such as '38'"),
        (lambda lines: [*lines, sample(99, 1.0)], {}, r"logs.first: lacks 1 item of logs.second, such as '99'"),
        (lambda lines: [*lines, lines[3]], {}, r"logs.second: 1 item comes more than once, such as '3'"),
        (lambda _: [], {}, r"logs.second: \S+ has no lines that can be read: there must be one at least"),
        (lambda _: "not json", {}, r"logs.second: \S+ has no lines .*: no JSON \(1, first at line 1, column 1"),
    ],
)
def test_what_cannot_be_paired_is_refused_with_its_key(logs, systems, change, settings, message):
    lines, _ = systems
    with pytest.raises(InputError, match=message):
        rows_of(logs(lines[0], change(lines[1]), **settings))


def test_tasks_are_compared_by_themselves_and_corrected_together(tmp_path):
    for side, scores in (("m1", "00000000"), ("m2", "11111100")):
        for task in ("a", "b"):
            lines = [json.dumps(sample(number, float(acc))) for number, acc in enumerate(scores)]
            place = tmp_path / side / f"samples_{task}_2026-11-22T10-00-00.000000.jsonl"
            place.parent.mkdir(exist_ok=True)
            place.write_text("\n".join(lines if task == "a" else lines[:6]))
    logs = Logs(str(tmp_path / "m1"), str(tmp_path / "m2"))
    rows = rows_of(logs)
    assert [(row["task"], row["num_items"], row["difference"], row["first_only"]) for row in rows] == [
        ("a", 8, 0.75, 0),
        ("b", 6, 1.0, 0),
        ("mean of 2 tasks", 14, 0.875, 0),
    ]
    [findings] = page_of(logs).lead.findings
    assert [finding.partition(":")[0] for finding in findings.items] == ["mean of 2 tasks, acc", "a, acc", "b, acc"]


def test_a_bad_line_costs_its_item_in_both_systems_and_is_counted(logs, systems):
    lines, _ = systems
    broken = [*lines[1][:3], lines[1][3] | {"acc": "good"}, lines[1][4] | {"doc_id": None}, *lines[1][5:]]
    with collected() as bad:
        [row] = rows_of(logs(lines[0], broken))
    assert row["num_items"] == ITEMS - 2
    assert [(row["num"], row["first"]) for row in bad.rows()] == [(1, "line 4"), (1, "line 5")]


def test_lines_of_one_filter_are_chosen(logs, systems):
    lines, (first, second) = systems
    both = [[line | {"filter": name} for line in side for name in ("none", "strict-match")] for side in lines]
    both = [[line | {"acc": 0.0} if line["filter"] == "none" else line for line in side] for side in both]
    [row] = rows_of(logs(*both, only={"filter": "strict-match"}))
    assert (row["first"], row["second"]) == pytest.approx((first.mean(), second.mean()))
    with pytest.raises(InputError, match=r"40 items come more than once, .* choose lines by logs.only"):
        rows_of(logs(*both))


def test_the_page_says_which_system_is_higher_how_sure_that_is_and_what_the_units_are(logs, systems):
    pages = [page_of(logs(*systems[0], **more)) for more in ({}, {"cluster": "doc.template"})]
    blocks = [block for page in pages for block in (*page.lead.findings, *page.lead.doubts, *page.sections[0].blocks)]
    check_text(Path(__file__), "systems", [line for block in blocks for line in shown_lines(block)])
