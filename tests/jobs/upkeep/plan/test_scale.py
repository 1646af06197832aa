"""The model of docs/scale.md, held against what its page says of the whole English Wikipedia."""

from types import SimpleNamespace

import pytest

from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.upkeep.plan.scale import modelled, scratch_bytes

HOUR, GIGA = 3600.0, 1e9


def wikipedia(num_bytes):
    source = SimpleNamespace(num_bytes=num_bytes, format="mediawiki", compression="none")
    return Sources(texts=[SimpleNamespace(name="enwiki", sources=[source])])


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
    assert scratch_bytes(bootstrap, wikipedia(1e6)) == 0.0


def test_training_grows_with_replicas_epochs_and_dimensions(configured):
    def trained(*words):
        config = configured("job=bootstrap", "corpus=file", "corpus.language=en", "corpus.path=x", *words)
        return modelled(config, wikipedia(1e9))["train"]

    usual = trained()
    more = trained("embedding.num_replicas=65", "embedding.trainer.epochs=30", "embedding.trainer.dimensions=50")
    assert (usual.num_units, more.num_units) == (33, 66)
    assert more.worker_seconds == pytest.approx(2 * usual.worker_seconds)
    assert more.num_bytes == pytest.approx(usual.num_bytes)


def test_it_has_no_figures_of_other_trainers_and_other_jobs(configured):
    config = configured("job=bootstrap", "corpus=file", "corpus.language=en", "corpus.path=x", "embedding=word2vec")
    stages = modelled(config, wikipedia(1e9))
    assert stages["train"].worker_seconds is None
    assert "merge" not in stages
    assert modelled(configured("job=entity_resolution", "pairs=pairs.csv"), SimpleNamespace()) == {}
