"""The job `private_vectors` on made-up vectors."""

import json
import traceback

import numpy as np
import polars as pl
import pytest

from tests.jobs.embedding.private_vectors.places import NUM_WORDS, WIDTH, settings
from tiltmeter.jobs.changes.comparing import Comparison
from tiltmeter.jobs.changes.past_runs import past_run
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.embedding.private_vectors.audits import _batches
from tiltmeter.jobs.embedding.private_vectors.job import JOB
from tiltmeter.jobs.embedding.private_vectors.maps import PublicMap
from tiltmeter.jobs.embedding.private_vectors.mechanisms import Mechanism
from tiltmeter.jobs.embedding.private_vectors.page.findings import findings
from tiltmeter.jobs.embedding.private_vectors.page.sections import sections
from tiltmeter.jobs.embedding.private_vectors.sources import PrivateSources, find_sources, lines_of
from tiltmeter.jobs.embedding.private_vectors.tables import DISTANCES
from tiltmeter.jobs.embedding.private_vectors.task_data import TaskData
from tiltmeter.jobs.embedding.private_vectors.utility import _unit
from tiltmeter.jobs.embedding.private_vectors.vocabulary import words_to_encode
from tiltmeter.operators.embedding.private_release.utility import occurrences
from tiltmeter.operators.statistics.intervals import LOG, bootstrap_interval
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.corpora.sources import find_file
from tiltmeter.storage.errors import InputError, Refusal
from tiltmeter.storage.store.tables import key_columns

SMALL = [
    "job=private_vectors",
    "mechanisms=[M1,M2 exact,gaussian]",
    "dimensions=4",
    "epsilons=[1.0]",
    "exact_epsilons=[4.0]",
    "audit.epsilon=1.0",
    "audit.pairs=1",
    "audit.draws=800",
    "audit.batch=100",
    "distances.words=10",
    "distances.runs=2",
    "distances.epsilons=[1.0]",
    "distances.betas=[]",
    "deniability.words=3",
    "deniability.draws=20",
    "utility.folds=2",
    "utility.penalties=[1.0]",
]


@pytest.fixture(scope="module")
def study(run_job, folder):
    task = f"+utility.tasks.lexicon={{path: {folder}/words.csv, kind: words}}"
    return run_job(*SMALL, *settings(folder, "study", task))


def test_a_study_publishes_all_but_releases(study):
    assert study.published == {
        "mechanisms",
        "sensitivity",
        "profiles",
        "audits",
        "distances",
        "utility",
        "deniability",
        "draws",
    }


def test_exact_sensitivity_is_that_of_all_pairs(study, vectors):
    rows = {row["sensitivity_kind"]: row for row in study.rows("sensitivity", projection="gaussian")}
    assert rows["exact_vocabulary"]["sensitivity"] < rows["spectral"]["sensitivity"]
    assert rows["published"]["sensitivity"] == 1.9
    assert rows["exact_vocabulary"]["num_words"] == NUM_WORDS


def test_every_mechanism_has_the_sensitivity_of_its_kind(run_job, folder, vectors):
    """By the singular values of the maps and by all pairs; orthonormal rows stretch no pair of words by 1."""
    names = ["M1", "M2", "M2 exact", "M2 spectral", "haar", "public_pca"]
    quick = ["exact_epsilons=[]", "audit.pairs=0", "distances.epsilons=[]", "deniability.words=0"]
    run = run_job(*SMALL, *quick, *settings(folder, "kinds", f"mechanisms=[{','.join(names)}]"))
    rows = {row["mechanism"]: row for row in run.rows("mechanisms")}
    maps = {(row["projection"], row["sensitivity_kind"]): row["sensitivity"] for row in run.rows("sensitivity")}
    assert rows["M1"]["sensitivity"] == 1.0
    assert rows["M2"]["sensitivity"] == 1.9
    assert rows["M2 spectral"]["sensitivity"] == maps["gaussian", "spectral"] > maps["gaussian", "exact_vocabulary"]
    for name, kind in {"M2 exact": "gaussian", "haar": "haar", "public_pca": "public_pca"}.items():
        assert rows[name]["sensitivity"] == maps[kind, "exact_vocabulary"]
        assert rows[name]["scale"] == rows[name]["sensitivity"] / rows[name]["epsilon"]
    assert maps["haar", "spectral"] == pytest.approx(1.0)
    assert rows["haar"]["sensitivity"] < rows["public_pca"]["sensitivity"] < 1


