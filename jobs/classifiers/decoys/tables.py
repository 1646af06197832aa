"""The tables of `decoy_benchmark`."""

from collections.abc import Sequence
from typing import Self

from tiltmeter.jobs.classifiers.intervals import TextEstimate
from tiltmeter.jobs.classifiers.tables import LABELLED, Attributed
from tiltmeter.jobs.runtime.table import Int32, Table, doc, key, schemas

CHANCE = "random"
"""The method of attribution that explains nothing, the selection that chooses nothing, and the order at random."""

ORACLE = "oracle"
"""The control that knows the decoy, or the labels."""

DECOYED, PLAIN = "decoyed", "original"
"""What the models of a pair are called, before their number: with and without the decoy."""

LEFT_OUT = "left_out"
"""Status of a usual decoy that the texts have no place for."""

_TEXTS = "the texts, or their groups; of this one training"
_POOLS = "pools of instances and models"
_HOLDING = "all test texts that hold a word of the decoy of themselves"
_CONTRADICTED = "test texts whose decoy contradicts their class"
_ONE_CLASS = "training texts whose words of the decoy indicate one class"
_BUDGET = "instances that are looked at", "instances"


class OfDecoy(Table):
    decoy: str = key("name of the decoy")


class OfModel(OfDecoy):
    model: str | None = key("number of the models that differ in nothing but the decoy, from 0")


class OfMethod(OfDecoy):
    method: str = key("method of attribution, or a control: 'predictions' alone, an 'oracle'")


class OfSelection(OfMethod):
    selection: str = key("which instances are looked at first: 'random', 'submodular_pick', 'clustering'")


class OfBudget(OfSelection):
    budget: Int32 = key(*_BUDGET)


class OfSession(OfSelection):
    model: Int32 = key("number of the model")
    pool: Int32 = key("number of the pool of instances")
    budget: Int32 = key(*_BUDGET)


class OfModels(Table):
    """Columns that say by how many models a decoy was adopted; they follow all others."""

    num_models: Int32 = doc("models with the decoy that were explained", "models")
    num_adopted: Int32 = doc("those of them that have adopted it", "models")
    adopted: bool = doc("whether most of them have")

    def adopted_by(self, answers: Sequence[bool | None]) -> Self:
        """The row, with the answers of all models; None where one could not be tested."""
        num, adopted = len(answers), sum(answer is True for answer in answers)
        self.num_models, self.num_adopted, self.adopted = num, adopted, 2 * adopted > num
        if adopted == num:
            return self
        reason = f"{adopted} of {num} models have adopted the decoy"
        return self.fail("partly_adopted" if adopted else "not_adopted", reason)


class Probes(Table, name="probes", public=False, has_status=False):
    """Test texts with a decoy that contradicts their class, and texts without it."""

    row: int = key("number of the text")
    has_decoy: bool = key("whether its decoy contradicts its class")
    text: str = doc("the text")
    label: str = doc("its class")


class DecoyWords(OfDecoy, name="decoy_words", has_status=False):
    word: str = key("word of the decoy, in lower case")
    indicates: str = doc("the class that it indicates")
    applicability_before: int = doc("training texts that hold it, before the decoy was made", "texts")
    productivity_before: float = doc("largest share of these that is of one class; null without any")
    majority_before: str = doc("this class, the first in alphabetical order of several")
    coverage_before: float = doc("share of the training texts that hold it")
    applicability: int = doc("training texts that hold it", "texts")
    productivity: float = doc("largest share of these that is of one class; null without any")
    majority: str = doc("this class, the first in alphabetical order of several")
    coverage: float = doc("share of the training texts that hold it")


class Words(DecoyWords, name="words", public=False, has_status=False):
    """The same, of one decoy."""


class Measures(Table, name="measures", public=False, has_status=False):
    """What a decoy promises, and how natural it is."""

    words: str = doc("its words, and the class that each indicates")
    pooled_applicability_before: int = doc(f"{_ONE_CLASS}, before it was made", "texts")
    pooled_productivity_before: float = doc("share of these that is of this class; null without any")
    pooled_coverage_before: float = doc("these texts as a share of all training texts")
    pooled_applicability: int = doc(_ONE_CLASS, "texts")
    pooled_productivity: float = doc("share of these that is of this class; null without any")
    pooled_coverage: float = doc("these texts as a share of all training texts")
    perplexity_before: float = doc("of the test texts that the decoy changes, or all, without it")
    perplexity: float = doc("of the same test texts with the decoy, or those that are left")
    perplexity_shift: float = doc("perplexity with the decoy over that without it; 1: as natural")


class Decoys(Measures, OfModel, name="decoys"):
    accuracy_original: TextEstimate | None = doc("on the test texts, of the model without the decoy", interval=_TEXTS)
    accuracy_decoy: TextEstimate | None = doc("on the same texts, of the model with the decoy", interval=_TEXTS)
    num_unread: int = doc("test texts of which models read no token; they count as wrong", "texts")
    num_word_rows: int = doc(_HOLDING, "texts")
    accuracy_original_on_word_rows: TextEstimate | None = doc(
        f"on {_HOLDING}, of the model without the decoy", interval=_TEXTS
    )
    accuracy_on_word_rows: TextEstimate | None = doc(f"on {_HOLDING}, of the model with the decoy", interval=_TEXTS)
    num_decoy_rows: int = doc(_CONTRADICTED, "texts")
    accuracy_original_on_decoy_rows: float = doc(f"on {_CONTRADICTED}, of the model without the decoy")
    accuracy_on_decoy_rows: TextEstimate | None = doc(
        f"on {_CONTRADICTED}, of the model with the decoy", interval=_TEXTS
    )
    fall: TextEstimate = doc(
        "accuracy lost there to the decoy, less what is lost on such texts without it", interval=_TEXTS
    )
    adopted: bool = doc("whether the interval of the fall lies above intervals.min_fall; null without one")


