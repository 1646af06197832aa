"""Logs that Inspect and lm-evaluation-harness wrote, and tables, against hand calculations; what is refused."""

import json
import shutil
from pathlib import Path
from statistics import fmean, variance

import polars as pl
import pytest

from tests.fixtures.page_models import check_text
from tests.jobs.report.test_models import lines as shown_lines
from tiltmeter.jobs.upkeep.compare.log_settings import Logs
from tiltmeter.jobs.upkeep.compare.logs import find_logs
from tiltmeter.jobs.upkeep.compare.logs_table import logs_section, logs_table
from tiltmeter.storage.bad_records import collected
from tiltmeter.storage.errors import InputError

WRITTEN = Path(__file__).parents[2] / "fixtures/logs"
INSPECT, HARNESS = WRITTEN / "inspect", WRITTEN / "harness"
ANSWERS = {
    "small": {"1": "CI", "2": "IN", "3": "IP", "4": "XC", "5": "CE"},
    "large": {"1": "CC", "2": "CI", "3": "PC", "4": "CX", "5": "EE"},
}
"""By item, a letter for each epoch, as the script beside the logs has them: X is unscored, E an error of the sample."""
NUMBERS = {"C": 1.0, "I": 0.0, "P": 0.5}


def found(first, second, **settings):
    logs = Logs(str(first), str(second), **settings)
    files = find_logs(logs)
    return files.pairs, pl.DataFrame(logs_table(files.systems, files.pairs))


def items_of(pair):
    """By item, of both systems: mean, variance and number of repeats."""
    names = ("first", "second", "first_variance", "second_variance", "first_repeats", "second_repeats")
    return {row["item"]: tuple(row[name] for name in names) for row in pair.items.to_dicts()}


def by_hand(first, second, numbers=None):
    """The same of letters of each item."""
    known, made = numbers or NUMBERS, {}
    for item in first:
        sides = [[known[letter] for letter in side.get(item, "") if letter in known] for side in (first, second)]
        if all(sides):
            spreads = [variance(side) if len(side) > 1 else None for side in sides]
            made[item] = (*map(fmean, sides), *spreads, *map(len, sides))
    return made


# --- Inspect --------------------------------------------------------------------------------------------------------

REASONS = {"N": "no answer", "X": "grader_failed", "E": "error"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("place", "num_items", "reasons"),
    [
        ("small/0.3.285.eval", 5, REASONS),
        ("small/0.3.112.eval", 4, REASONS | {"X": "NaN"}),
        ("small/0.3.38.json", 4, REASONS | {"X": "no score"}),
        ("json/0.3.285.json", 2, REASONS),
        ("json/0.3.112.json", 2, REASONS),
        ("chunked/0.3.285.eval", 2, REASONS),
        ("died/0.3.285.eval", 5, REASONS),
    ],
)
@pytest.mark.parametrize("match", [None, "content"])
def test_epochs_are_repeats_of_items_and_what_has_no_score_is_counted(place, num_items, reasons, match):
    """Of every version and shape, by its summaries and by its samples."""
    answers = dict(list(ANSWERS["small"].items())[:num_items])
    if "died" in place:
        answers |= {"4": "X", "5": "C"}
    pairs, table = found(INSPECT / place, INSPECT / "large", score="judge", missing="leave_out", match=match)
    [pair] = pairs
    assert (pair.task, pair.score, pair.matched_by) == ("riddles", "judge", match or "item")
    assert items_of(pair) == by_hand(answers, ANSWERS["large"])
    letters = "".join(answers.values())
    expected = {reasons[letter]: letters.count(letter) for letter in letters if letter in reasons}
    assert pair.num_unscored[0] == expected
    [first, second] = table.to_dicts()
    assert (first["num_items"], first["num_repeats"], first["num_unscored"]) == (
        num_items,
        len(letters),
        sum(expected.values()),
    )
    assert first["num_unfinished"] == int("died" in place)
    assert second["num_missing"] == 5 - num_items
    assert (first["format"], first["status"]) == ("Inspect", "ok")