def test_mechanisms_are_alike_where_they_are_compared(study):
    exact = study.rows("profiles", compared_at="exact", distance_kind="median", stretch="typical")
    assert len(exact) == 3
    assert [row["exact_epsilon"] for row in exact] == pytest.approx([4.0] * 3, rel=1e-6)


def test_the_largest_distance_is_that_of_all_pairs(study, vectors):
    differences = vectors[:, None].astype(np.float64) - vectors[None]
    [row] = study.rows("profiles", mechanism="M1", compared_at="nominal", distance_kind="largest", stretch="worst")
    assert row["distance"] == pytest.approx(np.linalg.norm(differences, axis=2).max())
    assert row["bound"] == pytest.approx(row["distance"])


def test_no_mechanism_is_convicted(study):
    rows = study.rows("audits")
    assert len(rows) == 3 * 2 * 7
    assert {row["verdict"] for row in rows} == {"within"}
    assert all(row["audited_low"] <= row["claimed"] for row in rows if row["claimed"] is not None)


def test_controls_stand_beside_every_mechanism(study):
    rows = study.rows("utility", measure="accuracy")
    names = {row["mechanism"] for row in rows}
    assert names == {"non_private", "constant", "M1", "M2 exact", "gaussian", "noise_only norm", "noise_only gaussian"}
    accuracy = {row["mechanism"]: row["value"] for row in rows if row["compared_at"] == "nominal"}
    assert accuracy["non_private"] > accuracy["constant"]


def test_distances_have_their_closed_form_and_a_constant(study):
    [row] = study.rows("distances", mechanism="M1", read_out="distance")
    assert row["error"] == pytest.approx(row["closed_form"], rel=0.15)
    assert row["constant_error"] < row["error"]


def test_errors_leave_the_runs_that_their_intervals_are_made_of(study):
    """And nothing else does."""
    draws = {draw["key"]: draw for draw in study.rows("draws")}
    rows = study.rows("distances")
    assert len(draws) == len(rows)
    for row in rows:
        draw = draws[json.dumps({key: row[key] for key in key_columns(DISTANCES)})]
        assert (draw["table"], draw["column"], len(draw["values"])) == ("distances", "error", row["num_runs"])
        values = np.array(draw["values"])
        assert row["error"] == values.mean()
        spread = (1 + 1 / len(values)) ** 0.5
        ends = bootstrap_interval(row["error"], values, scale=LOG, spread=spread)[:2]
        assert (row["error_low"], row["error_high"]) == pytest.approx(ends, rel=1e-12)


QUICK = ["mechanisms=[M1]", "exact_epsilons=[]", "audit.pairs=0", "deniability.words=0", "distances.runs=20"]


@pytest.fixture(scope="module")
def nights(run_job, folder, words, vectors, write_vectors):
    """A night, one with vectors a little farther out, and one that calls the words otherwise."""
    write_vectors(folder / "farther.bin", words, vectors * np.float32(1.05))
    write_vectors(folder / "renamed.bin", [f"{word}s" for word in words], vectors * np.float32(1.05))
    runs = {
        name: run_job(*SMALL, *QUICK, *settings(folder, f"night {name}", file=f"{name}.bin"))
        for name in ("vectors", "farther", "renamed")
    }
    before = past_run(runs["vectors"].path)
    return {
        name: {
            (row["table"], row["key"]): row
            for row in Comparison(before, past_run(runs[name].path)).differences().to_pylist()
            if row["table"] == "distances"
        }
        for name in ("farther", "renamed")
    }


