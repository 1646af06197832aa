"""Tables of `relation_rules`."""

import pyarrow as pa

from tiltmeter.jobs.runtime.columns import REASON, STATUS, count, number, text
from tiltmeter.storage.store.tables import column

_SPLIT = text("split", "'training', 'development' or 'test'", key=True)
_INSTANCE = count("instance", "number of the instance in its part, from 0", key=True)
_SEED = count("seed", "number of the model, from 0", key=True)
_MODEL = text("model", "'joint', an ablation, 'rules' alone, or a difference such as 'joint - no_decoder'", key=True)


def _words(name: str, sentence: str) -> pa.Field:
    return column(name, pa.list_(pa.string()), sentence)


READ = pa.schema(
    [
        _SPLIT,
        _INSTANCE,
        text("document", "what the sentence is part of"),
        count("sentence", "number of its sentence in its part, from 0"),
        _words("tokens", "of the sentence"),
        _words("lemma", "of the tokens; null without them"),
        _words("pos", "parts of speech; null without them"),
        _words("ner", "named entities; null without them"),
        column("head", pa.list_(pa.int64()), "place of each token's head, from 1, 0 for roots; null without a tree"),
        _words("deprel", "names of the dependencies; null without a tree"),
        count("subject_start", "first token of the subject, from 0"),
        count("subject_end", "token behind its last"),
        count("object_start", "first token of the object, from 0"),
        count("object_end", "token behind its last"),
        text("subject_type", "of which kind the subject is; null if unknown"),
        text("object_type", "of which kind the object is; null if unknown"),
        text("relation", "that holds; null if unknown"),
        text("tag", "relation that rules say, where they were run elsewhere; null otherwise"),
        column("tagged", pa.list_(pa.int64()), "tokens that this rests on"),
        _words("mapped", "names of the rules that match, where they were run elsewhere; null otherwise"),
        _words("mapped_relations", "what these say"),
        STATUS,
        REASON,
    ]
)
"""Instances as they are read."""

COMPILED = pa.schema(
    [
        text("rule_id", "name of the rule", key=True),
        text("relation", "that it stands for"),
        text("text", "its print; as it was given, where it is none of the language"),
        text("source", "'file', 'induced', 'tags' or 'made_up'"),
        STATUS,
        REASON,
    ]
)

MATCHES = pa.schema([_SPLIT, _INSTANCE, text("rule_id", "name of the rule that matches it", key=True)])

TIMEOUTS = pa.schema(
    [
        text("rule_id", "name of a rule that was not run to the end", key=True),
        text("reason", "which expression takes too long, and with which word"),
    ]
)

PREDICTED = pa.schema(
    [
        _SPLIT,
        _INSTANCE,
        _SEED,
        text("predicted", "likeliest relation"),
        number("probability", "of it"),
        number("gold_probability", "of the relation that holds"),
    ]
)

INSTANCES = pa.schema(
    [
        _SPLIT,
        _INSTANCE,
        text("sentence", "its tokens"),
        text("subject", "its tokens"),
        text("object", "its tokens"),
        text("relation", "that holds; null if unknown"),
        text("rule_relation", "that most rules which match say, or tags; 'no_relation' where none does"),
        _words("rules", "names of those that match"),
        text("predicted", "by the joint models: the likeliest by their mean probability; null in training"),
        number("probability", "of it, mean over the models"),
        text("encoder", "'tree': the graph convolution has one; 'no tree': it leaves each token to itself"),
        STATUS,
        REASON,
    ]
)

EXPLANATIONS = pa.schema(
    [
        _SPLIT,
        _INSTANCE,
        _MODEL,
        _SEED,
        text("decoder", "'published' (free), 'constrained' or 'retrieval'", key=True),
        text("predicted", "relation that the model predicts; of a model without a classifier the one that holds"),
        text("rule", "that is written; null if there is none"),
        text("rule_id", "of the known rule with this print; null for a new one"),
        column("parses", pa.bool_(), "whether it is a rule of the language"),
        column("matches", pa.bool_(), "whether it matches the instance"),
        number("log_probability", "of its symbols and the end", "nats"),
        text(
            "implied_relation", "of the known rule; of a new one, that of most training instances it matches; or null"
        ),
        column("is_faithful", pa.bool_(), "whether that is the predicted relation; null if it is unknown"),
        column(
            "is_exact",
            pa.bool_(),
            "whether it is a rule that matches and says the relation which holds; null where there is none",
        ),
        _words("tokens", "that it names"),
        number("comprehensiveness", "fall of the probability of what is predicted where these are hidden"),
        number("random_comprehensiveness", "the same of as many other tokens, drawn: what hiding anything does"),
        number("sufficiency", "fall where all others but the arguments are hidden"),
        STATUS,
        REASON,
    ]
)