def test_each_value_of_a_scorer_is_a_score_and_a_key_of_metadata_a_cluster():
    pairs, _ = found(INSPECT / "small/0.3.285.eval", INSPECT / "large", cluster="family")
    assert [pair.score for pair in pairs] == ["judge", "parts.form", "parts.words"]
    clusters = dict(pairs[0].items.select("item", "cluster").rows())
    assert clusters == {"1": "1", "2": "0", "3": "1", "4": "0"}
    # Item 5 ended in errors in all epochs of the second system.
    known = {"1": (0.5, 0.5, 0.0, 0.0, 2, 2)}
    assert items_of(pairs[2]) == dict.fromkeys("1234", known["1"])
    assert pairs[2].num_unscored == ({"error": 1}, {"error": 2})


def test_the_score_after_an_edit_counts_and_that_it_was_edited_is_said():
    edited = ANSWERS["small"] | {"2": "IC"}
    for match, num in ((None, None), ("content", 1)):
        [pair], table = found(INSPECT / "small/0.3.285.eval", INSPECT / "edited", score="judge", match=match)
        assert items_of(pair) == by_hand(ANSWERS["small"], edited)
        assert table["num_edited"].to_list() == [num and 0, num]


def test_samples_of_one_epoch_are_chosen():
    [pair], _ = found(INSPECT / "small/0.3.285.eval", INSPECT / "large", score="judge", only={"epoch": "1"})
    first, second = ({item: side[0] for item, side in ANSWERS[name].items()} for name in ("small", "large"))
    assert items_of(pair) == by_hand(first, second)


def test_a_sample_that_two_logs_of_a_run_have_counts_once(tmp_path):
    """As where a run is tried again, whose new log has the samples of the old one that had ended."""
    for name in ("small", "died"):
        shutil.copy(INSPECT / name / "0.3.285.eval", tmp_path / f"{name}.eval")
    shutil.copy(INSPECT / "small/0.3.285.eval", tmp_path / "again.eval")
    [pair], table = found(tmp_path, INSPECT / "large", score="judge")
    both = ANSWERS["small"] | {"1": "CICI", "2": "ININ", "3": "IPIP", "4": "XCX", "5": "CEC"}
    assert items_of(pair) == by_hand(both, ANSWERS["large"])
    assert table["num_repeats"].to_list() == [18, 10]


def test_items_under_other_ids_are_found_by_content_and_that_is_said():
    places = INSPECT / "renumbered", INSPECT / "small/0.3.285.eval"
    ids = dict(zip("12345", "34512", strict=True))
    [pair], table = found(*places, score="judge")
    by_id = {ids[item]: side for item, side in items_of(pair).items()}
    assert by_id == by_hand(ANSWERS["large"], ANSWERS["small"])
    assert table["matched_by"].to_list() == ["content", "content"]
    # Which ids mean something else is not looked at where they are taken as they are.
    [pair], table = found(*places, score="judge", match="item")
    shifted = {item: ANSWERS["large"][known] for item, known in ids.items()}
    assert items_of(pair) == by_hand(shifted, ANSWERS["small"])
    assert table["matched_by"].to_list() == ["item", "item"]


# --- lm-evaluation-harness ------------------------------------------------------------------------------------------


def harness_lines(side, task):
    paths = sorted((HARNESS / side).glob(f"samples_{task}_*"))
    return [[json.loads(line) for line in path.read_text().splitlines()] for path in paths]


def write_lines(path, lines):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_files_of_a_task_are_runs_and_filters_are_scores_of_their_own(tmp_path):
    shutil.copytree(HARNESS / "first", tmp_path / "first")
    (tmp_path / "first/results_2026-11-27T19-41-46.403861.json").write_text('{"results": {"riddles": {"acc": 0.5}}}')
    pairs, table = found(tmp_path / "first", HARNESS / "second")
    assert [(pair.task, pair.score) for pair in pairs] == [
        ("riddles_choice", "acc"),
        ("riddles_choice", "acc_norm"),
        ("riddles_open", "exact_match,strict"),
        ("riddles_open", "exact_match,loose"),
    ]
    runs = harness_lines("first", "riddles_choice")
    scores = [[line["acc_norm"] for line in run] for run in runs]
    [second] = [[line["acc_norm"] for line in run] for run in harness_lines("second", "riddles_choice")]
    assert scores == [[1, 1, 0, 0, 1, 1], [1, 0, 0, 0, 0, 0]]
    assert items_of(pairs[1]) == {
        str(at): (fmean(both), second[at], variance(both), None, 2, 1)
        for at, both in enumerate(zip(*scores, strict=True))
    }
    assert {pair.score: pair.items["first"].mean() for pair in pairs[2:]} == {
        "exact_match,strict": 0.0,
        "exact_match,loose": 1.0,
    }
    assert table.filter(system="first", score="acc")["num_repeats"].to_list() == [12]


