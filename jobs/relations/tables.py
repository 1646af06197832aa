"""Tables of `relation_rules`: those that units hand on, and below them those that a run publishes."""

from typing import Annotated

import pyarrow as pa

from tiltmeter.jobs.runtime.table import Estimate, Table, doc, key, schemas

_SPLIT = "'training', 'development' or 'test'"
_MODEL = "'joint', an ablation, 'rules' alone, or a difference such as 'joint - no_decoder'"
_SEED = "number of the model, from 0"
_RULE = "name of the rule"
_PRINT = "its print; as it was given, where it is none of the language"


class OfInstance(Table):
    split: str = key(_SPLIT)
    instance: int = key("number of the instance in its part, from 0")


class Annotations(OfInstance, name="rows", public=False):
    """Instances as they are read."""

    document: str | None = doc("what the sentence is part of")
    sentence: int = doc("number of its sentence in its part, from 0")
    tokens: list[str] = doc("of the sentence")
    lemma: list[str] | None = doc("of the tokens; null without them")
    pos: list[str] | None = doc("parts of speech; null without them")
    ner: list[str] | None = doc("named entities; null without them")
    head: list[int] | None = doc("place of each token's head, from 1, 0 for roots; null without a tree")
    deprel: list[str] | None = doc("names of the dependencies; null without a tree")
    subject_start: int = doc("first token of the subject, from 0")
    subject_end: int = doc("token behind its last")
    object_start: int = doc("first token of the object, from 0")
    object_end: int = doc("token behind its last")
    subject_type: str | None = doc("of which kind the subject is; null if unknown")
    object_type: str | None = doc("of which kind the object is; null if unknown")
    relation: str | None = doc("that holds; null if unknown")
    tag: str | None = doc("relation that rules say, where they were run elsewhere; null otherwise")
    tagged: list[int] | None = doc("tokens that this rests on")
    mapped: list[str] | None = doc("names of the rules that match, where they were run elsewhere; null otherwise")
    mapped_relations: list[str] | None = doc("what these say")


class RuleTexts(Table, name="rules", public=False):
    """Rules, before anything is counted."""

    rule_id: str = key(_RULE)
    relation: str = doc("that it stands for")
    text: str = doc(_PRINT)
    source: str = doc("'file', 'induced', 'tags' or 'made_up'")


class Matches(OfInstance, name="matches", public=False, has_status=False):
    rule_id: str = key("name of the rule that matches it")


class Timeouts(Table, name="timeouts", public=False, has_status=False):
    rule_id: str = key("name of a rule that was not run to the end")
    reason: str = doc("which expression takes too long, and with which word")


class Predictions(OfInstance, name="predicted", public=False, has_status=False):
    seed: int = key(_SEED)
    predicted: str = doc("likeliest relation")
    probability: float = doc("of it")
    gold_probability: float | None = doc("of the relation that holds")


class TextCounts(Table, name="counts", public=False, has_status=False):
    """Of a shard."""

    rule_id: str = key(_RULE)
    document: str = key("in which it matches")
    num: int = doc("pairs that it matches")
    num_agreeing: int = doc("of which the joint models say its relation")
    num_known: int = doc("whose arguments are in the list of facts")
    num_right: int = doc("of which its relation is a fact")


class TextTotals(Table, name="totals", public=False, has_status=False):
    """Of a shard."""

    num_sentences: int = doc("that were read", "sentences")
    num_pairs: int = doc("ordered pairs of mentions in them, near enough for a rule", "instances")
    num_matched: int = doc("of which some rule matches", "instances")


# --- published ------------------------------------------------------------------------------------------------------


class Instances(OfInstance, name="instances"):
    sentence: str = doc("its tokens")
    subject: str = doc("its tokens")
    object: str = doc("its tokens")
    relation: str | None = doc("that holds; null if unknown")
    rule_relation: str = doc("that most rules which match say, or tags; 'no_relation' where none does")
    rules: list[str] = doc("names of those that match")
    predicted: str = doc("by the joint models: the likeliest by their mean probability; null in training")
    probability: float = doc("of it, mean over the models")
    encoder: str = doc("'tree': the graph convolution has one; 'no tree': it leaves each token to itself")


class Explanations(OfInstance, name="explanations"):
    model: str = key(_MODEL)
    seed: int = key(_SEED)
    decoder: str = key("'published' (free), 'constrained' or 'retrieval'")
    predicted: str = doc("relation that the model predicts; of a model without a classifier the one that holds")
    rule: str | None = doc("that is written; null if there is none")
    rule_id: str | None = doc("of the known rule with this print; null for a new one")
    parses: bool = doc("whether it is a rule of the language")
    matches: bool = doc("whether it matches the instance")
    log_probability: float = doc("of its symbols and the end", "nats")
    implied_relation: str | None = doc(
        "of the known rule; of a new one, that of most training instances it matches; or null", heading="implies"
    )
    is_faithful: bool | None = doc("whether that is the predicted relation; null if it is unknown", heading="faithful")
    is_exact: bool | None = doc(
        "whether it is a rule that matches and says the relation which holds; null where there is none",
        heading="exact",
    )
    tokens: list[str] = doc("that it names")
    comprehensiveness: float = doc("fall of the probability of what is predicted where these are hidden")
    random_comprehensiveness: float = doc("the same of as many other tokens, drawn: what hiding anything does")
    sufficiency: float = doc("fall where all others but the arguments are hidden")