def test_nights_with_the_same_noise_on_the_same_words_are_paired_run_by_run(nights):
    paired, unpaired = nights["farther"], nights["renamed"]
    assert paired.keys() == unpaired.keys()
    assert {(row["paired_by"], row["num_draws"]) for row in paired.values()} == {("replicas", 20)}
    assert {(row["paired_by"], row["num_draws"]) for row in unpaired.values()} == {("unpaired", 20)}
    for key, row in paired.items():
        # The noise that both nights share is much of what parts one run from another.
        assert row["difference"] == unpaired[key]["difference"]
        assert row["high"] - row["low"] < 0.5 * (unpaired[key]["high"] - unpaired[key]["low"])


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("epsilons=[0.0]", "greater than 0"),
        ("audit.epsilon=-1", "greater than 0"),
        ("release.mechanism=M2", "private vectors are in none; choose one of M1"),
        ("release.mechanism=gaussian", "set release.radius"),
        ("release.key_file=key", "^release.epsilon: is missing, and has no usual value: .* odds of up to exp"),
        ("release.key_file=key release.epsilon=11", "is more than release.max_epsilon=10"),
        (
            "release.key_file=key release.epsilon=11 release.max_epsilon=20",
            "is more than 10; say in release.most_epsilon how",
        ),
        ("audit.draws=5000", "must be at least 8 times audit.batch"),
        (
            "release.words=private.txt",
            "^release.words=private.txt: .* nothing is released without a key; set release.key_",
        ),
        ("release.radius=2", "^release.radius=2.*: .* nothing is released without a key"),
        ("release.epsilon=2", "^release.epsilon=2.*: .* nothing is released without a key"),
        ("vocabulary.word_file=a.txt", "^vocabulary.word_file=a.txt: is for an encoder"),
    ],
)
def test_settings_that_make_no_sense_are_refused(configured, folder, override, message):
    with pytest.raises(Refusal, match=message):
        configured("job=private_vectors", f"embedding.path={folder}/vectors.bin", *override.split())


def test_audits_of_few_words_are_told_apart(run_job, folder):
    """The nearest word may be the random one too, and the second pair may be of the first one's words."""
    (folder / "three.vec").write_text("a 0 1\nb 2 0\nc 3 3\n")
    quick = ["mechanisms=[M1]", "dimensions=2", "exact_epsilons=[]", "distances.epsilons=[]", "deniability.words=0"]
    run = run_job(*SMALL, *quick, *settings(folder, "three", "audit.pairs=3", file="three.vec"))
    rows = run.rows("audits")
    assert len({row["pair"] for row in rows}) <= 6
    assert (
        len({tuple(row[key] for key in key_columns(run.table("audits").schema)) for row in rows}) == 6 * 7 == len(rows)
    )


@pytest.mark.parametrize(("stretch", "is_broken"), [(1.899, False), (1.901, True)])
def test_the_page_says_that_a_map_breaks_the_published_promise(stretch, is_broken):
    about = {"projection": "gaussian", "dimensions": 6, "beta": 0.9}
    kinds = {"published": 1.9, "exact_vocabulary": stretch, "spectral": 2.1}
    rows = [about | {"sensitivity_kind": kind, "sensitivity": value} for kind, value in kinds.items()]
    [finding] = findings({"sensitivity": pl.DataFrame(rows)})
    assert finding.startswith(f"The map to 6 dimensions stretches no pair of words by more than {stretch}")
    assert finding.endswith("By this map M2 does not promise what is published.") == is_broken


def test_each_row_of_a_task_has_a_line_of_its_own_in_the_picture():
    about = {"task": "t", "measure": "accuracy", "value": 0.5, "low": 0.4, "high": 0.6, "status": "ok", "reason": ""}
    about |= {"exact_epsilon": None, "epsilon": None}
    subjects = [("constant", 0, "nominal", "none")]
    subjects += [("M2", 54, kind, noise) for kind in ("nominal", "exact") for noise in ("occurrence", "word")]
    subjects += [("noise_only norm", num, "nominal", noise) for num in (54, 300) for noise in ("occurrence", "word")]
    names = ("mechanism", "dimensions", "compared_at", "noise_per")
    rows = [about | dict(zip(names, subject, strict=True)) for subject in subjects]
    rows = [row | ({"epsilon": 10.0} if row["mechanism"] == "M2" else {}) for row in rows]
    [section] = sections({"utility": pl.DataFrame(rows)})
    lines = section.blocks[0].figures["t"].layout["yaxis"]["ticktext"]
    assert len(set(lines)) == len(subjects)
    assert lines[-1] == "constant"


