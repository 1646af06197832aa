"""Each text's class of valence and its speaker's gender, from what the rows of a corpus say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.jobs.classifiers.privacy.config import SpokenData
from tiltmeter.operators.classifiers.privacy.bins import Bins, binned
from tiltmeter.storage.errors import InputError

REASONS = {
    "unknown_label": "the label is no class of valence; data.valence gives it one",
    "no_group": "nothing says who speaks",
    "no_gender": "nothing says of which gender the speaker is; data.genders may",
}

Row = dict[str, Any]


@dataclass(frozen=True)
class Labels:
    """What the labels, genders and groups of a corpus mean.

    Attributes:
        valence: the class of each label that is not itself the name of a class.
        bins: of labels that are ratings; None: labels are names.
        gender_codes: the gender of each code; None: genders are as they are written.
        genders: of groups, where rows do not say.
        has_groups: whether rows say who speaks.
    """

    valence: Mapping[str, str]
    bins: Bins | None
    gender_codes: Mapping[str, str] | None
    genders: Mapping[str, str]
    has_groups: bool


def labels_of(data: SpokenData, classes: Sequence[str]) -> Labels:
    """What a config says of them."""
    return Labels(
        data.valence_of(classes), data.bins, data.gender_codes, data.genders or {}, has_groups=data.group is not None
    )


def labelled(rows: Sequence[Row], corpus: str, labels: Labels, classes: Sequence[str]) -> Iterator[Row]:
    """The rows of a corpus with their class, their gender, their group, and what keeps them from being used.

    Raises:
        InputError: if a label is no rating on the scale, or a gender is none of the codes.
    """
    for row in rows:
        file = row["part"] if corpus == "data" else corpus
        gender = _gender(row, corpus, labels)
        group = row["group"] if labels.has_groups else f"{gender}: {row['text']}"
        text = row | {
            "file": file,
            "part": file,
            "group": group,
            "gender": gender or labels.genders.get(row["group"]),
            "valence": _valence(row, corpus, labels, classes),
        }
        yield text | _judged(text)


def _judged(row: Mapping[str, Any]) -> dict[str, str]:
    """What keeps a text from being used; PrivBias is first trained with texts whatever their speaker."""
    wrong = [row["status"]] if row["status"] != "ok" else []
    wrong += ["unknown_label"] if row["valence"] is None else []
    wrong += ["no_group"] if row["group"] is None else []
    wrong += ["no_gender"] if row["gender"] is None and row["file"] != "unbiased" else []
    status = next(iter(wrong), "ok")
    return {"status": status, "reason": REASONS.get(status, row["reason"])}


def _valence(row: Row, corpus: str, labels: Labels, classes: Sequence[str]) -> str | None:
    label = row["label"]
    if label is None:
        return None
    if labels.bins is None:
        return label if label in classes else labels.valence.get(label)
    try:
        return binned(_rating(label), labels.bins)
    except ValueError as error:
        place, setting = _place(row, corpus)
        raise InputError(
            f"{place} has the valence {label!r}: {error}, or empty where there is none; set {setting}.bins to the "
            f"corpus's scale, or {setting}.label to another column"
        ) from error


def _rating(label: str) -> float:
    try:
        return float(label)
    except ValueError:
        return float("nan")


def _gender(row: Row, corpus: str, labels: Labels) -> str | None:
    gender: str | None = row["gender"]
    codes = labels.gender_codes
    if gender is None or codes is None or gender in codes.values():
        return gender
    if gender not in codes:
        place, setting = _place(row, corpus)
        raise InputError(
            f"{place} has the gender {gender!r}: must be one of {', '.join(codes)}; add it to {setting}.gender_codes, "
            "or leave the cell empty where nothing is known"
        )
    return codes[gender]


def _place(row: Row, corpus: str) -> tuple[str, str]:
    """Where a row is, and the settings of its corpus."""
    file = "path" if corpus != "data" or row["part"] == "training" else row["part"]
    return f"{corpus}.{file}: row {row['row']}, counted from 0,", corpus
