"""Which settings, inputs and versions differ: cases, whose changes are a text beside."""

from tests.fixtures.history import past

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
        {"seed": 0, "rate": 1.0, "words": ["a"], "run_dir": "c", "store": "d"},
    ),
}
CASES = {f"settings: {name}": tuple(past({}, settings) for settings in pair) for name, pair in SETTINGS.items()} | {
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


def test_what_differs_in_how_runs_were_made_is_told(check_cases):
    check_cases("circumstances", CASES)