def test_what_a_wildcard_finds_is_read_whatever_it_ends_in(tmp_path):
    write_scores(tmp_path, a=[0, 1])
    (tmp_path / "a.csv").rename(tmp_path / "a.scores")
    [pair], _ = found(tmp_path / "*.scores", tmp_path / "a.scores")
    assert pair.items["first"].to_list() == [0, 1]


@pytest.mark.parametrize(
    ("settings", "scores"),
    [
        ({"score": "exact_match"}, ["exact_match,strict", "exact_match,loose"]),
        ({"score": "exact_match,loose"}, ["exact_match,loose"]),
        ({"score": "exact_match", "only": {"filter": "loose"}}, ["exact_match"]),
    ],
)
def test_scores_are_chosen_by_metric_or_by_filter(tmp_path, settings, scores):
    for side in ("first", "second"):
        write_lines(tmp_path / side / "samples_open_2026-11-22.jsonl", harness_lines(side, "riddles_open")[0])
    pairs, _ = found(tmp_path / "first", tmp_path / "second", **settings)
    assert [pair.score for pair in pairs] == scores


def test_of_lines_that_come_again_the_last_counts(tmp_path):
    [lines] = harness_lines("second", "riddles_choice")
    again = [line | {"acc": 1.0 - line["acc"]} for line in lines[:2]]
    write_lines(tmp_path / "samples_riddles_choice_2026-11-22.jsonl", [*lines, *again])
    [pair], table = found(tmp_path, HARNESS / "second", score="acc", missing="leave_out")
    scores = {"0": (0, 1), "1": (0, 1), "2": (0, 0), "3": (1, 1), "4": (1, 1), "5": (0, 0)}
    assert {item: side[:2] for item, side in items_of(pair).items()} == scores
    assert table.filter(task="riddles_choice")["num_replaced"].to_list() == [2, 0]


def test_documents_at_other_positions_are_found_by_their_hash_and_a_mixture_is_refused(tmp_path):
    """As after ``--limit`` or ``--samples``; ids that mean the same in part only say which documents changed."""
    [lines] = harness_lines("second", "riddles_choice")
    places = [tmp_path / side / "samples_riddles_2026-11-22.jsonl" for side in ("first", "second")]
    write_lines(places[0], lines)
    write_lines(places[1], [line | {"doc_id": (line["doc_id"] + 1) % 6} for line in lines])
    [pair], table = found(*places, score="acc")
    assert pair.items["first"].to_list() == pair.items["second"].to_list() == [line["acc"] for line in lines]
    assert set(table["matched_by"]) == {"content"}
    changed = [line | {"doc_hash": "other"} if line["doc_id"] in (2, 4) else line for line in lines]
    write_lines(places[1], changed)
    message = r"logs.first: lacks 2 items of logs.second, such as '2' .*by content.*logs.match=item takes them as they"
    with pytest.raises(InputError, match=message):
        found(*places, score="acc")
    [pair], table = found(*places, score="acc", missing="leave_out")
    assert (pair.items["item"].to_list(), table["num_missing"].to_list()) == (["0", "1", "3", "5"], [2, 2])
    [pair], _ = found(*places, score="acc", match="item")
    assert pair.items.height == 6


def test_documents_that_say_the_same_are_paired_in_their_order(tmp_path):
    [lines] = harness_lines("second", "riddles_choice")
    twins = [line | {"doc_hash": f"hash {at // 2}", "acc": float(at)} for at, line in enumerate(lines)]
    places = [tmp_path / side / "samples_riddles_2026-11-22.jsonl" for side in ("first", "second")]
    write_lines(places[0], twins)
    write_lines(places[1], [line | {"doc_id": 10 + line["doc_id"]} for line in twins])
    [pair], _ = found(*places, score="acc")
    assert pair.items["first"].to_list() == pair.items["second"].to_list() == [0, 1, 2, 3, 4, 5]


