"""Which rows are about the same thing, and what is said of the others."""

import polars as pl
import pyarrow as pa
import pytest

from tiltmeter.jobs.changes.comparing import compare
from tiltmeter.jobs.changes.detail import Detail
from tiltmeter.jobs.report.changes import change_findings
from tiltmeter.storage.store.tables import column


def only(found):
    [row] = found.to_dicts()
    return row


def test_the_order_of_rows_is_no_change(history):
    words = {"a": {"count": 1}, "b": {"count": 2}, "c": {"count": 3}}
    before, after = history.table(words), history.table(dict(reversed(words.items())))
    [row] = compare(history.run({"tests": before}), history.run({"tests": after})).to_pylist()
    assert row["sentence"] == "table tests differs (3 rows as before): 0 of 3 numbers with an interval moved beyond it."
    assert (row["kind"], row["before"], row["after"], row["num_changed"], row["num_compared"]) == ("table", 3, 3, 0, 3)


def test_a_table_with_the_same_digest_is_not_read(history):
    def refuse(name):
        raise AssertionError(f"{name} was read")

    runs = [history.run({"tests": history.table({"a": {}})}) for _ in range(2)]
    for run in runs:
        object.__setattr__(run, "read", refuse)
    assert compare(*runs).num_rows == 0


def test_a_large_table_is_not_read_and_says_so(history):
    runs = [history.run({"tests": history.table({"a": {"count": count}})}) for count in (1, 2)]
    for run in runs:
        run.record["tables"]["tests"]["bytes"] = 65_000_000
        object.__setattr__(run, "read", None)
    row = only(pl.DataFrame(compare(*runs)))
    assert row["sentence"] == (
        "table tests differs (1 row as before): it has 65 MB, more than the 64 up to which rows are compared."
    )


def test_slices_have_no_row_in_common_which_is_said_with_the_setting_that_holds_them_together(history):
    words = {"a": {"model": "x/1990s", "d": 1.0}, "b": {"model": "x/1990s", "d": 2.0}}
    others = {word: row | {"model": "x/2000s", "d": row["d"] + 3.0} for word, row in words.items()}
    runs = [history.run({"tests": history.table(rows)}) for rows in (words, others)]
    changes = pl.DataFrame(compare(*runs))
    sentence = changes.filter(kind="table")["sentence"][0]
    assert "no row of it is in both runs" in sentence
    assert "'job.aliases={x/1990s: x/2000s}' of job=compare" in sentence
    assert change_findings(changes)[0].endswith(sentence[1:])
    held = pl.DataFrame(compare(*runs, Detail(aliases={"x/1990s": "x/2000s"})))
    assert held.filter(kind="table")["num_compared"].to_list() == [2]
    assert held.filter(kind="row").is_empty()
    assert {row["key"] for row in held.filter(kind="number").to_dicts()} <= {
        f'{{"model": "x/2000s", "word": "{word}"}}' for word in words
    }


def test_names_that_a_command_line_would_not_read_are_quoted(history):
    runs = [history.run({"tests": history.table({"a": {"model": model}})}) for model in ("New York, NY", "x")]
    assert """'job.aliases={"New York, NY": x}'""" in compare(*runs).to_pylist()[0]["sentence"]


def test_rows_that_come_and_go_are_named(history):
    before, after = history.table({"a": {}, "b": {}}), history.table({"b": {}, "c": {"model": "de"}})
    found = history.changes(before, after)
    assert found.select("kind", "row", "key", "text_before", "text_after", "sentence").rows() == [
        (
            *("row", "model en, word a", '{"model": "en", "word": "a"}', "model en, word a", None),
            "tests: row model en, word a is gone.",
        ),
        (
            *("row", "model de, word c", '{"model": "de", "word": "c"}', None, "model de, word c"),
            "tests: row model de, word c came.",
        ),
    ]


def bare(table):
    return table.cast(pa.schema([field.remove_metadata() for field in table.schema]))


def same(table):
    return table


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            *(same, lambda table: pa.concat_tables([table, table.slice(0, 1)])),
            "in the later run, 1 row of it has the key of another (model, word), so they were not compared",
        ),
        (
            *(lambda table: pa.concat_tables([table, *[table.slice(1)] * 2]), same),
            "in the earlier run, 2 rows of it have the key of another (model, word), so they were not",
        ),
        (
            *(bare, lambda table: bare(table.slice(1))),
            "neither run's table says which of its columns tell rows apart, so they were not compared",
        ),
        (
            *(lambda table: table.drop_columns("word"), same),
            "the earlier run's table has no column word, which tells rows apart",
        ),
        (
            *(lambda table: table.set_column(1, "word", pa.array([1, 2])), same),
            "word, which tells rows apart, was Int64 and is String now",
        ),
    ],
)
def test_rows_that_nothing_tells_apart_are_not_compared(history, before, after, message):
    tables = (change(history.table({"a": {}, "b": {}})) for change in (before, after))
    [row] = compare(*(history.run({"tests": table}) for table in tables)).to_pylist()
    assert message in row["sentence"]


