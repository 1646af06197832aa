"""Tables that all jobs on text classifiers share: labelled texts, and attributions of decisions to words."""

import pyarrow as pa

from tiltmeter.jobs.runtime.columns import REASON, STATUS
from tiltmeter.storage.store.tables import column

LABELLED = pa.schema(
    [
        column("part", pa.string(), "'training', 'development' or 'test': the setting that names the file", key=True),
        column("row", pa.int64(), "number of the row in its file, from 0", key=True),
        column("text", pa.string(), "the text; empty if there is none"),
        column("label", pa.string(), "its class; null if it has none"),
        column("gender", pa.string(), "the gender of who speaks; null if the row, or the file, has none"),
        column("group", pa.string(), "who speaks, or what else ties rows together; null if there is none"),
        STATUS,
        REASON,
    ]
)

TAGGED = LABELLED.append(
    column("tags", pa.string(), "parts of speech of what stands between its spaces; null if the file has none")
)

SPLIT = pa.schema(
    [
        column("row", pa.int64(), "number of the text", key=True),
        column("part", pa.string(), "'training', 'development' or 'test'"),
        column("text", pa.string(), "the text"),
        column("label", pa.string(), "its class"),
    ]
)
"""Texts that models are trained with, and evaluated on."""

GROUPED = SPLIT.append(
    column("group", pa.string(), "who speaks, or what else ties texts together; null if nothing does")
)
"""The same where ``data.group`` says so: texts of a group are in one part."""

SENTENCES = pa.schema(
    [
        column("sentence", pa.int64(), "number of the sentence", key=True),
        column("text", pa.string(), "the sentence"),
        column("gold", pa.string(), "its class according to the data; null if it has none"),
    ]
)
"""What is explained; there may be other columns."""

ATTRIBUTIONS = pa.schema(
    [
        column("model", pa.string(), "the model", key=True),
        column("sentence", pa.int64(), "number of the sentence", key=True),
        column("position", pa.int32(), "place of the word in the sentence, from 0", key=True),
        column("word", pa.string(), "the word or punctuation mark as it is written there; empty if there is none"),
        column("attribution", pa.float64(), "what the word adds to the output that is explained; null without one"),
        column("predicted", pa.string(), "the most probable class of the sentence; null if the model reads no token"),
        column("gold", pa.string(), "its class according to the data; null if it has none"),
        column(
            "delta", pa.float64(), "sum of the sentence's attributions, less the change of the output that is explained"
        ),
        STATUS,
        REASON,
    ]
)