def test_every_draw_that_is_asked_for_is_made(configured, folder):
    """The last batch is a smaller one; batches have numbers of their own by which they draw."""
    config = configured(*SMALL, *settings(folder, "x", "audit.draws=850"))
    mechanism = Mechanism("M1", PublicMap("none", WIDTH, 0.0, None), 1.0, 0.0, 1.0, epsilon=1.0, scale=1.0)
    units = [unit.config for unit in _batches(config, None, mechanism, "nearest 0")]
    for side in ("first", "second"):
        assert [unit["draws"] for unit in units if unit["side"] == side] == [100] * 8 + [50]
        assert [unit["batch"] for unit in units if unit["side"] == side] == list(range(9))


def test_tasks_that_cannot_be_judged_keep_a_row_that_says_why(run_job, folder, words, vectors):
    """Three classes have no area; a test part may be empty, or have one class."""
    halves = [f"{word},{'ab'[int(vectors[row, 0] > 0)]}\n" for row, word in enumerate(words)]
    thirds = [f"{word},{'abc'[row % 3]}\n" for row, word in enumerate(words)]
    for name, lines in {
        "thirds": thirds,
        "empty": [],
        "one": [line for line in halves if line.endswith("a\n")],
    }.items():
        (folder / f"{name}.csv").write_text("text,label\n" + "".join(lines))
    tasks = {
        "thirds": f"path: {folder}/thirds.csv",
        "one": f"path: {folder}/words.csv, test: {folder}/one.csv",
        "empty": f"path: {folder}/words.csv, test: {folder}/empty.csv",
    }
    overrides = [f"+utility.tasks.{name}={{{files}, kind: words}}" for name, files in tasks.items()]
    quick = ["mechanisms=[M1]", "exact_epsilons=[]", "audit.pairs=0", "distances.epsilons=[]", "deniability.words=0"]
    run = run_job(*SMALL, *quick, *overrides, *settings(folder, "tasks"))
    rows = {(row["task"], row["measure"]): row for row in run.rows("utility", mechanism="M1", compared_at="nominal")}
    assert rows.keys() == {(name, measure) for name in ("thirds", "one") for measure in ("accuracy", "area")} | {
        ("empty", "accuracy")
    }
    for task in ("thirds", "one"):
        assert 0 < rows[task, "accuracy"]["value"] <= 1
        assert (rows[task, "area"]["status"], rows[task, "area"]["value"]) == ("undefined", None)
        assert rows[task, "area"]["reason"] == "two classes, both in the test part, are needed"
    assert rows["empty", "accuracy"]["reason"].startswith("the test part has no text")


def test_a_random_part_that_leaves_one_class_to_learn_is_no_task():
    data = TaskData(occurrences([["a"], ["a"], ["a"]], {"a": 0}), np.array([0, 0, 1]), None)
    assert data.unusable(0, [np.array([False, False, True])]).startswith("a random training part has one class alone")
    assert data.unusable(0, [np.array([False, True, False])]) == ""


def test_units_of_tasks_name_the_tokens_that_they_are_made_of(configured, folder):
    """A text is other words where tokens are made otherwise, or in another language."""
    languages = [
        configured(*SMALL, *settings(folder, "x", f"+utility.tasks.t={{path: {folder}/words.csv}}", *more))
        for more in ([], ["embedding.language=tr"])
    ]
    row = {"mechanism": "constant", "dimensions": 0, "epsilon": None, "compared_at": "nominal"}
    units = [_unit(config, find_sources(config), None, "t", (row, None)) for config in languages]
    assert [unit.config["tokens"] for unit in units] == [Tokenizer("en").identity, Tokenizer("tr").identity]


