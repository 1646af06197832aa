"""A small page of every kind, from tables made by hand."""

import pyarrow as pa

from tiltmeter.cluster.stages import StageRecord
from tiltmeter.jobs.classifiers.decoys.page import decoy_body
from tiltmeter.jobs.classifiers.privacy.page.body import privacy_body
from tiltmeter.jobs.embedding import tables
from tiltmeter.jobs.embedding.page import embeddings_body
from tiltmeter.jobs.report.page import compose
from tiltmeter.jobs.resolution.page.body import resolution_body
from tiltmeter.jobs.sentiment.gru_training.page import training_body
from tiltmeter.jobs.sentiment.rating import tables as sentiment
from tiltmeter.jobs.sentiment.rating.page.body import rating_body

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
    }
