"""The tables of `gender_adversary`: every column with its type, its unit and a sentence."""

import pyarrow as pa

from tiltmeter.jobs.runtime.columns import REASON, STATUS, count, interval, number, text
from tiltmeter.storage.store.tables import column

_ROW = count("row", "number of the text among all labelled texts, from 0", key=True)
_VICTIM = text("victim", "the classifier, by its name in the settings", key=True)
_DIRECTION = text("direction", "what words are replaced along, and towards which gender", key=True)
_SEARCH = text("search", "'ladder', 'greedy' (the released pass) or 'swap' (all words at once)", key=True)
_CONTROL = count("control", "number of the control direction; -1 for none", key=True)
_REPLICA = count("replica", "number of the embedding's bootstrap replica; 0 for the original", key=True)
_SHORT = pa.int32()

TEXTS = pa.schema(
    [
        _ROW,
        _VICTIM,
        text("text", "the text"),
        text("group", "who wrote it, or what else ties texts together; null if there is none"),
        text("label", "its class according to the data"),
        text("predicted", "its class according to the victim; null if it can't read it"),
        column("is_correct", pa.bool_(), "whether the two are the same"),
        number("margin", "probability of the predicted class, less that of the next"),
        count("num_words", "words of the text, cut at spaces", "words", type=_SHORT),
        count("num_eligible", "words that some direction may replace", "words", type=_SHORT),
        column("has_female", pa.bool_(), "whether it has a woman's word or name"),
        column("has_male", pa.bool_(), "whether it has a man's word or name"),
        STATUS,
        REASON,
    ]
)

CANDIDATES = pa.schema(
    [
        _DIRECTION,
        text("word", "a word of the texts, in small letters", key=True),
        count("rank", "place of the candidate among the nearest, from 0", key=True, type=_SHORT),
        text("candidate", "what may stand in its place"),
        number("cosine", "of the candidate with the shifted word"),
        number("leaning", "by how much it lies further towards women than the word, along the first pair's direction"),
        text("kind", "'definitional' (of the other gender), 'associated' (leans as few controls do) or 'other'"),
        number("stability", "share of the embedding's replicas that have the candidate; null without replicas"),
        text("removed_by", "the constraint that leaves it out; empty if it may be taken"),
        count("num_near", "of the nearest to the shifted word, those left out as near to the word itself"),
    ]
)

ATTACKS = pa.schema(
    [
        _ROW,
        _VICTIM,
        _DIRECTION,
        _SEARCH,
        text("status", "'flipped_minimal', 'flipped', 'robust_proven', 'not_found', 'no_candidate' or 'unreadable'"),
        text("reason", "why there is no attack, in a sentence; empty otherwise"),
        count("num_changes", "words that differ in the text that was found", "words", type=_SHORT),
        column("is_minimal", pa.bool_(), "whether fewer changes are proven not to flip the verdict"),
        number("probability_before", "of the victim's class of the text"),
        number("probability_after", "of the same class of the text that was found"),
        count("num_queries", "texts that the victim was asked about", "texts"),
        count("num_distinct", "different ones among them", "texts"),
        count("num_candidates", "replacements of all words that the search may take", type=_SHORT),
        count("num_unlikely", "further ones that the language model leaves out", type=_SHORT),
        number("log10_size", "log10 of the number of texts within the limit of changes, the original among them"),
        number("fall", "largest fall of the probability by one change"),
        text("changed_text", "the text that was found"),
    ]
)

SUBSTITUTIONS = pa.schema(
    [
        _ROW,
        _VICTIM,
        _DIRECTION,
        _SEARCH,
        count("position", "place of the word in the text, from 0", key=True, type=_SHORT),
        text("word", "as it stands in the text"),
        text("replacement", "what stands there in the text that was found"),
        text("kind", "as in the table candidates"),
        number("shapley", "its share in the fall of the probability"),
        number("shapley_error", "standard error of shapley; 0 up to 12 changes, all of whose subsets are read"),
        column("is_flagged", pa.bool_(), "whether VADER's scores of the two differ in their sign"),
        column("is_known", pa.bool_(), "whether the victim knows the replacement; null where that can't be told"),
        column("is_flip", pa.bool_(), "whether the verdict flips"),
    ]
)

CONTROLS = pa.schema(
    [
        _VICTIM,
        _DIRECTION,
        _CONTROL,
        text("words", "the pair whose difference is the control; empty for one from the sphere"),
        number("flip_rate", "share of the texts that it flips"),
        number("fall", "mean of the largest fall by one change"),
        number("num_candidates", "mean number of candidates for a text"),
        number("log10_size", "mean of log10 of the number of texts that a text can become"),
    ]
)

