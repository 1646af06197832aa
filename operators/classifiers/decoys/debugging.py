"""What somebody who debugs a model takes for a wrong reason, of the words that they are shown, and what becomes of it.

The four setups of Idahl et al. 2021, section 2, have people in them: who looks at predictions and explanations, names
what is wrong, and improves the model. Here a rule stands in for them. In each instance they see k words; by

    recognition  they take every word of the decoy that is shown for a wrong reason, and no other word. So the simulated
                 users of Ribeiro et al. 2016, section 5.3, know which features they would not trust;
    frequency    they do not know the decoy, and take the words for it that were shown in most instances so far.

Controls show words too, without an explanation. With ``predictions`` alone one can count which words of a pool's texts
go with which predicted class: of an instance that is predicted as c,

    value(w) = max(0, log (n_wc + 1/2) / (n_c + 1) - log (n_wd + 1/2) / (n_d + 1)),

where n_wc of the n_c instances that are predicted as c hold w, and n_wd of the n_d others. The ``oracle`` shows the
decoy wherever it is, and is the most that any explanation of the same instances can do.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.classifiers.decoys.detection import Explained, top_words
from tiltmeter.operators.classifiers.decoys.kinds import Decoy, DeletedDecoy, InsertedDecoy, holds, searched
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.operators.text.tokenised import word_spans

VERSION = "debugging/1"

Control = Literal["predictions", "oracle"]
Judgement = Literal["recognition", "frequency"]


def by_predictions(texts: Sequence[Sequence[str]], predicted: Sequence[str | None]) -> list[Explained]:
    """Instances as they look to somebody who has the predictions of them all, and no explanation.

    Args:
        texts: words of each, in lower case.
        predicted: the class of each; None where a model reads nothing.

    >>> texts = [["zq", "film"], ["zq", "plot"], ["dull", "film"], ["dull", "plot"]]
    >>> [shown.values.round(2).tolist() for shown in by_predictions(texts, ["good", "good", "bad", "bad"])]
    [[1.61, 0.0], [1.61, 0.0], [1.61, 0.0], [1.61, 0.0]]
    """
    sizes = Counter(predicted)
    counts = Counter((word, label) for words, label in zip(texts, predicted, strict=True) for word in set(words))
    totals = Counter(word for words in texts for word in set(words))

    def value(word: str, label: str | None) -> float:
        inside, outside = counts[word, label], totals[word] - counts[word, label]
        shares = (inside + 0.5) / (sizes[label] + 1), (outside + 0.5) / (len(texts) - sizes[label] + 1)
        return max(0.0, float(np.log(shares[0] / shares[1])))

    return [
        Explained(words, np.array([value(word, label) for word in words], dtype=np.float64))
        for words, label in zip(texts, predicted, strict=True)
    ]


def by_oracle(texts: Sequence[Sequence[str]], decoy: InsertedDecoy | DeletedDecoy | None) -> list[Explained]:
    """Instances of which every word of the decoy is shown, and nothing else; nothing of a model without one.

    >>> by_oracle([["a", "zq"]], InsertedDecoy(("zq",)))[0].values
    array([0., 1.])
    """
    return [
        Explained(words, np.array([float(decoy is not None and holds(decoy, word)) for word in words]))
        for words in texts
    ]


def suspects(
    instances: Sequence[Explained], decoy: Decoy, k: int, judgement: Judgement, num_suspects: int = 1
) -> list[frozenset[str]]:
    """The words that are taken for wrong reasons after each instance.

    Args:
        instances: in the order in which they are looked at.
        decoy: in them.
        k: words that are shown of each instance.
        judgement: as above.
        num_suspects: words that are suspected by ``frequency``; of those shown equally often, the first that was shown.

    >>> shown = [Explained(["zq", "bad"], np.array([0.1, 2.0])), Explained(["a", "zq"], np.array([0.0, 1.0]))]
    >>> [sorted(words) for words in suspects(shown, InsertedDecoy(("zq",)), 1, "recognition")]
    [[], ['zq']]
    >>> [sorted(words) for words in suspects(shown, InsertedDecoy(("zq",)), 1, "frequency")]
    [['bad'], ['bad']]
    """
    return list(_suspects(instances, decoy, k, judgement, num_suspects))


def _suspects(
    instances: Sequence[Explained], decoy: Decoy, k: int, judgement: Judgement, num_suspects: int
) -> Iterator[frozenset[str]]:
    shown: Counter[str] = Counter()
    for explained in instances:
        shown.update(dict.fromkeys((explained.words[place] for place in top_words(explained, k)), 1))
        if judgement == "recognition":
            yield frozenset(word for word in shown if holds(decoy, word))
        else:
            yield frozenset(word for word, _ in shown.most_common(num_suspects))


def identified(suspected: Sequence[Collection[str]], decoy: Decoy) -> NDArray[np.float64]:
    """1 where a word of the decoy is among those that are suspected, 0 elsewhere.

    >>> identified([frozenset(), frozenset({"zq"})], InsertedDecoy(("zq",)))
    array([0., 1.])
    """
    return np.array([float(any(holds(decoy, word) for word in words)) for words in suspected])


def is_complete(suspected: Collection[str], decoy: Decoy) -> bool:
    """Whether each word of the decoy is among those that are suspected.

    >>> is_complete(["zq0", "film"], InsertedDecoy(("zq0", "zq1")))
    False
    """
    return all(any(folded(word) in searched(name, decoy.match) for name in suspected) for word in decoy.words)


def without_words(text: str, words: Collection[str]) -> str:
    """A text less all occurrences of some words, which may leave nothing.

    Args:
        text: any.
        words: in lower case, as :func:`.listed_words.folded_words` gives them.

    >>> without_words("Zq0 a fine Movie.", {"zq0", "movie"})
    'a fine .'
    """
    spans = word_spans(text)
    removed = [(start, end) for start, end in spans if folded(text[start:end]) in words]
    if not removed:
        return text
    starts, ends = [0, *(end for _, end in removed)], [*(start for start, _ in removed), len(text)]
    parts = (text[start:end].strip() for start, end in zip(starts, ends, strict=True))
    return " ".join(part for part in parts if part)
