"""The tables of association tests, and of what is held against the world."""

from tiltmeter.jobs.embedding.lookup import OfReplicas
from tiltmeter.jobs.embedding.tables import MISSING_WORDS, NUM_REPLICAS, WOMEN, WORD, OfModel
from tiltmeter.jobs.runtime.table import Int8, Int32, doc, key, schemas
from tiltmeter.operators.association.direction_measures import OF_DIRECTIONS
from tiltmeter.operators.association.known_measures import KNOWN

_SIMILARITY = "'cosine', 'euclidean', 'manhattan' or 'mahalanobis'"
_STATISTIC = "what is taken over the attributes: 'mean', 'median', 'min', 'max', 'smallest_gap'"
_DDOF = "degrees of freedom taken off in the standard deviation: 1 is the sample's"
_ATTRIBUTES = "attribute words that have a vector"
_SD = "standard deviations"


def measure_name(name: str) -> str:
    """As its paper spells it; of one that a package brings, in words."""
    spelled = {"semaxis": "SemAxis", "weat": "WEAT's effect size", "ripa_component": "RIPA by the first component"}
    spelled |= {name: name.replace("_", " ").capitalize() for name in OF_DIRECTIONS}
    return spelled.get(name, (name.upper() if name in KNOWN else name).replace("_", " "))


class Associations(OfModel, name="associations"):
    test: str = key("name of the association test in the word set")
    target_x: str = doc("first target set")
    target_y: str = doc("second target set")
    attribute_a: str = doc("attributes that X is expected to go with")
    attribute_b: str = doc("attributes that Y is expected to go with")
    similarity: str = key(_SIMILARITY)
    statistic: str = key(_STATISTIC)
    covariance: str | None = doc("estimate behind 'mahalanobis': 'shrinkage', 'graphical_lasso'; else null")
    score: OfReplicas = doc(
        "test statistic: sum of the associations of X less that of Y; has the sign of d if both have as many words"
    )
    effect_size: OfReplicas = doc("WEAT effect size d; positive if X goes with A", _SD, heading="d", digits=2)
    absolute_effect_size: float = doc("size of d without its sign", _SD)
    ddof: Int8 = doc(_DDOF)
    p_value: float = doc("permutation p-value of the original corpus; at the safe end of its interval")
    p_low: float = doc("what p is at least; for Monte Carlo, lower end of its 95 % interval")
    p_high: float = doc("what p is at most; for Monte Carlo, upper end of its 95 % interval")
    alternative: str = doc("what p speaks for: 'greater' (X go with A), 'less' or 'two-sided'")
    p_method: str = doc(
        "'exact', 'certified' (p lies within its interval) or 'monte_carlo'", heading="p is", show="phrase"
    )
    p_standard_error: float = doc("standard error of a Monte Carlo p-value; null otherwise")
    num_targets: Int32 = doc("target words that have a vector", "words")
    num_attributes: Int32 = doc(_ATTRIBUTES, "words")
    missing_words: list[str] = doc(MISSING_WORDS)
    num_replicas: Int32 = doc(NUM_REPLICAS, "replicas")


class Measures(OfModel, name="measures"):
    """A query is an association test's sets of words."""

    measure: str = key("name of the measure; see the page of the job", show=measure_name)
    query: str = key(
        "name of the association test in the word set whose sets of words are measured; or of its word list of pairs"
    )
    groups: str = key(
        "the two sets X and Y of it that are compared, by name: its targets, or its attributes; or the first of the "
        "pairs that give a direction"
    )
    attributes: str = key(
        "what they are compared by: a set A, or two sets A and B; or the words that are held against a direction, and "
        "of indirect bias the word that is nearest"
    )
    word: str | None = key("of measures that give a number for each target word; else null", default=None)
    value: OfReplicas = doc("of the original corpus, as the measure defines it", ends=("low", "high"), digits=3)
    larger: str = doc("what a larger value says")
    neutral: float | None = doc("value without the bias that is measured; null if none is that")
    null: str = doc(
        "what p exchanges at random: 'targets' between X and Y, 'attributes' between A and B, 'pairs' of X and Y, "
        "'directions' (those of pairs of other words); or why there is no p",
        heading="p by",
    )
    p_value: float = doc("of the original corpus, as its measure's null hypothesis has it", show="p_value")
    p_max_t: float | None = doc("the same for all words of the query at once, by max-T", show="p_value")
    p_method: str | None = doc("'exact', or 'monte_carlo' (drawn partitions)", heading="p is", show="phrase")
    num_partitions: int | None = doc("ways to exchange that were looked at, the one at hand among them")
    num_words: Int32 = doc("words of the sets that are taken that have a vector", "words")
    missing_words: list[str] = doc(MISSING_WORDS)
    num_replicas: Int32 = doc(NUM_REPLICAS, "replicas")


