"""The model of docs/scale.md, held against what its page says of the whole English Wikipedia."""

from types import SimpleNamespace

import pytest

from tiltmeter.jobs.upkeep.plan.scale import about_slices, modelled, scratch_bytes
from tiltmeter.operators.compute.slicing import Slicing

HOUR, GIGA = 3600.0, 1e9


def wikipedia(num_bytes, slicing=None):
    source = SimpleNamespace(num_bytes=num_bytes, format="mediawiki", compression="none")
    return [SimpleNamespace(name="enwiki", sources=[source], slicing=slicing)]


@pytest.fixture(scope="module")
def bootstrap(configured):
    return configured("job=bootstrap", "corpus=file", "corpus.language=en", "corpus.path=x")


@pytest.fixture(scope="module")
def stages(bootstrap):
    """Of 4.9 billion tokens."""
    return modelled(bootstrap, wikipedia(4.9e9 * 21))


@pytest.mark.parametrize(
    ("stage", "hours", "units", "gigabytes"),
    [
        ("train", 46.0 * 20.7 / 26.7, 33, 28),
        ("merge", 10.5, 21_400, 148),
        ("co-occurrence", 8.1, 7_800, 565),
        ("combine", 5.4, 11_100, 612),
        ("documents", 3.1, 7_800, 12),
        ("tokens", 0.8, 7_800, 11),
    ],
)
def test_the_whole_wikipedia_takes_what_the_page_says(stages, stage, hours, units, gigabytes):
    """Training without the larger share of vectors that are not in cache there, which the page adds."""
    found = stages[stage]
    assert found.worker_seconds / HOUR == pytest.approx(hours, rel=0.2)
    assert found.num_units == pytest.approx(units, rel=0.1)
    assert found.num_bytes / GIGA == pytest.approx(gigabytes, rel=0.2)


def test_pairs_that_fit_no_memory_lie_on_the_local_disk(bootstrap):
    assert scratch_bytes(bootstrap, wikipedia(4.9e9 * 21)) / GIGA == pytest.approx(78, rel=0.05)
    assert scratch_bytes(bootstrap, [*wikipedia(1e6), *wikipedia(4.9e9 * 21)]) / GIGA == pytest.approx(78, rel=0.05)
    assert scratch_bytes(bootstrap, wikipedia(1e6)) == 0.0


def test_training_grows_with_replicas_epochs_and_dimensions(configured):
    def trained(*words):
        config = configured("job=bootstrap", "corpus=file", "corpus.language=en", "corpus.path=x", *words)
        return modelled(config, wikipedia(1e9))

    stages = trained()
    others = trained("embedding.num_replicas=65", "embedding.trainer.epochs=30", "embedding.trainer.dimensions=50")
    for stage in ("co-occurrence", "merge"):
        assert others[stage].worker_seconds == pytest.approx(2 * stages[stage].worker_seconds)
        assert others[stage].num_bytes == pytest.approx(2 * stages[stage].num_bytes)
    usual, more = stages["train"], others["train"]
    assert (usual.num_units, more.num_units) == (33, 66)
    assert more.worker_seconds == pytest.approx(2 * usual.worker_seconds)
    assert more.num_bytes == pytest.approx(usual.num_bytes)


def test_it_has_no_figures_of_other_trainers_and_other_jobs(configured):
    config = configured("job=bootstrap", "corpus=file", "corpus.language=en", "corpus.path=x", "embedding=word2vec")
    stages = modelled(config, wikipedia(1e9))
    assert stages["train"].worker_seconds is None
    assert "merge" not in stages
    assert modelled(configured("job=entity_resolution", "pairs=pairs.csv"), []) == {}


def test_slices_are_corpora_as_far_as_settings_say_how_many_there_are(bootstrap):
    whole = modelled(bootstrap, wikipedia(3e9))
    values, cuts = Slicing("decade", values=("1990", "2000", "2010")), Slicing("year", cuts=(1995.0, 2005.0))
    for slicing in (values, cuts):
        texts = wikipedia(3e9, slicing)
        cut = modelled(bootstrap, texts)
        assert {name: stage.num_units for name, stage in cut.items()}["train"] == 3 * whole["train"].num_units
        assert cut["documents"].num_units == pytest.approx(whole["documents"].num_units, abs=2)
        assert cut["read"] == whole["read"]
        # Three trainings of a third of the tokens.
        assert cut["train"].worker_seconds / whole["train"].worker_seconds == pytest.approx(3**0.145, rel=1e-6)
        assert (cut["list slices"].num_units, about_slices(texts)) == (1, "")
    unknown = wikipedia(3e9, Slicing("decade"))
    assert modelled(bootstrap, unknown)["train"] == whole["train"]
    assert about_slices(unknown).startswith("how many slices enwiki will have is not known before they are read")
