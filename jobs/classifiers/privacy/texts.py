"""Who says what in which part: the texts that models are trained with, tested on and explained by."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.labelled_data import read_labelled_data
from tiltmeter.jobs.classifiers.privacy import tables
from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.classifiers.privacy.labels import Labels, Row, labelled, labels_of
from tiltmeter.jobs.classifiers.privacy.sources import PrivacySources
from tiltmeter.jobs.classifiers.tables import SENTENCES
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.operators.classifiers.privacy import bins
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.text import group_splits
from tiltmeter.operators.text.group_splits import split_groups
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

CORPORA = {"within": "test", "across": "across"}
"""The part of the texts that each corpus of the results is."""

_PARTS = ("training", "development", "test")
_KNOWN = {
    "across": "models were trained with texts of the same speaker",
    "unbiased": "models are tested on, or stopped by, the same speaker",
}


@dataclass(frozen=True)
class SpokenTexts:
    """Attributes:
    texts: of the schema ``TEXTS``.
    sentences: that are explained, of the schema ``SENTENCES``, by corpus.
    """

    texts: TableRef
    sentences: Mapping[str, TableRef]


def read_texts(runner: Runner, config: PrivacyMetricsRun, sources: PrivacySources) -> SpokenTexts:
    """The texts of all files, those that can't be used with the reason.

    Raises:
        UnitsFailed: if a file can't be read, or what is in it can't be divided into parts.
    """
    inputs = {"data": [read_labelled_data(runner, config.data, sources.data, config.seed)]}
    corpora = config.corpora
    for name, file in sources.others.items():
        inputs[name] = [read_labelled_data(runner, corpora[name], Files({"training": file}), config.seed)]
    settings = {
        "splits": config.splits,
        "operators": [group_splits.VERSION, bins.VERSION],
        "seed": config.seed,
        "classes": config.classes,
        "labels": {name: labels_of(data, config.classes) for name, data in corpora.items()},
        "shared": {name: getattr(config, name).shares_groups for name in sources.others},
        "max_sentences": config.explanations.max_sentences,
    }
    unit = Unit("privacy_texts/2", "parts", settings, inputs)
    [done] = runner.run_whole(Stage("divide texts", each(_divide), {"data": [unit]}))["data"]
    return SpokenTexts(done.tables["texts"], {name: done.tables[name] for name in CORPORA if name in done.tables})


def _divide(store: Store, unit: Unit) -> Tables:
    config = unit.config
    divided = divide({name: store.read(unit.input(name)).to_pylist() for name in unit.inputs}, config)
    yield "texts", pa.Table.from_pylist([_shown(row, config["labels"]) for row in divided], tables.TEXTS)
    for corpus, part in CORPORA.items():
        if chosen := drawn([row for row in divided if row["part"] == part and row["status"] == "ok"], config):
            yield corpus, pa.Table.from_pylist(chosen, SENTENCES)


def _shown(row: Row, labels: Mapping[str, Labels]) -> Row:
    """Without a group that only keeps equal texts together."""
    corpus = "data" if row["file"] in _PARTS else row["file"]
    return row if labels[corpus].has_groups else row | {"group": None}


def divide(corpora: Mapping[str, Sequence[Row]], config: Mapping[str, Any]) -> list[Row]:
    """All texts with their part, their valence and their gender, and what keeps them from being used.

    Args:
        corpora: rows of the schema ``LABELLED`` by ``data``, ``across`` and ``unbiased``.
        config: of the unit.

    Raises:
        InputError: if a label or a gender can't be read.
        ValueError: if a group has two genders or is in two parts, or a part lacks a gender or a class.
    """
    rows = [
        row
        for corpus, texts in corpora.items()
        for row in labelled(texts, corpus, config["labels"][corpus], config["classes"])
    ]
    _check_genders(rows)
    divided = list(_known_left_out(_in_parts(rows, config), config["shared"]))
    _check(divided, config["classes"])
    return [row | {"sentence": number} for number, row in enumerate(divided)]


def _check_genders(rows: Sequence[Row]) -> None:
    """Refuse a group with two genders, and a corpus with one."""
    used = [row for row in rows if row["status"] == "ok" and row["gender"] is not None]
    genders: dict[tuple[str, str], set[str]] = {}
    for row in used:
        corpus = "data" if row["part"] in _PARTS else row["part"]
        genders.setdefault((corpus, row["group"]), set()).add(row["gender"])
    for (corpus, group), values in genders.items():
        if len(values) > 1:
            raise ValueError(
                f"{corpus}: the group {group!r} has the genders {', '.join(sorted(values))}: must have one"
            )
    for corpus in dict.fromkeys(corpus for corpus, _ in genders):
        known = {gender for (other, _), values in genders.items() if other == corpus for gender in values}
        if len(known) < 2 and corpus != "unbiased":
            raise ValueError(f"{corpus}: all texts are of the gender {', '.join(known)!r}: must be of two at least")
    if not any(corpus == "data" for corpus, _ in genders):
        raise ValueError("data.path: no text has a valence, a group and a gender; set data.valence and data.genders")
    _check_same_genders(genders)


def _check_same_genders(genders: Mapping[tuple[str, str], set[str]]) -> None:
    """Refuse another corpus with genders that an attacker can't learn."""
    known = sorted({gender for (corpus, _), values in genders.items() if corpus == "data" for gender in values})
    for (corpus, _), values in genders.items():
        if unknown := sorted(values.difference(known)):
            raise ValueError(
                f"{corpus}: the gender {unknown[0]!r} is none of those of data, {', '.join(known)}; set "
                f"{corpus}.gender_codes={{{unknown[0]}: {known[0]}, ...}}"
            )