class Analogies(OfModel, name="analogies"):
    """Bolukbasi et al. 2016, equation 1. They illustrate, and no number here measures a bias."""

    query: str = key("the word list whose first pair the analogies are made of")
    seeds: str = doc("that pair")
    first: str | None = key("x, which is to the first of the pair as y to the second", heading="x", default=None)
    second: str | None = key("y", heading="y", default=None)
    rank: Int32 = doc("place among the analogies of the original corpus", show="count")
    parallel: float = doc("cosine of x - y with the difference of the pair", digits=2)
    distance: float = doc("between x and y, of length 1", digits=2)
    share: float | None = doc("share of replicas that have it among as many analogies", show="percent")
    answer: str = doc("what 'the first is to x as the second to what?' gives where these three words are left out")
    any_answer: str = doc("the same where none is left out")
    input_rank: Int32 = doc("place of the nearest of the three among all words; 1: it would be the answer")
    num_words: Int32 = doc("listed words with a vector, of which analogies are made", "words")
    num_replicas: Int32 = doc(NUM_REPLICAS, "replicas")


class SentenceTests(OfModel, name="sentence_tests"):
    """Of words that stand in sentences; what is not of a row's method is null."""

    test: str = key("name of the association test in the word set")
    method: str = key(
        "'words': of words' means over their sentences, as in associations; as published: 'seat' (sentences taken for "
        "words) or 'ceat' (draws of contexts, pooled)",
        show=lambda name: name.upper() if name != "words" else "of words",
    )
    effect_size: float = doc("d by the sample's deviation; of CEAT the pooled one, PES", _SD, heading="d", digits=2)
    least_without: float | None = doc("smallest d of words without one of the templates", _SD, digits=2)
    most_without: float | None = doc("largest d of words without one of the templates", _SD, digits=2)
    sd_words: float | None = doc("standard deviation of associations between the words of a set", digits=4)
    sd_sentences: float | None = doc("standard deviation of associations between the sentences of a word", digits=4)
    variance: float | None = doc("of the pooled effect size, as published: shrinks with the draws", show="p_value")
    tau_squared: float | None = doc("variance between draws, as published", digits=4)
    published_p: float | None = doc("one-sided, as published: not of words, and far too often small", show="p_value")
    num_words: Int32 = doc("words with a sentence", "words")
    num_sentences: Int32 = doc("sentences of these", "sentences")
    num_draws: Int32 | None = doc("partitions of sentences that were drawn, or draws of contexts")


class AssociationSummary(OfModel, name="association_summary", has_status=False):
    """Table 3 of Azarpanah and Farhadloo 2021."""

    similarity: str = key(_SIMILARITY)
    statistic: str = key(_STATISTIC, show="phrase")
    num_tests: Int32 = doc("association tests with a result", "tests")
    num_significant: Int32 = doc("of these, tests with a p-value below the level", "tests")
    significance: float = doc("that level")
    mean_effect_size: float = doc("mean of d over the tests", _SD)
    sd_effect_size: float = doc("sample standard deviation of d over the tests", _SD)
    mean_absolute_effect_size: float = doc("mean of |d| over the tests", _SD)
    sd_absolute_effect_size: float = doc("sample standard deviation of |d| over the tests", _SD)
    ddof: Int8 = doc(_DDOF)


class WordAssociations(OfModel, name="word_associations"):
    test: str = key("name of the word association test (WEFAT) in the word set")
    attribute_a: str = doc("attributes on the positive side")
    attribute_b: str = doc("attributes on the negative side")
    word: str = key(WORD)
    similarity: str = key(_SIMILARITY)
    effect_size: OfReplicas = doc("WEFAT effect size; positive if the word goes with A", _SD)
    ddof: Int8 = doc(_DDOF)
    percent_women: float = doc(WOMEN, "percent")
    num_attributes: Int32 = doc(_ATTRIBUTES, "words")
    num_replicas: Int32 = doc(NUM_REPLICAS, "replicas")


class Validation(OfModel, name="validation"):
    measure: str = key("'pse', 'jnd' or 'wefat': what is correlated, over occupations")
    against: str = key(
        "'share_men' p in the occupation, its dispersion sqrt(p(1 - p)) ('dispersion'), 'share_women', or 'wefat'"
    )
    test: str | None = key("the word association test behind 'wefat', by its name in the word set; else null")
    cue_1: str | None = key("the female cue; null where all gender pairs are pooled")
    cue_2: str | None = key("the male cue; null where all gender pairs are pooled")
    similarity: str | None = key("the measure of similarity behind 'wefat'; null without it")
    pearson: OfReplicas = doc("Pearson's correlation coefficient", heading="Pearson's r", digits=2)
    pearson_p: float = doc("its two-sided p-value", heading="p of r", show="p_value")
    spearman: OfReplicas = doc("Spearman's rank correlation coefficient", heading="Spearman's ρ", digits=2)
    spearman_p: float = doc("its two-sided p-value", heading="p of ρ", show="p_value")
    num_occupations: Int32 = doc("occupations that have both", "words")


TABLES = schemas(Associations, Measures, Analogies, SentenceTests, AssociationSummary, WordAssociations, Validation)
