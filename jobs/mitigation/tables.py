"""The tables of `mitigation`."""

from tiltmeter.jobs.association.tables import measure_name
from tiltmeter.jobs.embedding.lookup import OfReplicas
from tiltmeter.jobs.embedding.tables import MISSING_WORDS, NUM_REPLICAS, OfModel
from tiltmeter.jobs.runtime.table import Int32, Table, doc, key, schemas

METHOD_NAMES = {
    "hard": "hard debiasing",
    "double_hard": "double-hard debiasing",
    "half_sibling": "half-sibling regression",
    "inlp": "INLP",
    "leace": "LEACE",
}
CHECKS = {
    "probe_linear": "probe, linear: balanced accuracy",
    "probe_linear_permuted": "the same, labels permuted",
    "probe_rbf": "probe, Gaussian kernel: balanced accuracy",
    "probe_rbf_permuted": "the same, labels permuted",
    "clusters": "accuracy of two clusters",
    "wordsim353": "similarity: WordSim-353 (rho)",
    "simlex999": "similarity: SimLex-999 (rho)",
    "cosine": "cosine of a word before and after",
    "changed": "share of words that changed",
    "rank": "dimensions taken",
}
_ERASED = "what the method was fitted to: 'gender', or 'random': a control, as many pairs of random words of like rank"
_METHOD = "what erases: 'hard', 'double_hard', 'half_sibling', 'inlp' or 'leace'"


def method_name(name: str) -> str:
    """As papers spell it."""
    return METHOD_NAMES.get(name, name)


def check_name(name: str) -> str:
    """What a check is called on a page."""
    return CHECKS[name]


class Readings(Table, name="readings", public=False, has_status=False):
    """Of one embedding, as a method leaves it."""

    query: str = key("whose words were kept out of the fit; empty: none")
    check: str = key("what was read; 'pairs': how many pairs it was fitted to")
    value: float = doc("the number")
    num: Int32 = doc("words, or pairs of words, that it is of", "words")


class OfEraser(OfModel):
    """Columns of every table about what a method leaves."""

    method: str = key(_METHOD, show=method_name)
    erased: str = key(_ERASED)


class Mitigation(OfEraser, name="mitigation"):
    """Measures of bias, each by an eraser that was fitted without the words of its query."""

    measure: str = key("name of the measure; see the page of association", show=measure_name)
    query: str = key("name of the association test in the word set whose sets of words are measured")
    groups: str = key("the two sets of it that are compared, by name", heading="X, Y")
    attributes: str = key("what they are compared by: a set A, or two sets A and B")
    word: str | None = key("of measures that give a number for each target word; else null", default=None)
    before: OfReplicas = doc("the measure on vectors of length 1", digits=3)
    after: OfReplicas = doc("the measure on what the method leaves", digits=3)
    difference: OfReplicas = doc("after less before, replica by replica", digits=3)
    larger: str = doc("what a larger value says")
    neutral: float | None = doc("value without the bias that is measured; null if none is that")
    num_words: Int32 = doc("words of the sets that have a vector; the eraser has seen none of them", "words")
    num_pairs: Int32 = doc("pairs that the eraser was fitted to, in the original", "pairs")
    missing_words: list[str] = doc(MISSING_WORDS)
    num_replicas: Int32 = doc(NUM_REPLICAS, "replicas")


class MitigationChecks(OfEraser, name="mitigation_checks"):
    """What is left of gender in words that were held out, and what the vectors are still good for."""

    check: str = key(
        "'probe_linear', 'probe_rbf': balanced accuracy of a classifier of the sides of held-out words; with "
        "'_permuted', of sides that were dealt at random; 'clusters': of two clusters of these words; 'wordsim353', "
        "'simlex999': Spearman's rho with people; 'cosine': mean over words of that of a word before and after; "
        "'changed': share of words that are not the same; 'rank': dimensions that are taken",
        show=check_name,
    )
    before: OfReplicas = doc("of vectors of length 1; null where there is none", digits=3)
    after: OfReplicas = doc("of what the method leaves", digits=3)
    difference: OfReplicas = doc("after less before, replica by replica", digits=3)
    num_words: Int32 = doc("words, or pairs of words, that it is of, in the original", "words")
    num_replicas: Int32 = doc(NUM_REPLICAS, "replicas")


TABLES = schemas(Mitigation, MitigationChecks)