RULES = pa.schema(
    [
        text("rule_id", "name of the rule", key=True),
        text("split", "part on which it is counted; 'texts': unlabelled ones", key=True),
        text("relation", "that it stands for"),
        text("text", "its print; as it was given, where it is none of the language"),
        text("source", "'file', 'induced', 'tags', 'made_up', or 'decoded': written by a model, and new"),
        count("support", "instances that it matches", "instances"),
        number("precision", "share of them that have its relation; in texts, of those whose arguments facts know"),
        number(
            "precision_low",
            "lower end of the interval of precision over documents that hold several sentences (in texts: documents), "
            "else sentences, by Korn and Graubard; null of less than two",
        ),
        number("precision_high", "upper end of the interval of precision"),
        number("recall", "share of the instances of its relation that it matches"),
        number(
            "agreement", "in texts: share of what it matches to which the joint models give its relation; else null"
        ),
        count("num_known", "in texts: pairs that it matches whose arguments are in the list of facts", "instances"),
        column("is_used", pa.bool_(), "whether models learn from it: it is among the most frequent in training"),
        STATUS,
        REASON,
    ]
)

TEXT_COUNTS = pa.schema(
    [
        text("rule_id", "name of the rule", key=True),
        text("document", "in which it matches", key=True),
        count("num", "pairs that it matches"),
        count("num_agreeing", "of which the joint models say its relation"),
        count("num_known", "whose arguments are in the list of facts"),
        count("num_right", "of which its relation is a fact"),
    ]
)
"""Of a shard."""

TEXT_MATCHES = pa.schema(
    [
        text("rule_id", "name of the rule", key=True),
        text("document", "identifier of the document", key=True),
        count("line", "line of the document, from 0", key=True),
        count("sentence_number", "sentence of the line, from 0", key=True),
        count("subject_start", "first token of the subject in its sentence, from 0", key=True),
        count("object_start", "first token of the object", key=True),
        text("relation", "that the rule stands for"),
        text("subject", "its tokens"),
        text("object", "its tokens"),
        text("sentence", "its tokens"),
        text("predicted", "relation by the joint models: the likeliest by their mean probability"),
        column("is_fact", pa.bool_(), "whether the rule's relation is a fact; null where the arguments are unknown"),
    ]
)

TEXT_EXAMPLES = TEXT_MATCHES.append(column("order", pa.uint64(), "by which a rule's examples are chosen"))
"""Of a shard."""

_TOTALS = [
    count("num_sentences", "that were read", "sentences"),
    count("num_pairs", "ordered pairs of mentions in them, near enough for a rule", "instances"),
    count("num_matched", "of which some rule matches", "instances"),
]
TEXT_TOTALS = pa.schema(_TOTALS)
"""Of a shard."""

TEXTS = pa.schema([text("corpus", "name of the texts", key=True), *_TOTALS])

_INTERVAL = [
    number(
        "low", "lower end of the interval over units and, of several, trainings; of one training, of this one alone"
    ),
    number("high", "upper end of the interval"),
    number("sd_training", "standard deviation over seeds; null of one training, whose interval says nothing of others"),
    text("unit", "what is drawn: 'document', where some hold several sentences, else 'sentence'"),
    count("num_units", "units that have something to count"),
]

MEASURES = pa.schema(
    [
        _MODEL,
        text("decoder", "that writes; empty where nothing is written", key=True),
        _SPLIT,
        text("relation", "'all' of them together, 'macro', 'official' (of SemEval), or one", key=True),
        text("measure", "what is measured", key=True),
        number("value", "mean over the seeds"),
        *_INTERVAL,
        number("floor", "what the most frequent training rule of the relation gives, without reading; or null"),
        count("num", "instances that it rests on", "instances"),
        number(
            "p_value", "of a difference, by the same units and trainings as its interval: both have one F1; else null"
        ),
        number("p_adjusted", "by Holm, over the differences of a part"),
        STATUS,
        REASON,
    ]
)

LEARNING_CURVE = pa.schema(
    [
        column("share", pa.float64(), "of the rules, the most frequent first", key=True),
        text("measure", "'precision', 'recall' or 'f1', micro, on the development part", key=True),
        number("value", "mean over the seeds"),
        *_INTERVAL,
        count("num_rules", "that models learn from", "rules"),
        count("num_instances", "of the training part that have one of them", "instances"),
        STATUS,
        REASON,
    ]
)

TRAINING = pa.schema(
    [
        text("model", "'joint', or an ablation", key=True),
        column("share", pa.float64(), "of the rules", key=True),
        _SEED,
        count("epoch", "from 1", key=True),
        number("relation_loss", "mean cross entropy of relations", "nats"),
        number("rule_loss", "mean cross entropy of a rule's symbol, over all instances", "nats"),
        number("f1", "micro F1 on the development part; null without a classifier"),
        number(
            "development_rule_loss",
            "mean cross entropy of a symbol of the rules of the development part; null without a decoder or rules",
            "nats",
        ),
        number("score", "f1 + exp(-development_rule_loss), without what is null"),
        number("rate", "of learning"),
        column("is_best", pa.bool_(), "whether its weights are kept: the largest score; of equals the last"),
        text("warning", "says so where the best epoch is the first or the last of them; empty otherwise"),
        count("num_instances", "that are learnt from", "instances"),
        count("num_with_rules", "of them that have a rule", "instances"),
    ]
)

TABLES = {
    "instances": INSTANCES,
    "explanations": EXPLANATIONS,
    "rules": RULES,
    "measures": MEASURES,
    "learning_curve": LEARNING_CURVE,
    "training": TRAINING,
    "texts": TEXTS,
    "text_matches": TEXT_MATCHES,
}