SUMMARY = pa.schema(
    [
        _VICTIM,
        _DIRECTION,
        text("stratum", "'all' texts, those with 'female' or 'male' words, or with 'neither'", key=True),
        _SEARCH,
        count("num_texts", "that the victim can read", "texts"),
        count("num_replicas", "of the embedding, for the interval", "replicas", type=_SHORT),
        number("flip_rate", "share of the texts whose verdict flips"),
        *interval("flip_rate", "interval of flip_rate over other texts of this kind, by group; null with too few"),
        count("num_changeable", "of the texts, those that have a word to replace; the others can't flip", "texts"),
        number("changeable_rate", "share of these whose verdict flips"),
        *interval("changeable_rate", "interval of changeable_rate over other texts of this kind, by group"),
        number("flip_rate_most", "with the texts of which it is not proven that none flips"),
        number("one_change_rate", "share of the texts that one change flips"),
        number("unflagged_rate", "share of the texts that flip without a flagged replacement"),
        number("excess", "flip_rate less the mean of the control directions; null without these"),
        *interval("excess", "interval of excess over other texts of this kind, by group; null with too few"),
        number("p_value", "one-sided, of the excess, by its rank among the controls; null: a direction like these"),
        number("p_adjusted", "after Holm, over all victims and directions; null but for all texts"),
        number("fall", "mean of the largest fall of the probability by one change"),
        number("fall_excess", "fall less the mean of the control directions"),
        number("fall_p_value", "one-sided, of fall_excess, by rank as p_value; not adjusted"),
        number("asymmetry", "flip_rate less that of the direction to the other gender"),
        number(
            "asymmetry_p", "two-sided, by signs of groups: either way as likely to flip more in each; null with too few"
        ),
        number("asymmetry_p_adjusted", "after Holm, over victims and kinds of direction; null but for all texts"),
        number(
            "asymmetry_control_p",
            "two-sided, by rank among the asymmetries of the controls; null: two ways like theirs",
        ),
        number("definitional_share", "of the Shapley values of flips, on words replaced by words of the other gender"),
        number("associated_share", "on replacements that lean to a gender"),
        number("other_share", "on all other words"),
        count("num_unproven", "texts of which it is open whether they can flip", "texts"),
        number("size_slope", "by how much flip rates rise with log10_size, over the direction and its controls"),
        number("size_excess", "flip_rate less that of controls with as many texts to become, by this slope"),
        number("size_p_value", "one-sided, of size_excess, by rank as p_value; not adjusted"),
        number("mean_candidates", "mean number of candidates for a text"),
        number("mean_control_candidates", "the same along the control directions; more give more chances"),
        STATUS,
        REASON,
    ]
)

TABLES = {
    "texts": TEXTS,
    "candidates": CANDIDATES,
    "attacks": ATTACKS,
    "substitutions": SUBSTITUTIONS,
    "controls": CONTROLS,
    "summary": SUMMARY,
}

# --- between units --------------------------------------------------------------------------------------------------

PART = pa.schema([_ROW, text("text", "the text"), text("label", "its class"), text("group", "whom it is by")])
"""Texts of a unit."""

NEAR = pa.schema(
    [
        _DIRECTION,
        _CONTROL,
        _REPLICA,
        text("word", "a word of the texts", key=True),
        count("rank", "place of the candidate, from 0", key=True, type=_SHORT),
        text("candidate", "what may stand in its place"),
        number("cosine", "with the shifted word"),
        number("leaning", "further towards women than the word"),
        text("removed_by", "the constraint that leaves it out"),
        count("num_near", "left out as near to the word itself"),
    ]
)
"""Candidates along every direction, the controls among them."""

PAIRS = pa.schema([_DIRECTION, _CONTROL, text("words", "whose difference it is")])

SPACES = pa.schema(
    [
        _DIRECTION,
        _CONTROL,
        _REPLICA,
        _ROW,
        count("position", "of the token", key=True, type=_SHORT),
        text("option", "the token with the candidate in it", key=True),
        column("is_likely", pa.bool_(), "whether the language model has it"),
    ]
)

OUTCOMES = pa.schema(
    [
        _ROW,
        _VICTIM,
        _DIRECTION,
        _CONTROL,
        _REPLICA,
        column("is_flip", pa.bool_(), "whether the verdict flips"),
        number("fall", "largest fall by one change"),
        count("num_candidates", "replacements that may be taken", type=_SHORT),
        number("log10_size", "log10 of the number of texts within the limit of changes"),
    ]
)
"""What every direction came to, without what it found."""
