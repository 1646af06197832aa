"""Texts on methods: every job has one, cites papers that there are, and says what a run's settings and tables say."""

import re
import tomllib
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from tiltmeter.jobs import catalogue
from tiltmeter.jobs.report.methods import TEXTS, cited, methods, papers, templates
from tiltmeter.jobs.runtime.published import Frames

FIELDS = {
    "article": {"author", "title", "journal", "volume", "year"},
    "book": {"author", "title", "publisher", "year"},
    "incollection": {"author", "title", "booktitle", "publisher", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "misc": {"author", "title", "year"},
    "techreport": {"author", "title", "institution", "year"},
}
"""What an entry of each kind must have."""

RECORD = {"version": "1.2", "git_commit": None, "failed": 0}
TEMPLATES = {path.stem: path.read_text(encoding="utf-8") for path in TEXTS.glob("*.jinja")}


@pytest.fixture(scope="module")
def text(configured):
    """The text of a run with such settings and tables."""

    compose = cache(configured)

    def made(*overrides, record=RECORD, **tables):
        frames = {name: pl.LazyFrame(rows) for name, rows in tables.items()}
        return methods(compose(*overrides), record, Frames(frames))

    return made


# --- papers ---------------------------------------------------------------------------------------------------------


def test_every_job_has_a_text_and_every_text_a_job():
    assert templates() - {"base", "shared", "of_other_packages"} == set(catalogue.OURS)


def test_every_paper_is_cited_and_every_citation_is_of_a_paper():
    assert {key for text in TEMPLATES.values() for key in re.findall(r"@(\w+)", text)} == set(papers())


def test_entries_are_of_known_kinds_with_what_they_need():
    content = (TEXTS / "papers.bib").read_text(encoding="utf-8")
    assert content.count("\n@") == len(papers())
    assert list(papers()) == sorted(papers())
    for key, entry in papers().items():
        kind = re.match(r"@(\w+)\{", entry)[1]
        lines = entry.splitlines()[1:-1]
        fields = dict(re.fullmatch(r"  (\w+) = \{(.*)\},", line).groups() for line in lines)
        assert len(fields) == len(lines), key
        assert fields.keys() - {"howpublished"} == FIELDS[kind], key
        assert all(value.count("{") == value.count("}") and value == value.strip() for value in fields.values()), key
        first = re.sub(r"\\.|[{}\W]", "", fields["author"].split(" and ")[0].rpartition(", ")[0] or fields["author"])
        assert key.startswith(re.match("[a-z]+", key)[0]), key
        assert fields["year"] in key, key
        assert re.match("[a-z]+", key)[0][:3] == first.lower()[:3], key


# --- texts ----------------------------------------------------------------------------------------------------------

LANGUAGES = {"language": ["en", "en"]}
CORPORA = {"corpus": ["letters"], "language": ["en"], "num_articles": [1], "num_tokens": [12345], "num_words": [678]}


def test_the_text_of_a_survey_of_gender_whole(text):
    made = text(
        *("job=gender_survey", "wordset/gender=[english]"),
        "embedding.num_replicas=4",
        "seed=12345",
        record={**RECORD, "left_out": [{"kind": "empty", "num": 2}, {"kind": "kept", "num": 9}]},
        corpora=CORPORA,
        gender_professions={"profession": ["nurse", "smith", "nurse"], "status": ["ok"] * 3, "reason": [None] * 3},
        gender_languages=LANGUAGES,
    )
    assert made == (Path(__file__).parent / "methods_of_gender_survey.md").read_text(encoding="utf-8")
    assert cited(made) == ["bolukbasi2016man", "chamandy2012estimating", "matthews2021gender", "pennington2014glove"]


CASES = tomllib.loads((Path(__file__).parent / "methods.toml").read_text(encoding="utf-8"))["case"]
EMBEDDINGS = ("association", "bootstrap", "gender_adversary", "gender_survey", "mitigation", "psychophysics", "survey")
NEEDED = {
    **{job: ["wordset/gender=[english]"] for job in EMBEDDINGS},
    "attribution": ["data.path=x", "data.label=l", "classifier.learns=x"],
    "compare": ["runs=[a,b]"],
    "decoy_benchmark": ["data.path=x"],
    "entity_resolution": ["pairs=x"],
    "error_characterisation": ["data.path=x", "data.prediction=p"],
    "gender_adversary": ["data.path=x", "wordset/gender=[english]"],
    "gru_training": ["labelled.path=x"],
    "overnight": ["jobs=x"],
    "plan": ["job.of=survey"],
    "privacy_metrics": ["data.path=x", "data.gender=g"],
    "private_vectors": ["embedding.path=x"],
    "sentence_pairs": ["data.path=x", "models.checkpoints={m:x}"],
    "word_influence": ["data.path=x"],
}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["says"][:40])
def test_a_sentence_is_there_where_settings_say_so_and_only_there(text, case):
    usual, tables = [f"job={case['job']}", *NEEDED.get(case["job"], [])], case.get("tables", {})
    assert case["says"] in text(*usual, *case["settings"], **tables)
    assert case["says"] not in text(*usual, **tables)


@pytest.mark.long
@pytest.mark.parametrize("job", catalogue.OURS)
def test_without_tables_no_text_speaks_of_a_test(text, job):
    made = text(f"job={job}", *NEEDED.get(job, []))
    assert made.startswith("# Methods\n\n")
    assert made.endswith("a digest of each table.\n")
    assert not re.search(r"  |\(\s|\s[,.;)]|None|\{|\}|\n\n\n", made)
    assert "-value" not in made


@pytest.mark.long
def test_a_run_with_units_that_failed_says_so(text):
    made = text("job=bootstrap", record=RECORD | {"failed": 2})
    assert "2 units of work failed, and what needs them is lacking." in made
