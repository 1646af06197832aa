"""Texts or words of a task, as far as the vocabulary knows them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import BoolArray, IntArray
from tiltmeter.operators.embedding.private_release.utility import Occurrences, occurrences
from tiltmeter.operators.text.segmentation import spaced
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.records import read_records


class TaskData(NamedTuple):
    """Attributes:
    words: known words of each text; of single words, each by itself.
    labels: ``[texts]`` classes from 0 on, in alphabetical order.
    is_test: ``[texts]``; None where the test part is random.
    """

    words: Occurrences
    labels: IntArray
    is_test: BoolArray | None

    def unusable(self, num_folds: int, test_parts: Sequence[BoolArray]) -> str:
        """Why nothing can be learnt from it or tested by it; empty where something can.

        Args:
            num_folds: of the training part.
            test_parts: of each run, ``[texts]``.
        """
        training = self.labels if self.is_test is None else self.labels[~self.is_test]
        counts = Counter(training.tolist())
        if len(counts) < 2:
            return f"there are {len(counts)} classes among {len(training)} training texts, and must be 2 at least"
        if (smallest := min(counts.values())) < 2 * num_folds:
            return (
                f"a class has {smallest} training texts, and must have {2 * num_folds} at least, as utility.folds says"
            )
        if not all(part.any() for part in test_parts):
            return "the test part has no text with a class, or no word of the vocabulary"
        if any(len(np.unique(self.labels[~part])) < 2 for part in test_parts):
            return "a random training part has one class alone: add texts, or set another seed"
        return "" if len(self.words.rows) else "no text has a word of the vocabulary"


def read_task(config: Mapping[str, Any], vocabulary: Sequence[str]) -> TaskData:
    """Read the files of a task; rows without a text or class are left out, and single words that have no vector.

    Raises:
        InputError: if a file can't be read.
    """
    column, label = config["columns"]
    parts = [read_records(file["uri"], [column, label]) for file in config["files"]]
    rows = {word: row for row, word in enumerate(vocabulary)}
    tokenizer = Tokenizer(spaced(config["language"]))
    texts, labels, is_test = [], [], []
    for number, part in enumerate(parts):
        records = part.head(config["limit"]) if config["limit"] else part
        pairs = zip(records[column].cast(str).to_list(), records[label].cast(str).to_list(), strict=True)
        known = [(text, kind) for text, kind in pairs if text and kind]
        if config["task"] == "words":
            known = [(text, kind) for text, kind in known if text in rows]
        texts += [[text] if config["task"] == "words" else tokenizer(text) for text, _ in known]
        labels += [kind for _, kind in known]
        is_test += [number == 1] * len(known)
    names = {name: number for number, name in enumerate(sorted(set(labels)))}
    classes = np.array([names[kind] for kind in labels], dtype=np.int64)
    return TaskData(occurrences(texts, rows), classes, np.array(is_test) if len(parts) > 1 else None)
