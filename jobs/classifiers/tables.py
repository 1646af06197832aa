"""Tables that all jobs on text classifiers share: labelled texts, and attributions of decisions to words."""

import pyarrow as pa

from tiltmeter.jobs.runtime.table import Int32, Table, doc, key

EXPLAINERS = {
    "integrated_gradients": "integrated gradients",
    "gradient_x_input": "gradient × input",
    "saliency": "saliency",
    "deep_lift": "DeepLift",
    "gradient_shap": "GradientSHAP",
    "occlusion": "occlusion",
    "lime": "LIME",
    "kernel_shap": "kernel SHAP",
    "shapley": "Shapley values",
}
"""What pages call methods of attribution."""


class Labelled(Table, name="rows"):
    """Rows of the files with labelled texts."""

    part: str = key("'training', 'development' or 'test': the setting that names the file")
    row: int = key("number of the row in its file, from 0")
    text: str = doc("the text; empty if there is none")
    label: str | None = doc("its class; null if it has none")
    gender: str | None = doc("the gender of who speaks; null if the row, or the file, has none")
    group: str | None = doc("who speaks, or what else ties rows together; null if there is none")


class Tagged(Labelled, name="texts"):
    """The same with parts of speech, which stand behind the status."""

    tags: str | None = doc("parts of speech of what stands between its spaces; null if the file has none")

    @classmethod
    def schema(cls, *, stored: bool = False) -> pa.Schema:
        """That of labelled texts, and the tags."""
        return Labelled.schema(stored=stored).append(super().schema(stored=stored).field("tags"))


class Split(Table, name="texts", has_status=False):
    """Texts that models are trained with, and evaluated on."""

    row: int = key("number of the text")
    part: str = doc("'training', 'development' or 'test'")
    text: str = doc("the text")
    label: str = doc("its class")


class Grouped(Split, name="texts", has_status=False):
    """The same where ``data.group`` says so: texts of a group are in one part."""

    group: str | None = doc("who speaks, or what else ties texts together; null if nothing does")


class Sentence(Table, name="sentences", has_status=False):
    """What is explained; tables of it may have other columns."""

    sentence: int = key("number of the sentence")
    text: str = doc("the sentence")
    gold: str | None = doc("its class according to the data; null if it has none")


class Attributed(Table, name="attributions"):
    """A word of a sentence, and what it adds to a model's decision."""

    model: str = key("the model")
    sentence: int = key("number of the sentence")
    position: Int32 = key("place of the word in the sentence, from 0")
    word: str = doc("the word or punctuation mark as it is written there; empty if there is none")
    attribution: float | None = doc("what the word adds to the output that is explained; null without one")
    predicted: str | None = doc("the most probable class of the sentence; null if the model reads no token")
    gold: str | None = doc("its class according to the data; null if it has none")
    delta: float | None = doc("sum of the sentence's attributions, less the change of the output that is explained")


LABELLED, TAGGED, SPLIT, GROUPED = Labelled.schema(), Tagged.schema(), Split.schema(), Grouped.schema()
SENTENCES, ATTRIBUTIONS = Sentence.schema(), Attributed.schema()