# --- tables, and words as scores ------------------------------------------------------------------------------------

ROWS = {"item": [1, 1, 2, 2, 3, 3], "try": [1, 2, 1, 2, 1, 2], "kind": ["a", "a", "b", "b", "b", "b"]}


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_tables_have_repeats_clusters_and_tasks_by_their_columns(tmp_path, ending):
    frame = pl.DataFrame(ROWS | {"score": ["0.25", "0.75", "1", "n/a", "0", "1"], "set": ["x"] * 4 + ["y"] * 2})
    if ending == "parquet":
        frame = frame.with_columns(pl.col("item", "try").cast(pl.Float64))
    other = frame.with_columns(score=pl.Series(["1", "1", "0", "0", "1", "0"]))
    for name, rows in (("first", frame), ("second", other)):
        path = tmp_path / f"{name}.{ending}"
        {"csv": rows.write_csv, "parquet": rows.write_parquet, "jsonl": rows.write_ndjson}[ending](path)
    columns = {
        "item": "item",
        "score": "score",
        "repeat": "try",
        "cluster": "kind",
        "task": "set",
        "values": {"n/b": 0},
    }
    pairs, table = found(tmp_path / f"first.{ending}", tmp_path / f"second.{ending}", **columns)
    assert [pair.task for pair in pairs] == ["x", "y"]
    assert items_of(pairs[0]) == {"1": (0.5, 1.0, 0.125, 0.0, 2, 2), "2": (1.0, 0.0, None, 0.0, 1, 2)}
    assert items_of(pairs[1]) == {"3": (0.5, 0.5, 0.5, 0.5, 2, 2)}
    assert pairs[0].items["cluster"].to_list() == ["a", "b"]
    assert pairs[0].num_unscored == ({"no number": 1}, {})
    assert table["reasons"].to_list() == ["1 no number", "", "", ""]


def test_rows_of_a_table_without_an_item_are_left_out_and_counted(tmp_path):
    (tmp_path / "a.csv").write_text("item,score\n1,0.5\n,1\n3,true\n")
    (tmp_path / "b.csv").write_text("item,score,lang\n1,yes,en\n2,0,en\n3,no,en\n3,1,de\n")
    with collected() as bad:
        [pair], _ = found(tmp_path / "a.csv", tmp_path / "a.csv")
    assert (items_of(pair).keys(), [row["num"] for row in bad.rows()]) == ({"1", "3"}, [1])
    # Item 2 may be the row that was left out.
    (tmp_path / "en.csv").write_text("item,score,lang\n1,0.5,en\n,1,en\n3,true,en\n")
    [pair], _ = found(tmp_path / "en.csv", tmp_path / "b.csv", only={"lang": "en"})
    assert {item: side[:2] for item, side in items_of(pair).items()} == {"1": (0.5, 1.0), "3": (1.0, 0.0)}


def test_words_are_scores_by_a_map_and_what_it_lacks_is_unscored_or_zero(tmp_path):
    words = [["good", "C", "N", "fair", "Yes", "NaN"], ["P", "good", "good", "I", "FALSE", "0.25"]]
    for side, of_side in zip(("a", "b"), words, strict=True):
        write_lines(tmp_path / f"{side}.jsonl", [{"doc_id": at, "acc": word} for at, word in enumerate(of_side)])
    places, values = (tmp_path / "a.jsonl", tmp_path / "b.jsonl"), {"good": 0.8}
    [pair], _ = found(*places, values=values)
    assert {item: side[:2] for item, side in items_of(pair).items()} == {"0": (0.8, 0.5), "1": (1, 0.8), "4": (1, 0)}
    assert pair.num_unscored == ({"NaN": 1, "no answer": 1, "no number": 1}, {})
    [pair], table = found(*places, values=values, unscored="zero")
    assert [side[0] for side in items_of(pair).values()] == [0.8, 1, 0, 0, 1, 0]
    assert table["num_unscored"].to_list() == [3, 0]
    [pair], _ = found(*places, values=values | {"N": 0.1, "fair": 0.4})
    assert [side[0] for side in items_of(pair).values()] == [0.8, 1, 0.1, 0.4, 1]