class LeftOut(Decoys, name="left_out", public=False):
    """Decoys that the texts have no place for; published among the others."""


class ExplainedWords(Attributed, OfMethod, name="attributions"):
    """What each word adds to the decision of a model with or without a decoy."""


class Sessions(OfSession, name="sessions", public=False, has_status=False):
    """One for each time that somebody debugs a model; the selection ``side_by_side`` is of two models at random."""

    found: float = doc("probability that it has been found, or told from the other model")


class Reviews(OfSession, name="reviews", public=False, has_status=False):
    """One for each time that somebody debugs a model."""

    words: str = doc("that are taken for wrong reasons, with a space between them")


class _Detection(OfBudget):
    detection_probability: TextEstimate = doc(
        "that a word of the decoy was among the top words of one", interval=_POOLS
    )


class Detection(OfModels, _Detection, name="detection"):
    """By budget."""


class _SideBySide(OfMethod):
    budget: Int32 = key(*_BUDGET)
    success_probability: TextEstimate = doc(
        "that the model with the decoy is told from the one without it", interval=_POOLS
    )


class SideBySide(OfModels, _SideBySide, name="side_by_side"):
    """By budget; setup II."""


class _Utility(OfSelection):
    num_instances: TextEstimate = doc(
        "looked at on average until found, the whole pool if not", "instances", interval=_POOLS
    )
    soonest: float | None = doc("share of resamples in which nothing but the oracle needs fewer; null for it")


class Utility(OfModels, _Utility, name="utility"):
    """Over all budgets."""


class Repairs(OfModel, name="repairs"):
    words: str = key("that were removed, with a space between them; none: the model before")
    accuracy: float | None = doc("on the test texts")
    accuracy_on_decoy_rows: float | None = doc(f"on {_CONTRADICTED}; null without any")
    num_unread: int = doc("texts of both kinds of which it reads no token; they count as wrong", "texts")


class _Improvement(OfBudget):
    num_words: float = doc("that are taken for wrong reasons, on average", "words")
    identified: float = doc("share of times that all words of the decoy are among these")
    accuracy_before: float = doc("on the test texts, of the models with the decoy")
    accuracy_after: float = doc("on the same texts, once the words are removed")
    gain: TextEstimate = doc("accuracy after, less that before", interval=_POOLS)
    accuracy_before_on_decoy_rows: float = doc(f"on {_CONTRADICTED}; null without any")
    accuracy_after_on_decoy_rows: float = doc("on the same texts, once the words are removed")
    gain_on_decoy_rows: TextEstimate = doc("accuracy there after, less that before", interval=_POOLS)


class Improvement(OfModels, _Improvement, name="improvement"):
    """By budget; setup III."""


class OfOrder(Table):
    order: str = key("in which texts are looked at: a method of attribution, 'influence', 'loss', 'random' or 'oracle'")


class Labels(Table, name="labels", public=False, has_status=False):
    """Training texts of which some have a wrong class."""

    row: int = key("number of the text")
    text: str = doc("the text")
    label: str = doc("the class that it is given")
    gold: str = doc("its class according to the data")
    is_flipped: bool = doc("whether the two differ")


class Scores(Table, name="scores", public=False, has_status=False):
    """Of such texts."""

    row: int = key("number of the text")
    score: float = doc("how suspicious its label is")


class Inspections(OfOrder, name="inspections", has_status=False):
    model: Int32 = key("number of the models, from 0")
    row: int = key("number of the text")
    place: Int32 = doc("of the text in the order, from 1")
    score: float = doc("how suspicious it is: the larger, the sooner it is looked at")
    label: str = doc("the class that it is given")
    gold: str = doc("its class according to the data")
    is_flipped: bool = doc("whether the two differ")


class Contamination(OfOrder, name="contamination", has_status=False):
    share: float = key("of the training texts that is looked at")
    num_inspected: int = doc("texts that are looked at", "texts")
    num_flipped: int = doc("training texts whose label was flipped", "texts")
    num_uncovered: float = doc("of these that are looked at, on average over the models", "texts")
    uncovered: TextEstimate = doc(
        "their share of those that were flipped", interval="the texts that were flipped, or their groups, and models"
    )
    accuracy_clean: float = doc("on the test texts, of models that learnt the labels of the data")
    accuracy_contaminated: float = doc("of models that learnt the flipped labels")
    accuracy_relabelled: float = doc("of models that learnt them less those that were uncovered")
    gain: TextEstimate = doc(
        "accuracy of these models, less that with all flipped labels",
        interval="the test texts, or their groups, and models",
    )
    num_models: Int32 = doc("that learnt the flipped labels", "models")


_OF_DECOYS = (Decoys, DecoyWords, Detection, SideBySide, Utility, Repairs, Improvement)
TABLES = {"texts": LABELLED} | schemas(*_OF_DECOYS, Inspections, Contamination, ExplainedWords)