def _in_parts(rows: Sequence[Row], config: Mapping[str, Any]) -> list[Row]:
    """With the part of every text, those that can't be used too, as far as their group has one."""
    given = {row["part"] for row in rows}
    shares = {"development": config["splits"].development, "test": config["splits"].test}
    shares = {part: share for part, share in shares.items() if part not in given}
    shares = {"training": 1.0 - sum(shares.values())} | shares
    used = [row for row in rows if row["part"] == "training" and row["status"] == "ok"]
    try:
        parts = split_groups([row["group"] for row in used], [row["gender"] for row in used], shares, config["seed"])
    except ValueError as error:
        raise ValueError(f"data.group: {error}; set data.group to a column with more groups") from error
    divided = [
        row | {"part": parts.get(row["group"], "training")} if row["part"] == "training" else row for row in rows
    ]
    _check_apart(divided)
    return divided


def _check_apart(rows: Sequence[Row]) -> None:
    seen: dict[str, str] = {}
    for row in rows:
        if (
            row["part"] in _PARTS
            and row["status"] == "ok"
            and seen.setdefault(row["group"], row["part"]) != row["part"]
        ):
            raise ValueError(
                f"the group {row['group']!r} is in the parts {seen[row['group']]} and {row['part']}: must be in one; "
                "leave out data.development and data.test, and texts are divided by their groups"
            )


def _known_left_out(rows: Sequence[Row], shared: Mapping[str, bool]) -> Iterator[Row]:
    """Speakers that models learn from, or that tell when to stop, are not strangers in another corpus."""
    parts = {row["group"]: row["part"] for row in rows if row["part"] in _PARTS and row["status"] == "ok"}
    known = {"across": ("training", "development"), "unbiased": ("development", "test")}
    for row in rows:
        is_known = shared.get(row["part"], False) and parts.get(row["group"]) in known.get(row["part"], ())
        if row["status"] == "ok" and is_known:
            yield row | {"status": "known_group", "reason": _KNOWN[row["part"]]}
        else:
            yield row


def _check(rows: Sequence[Row], classes: Sequence[str]) -> None:
    for part in dict.fromkeys(row["part"] for row in rows):
        used = [row for row in rows if row["part"] == part and row["status"] == "ok"]
        counts = Counter(row["valence"] for row in used)
        if missing := [name for name in classes if not counts[name]]:
            raise ValueError(
                f"{part}: no text is of the class {missing[0]!r}; set data.valence, data.limit or splits so that "
                "every part has texts of every class"
            )
        if part != "unbiased" and len({row["gender"] for row in used}) < 2:
            raise ValueError(f"{part}: all texts that are left are of one gender: must be of two at least")


def drawn(rows: Sequence[Row], config: Mapping[str, Any]) -> list[Row]:
    """Texts to be explained, in their order: which ones is a matter of what they say."""
    order = sorted(rows, key=lambda row: (document_key(f"{config['seed']}\nexplained\n{row['text']}"), row["sentence"]))
    chosen = sorted(order[: config["max_sentences"]], key=lambda row: int(row["sentence"]))
    return [{"sentence": row["sentence"], "text": row["text"], "gold": row["valence"]} for row in chosen]