# --- several systems, the command and its page ----------------------------------------------------------------------


def write_scores(folder, **systems):
    for name, scores in systems.items():
        (folder / f"{name}.csv").write_text("item,score\n" + "".join(f"{at},{x}\n" for at, x in enumerate(scores)))
    return {name: str(folder / f"{name}.csv") for name in systems}


@pytest.mark.parametrize(("all_pairs", "names"), [(False, "ab ac ad"), (True, "ab ac ad bc bd cd")])
def test_further_systems_are_compared_with_the_first_or_all_with_each_other(tmp_path, all_pairs, names):
    paths = write_scores(tmp_path, a=[0, 0, 1], b=[1, 0, 1], c=[1, 1, 1], d=[0, 1, 0])
    pairs, table = found(paths["a"], paths["b"], others={"c": paths["c"], "d": paths["d"]}, all_pairs=all_pairs)
    known = {"first": "a", "second": "b"}
    assert " ".join(known.get(name, name) for pair in pairs for name in (pair.first, pair.second)).split() == [
        letter for pair in names.split() for letter in pair
    ]
    assert table["system"].to_list() == ["first", "second", "c", "d"]
    assert pairs[1].items["second"].to_list() == [1, 1, 1]


def test_the_command_leaves_the_table_of_logs(run_here, tmp_path):
    paths = [f"logs.first='{INSPECT / 'small/0.3.285.eval'}'", f"logs.second='{INSPECT / 'renumbered'}'"]
    others = f"logs.others={{died: '{INSPECT / 'died'}'}}"
    choices = ["logs.missing=leave_out", "logs.unscored=zero", "logs.match=content", "logs.cluster=family"]
    places = [f"store={tmp_path}/store", f"run_dir={tmp_path}/found"]
    made = run_here("job=compare", *paths, others, "logs.all_pairs=true", "logs.score=judge", *choices, *places)
    rows = made.rows("logs")
    assert [(row["system"], row["task"], row["num_unscored"], row["num_unfinished"]) for row in rows] == [
        ("first", "riddles", 3, 0),
        ("second", "riddles(start=2)", 3, 0),
        ("died", "riddles", 2, 1),
    ]
    assert "repeats without a score count as 0" in (made.path / "report.html").read_text()
    assert sorted(made.record["inputs"]) == ["died", "first", "second"]