def test_an_earlier_table_takes_the_key_columns_of_the_later_one_and_the_other_way_round(history):
    tables = [history.table({"a": {"count": 1}, "b": {}}), bare(history.table({"a": {"count": 2}, "b": {}}))]
    for before, after in (tables, tables[::-1]):
        assert only(history.changes(before, after))["row"] == "word a"


def test_a_key_column_that_the_earlier_table_lacks_is_left_out_where_the_others_suffice(history):
    after = history.table({"a": {"count": 2}, "b": {}})
    before = history.table({"a": {"count": 1}, "b": {}}).drop_columns("model")
    found = history.changes(before, after)
    assert found.select("kind", "column").rows() == [("column", "model"), ("number", "count")]
    assert found["row"][1] == "word a"


def test_whole_numbers_of_other_widths_are_the_same_keys(history):
    def table(kind, losses):
        fields = [column("epoch", kind, "pass", key=True), column("loss", pa.float64(), "loss")]
        return pa.table({"epoch": [1, 2], "loss": losses}).cast(pa.schema(fields))

    found = history.changes(table(pa.int16(), [1.0, 2.0]), table(pa.int64(), [1.0, 3.0]))
    assert found.select("kind", "column", "row", "sentence").rows() == [
        ("column", "epoch", None, "tests: column epoch was Int16, is Int64 now."),
        ("number", "loss", "epoch 2", "tests: loss of epoch 2 went from 2 to 3."),
    ]


def test_null_zero_and_undefined_keys_match_themselves(history):
    def table(alphas, shares):
        fields = [column("alpha", pa.float64(), "mixture", key=True), column("share", pa.float64(), "share")]
        return pa.table({"alpha": alphas, "share": shares}, schema=pa.schema(fields))

    before = table([None, float("nan"), 0.0, 1.0], [1.0, 2.0, 3.0, 4.0])
    after = table([1.0, -0.0, None, float("nan")], [4.0, 3.5, 1.5, 2.5])
    assert history.changes(before, after).sort("before")["difference"].to_list() == [0.5, 0.5, 0.5]


def test_columns_that_come_go_or_turn_into_text_are_named_and_not_compared(history):
    before = history.table({"a": {}}).append_column("old", pa.array([1]))
    after = history.table({"a": {"count": 8}})
    after = after.set_column(5, "count", pa.array(["eight"])).append_column("new", pa.array([1]))
    assert history.changes(before, after)["sentence"].to_list() == [
        "tests: column count was Int64, is String now.",
        "tests: column new is new.",
        "tests: column old is gone.",
    ]


def test_an_interval_that_only_one_run_has_judges_nothing(history):
    before, after = history.table({"a": {}}), history.table({"a": {"d": 9.0}})
    found = history.changes(before, after.drop_columns("d_low")).filter(column="d")
    assert (only(found)["beyond"], only(found)["difference"]) == (None, 8.0)


def test_a_table_has_its_rows_before_and_after(history):
    later = {"a": {"d": 9.0, "d_low": 8.0, "d_high": 10.0}, "b": {"d": 1.5, "d_low": 2.0}, "x": {}}
    tables = history.table({word: {} for word in "abcde"}), history.table(later)
    [row, *_] = compare(*(history.run({"tests": table}) for table in tables)).to_pylist()
    counts = ("before", "after", "difference", "num_changed", "num_compared")
    assert [row[name] for name in counts] == [5, 3, -2, 1, 2]


def test_tables_that_come_and_go_are_named(history):
    before, after = (
        history.run({"old": history.table({"a": {}})}),
        history.run({"new": history.table({"a": {}, "b": {}})}),
    )
    assert [row["sentence"] for row in compare(before, after).to_pylist()] == [
        "table new is new, with 2 rows.",
        "table old is gone; it had 1 row.",
    ]


