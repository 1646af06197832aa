"""A small page of every kind, from tables made by hand."""

from datetime import UTC, datetime

import pyarrow as pa

from tiltmeter.cluster.stages import StageRecord
from tiltmeter.jobs.changes import tables as comparison
from tiltmeter.jobs.changes.past_runs import PastRun
from tiltmeter.jobs.classifiers.decoys.page import decoy_body
from tiltmeter.jobs.classifiers.privacy.page.body import privacy_body
from tiltmeter.jobs.embedding import tables
from tiltmeter.jobs.embedding.page import embeddings_body
from tiltmeter.jobs.report.page import compose
from tiltmeter.jobs.resolution.page.body import resolution_body
from tiltmeter.jobs.sentiment.gru_training.page import training_body
from tiltmeter.jobs.sentiment.rating import tables as sentiment
from tiltmeter.jobs.sentiment.rating.page.body import rating_body
from tiltmeter.jobs.upkeep.compare.page import compare_body
from tiltmeter.jobs.upkeep.overnight import tables as night
from tiltmeter.jobs.upkeep.overnight.page import night_body
from tiltmeter.jobs.upkeep.prune import job as prune
from tiltmeter.jobs.upkeep.prune.page import prune_body

STAGES = [StageRecord("count", num_done=1, seconds=1.5), StageRecord("train", num_done=3, seconds=4.5)]


def of_corpora(*codes):
    corpora = [
        {"corpus": f"{code}wiki", "language": code, "num_articles": 9, "num_tokens": 99, "num_words": 7, "warning": ""}
        for code in codes
    ]
    words = [{"language": codes[0], "word": "he", "count": 2, "lists": ["cue_pairs"], "status": "too_rare"}]
    losses = [
        {"language": code, "replica": replica, "epoch": epoch, "loss": 1 / epoch + replica}
        for code in codes
        for replica in range(3)
        for epoch in (1, 2)
    ]
    made = {"corpora": corpora, "vocabulary": words, "training": losses}
    return {name: pa.Table.from_pylist(rows, getattr(tables, name.upper())) for name, rows in made.items()}


def upkeep():
    """Pages of the jobs that look at what others left, by name."""
    moved = {"kind": "number", "table": "tests", "column": "d", "row": "word a", "beyond": True, "half_widths": 8.0}
    ends = {"before": 1.0, "before_low": 0.0, "before_high": 2.0, "after": 9.0, "after_low": 8.0, "after_high": 1e5 / 3}
    setting = {"kind": "setting", "item": "seed", "sentence": "setting seed was 0 and is 1 now."}
    changes = pa.Table.from_pylist([moved | ends | {"sentence": "It moved."}, setting], comparison.CHANGES)
    nightly = [
        {"name": "a", "job": "prune", "status": "ok", "num_done": 1200, "num_reused": 0, "num_failed": 0}
        | {"seconds": 90.0, "compared_with": "2026-11-20 22:00:00 UTC", "num_changes": 2, "num_beyond": 1},
        {"name": "b", "job": "survey", "status": "failed", "num_done": 0, "num_reused": 0, "num_failed": 0}
        | {"seconds": 1.0, "reason": "no file"},
    ]
    changes_of_a = [{"name": "a"} | row for row in changes.to_pylist()]
    jobs = {"jobs": pa.Table.from_pylist(nightly, night.JOBS)}
    jobs["changes"] = pa.Table.from_pylist(changes_of_a, night.CHANGES)
    unit = {"place": "count/1/ab", "operator": "count/1", "num_bytes": 10**7, "num_runs": 1, "action": "kept"}
    run = {"series": "survey/a", "started": datetime(2026, 11, 20, tzinfo=UTC), "status": "succeeded", "num_units": 1}
    held = {
        "units": pa.Table.from_pylist([unit], prune.UNITS),
        "runs": pa.Table.from_pylist([run | {"is_kept": True, "run_dir": "/runs/1"}], prune.RUNS),
    }
    past = PastRun("/runs/1", {"job": "prune", "started": "2026-11-20T22:00:00+00:00", "tables": {}}, {}, held.get)
    return {
        "compare": lambda: compose(compare_body(past, past), {"changes": changes}, STAGES, "seed: 0"),
        "overnight": lambda: compose(night_body, jobs, STAGES, "seed: 0"),
        "prune": lambda: compose(prune_body("store"), held, STAGES, "seed: 0"),
    }


def arrow(frames):
    return {name: frame.to_arrow() for name, frame in frames.items()}


def kinds(made, gender, rated, partition, explained, trained, configured):
    """What makes the page of each kind, from the makers of its tables."""

    def embeddings(kind, frames, *codes):
        return compose(embeddings_body(trained(kind, *codes)), of_corpora(*codes) | arrow(frames), STAGES, "seed: 0")

    def resolution(frames):
        config = configured("job=entity_resolution", "pairs=pairs.csv", "drawn=[0]")
        return compose(resolution_body(config, partition.large(frames)), arrow(partition.small(frames)), STAGES, "")

    def rating():
        config, frames = configured("job=sentiment_rating"), rated.rated_run()
        return compose(rating_body(config, {}, set(frames)), arrow(frames), STAGES, "seed: 0")

    def training():
        epochs = [
            {"epoch": at, "loss": 1 / at, "development_loss": 0.5, "development_accuracy": 0.7} for at in range(1, 41)
        ]
        parts = [{"part": "test", "num_texts": 100, "sign_agreement": 0.75, "mean_absolute_error": 0.5}]
        published = {
            "training": pa.Table.from_pylist(epochs, sentiment.TRAINING),
            "evaluation": pa.Table.from_pylist(parts, sentiment.EVALUATION),
        }
        return compose(training_body, published, STAGES, "seed: 0")

    survey = made.survey()
    of_words = {name: survey[name] for name in ("associations", "association_summary", "word_associations")}
    return {
        "survey": lambda: embeddings("survey", survey | gender.only("en"), "en"),
        "association": lambda: embeddings("association", of_words, "en"),
        "psychophysics": lambda: embeddings(
            "psychophysics", {name: rows for name, rows in survey.items() if name not in of_words}, "en"
        ),
        "gender_survey": lambda: embeddings("gender_survey", gender.survey(), "en", "ar", "wo"),
        "sentiment_rating": rating,
        "entity_resolution": lambda: resolution(partition.resolved()),
        "study": lambda: resolution(partition.study()),
        "gru_training": training,
        "decoy_benchmark": lambda: compose(
            decoy_body(configured("job=decoy_benchmark", "data.path=a.csv")), explained.benchmark(), STAGES, "seed: 0"
        ),
        "privacy_metrics": lambda: compose(
            privacy_body(
                configured("job=privacy_metrics", "data.path=a.csv", "data.group=speaker", "data.gender=gender")
            ),
            explained.metrics(),
            STAGES,
            "seed: 0",
        ),
    } | upkeep()
