"""The job `private_vectors` on made-up vectors."""

import numpy as np
import pytest

from tests.jobs.embedding.private_vectors.places import NUM_WORDS, settings
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.embedding.private_vectors.job import JOB
from tiltmeter.storage.errors import InputError, Refusal

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
    }


def test_exact_sensitivity_is_that_of_all_pairs(study, vectors):
    rows = {row["sensitivity_kind"]: row for row in study.rows("sensitivity", projection="gaussian")}
    assert rows["exact_vocabulary"]["sensitivity"] < rows["spectral"]["sensitivity"]
    assert rows["published"]["sensitivity"] == 1.9
    assert rows["exact_vocabulary"]["num_words"] == NUM_WORDS


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


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("epsilons=[0.0]", "greater than 0"),
        ("audit.epsilon=-1", "greater than 0"),
        ("release.mechanism=M2", "private vectors are in none; choose one of M1"),
        ("release.mechanism=gaussian", "set release.radius"),
        ("release.epsilon=11", "is more than release.max_epsilon=10"),
        ("audit.draws=5000", "must be at least 8 times audit.batch"),
    ],
)
def test_settings_that_make_no_sense_are_refused(configured, folder, override, message):
    with pytest.raises(Refusal, match=message):
        configured("job=private_vectors", f"embedding.path={folder}/vectors.bin", override)


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
