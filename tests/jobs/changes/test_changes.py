"""What is said of two runs that differ in how they were made, in numbers and in rows: cases, with texts beside."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from tests.fixtures.history import past, rows
from tests.fixtures.page_models import check_text
from tests.jobs.report.test_models import lines
from tiltmeter.jobs.changes.comparing import compare
from tiltmeter.jobs.changes.detail import Detail
from tiltmeter.jobs.changes.past_runs import PastRun
from tiltmeter.jobs.changes.sections import change_findings, change_sections, changes_since, move_of
from tiltmeter.jobs.changes.tables import Changes
from tiltmeter.storage.store.tables import column

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("before", "low", "high", "after", "beyond", "half_widths"),
    [
        (1.0, 0.0, 2.0, 2.0, False, 1.0),  # at the end is within
        (1.0, 0.0, 2.0, 2.5, True, 1.5),
        (1.0, 0.0, 2.0, -0.5, True, 1.5),
        (1.5, 0.0, 2.0, 0.5, False, 1.0),
        (0.0, 0.5, 2.5, 0.0, False, 0.0),  # outside its own interval, and there it stays
        (0.0, 0.5, 2.5, 0.3, False, 0.3),
        (0.0, 0.5, 2.5, 2.0, False, 2.0),
        (0.0, 0.5, 2.5, 2.6, True, 2.6),
        (0.0, 0.5, 2.5, -0.1, True, 0.1),
        (1.0, 1.0, 1.0, 1.0 + 1e-12, False, INF),  # an interval without width holds what was rounded otherwise
        (1.0, 1.0, 1.0, 1.1, True, INF),
        (1.0, 0.0, 2.0, INF, True, INF),
        (INF, 0.0, INF, 5.0, False, None),
        (INF, 100.0, INF, 5.0, True, None),
        (1.0, -INF, INF, 1e300, False, 0.0),
        (1.0, None, 2.0, 9.0, None, None),
        (1.0, NAN, 2.0, 9.0, None, None),
        (1.0, 0.0, 2.0, None, None, None),
        (None, 0.0, 2.0, 1.0, None, None),
        (NAN, 0.0, 2.0, 1.0, None, None),
    ],
)
def test_a_number_moved_beyond_its_interval_or_not(history, before, low, high, after, beyond, half_widths):
    tables = [
        history.table({"nurse": {"d": d, "d_low": low, "d_high": high, "count": n}})
        for d, n in ((before, 1), (after, 2))
    ]
    found = history.changes(*tables).filter(column="d").to_dicts()
    if before == after:
        assert found == []
        return
    [row] = found
    assert row["beyond"] is beyond
    assert row["half_widths"] == (half_widths if half_widths is None else pytest.approx(half_widths))
    assert row["key"] == '{"model": "en", "word": "nurse"}'


def rated(low, high, rate):
    """A number with the ends of its interval, and one without."""
    names = ("k_rate", low, high, "other")
    fields = [column("word", pa.string(), "word", key=True), *(column(name, pa.float64(), name) for name in names)]
    return pa.table({"word": ["a"]} | dict(zip(names, ([rate], [0.4], [0.6], [rate]), strict=True)), pa.schema(fields))


EXACT = {"d": 1.0, "d_low": 1.0, "d_high": 1.0}
USUAL = {"none": {"d": None, "d_low": None}, "undefined": {"d": NAN}, "endless": {"d": -INF}, "zero": {"d": 0.0}}
SIX, TWENTY = rows({f"word{at}": {} for at in range(6)}), rows({f"word{at}": {} for at in range(20)})
NUMBERS = {
    "an exact number": (rows({"nurse": EXACT}), rows({"nurse": {"d": 1.5, "d_low": 1.5, "d_high": 1.5}})),
    "plain ends judge the column before them": (rated("low", "high", 0.5), rated("low", "high", 0.7)),
    "a rate has those of its stem": (rated("k_low", "k_high", 0.5), rated("k_low", "k_high", 0.7)),
    "null, undefined and signed zeros are what they were": (
        rows(USUAL | {"moved": {"count": 1}}),
        rows(USUAL | {"moved": {"count": 2}, "zero": {"d": -0.0}}),
    ),
    "numbers beyond are listed each, the largest first, however few may be": (
        *(SIX, rows({f"word{at}": {"d": 1.0 + at} for at in range(6)}), {"max_listed": 0}),
    ),
    "numbers within their interval are one row": (
        rows({word: {} for word in "abcde"}),
        rows({"a": {"d": 1.5}, "b": {"d": 0.9}, "c": {"d": 0.3}, "d": {"d_low": 0.5}, "e": {}}),
    ),
    "ten numbers without an interval are listed": (
        *(TWENTY, rows({f"word{at}": {"count": 7 - at if 1 <= at <= 10 else 7} for at in range(20)})),
    ),
    "eleven are one row": (
        *(TWENTY, rows({f"word{at}": {"count": 7 - at if 1 <= at <= 11 else 7} for at in range(20)})),
    ),
    "numbers that come and go without a change of status": (
        rows({"a": {"count": None}, "b": {}, "c": {"d": NAN}}),
        rows({"a": {}, "b": {"count": None}, "c": {"d": None}}),
    ),
}


def bare(table):
    return table.cast(pa.schema([field.remove_metadata() for field in table.schema]))


def made(columns, *kinds, keys=1, unit=""):
    """A table of other columns, of which the first are keys."""
    fields = [
        column(name, kind, name, unit if name == "cluster" else "", key=at < keys)
        for at, (name, kind) in enumerate(zip(columns, kinds, strict=True))
    ]
    return pa.table(columns, schema=pa.schema(fields))


def epochs(kind, *losses):
    return made({"epoch": [1, 2], "loss": [*losses]}, kind, pa.float64())


def alphas(alpha, share):
    return made({"alpha": alpha, "share": share}, pa.float64(), pa.float64())


def vectors(*values):
    return made({"word": list("abcd"), "vector": [*values]}, pa.string(), pa.list_(pa.float32(), 2))


def clusters(*numbers):
    columns = {"graph": [*"fffffgg"], "record": list("abcdeab"), "cluster": [*numbers]}
    return made(columns, pa.string(), pa.string(), pa.int64(), keys=2, unit="label")


ONE, TWO = rows({"a": {}}), rows({"a": {}, "b": {}})
FORMER = {word: {"model": "x/1990s", "d": number} for word, number in (("a", 1.0), ("b", 2.0))}
LATTER = {word: {"model": "x/2000s", "d": row["d"] + 3.0} for word, row in FORMER.items()}
COUNTED = {"a": {"count": 1}, "b": {"count": 2}, "c": {"count": 3}}
TWICE = {"status": "too_rare", "reason": "it occurs twice"}
RARE = TWICE | {"d": None, "d_low": None, "d_high": None}
LISTS = [{"a": {"missing": None}, "b": {"missing": []}, "c": {"missing": ["x", None]}, "e": {}}]
LISTS += [{"a": {"missing": []}, "b": {"missing": []}, "c": {"missing": ["x"]}, "e": {"missing": ["y"]}}]
MOVED = vectors([0.0, 1.0], [1.0, 1.0], None, [math.nan, 5.0]), vectors([0.5, -1], [1, 1.25], [1, 1], [math.nan, 5])

MATCHED = {
    "the order of rows is no change": (rows(COUNTED), rows(dict(reversed(COUNTED.items())))),
    "slices have no row in common, which is said with what would hold them together": (rows(FORMER), rows(LATTER)),
    "held together they have some": (rows(FORMER), rows(LATTER), {"aliases": {"x/1990s": "x/2000s"}}),
    "names that a command line would not read are quoted": (rows({"a": {"model": "New York, NY"}}), ONE),
    "rows come and go": (TWO, rows({"b": {}, "c": {"model": "de"}})),
    "a row comes twice in the later run": (TWO, pa.concat_tables([TWO, ONE])),
    "rows come twice in the earlier run": (pa.concat_tables([TWO, *[TWO.slice(1)] * 2]), TWO),
    "no column is a key": (bare(TWO), bare(ONE)),
    "a key column is lacking": (TWO.drop_columns("word"), TWO),
    "a key column has another type": (TWO.set_column(1, "word", pa.array([1, 2])), TWO),
    "an earlier table takes the key columns of the later": (bare(TWO), rows({"a": {"count": 2}, "b": {}})),
    "a later table takes those of the earlier": (TWO, bare(rows({"a": {"count": 2}, "b": {}}))),
    "a key column that the earlier lacks is left out where the others suffice": (
        *(rows({"a": {"count": 1}, "b": {}}).drop_columns("model"), rows({"a": {"count": 2}, "b": {}})),
    ),
    "whole numbers of other widths are the same keys": (epochs(pa.int16(), 1.0, 2.0), epochs(pa.int64(), 1.0, 3.0)),
    "null, zero and undefined keys match themselves": (
        *(alphas([None, math.nan, 0.0, 1.0], [1.0, 2, 3, 4]), alphas([1.0, -0.0, None, math.nan], [4, 3.5, 1.5, 2.5])),
    ),
    "columns that come, go or turn into text are not compared": (
        ONE.append_column("old", pa.array([1])),
        rows({"a": {"count": 8}}).set_column(5, "count", pa.array(["eight"])).append_column("new", pa.array([1])),
    ),
    "an interval that only one run has judges nothing": (ONE, rows({"a": {"d": 9.0}}).drop_columns("d_low")),
    "a table has its rows before and after": (
        rows({word: {} for word in "abcde"}),
        rows({"a": {"d": 9.0, "d_low": 8.0, "d_high": 10.0}, "b": {"d": 1.5, "d_low": 2.0}, "x": {}}),
    ),
    "tables come and go": ({"old": ONE}, {"new": TWO}),
    "the reason stands by rows of another status, whose numbers are no news": (
        rows({"a": {}, "b": RARE, "c": {}, "d": RARE, "e": RARE}),
        rows(
            {"a": RARE | {"count": 2}, "b": {}, "c": {}, "d": RARE | {"reason": "it occurs once"}}
            | {"e": RARE | {"status": "absent", "reason": "it does not occur"}}
        ),
    ),
    "many rows of another status are one row for each kind": (
        rows({f"word{at}": TWICE if at > 8 else {} for at in range(12)}),
        rows({f"word{at}": {} if at > 8 else TWICE for at in range(12)}),
    ),
    "lists are others": tuple(map(rows, LISTS)),
    "many are one row": (*map(rows, LISTS), {"max_listed": 2}),
    "vectors say how far they moved": MOVED,
    "and in one row": (*MOVED, {"max_listed": 0}),
    "a label is another only if other rows share it": (clusters(0, 0, 1, 1, 2, 0, 0), clusters(5, 5, 3, 3, 4, 9, 9)),
    "so that three are": (clusters(0, 0, 1, 1, 2, 0, 0), clusters(5, 5, 3, 4, 4, 5, 5)),
    "a change of all kinds": (
        rows({f"word{at}": {"count": at, "missing": ["x"] if at == 1 else []} for at in range(30)}),
        rows({f"word{at}": {"d": at / 2, "count": 2 * at} for at in range(20, -5, -1)}),
        {"max_listed": 3},
    ),
}


def test_tables_of_one_digest_are_not_read_nor_are_large_ones_which_is_said(history):
    runs = [history.run({"tests": history.table({"a": {}})}) for _ in range(2)]
    others = [history.run({"tests": history.table({"a": {"count": count}})}) for count in (1, 2)]
    for run in (*runs, *others):
        run.record["tables"]["tests"]["bytes"] = 65_000_000
        object.__setattr__(run, "read", pytest.fail)
    assert compare(*runs).num_rows == 0
    [row] = compare(*others).to_pylist()
    assert row["sentence"] == (
        "table tests differs (1 row as before): it has 65 MB, more than the 64 up to which rows are compared."
    )


MOMENT = "2026-11-20 22:00:00 UTC"
NONE = pl.DataFrame(Changes.schema().empty_table())
RARE_WORD = {"status": "too_rare", "reason": "it occurs twice", "d": None}
WORDS = {f"word{at}": {} for at in range(30)}
MOVED_WORDS = {f"word{at}": {"d": 2.0 + at / 2} for at in range(1, 26)} | {"word26": RARE_WORD, "وظيفة": {}}
NIGHT = (
    past({"tests": rows(WORDS | {"gone": {}}), "old": rows({}), "same": ONE}, {"seed": 0, "words": "a" * 100}),
    past({"tests": rows(WORDS | MOVED_WORDS), "same": ONE}, {"seed": 1, "words": "b"}),
)
"""Thirty words of which most moved; a word came, one went, and one became too rare."""

PAGE = {"has_page": True}
SECTIONS = {
    "a night": (*NIGHT, PAGE),
    "nothing": (ONE, ONE, PAGE),
    "a new version that changes no table": (
        *(past({"tests": ONE}, versions={"numpy": version}) for version in ("2.4", "2.5")),
        PAGE,
    ),
    "numbers without intervals": (
        *(rows({"a": {"d_low": None, "count": count}}) for count in (1, 2)),
        PAGE,
    ),
    "numbers that were exact have no half-widths": (
        rows({"a": {"d_low": 1.0, "d_high": 1.0}, "b": {}}),
        rows({word: {"d": 4.0} for word in "ab"}),
        PAGE,
    ),
    "tables that could not be compared": (
        *({"tests": rows({"a": {"count": count}}).drop_columns(["model", "word"]), "same": ONE} for count in (1, 2)),
        PAGE,
    ),
}


def judged(night, *words):
    """The same changes, of which the numbers of some words have been judged by draws."""
    is_judged = pl.col("row").is_in(words) & pl.col("beyond")
    return night.with_columns(p=pl.when(is_judged).then(0.001))


def test_a_page_says_since_when_and_a_night_is_led_by_the_judged_number_that_moved_most(request):
    """Not by word25, which left its earlier interval by more and has no draws."""
    night = pl.DataFrame(compare(*NIGHT))
    some, one = judged(night, "word word3", "word word9"), judged(night, "word word9")
    sections = [changes_since(*since) for since in ((night, 2, MOMENT), (NONE, 9, MOMENT), (NONE, 0, None))]
    told = [line for section in sections for block in section.blocks for line in lines(block)]
    told += [move_of("ratings", 28, some), move_of("ratings", 9, one)]
    told += [line for changes, num in ((NONE, 0), (night, 2), (one, 2)) for line in change_findings(changes, num)]
    check_text(request.path, "since", told)


EVENING = 1_763_750_063_000_000_001
"""Of 21 November 2025, in nanoseconds."""


def file(num_bytes, version):
    return past({}, inputs={"records": {"name": "file.csv", "bytes": num_bytes, "version": str(version)}})


def files(**languages):
    def of(found):
        return [{"name": name, "bytes": size, "version": version} for name, (size, version) in found.items()]

    translator = {"translator.es": {"there": {"version": "3.9"}}}
    return past({}, inputs={language: of(found) for language, found in languages.items()} | translator)


NOTHING = past({}, inputs={})
SETTINGS = {
    "a number": ({"embedding": {"window": 10}}, {"embedding": {"window": 5}}),
    "a list for nothing": ({"tests": None}, {"tests": ["weat1"]}),
    "a new one": ({}, {"tests": None}),
    "one that is gone": ({"name": ""}, {}),
    "items that come and go": ({"words": ["a", "b"]}, {"words": ["b", "c"]}),
    "an item that is a list": ({"pairs": [["a", "b"]]}, {"pairs": [["a", "b"], ["c", "d"]]}),
    "another order": ({"words": ["a", "b"]}, {"words": ["b", "a"]}),
    "many items": ({"words": []}, {"words": [str(number) for number in range(1200)]}),
    "records with names, in another order": (
        {"corpora": [{"name": "en", "path": "a"}, {"name": "de", "path": "b"}]},
        {"corpora": [{"name": "de", "path": "c"}, {"name": "en", "path": "a"}]},
    ),
    "records without": ({"steps": [{"at": 1}, {"at": 2}]}, {"steps": [{"at": 1}, {"at": 3}]}),
    "the same elsewhere, which is no change": (
        {"seed": 0, "rate": 1.0, "words": ["a"], "run_dir": "a", "store": "b", "series": None},
        {"seed": 0, "rate": 1.0, "words": ["a"], "run_dir": "c", "store": "d", "exports": {"tables": ["csv"]}},
    ),
}
CIRCUMSTANCES = {
    f"settings: {name}": tuple(past({}, settings) for settings in pair) for name, pair in SETTINGS.items()
} | {
    "a file that is 12 MB more, of a second later": (file(10**9, EVENING), file(1_012_000_000, EVENING + 10**9)),
    "a byte less": (file(2_000, EVENING), file(1_999, EVENING + 1)),
    "of the same size": (file(2_000, EVENING), file(2_000, EVENING + 1)),
    "of another etag and date": (file(2_000, '"etag"'), file(4_500, "Fri, 20 Nov 2026 10:00:00 GMT")),
    "of one version": (file(2_000, "x"), file(4_500, "x")),
    "a file that is new": (NOTHING, file(2_000, EVENING)),
    "one that is gone": (file(2_000, EVENING), NOTHING),
    "files are compared by their names": (
        files(en={"a": (1, "x"), "b": (2, "x")}),
        files(en={"b": (2, "y"), "a": (1, "x")}, de={"c": (3, "x")}),
    ),
    "inputs that are no files": (
        past({}, inputs={"checkpoint": "abc", "model": [{"version": "1"}]}),
        past({}, inputs={"checkpoint": "abd", "model": [{"version": "2"}]}),
    ),
    "versions, commit and machine": (
        past({}, git_commit="abc", machine={"system": "Linux"}, versions={"numpy": "2.4", "ray": "2.60"}),
        past({}, git_commit=None, machine={"system": "Darwin"}, versions={"numpy": "2.5", "ray": "2.60"}),
    ),
}


CASES = {"numbers": NUMBERS, "rows": MATCHED, "sections": SECTIONS, "circumstances": CIRCUMSTANCES}
KEYS = ["kind", "table", "column", "item", "row", "key"]


def said(before: Any, after: Any, has_page: bool = False, **detail: Any) -> Iterator[str]:
    """Each change but for what is null, and the findings of a page; with its sections, if they are asked for."""
    runs = [
        run if isinstance(run, PastRun) else past(run if isinstance(run, Mapping) else {"tests": run})
        for run in (before, after)
    ]
    changes = pl.DataFrame(compare(*runs, Detail(**detail)))
    assert changes.select(KEYS).is_unique().all()
    for row in changes.to_dicts():
        yield row.pop("sentence")
        known = {name: value for name, value in row.items() if value is not None}
        shown = {name: f"{value:.9g}" if isinstance(value, float) else str(value)[:99] for name, value in known.items()}
        yield f"  {'; '.join(f'{name}: {value}' for name, value in shown.items())}"
    yield from (f"- {finding}" for finding in change_findings(changes))
    for section in change_sections(changes) if has_page else []:
        yield f"[{section.title} ({section.anchor})]"
        for block in section.blocks:
            yield from lines(block)


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_what_is_said_of_two_runs(request, name):
    told = (
        line
        for case, (before, after, *detail) in CASES[name].items()
        for line in [f"\n# {case}", *said(before, after, **(detail[0] if detail else {}))]
    )
    check_text(request.path, name, told)