def test_the_command_takes_tables_by_their_columns(run_here, tmp_path):
    for name, shift in (("first", 0), ("second", 1)):
        rows = [
            "id,run,set,good",
            *(f"{at},{run},s,{(at * run + shift) % 3 == 0}" for at in range(9) for run in (1, 2)),
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join(rows))
    paths = [f"logs.{name}='{tmp_path}/{name}.csv'" for name in ("first", "second")]
    columns = ["logs.item=id", "logs.score=good", "logs.repeat=run", "logs.task=set", "logs.only={set: s}"]
    places = [f"store={tmp_path}/store", f"run_dir={tmp_path}/found"]
    made = run_here("job=compare", *paths, *columns, "logs.values={x: 1}", "logs.match=item", *places)
    [row] = made.rows("systems")
    assert (row["num_items"], row["first"], row["second"]) == (9, pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert [row["num_repeats"] for row in made.rows("logs")] == [18, 18]


def test_the_page_shows_what_the_logs_hold():
    _, table = found(INSPECT / "small/0.3.285.eval", INSPECT / "renumbered")
    for unscored in ("leave_out", "zero"):
        section = logs_section(table, unscored)
        shown = [line for block in section.blocks for line in shown_lines(block)]
        if unscored == "leave_out":
            check_text(Path(__file__), "logs", shown)
    assert "count as 0" in " ".join(shown)


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "settings", "message"),
    [
        ("a.csv", "other.csv", {}, r"logs.first: lacks 2 items of logs.second, such as '8'"),
        (
            "a.csv",
            "other.csv",
            {"missing": "leave_out"},
            r"logs.first and logs.second: have no item in common that has",
        ),
        ("a.csv", "words.csv", {}, r"logs.first and logs.second: have no item in common that has a score in both"),
        (
            "a.csv",
            "a.csv",
            {"score": "scoer"},
            r"logs.score, logs.first: \S+ has no column 'scoer'; its columns are 'i",
        ),
        (
            "a.csv",
            "a.csv",
            {"match": "content"},
            r"logs.match=content: the logs do not tell what items say; set logs.ma",
        ),
        ("empty", "a.csv", {}, r"logs.first=\S+: there is no file"),
        ("notes", "a.csv", {}, r"logs.first: no file of \S+notes is a log by its ending; name it itself, or"),
        ("mixed", "a.csv", {}, r"logs.first: has files of several formats: table \(\S+a.csv\), Inspect \(\S+b.eval\)"),
        (
            "twice.csv",
            "a.csv",
            {},
            r"logs.first: 1 item comes more than once, such as '0'; .* repeats apart by logs.repe",
        ),
        (
            "i",
            "i",
            {"score": "jugde"},
            r"logs.first: has no score 'jugde', which logs.score names; it has judge, parts.form",
        ),
        (
            "i",
            "i",
            {"score": ["judge", "part"]},
            r"logs.first: has no score 'part', which logs.score names; it has judge",
        ),
        (
            "i",
            "i",
            {"cluster": "famly"},
            r"has no text or number 'famly' in metadata, which logs.cluster names; it has le",
        ),
        ("h", "h", {"score": "ac"}, r"has no score 'ac', which logs.score names; it has acc, acc_norm"),
        (
            "h",
            "unlike.jsonl",
            {},
            r"logs.first: has no score 'f1' of task 'items' of logs.second; it has acc, acc_norm",
        ),
        (
            "h",
            "list.jsonl",
            {},
            r"list.jsonl: f1 is \[1, ?0\.?0?\], which is no number; choose others by logs.score: acc",
        ),
        (
            "i",
            "i",
            {"repeat": "epoch"},
            r"logs.repeat: logs of Inspect tell it themselves \(logs.first\); leave it out",
        ),
        (
            "h",
            "h",
            {"task": "doc.family"},
            r"logs.task: logs of lm-eval tell it themselves \(logs.first\); leave it out",
        ),
        (
            "versions",
            "i",
            {},
            r"task 'riddles' of several versions or models: version 3 of mockllm/model, version 4 of mockllm/m",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(tmp_path, first, second, settings, message):
    write_scores(tmp_path, a=[0, 1])
    (tmp_path / "other.csv").write_text("item,score\n8,1\n9,1\n")
    (tmp_path / "words.csv").write_text("item,score\n0,good\n1,bad\n")
    (tmp_path / "twice.csv").write_text("item,score\n0,1\n0,1\n1,1\n")
    for folder in ("empty", "notes", "mixed", "versions"):
        (tmp_path / folder).mkdir()
    (tmp_path / "notes/README.txt").write_text("score")
    shutil.copy(tmp_path / "a.csv", tmp_path / "mixed/a.csv")
    shutil.copy(INSPECT / "small/0.3.285.eval", tmp_path / "mixed/b.eval")
    log = json.loads((INSPECT / "json/0.3.285.json").read_text())
    for version in (3, 4):
        log["eval"]["task_version"] = version
        (tmp_path / f"versions/{version}.json").write_text(json.dumps(log))
    [lines] = harness_lines("second", "riddles_choice")
    write_lines(tmp_path / "h", lines)
    write_lines(tmp_path / "unlike.jsonl", [line | {"f1": 1.0, "metrics": ["f1"]} for line in lines])
    write_lines(tmp_path / "list.jsonl", [line | {"f1": [1, 0], "metrics": ["acc", "f1"]} for line in lines])
    shutil.copy(INSPECT / "json/0.3.285.json", tmp_path / "i")
    with pytest.raises(InputError, match=message):
        found(tmp_path / first, tmp_path / second, **settings)


@pytest.mark.parametrize("name", ["first", "second"])
def test_a_further_system_has_a_name_of_its_own(name):
    with pytest.raises(ValueError, match=f"{name} is what logs.{name} is called; give it another name"):
        Logs("a", "b", others={name: "c"})