class WrittenRules(Explanations, name="written", public=False):
    """Without what needs all rules that were written."""


_UNITS = (
    "the interval of precision over documents that hold several sentences (in texts: documents), else sentences, by "
    "Korn and Graubard; null of less than two"
)


class Rules(Table, name="rules"):
    rule_id: str = key(_RULE)
    split: str = key("part on which it is counted; 'texts': unlabelled ones")
    relation: str = doc("that it stands for")
    text: str = doc(_PRINT, heading="rule")
    source: str = doc("'file', 'induced', 'tags', 'made_up', or 'decoded': written by a model, and new")
    support: int = doc("instances that it matches", "instances")
    precision: Estimate = doc(
        "share of them that have its relation; in texts, of those whose arguments facts know",
        digits=2,
        interval=(_UNITS, "the interval of precision"),
    )
    recall: float | None = doc("share of the instances of its relation that it matches", show="percent")
    agreement: float | None = doc(
        "in texts: share of what it matches to which the joint models give its relation; else null", show="percent"
    )
    num_known: int = doc("in texts: pairs that it matches whose arguments are in the list of facts", "instances")
    is_used: bool = doc("whether models learn from it: it is among the most frequent in training")


class OfSeeds(Table):
    """A number over units and the seeds of models."""

    value: Estimate = doc(
        "mean over the seeds",
        ends=("low", "high"),
        interval=(
            "the interval over units and, of several, trainings; of one training, of this one alone",
            "the interval",
        ),
    )
    sd_training: float = doc(
        "standard deviation over seeds; null of one training, whose interval says nothing of others"
    )
    unit: str = doc("what is drawn: 'document', where some hold several sentences, else 'sentence'")
    num_units: int = doc("units that have something to count")


class _OfModel(Table):
    model: str = key(_MODEL)
    decoder: str = key("that writes; empty where nothing is written")
    split: str = key(_SPLIT)
    relation: str = key("'all' of them together, 'macro', 'official' (of SemEval), or one")
    measure: str = key("what is measured", show=lambda name: name.replace("_", " "))


class Measures(OfSeeds, _OfModel, name="measures"):
    floor: float | None = doc("what the most frequent training rule of the relation gives, without reading; or null")
    num: int = doc("instances that it rests on", "instances")
    p_value: float = doc(
        "of a difference, by the same units and trainings as its interval: both have one F1; else null",
        heading="p",
        show="p_value",
    )
    p_adjusted: float = doc("by Holm, over the differences of a part", heading="p, Holm", show="p_value")


class _OfShare(Table):
    share: float = key("of the rules, the most frequent first")
    measure: str = key("'precision', 'recall' or 'f1', micro, on the development part")


class LearningCurve(OfSeeds, _OfShare, name="learning_curve"):
    num_rules: int = doc("that models learn from", "rules")
    num_instances: int = doc("of the training part that have one of them", "instances")


class Training(Table, name="training", has_status=False):
    model: str = key("'joint', or an ablation")
    share: float = key("of the rules")
    seed: int = key(_SEED)
    epoch: int = key("from 1")
    relation_loss: float = doc("mean cross entropy of relations", "nats")
    rule_loss: float = doc("mean cross entropy of a rule's symbol, over all instances", "nats")
    f1: float = doc("micro F1 on the development part; null without a classifier", heading="F1, development")
    development_rule_loss: float = doc(
        "mean cross entropy of a symbol of the rules of the development part; null without a decoder or rules",
        "nats",
        heading="rule loss, development",
    )
    score: float = doc("f1 + exp(-development_rule_loss), without what is null")
    rate: float = doc("of learning")
    is_best: bool = doc("whether its weights are kept: the largest score; of equals the last")
    warning: str = doc("says so where the best epoch is the first or the last of them; empty otherwise")
    num_instances: int = doc("that are learnt from", "instances")
    num_with_rules: int = doc("of them that have a rule", "instances")


class _OfTexts(Table):
    corpus: str = key("name of the texts")


class Texts(TextTotals, _OfTexts, name="texts", has_status=False):
    """How much was read."""


class TextMatches(Table, name="text_matches", has_status=False):
    rule_id: str = key(_RULE)
    document: str = key("identifier of the document")
    line: int = key("line of the document, from 0")
    sentence_number: int = key("sentence of the line, from 0")
    subject_start: int = key("first token of the subject in its sentence, from 0")
    object_start: int = key("first token of the object")
    relation: str = doc("that the rule stands for")
    subject: str = doc("its tokens")
    object: str = doc("its tokens")
    sentence: str = doc("its tokens")
    predicted: str = doc(
        "relation by the joint models: the likeliest by their mean probability", heading="the models say"
    )
    is_fact: bool | None = doc(
        "whether the rule's relation is a fact; null where the arguments are unknown", heading="fact"
    )


class TextExamples(TextMatches, name="examples", public=False, has_status=False):
    """Of a shard."""

    order: Annotated[int, pa.uint64()] = doc("by which a rule's examples are chosen")


TABLES = schemas(Instances, Explanations, Rules, Measures, LearningCurve, Training, Texts, TextMatches)
