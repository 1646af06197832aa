"""Which settings, inputs and versions differ."""

import pytest

from tiltmeter.jobs.changes.comparing import compare

_EVENING = 1_763_750_063_000_000_001
"""Of 21 November 2025, in nanoseconds."""


def sentences(before, after):
    return [row["sentence"] for row in compare(before, after).to_pylist()]


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ({"embedding": {"window": 10}}, {"embedding": {"window": 5}}, "embedding.window was 10 and is 5 now"),
        ({"tests": None}, {"tests": ["weat1"]}, 'tests was null and is ["weat1"] now'),
        ({}, {"tests": None}, "tests is new: null"),
        ({"name": ""}, {}, "name is gone: it was “”"),
        ({"words": ["a", "b"]}, {"words": ["b", "c"]}, "words gained “c” and lost “a”"),
        ({"pairs": [["a", "b"]]}, {"pairs": [["a", "b"], ["c", "d"]]}, 'pairs gained ["c", "d"]'),
        ({"words": ["a", "b"]}, {"words": ["b", "a"]}, "words has its items in another order, or another number of"),
        (
            {"words": []},
            {"words": [str(number) for number in range(1200)]},
            "words gained 1,200 items (“0”, “1”, “2”, “3”, “4”, ...)",
        ),
        (
            {"corpora": [{"name": "en", "path": "a"}, {"name": "de", "path": "b"}]},
            {"corpora": [{"name": "de", "path": "c"}, {"name": "en", "path": "a"}]},
            "corpora.de.path was “b” and is “c” now",
        ),
        ({"steps": [{"at": 1}, {"at": 2}]}, {"steps": [{"at": 1}, {"at": 3}]}, "steps.1.at was 2 and is 3 now"),
    ],
)
def test_a_setting_that_differs_is_listed(history, before, after, sentence):
    [told] = sentences(history.run({}, before), history.run({}, after))
    assert told.startswith(f"setting {sentence}")


def test_where_a_run_takes_place_and_equal_settings_are_no_changes(history):
    settings = {"seed": 0, "rate": 1.0, "words": ["a"]}
    places = {"run_dir": "a", "store": "b", "series": None}
    assert (
        sentences(history.run({}, settings | places), history.run({}, settings | {"run_dir": "c", "store": "d"})) == []
    )


def test_inputs_are_compared_by_their_names(history):
    def of(**files):
        return [{"name": name, "bytes": size, "version": version} for name, (size, version) in files.items()]

    before = {"en": of(a=(1, "x"), b=(2, "x")), "translator.es": {"there": {"version": "3.9"}}}
    after = {"en": of(b=(2, "y"), a=(1, "x")), "de": of(c=(3, "x")), "translator.es": {"there": {"version": "3.9"}}}
    assert sentences(history.run({}, inputs=before), history.run({}, inputs=after)) == [
        "input en/b changed, of the same size.",
        "input de/c is new: 3 bytes, version x.",
    ]


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ((10**9, _EVENING), (1_012_000_000, _EVENING + 10**9), "changed on 2025-11-21 18:34:24 UTC, 12 MB more"),
        ((2_000, _EVENING), (1_999, _EVENING + 1), "changed on 2025-11-21 18:34:23 UTC, 1 byte less"),
        ((2_000, _EVENING), (2_000, _EVENING + 1), "changed on 2025-11-21 18:34:23 UTC, of the same size"),
        ((2_000, '"etag"'), (4_500, "Fri, 20 Nov 2026 10:00:00 GMT"), "changed, 2.5 kB more"),
        ((2_000, "x"), (4_500, "x"), "has 2.5 kB more"),
        (None, (2_000, _EVENING), "is new: file.csv, 2 kB, changed on 2025-11-21 18:34:23 UTC"),
        ((2_000, _EVENING), None, "is gone: it was file.csv, 2 kB, changed on 2025-11-21 18:34:23 UTC"),
    ],
)
def test_a_change_of_a_file_is_told_by_its_time_and_size(history, before, after, sentence):
    def run(file):
        entry = file and {"name": "file.csv", "bytes": file[0], "version": str(file[1])}
        return history.run({}, inputs={"records": entry} if entry else {})

    [row] = compare(run(before), run(after)).to_pylist()
    assert row["sentence"].startswith(f"input records {sentence}")
    assert str(_EVENING)[:10] not in str(row)


def test_inputs_that_are_no_files_are_told_by_what_is_recorded(history):
    before, after = (
        {"checkpoint": "abc", "model": [{"version": "1"}]},
        {"checkpoint": "abd", "model": [{"version": "2"}]},
    )
    assert sentences(history.run({}, inputs=before), history.run({}, inputs=after)) == [
        "input checkpoint was “abc” and is “abd” now.",
        "input model/0 was “version 1” and is “version 2” now.",
    ]


def test_versions_commit_and_machine_are_told(history):
    before = history.run({}, git_commit="abc", machine={"system": "Linux"}, versions={"numpy": "2.4", "ray": "2.60"})
    after = history.run({}, git_commit=None, machine={"system": "Darwin"}, versions={"numpy": "2.5", "ray": "2.60"})
    assert sentences(before, after) == [
        "version numpy was “2.4” and is “2.5” now.",
        "version git_commit was “abc” and is null now.",
        "version machine.system was “Linux” and is “Darwin” now.",
    ]
    [row, *_] = compare(before, after).to_pylist()
    assert (row["kind"], row["item"], row["text_before"], row["text_after"]) == ("version", "numpy", "2.4", "2.5")
