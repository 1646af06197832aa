"""The tables of `attribution`."""

from tiltmeter.jobs.classifiers.intervals import TextEstimate
from tiltmeter.jobs.classifiers.tables import EXPLAINERS
from tiltmeter.jobs.runtime.table import Int32, Table, doc, key, schemas

METHODS = EXPLAINERS | {"random": "random words"}
BEST = {
    "comprehensiveness": "high",
    "sufficiency": "low",
    "comprehensiveness_log_odds": "high",
    "sufficiency_log_odds": "low",
    "deletion": "low",
    "insertion": "high",
    "area_between": "high",
    "tau": "high",
    "infidelity": "low",
    "infidelity_scaled": "low",
    "auprc": "high",
    "token_f1": "high",
    "token_f1_micro": "high",
    "iou_f1": "high",
    "max_sensitivity": "low",
    "max_sensitivity_relative": "low",
}
"""What a faithful, plausible or stable method has of each measure."""

RANDOM = "random"
OWN, RANDOMISED = "own", "randomised"
UNITS = "texts or groups by data.group"


def method_name(name: str) -> str:
    """For a page."""
    return METHODS.get(name, name)


class Prepared(Table, name="prepared", public=False, has_status=False):
    """Texts that are explained."""

    row: int = key("number of the row in its file")
    id: str = doc("its name")
    text: str = doc("as it stands")
    label: str | None = doc("its class")
    group: str | None = doc("what ties it to others")
    rationale: list[bool] | None = doc("whether people named each stretch between spaces; null where they are not told")
    words_named: float | None = doc("mean number of stretches that are named in a text with a rationale")


class Explained(Table, name="texts"):
    row: int = key("number of the row in its file, from 0")
    id: str = doc("its name: that of data.id, or the number of the row")
    text: str = doc("as it is explained: up to the last word that the classifier reads")
    predicted: str = doc("the class that is predicted of the whole text, and explained")
    label: str | None = doc("its class according to the data; null if it has none")
    group: str | None = doc("what ties it to others; null if there is nothing")
    num_words: int = doc("of the text", "words")
    probability: float = doc("of the class that is predicted")
    log_odds: float = doc("of the same, log p / (1 - p)")
    probability_of_none: float = doc("of the same class for the text without any word")
    is_cut: bool = doc("whether the text is longer than the classifier reads", heading="cut")


class WordValues(Table, name="attributions"):
    row: int = key("number of the text's row in its file")
    method: str = key("what explains", show=method_name)
    position: Int32 = key("place of the word in the text, from 0")
    id: str = doc("name of the text")
    word: str = doc("the word or punctuation mark as it is written")
    attribution: float = doc("what it adds to the output that is explained, of the class that is predicted")
    standard_error: float = doc("of a Shapley value that is sampled, over orders of the words; null where it is exact")


class TextScores(Table, name="text_scores", public=False, has_status=False):
    """Measures of one text."""

    row: int = key("number of the text's row")
    method: str = key("what explains")
    weights: str = key("of the network")
    measure: str = key("what is measured")
    removal: str = key("how words are left out")
    value: float = doc("the measure")
    random: float | None = doc("its mean over random attributions of the same sizes")
    best: float | None = doc("the largest that any words have")
    num_words: int | None = doc("of plausibility: words that are taken, and that people named")


class Removed(Table, name="removals", public=False, has_status=False):
    """What texts become without words."""

    row: int = key("number of the text's row")
    removal: str = key("how words are left out")
    share: float = key("of the words, that are left out")
    confidence: float = doc("the chance of the most likely class, over random words that are left out")
    entropy: float = doc("of the classes' chances, in nats")
    as_none: float = doc("share that gets the class of the text without any word")


class Measured(Table):
    measure: str = key("what is measured; see the page of the job", show="phrase")
    removal: str = key("how words are left out: 'mask' or 'delete'; empty where none are")


class Faithfulness(Measured, name="faithfulness"):
    method: str = key("what explains; 'random': permutations of the same numbers", show=method_name)
    weights: str = key(
        "'own', or 'randomised': attributions of networks that learnt nothing, another one for each text"
    )
    best: str = doc("whether a faithful method has a high or a low number")
    value: TextEstimate = doc("mean over texts", show="small", interval=UNITS, ends=("low", "high"))
    random: float = doc(
        "the same of permutations of each text's own attributions", heading="random words", show="small"
    )
    less_random: TextEstimate = doc("value less random", show="small", interval=UNITS)
    p_value: float = doc(
        "of either sign of less_random being as likely in each text or group; null of fewer than six that differ",
        heading="p",
        show="p_value",
    )
    p_max_t: float = doc("the same for all methods of the measure and removal, by max-T", show="p_value")
    attainable: float = doc(
        "of comprehensiveness: less_random as a share of that of the best words of each text", show="percent"
    )
    num_texts: int = doc("with a number", "texts", heading="texts")
    num_undefined: int = doc("without one", "texts", heading="undefined")


class MethodPairs(Measured, name="method_pairs"):
    method: str = key("what explains", show=method_name)
    other: str = key("what explains beside it", show=method_name)
    difference: TextEstimate = doc("value of the first less that of the second", show="small", interval=UNITS)
    p_max_t: float = doc("of signs of texts or groups, for all pairs of the measure by max-T", show="p_value")


class RemovalOrders(Table, name="removal_orders"):
    measure: str = key("what is measured", show="phrase")
    tau: float = doc("Kendall's tau of the methods' order with masked and with deleted words", digits=2)
    num_methods: int = doc("that are ordered", "methods", heading="methods")


class Strange(Table, name="removed_texts"):
    removal: str = key("how words are left out; 'none': texts as they are")
    share: float = key("of the words of each text, that are left out at random", show="percent", digits=0)
    confidence: float = doc("mean chance of the most likely class", show="percent")
    of_same_length: float = doc(
        "the same of whole texts with about as many words: the nearest number, within a fifth", show="percent"
    )
    entropy: float = doc("mean entropy of the classes' chances", "nats", digits=2)
    as_none: float = doc(
        "share that gets the class of the text without any word", heading="as an empty text", show="percent"
    )
    num_texts: int = doc("that these are means of", "texts", heading="texts")


class Layers(Table, name="layer_scores", public=False, has_status=False):
    """Attributions of a text after some layers lost what they learnt."""

    row: int = key("number of the text's row")
    method: str = key("what explains")
    step: int = key("layers that are lost")
    layer: str = doc("that was lost last")
    kept: list[str] = doc("parameters of the layer that stay as they are")
    correlation: float = doc("Spearman's, with the attributions of the network as it is")


class Randomised(Table, name="randomised_layers"):
    method: str = key("what explains", show=method_name)
    step: int = key("layers that have lost what they learnt, from the last one; 0: the mean over all steps")
    layer: str = doc("that was lost last")
    kept: str = doc("parameters of the layer that no module draws anew, and that stay as they are")
    correlation: TextEstimate = doc("Spearman's, of attributions with those of the network as it is", interval=UNITS)


TABLES = schemas(Explained, WordValues, Faithfulness, MethodPairs, RemovalOrders, Strange, Randomised)
