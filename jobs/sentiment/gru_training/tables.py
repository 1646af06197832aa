"""The tables of `gru_training`: every column with its type, its unit and a sentence."""

import pyarrow as pa

from tiltmeter.jobs.runtime.columns import count, number, text

TRAINING = pa.schema(
    [
        count("epoch", "pass over the training texts, from 1", "", key=True),
        number("loss", "mean cross entropy of the training texts during the pass", "nats"),
        number("development_loss", "that of the development texts after it", "nats"),
        number("development_accuracy", "share of the development texts whose class is the most probable one"),
    ]
)

EVALUATION = pa.schema(
    [
        text("part", "training, development or test", key=True),
        count("num_texts", "texts", "texts"),
        number("sign_agreement", "share of the texts not labelled neutral whose score has the sign of its value"),
        number("mean_absolute_error", "mean distance between score and the label's value"),
    ]
)

TABLES = {
    "training": TRAINING,
    "evaluation": EVALUATION,
}