BAD_FILES = {
    "nan": ("a 1 2\nb nan 1\nc 2 2\nd 1 5\n", "holds a number that is not finite"),
    "infinite": ("a 1 2\nb 1 inf\nc 2 2\nd 1 5\n", "not finite"),
    "twice": ("a 1 2\na 1 1\nc 2 2\nd 1 5\n", "'a' has come before"),
    "alike": ("a 1 2\nb 1 2\nc 1 2\nd 2 2\n", "has 2 different vectors, and must have 3 at least"),
    "few": ("a 1 2\nb 2 2\n", "has 2 different vectors"),
    "ragged": ("a 1 2\nb 2\nc 2 1\n", "line 2"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_vectors_are_refused_before_any_work(configured, folder, name):
    content, message = BAD_FILES[name]
    (folder / "bad.vec").write_text(content)
    config = configured(*SMALL, *settings(folder, "bad", "dimensions=2", file="bad.vec"))
    with pytest.raises(Refusal, match=message):
        JOB.find_sources(config)


def test_more_dimensions_than_there_are_are_refused_before_any_work_and_after(configured, folder, study):
    """The second store has the vectors already, which are not read again."""
    for store in ("wide", "study"):
        with pytest.raises(InputError, match="dimensions=13: the vectors have 12"):
            execute(configured(*SMALL, *settings(folder, store, "dimensions=13", f"run_dir={folder}/wide_run")))
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
    config, sources = encoding(configured, tmp_path, content)
    with pytest.raises(InputError, match=f"^vocabulary.word_file: {message}"):
        words_to_encode(config, sources)


def encoding(configured, tmp_path, content, *more):
    (tmp_path / "words.txt").write_bytes(content)
    encoder = ["embedding=encoder", "embedding.model=none", f"vocabulary.word_file={tmp_path}/words.txt"]
    sources = PrivateSources(words=find_file(str(tmp_path / "words.txt"), "vocabulary.word_file"))
    return configured(*SMALL, *encoder, *more), sources


def test_an_encoder_is_given_the_first_words_that_are_asked_for(configured, tmp_path):
    content = b"a\nb\na\n\nc\nd\n"
    assert words_to_encode(*encoding(configured, tmp_path, content)) == ("a", "b", "c", "d")
    assert words_to_encode(*encoding(configured, tmp_path, content, "vocabulary.words=3")) == ("a", "b", "c")


@pytest.mark.slow
def test_a_refusal_ends_the_command_with_status_2(tiltmeter, folder):
    (folder / "refused.vec").write_text(BAD_FILES["infinite"][0])
    process = tiltmeter(*SMALL, *settings(folder, "refused_store", file="refused.vec"))
    _, errors = process.communicate()
    assert process.returncode == 2
    assert "not finite" in errors
    assert not (folder / "refused_store").exists()
    assert not (folder / "refused_store_run").exists()


def test_words_of_the_same_vector_are_merged_and_counted(run_job, folder, words, vectors, write_vectors):
    """The same as without them, and a block of words that is not the last is whole."""
    doubled = [*words, *(f"again{number}" for number in range(20))]
    write_vectors(folder / "doubled.bin", doubled, np.concatenate([vectors, vectors[:20]]))
    quick = [
        "mechanisms=[M2 exact]",
        "exact_epsilons=[]",
        "audit.pairs=0",
        "distances.epsilons=[]",
        "distances.betas=[0.5]",
    ]
    given = [*SMALL, *quick, "deniability.words=0", "vocabulary.tile_words=3"]
    plain = run_job(*given, *settings(folder, "plain"))
    merged = run_job(*given, *settings(folder, "doubled", file="doubled.bin"))
    assert {(row["num_words"], row["num_merged"]) for row in merged.rows("sensitivity")} == {(NUM_WORDS, 20)}
    assert merged.digests["mechanisms"] == plain.digests["mechanisms"]
    assert [row | {"num_merged": 20} for row in plain.rows("sensitivity")] == merged.rows("sensitivity")


@pytest.mark.slow
@pytest.mark.parametrize("num_cpus", [1, 4])
def test_layout_changes_no_table(run_job, study, folder, num_cpus):
    task = f"+utility.tasks.lexicon={{path: {folder}/words.csv, kind: words}}"
    layout = [f"cluster.num_cpus={num_cpus}", "vocabulary.tile_words=7"]
    run = run_job(*SMALL, *settings(folder, f"study{num_cpus}", task, *layout))
    assert run.digests == study.digests
