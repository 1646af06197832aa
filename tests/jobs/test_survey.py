"""Job `survey`: its tables are those of the jobs that it joins, by the same seed."""

import numpy as np
import polars as pl
import pytest

from tiltmeter.jobs.changes.matching import num_repeated
from tiltmeter.storage.store.tables import key_columns

SIDES = {"target_x": ["rose", "tulip"], "target_y": ["ant", "wasp"]}
SIDES |= {"attribute_a": ["love", "peace"], "attribute_b": ["hatred", "war"]}
PAIRS = [("she", "he"), ("woman", "man")]
WOMEN = {"nurse": 90, "writer": 63, "driver": 6}
WORDS = [word for words in SIDES.values() for word in words] + [word for pair in PAIRS for word in pair] + [*WOMEN]
MONTE_CARLO = ["job.p_value=monte_carlo", "job.num_draws=200"]


@pytest.fixture(scope="module")
def lists(word_lists, word_sets):
    occupations = {"source": "made up", "year": 2000, "percent_women": WOMEN}
    tests = {"flowers": word_sets(**SIDES)}
    return word_lists("en", cue_pairs=PAIRS, occupations=occupations, associations=tests, wefats=None)


@pytest.mark.once("gender_survey", "survey")
def test_a_survey_measures_what_each_of_its_jobs_does(run_here, lists, write_vectors, tmp_path):
    rng = np.random.default_rng(0)
    usual = rng.normal(size=(len(WORDS), 6))
    for number in range(6):
        write_vectors(tmp_path / f"r{number}.bin", WORDS, usual + 0.3 * rng.normal(size=usual.shape))
    common = ["embedding=file", f"embedding.path={tmp_path}/*.bin", "embedding.replicas=true", "seed=5", *lists]
    common += [f"store={tmp_path}/store"]

    def tables(job, *settings):
        outcome = run_here(f"job={job}", *common, *settings, f"run_dir={tmp_path}/{job}")
        return {name: outcome.table(name) for name in outcome.published}

    survey = tables("survey", "job.min_words=1", "job.num_resamples=40", *MONTE_CARLO)
    for name, table in survey.items():
        assert num_repeated(pl.DataFrame(table), key_columns(table.schema)) == 0, name
    parts = {
        "psychophysics": ["job.num_resamples=40"],
        "association": ["job.min_words=1", "job.similarities=[cosine]", "job.statistics=[mean]", *MONTE_CARLO],
    }
    for job, settings in parts.items():
        for name, table in tables(job, *settings).items():
            if name not in ("draws", "vocabulary", "association_summary"):
                assert survey[name].equals(table), (job, name)