def test_rows_of_another_status_are_named_with_the_reason_and_their_numbers_are_no_news(history):
    rare = {"status": "too_rare", "reason": "it occurs twice", "d": None, "d_low": None, "d_high": None}
    absent = rare | {"status": "absent", "reason": "it does not occur"}
    before = history.table({"a": {}, "b": rare, "c": {}, "d": rare, "e": rare})
    once = rare | {"reason": "it occurs once"}
    after = history.table({"a": rare | {"count": 2}, "b": {}, "c": {}, "d": once, "e": absent})
    assert history.changes(before, after).sort("kind", descending=True)["sentence"].to_list() == [
        "tests: reason of word d was “it occurs twice” and is “it occurs once” now.",
        "tests: word a was ok and is too_rare now: it occurs twice.",
        "tests: word b was too_rare and is ok now: it occurs twice.",
        "tests: word e was too_rare and is absent now: it does not occur.",
        "tests: count of word a went from 7 to 2.",
    ]


def test_many_rows_of_another_status_are_one_row_for_each_kind(history):
    rare = {"status": "too_rare", "reason": "it occurs twice"}
    before = history.table({f"word{at}": rare if at > 8 else {} for at in range(12)})
    after = history.table({f"word{at}": {} if at > 8 else rare for at in range(12)})
    found = history.changes(before, after)
    assert found.select("kind", "num_changed", "sentence").rows() == [
        ("status", 9, "tests: 9 rows were ok and are too_rare now, such as word word0: it occurs twice."),
        ("status", 3, "tests: 3 rows were too_rare and are ok now, such as word word9: it occurs twice."),
    ]


def test_lists_and_words_that_are_others_are_shown(history):
    before = history.table({"a": {"missing": None}, "b": {"missing": []}, "c": {"missing": ["x", None]}, "e": {}})
    after = history.table(
        {"a": {"missing": []}, "b": {"missing": []}, "c": {"missing": ["x"]}, "e": {"missing": ["y"]}}
    )
    found = history.changes(before, after)
    assert found.select("kind", "row", "text_before", "text_after").rows() == [
        ("text", "word a", None, "[]"),
        ("text", "word c", '["x", null]', '["x"]'),
        ("text", "word e", "[]", '["y"]'),
    ]
    assert only(history.changes(before, after, max_listed=2))["sentence"] == (
        "tests: missing changed in 3 of 4 rows, such as word a."
    )


def test_vectors_say_how_far_they_moved(history):
    fields = [column("word", pa.string(), "word", key=True), column("vector", pa.list_(pa.float32(), 2), "vector")]

    def table(*vectors):
        return pa.table({"word": list("abcd"), "vector": list(vectors)}, schema=pa.schema(fields))

    before = table([0.0, 1.0], [1.0, 1.0], None, [float("nan"), 5.0])
    after = table([0.5, -1.0], [1.0, 1.25], [1.0, 1.0], [float("nan"), 5.0])
    found = history.changes(before, after)
    assert found.select("row", "difference").rows() == [("word a", 2.0), ("word b", 0.25), ("word c", None)]
    summed = only(history.changes(before, after, max_listed=0))
    assert (summed["num_changed"], summed["difference"], summed["median_difference"]) == (3, 2.0, 1.125)


def test_a_label_is_another_only_if_other_rows_share_it(history):
    fields = [
        *(column(name, pa.string(), name, key=True) for name in ("graph", "record")),
        column("cluster", pa.int64(), "which belong together", "label"),
    ]

    def table(clusters):
        graphs = [*"fffff", *"gg"]
        columns = {"graph": graphs, "record": list("abcdeab"), "cluster": clusters}
        return pa.table(columns, schema=pa.schema(fields))

    before = table([0, 0, 1, 1, 2, 0, 0])
    renamed, split = table([5, 5, 3, 3, 4, 9, 9]), table([5, 5, 3, 4, 4, 5, 5])
    assert history.changes(before, renamed).is_empty()
    assert history.changes(before, split)["row"].to_list() == [f"graph f, record {name}" for name in "cde"]


def test_the_keys_of_the_changes_tell_them_apart(history):
    before = history.table({f"word{at}": {"count": at, "missing": ["x"] if at == 1 else []} for at in range(30)})
    after = history.table({f"word{at}": {"d": at / 2, "count": 2 * at} for at in range(20, -5, -1)})
    runs = history.run({"tests": before, "old": before}), history.run({"tests": after}, {"seed": 1}, versions={})
    changes = compare(*runs, Detail(max_listed=3))
    keys = ["kind", "table", "column", "item", "row", "key"]
    assert pl.DataFrame(changes).select(keys).is_unique().all()
    assert changes.num_rows > 10
