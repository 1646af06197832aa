"""The job `private_vectors` on made-up vectors."""

import numpy as np
import pytest

from tests.jobs.embedding.private_vectors.places import NUM_WORDS, settings
from tiltmeter.cluster.stages import UnitsFailed
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


def test_more_dimensions_than_there_are_are_refused(run_job, folder):
    with pytest.raises(InputError, match="dimensions=13: the vectors have 12"):
        run_job(*SMALL, *settings(folder, "wide", "dimensions=13"))


@pytest.mark.parametrize(
    ("second", "message"),
    [("b nan 1", "holds a number that is not finite"), ("b 1 inf", "not finite"), ("a 1 2", "'a' has come before")],
)
def test_bad_vectors_are_refused(run_job, folder, second, message):
    (folder / "bad.vec").write_text(f"a 1 2\n{second}\nc 2 2\nd 1 5\n")
    with pytest.raises(UnitsFailed, match=message):
        run_job(*SMALL, *settings(folder, "bad", file="bad.vec"))


@pytest.mark.slow
@pytest.mark.parametrize("num_cpus", [1, 4])
def test_layout_changes_no_table(run_job, study, folder, num_cpus):
    task = f"+utility.tasks.lexicon={{path: {folder}/words.csv, kind: words}}"
    layout = [f"cluster.num_cpus={num_cpus}", "vocabulary.tile_words=7"]
    run = run_job(*SMALL, *settings(folder, f"study{num_cpus}", task, *layout))
    assert run.digests == study.digests
