"""The tables of `privacy_metrics`."""

from typing import Any

from tiltmeter.jobs.classifiers.intervals import TextEstimate
from tiltmeter.jobs.classifiers.tables import Attributed
from tiltmeter.jobs.runtime.table import Int32, Table, doc, key, schemas

GENERAL, CONTROL = "General", "GenderCtrl"
"""Models that others are compared with."""

RESEEDED = "General, next seed"
"""General with the random numbers of the next seed: what EP is of a model that nothing was done to."""

RANDOM_LISTS = "random lists"
"""In the place of a model that EP is compared with: EP with random words in the place of the listed ones."""

CORPORA = {"within": "test", "across": "across"}
"""The part of the texts that each corpus of the results is."""

NOISY = "noisy"
"""The corpus that is the copy of the test part with artificial words."""

NOISE_MODELS = (GENERAL, "ArtNoise")
"""Those that are tested and explained on it: one that knows nothing of artificial words, and one that learnt them."""

EP_STATUSES = {
    "ok": "",
    "is_general": "EP compares with General, and so General has none",
    "no_general": "EP compares with General, which is not among the models",
    "no_attribution": "no word of the sentence has an attribution other than 0",
    "no_denominator": "General's explanation has none of the words that equation 1 divides by",
}
"""Why there is no EP."""

EG_STATUSES = {
    "ok": "",
    "no_lexicon": "there is no valence lexicon",
    "no_general": "EG is of sentences that General gets right, which is not among the models",
    "no_attribution": "no word of the sentence has an attribution other than 0",
    "general_wrong": "General gets the sentence wrong",
}
"""Why there is no EG."""

_CORPUS = (
    "'within': the test part of the data; 'across': the other corpus; 'noisy': the test part with artificial words"
)
_SENTENCE = "number of the sentence, as in the tables texts, noisy_texts and attributions"
_SPEAKER = "the gender of who speaks"
_OVER = "speakers, or texts where nothing says who speaks, and seeds"
_UNITS = "speakers of the explained texts, or the texts where nothing says who speaks"
_FILES = "'training', 'development', 'test', 'across' or 'unbiased'"


def _number(sentence: str, **look: Any) -> Any:
    """A column of numbers over speakers and seeds, with their intervals."""
    return doc(sentence, interval=_OVER, **look)


class Texts(Table, name="texts"):
    sentence: int = key(_SENTENCE)
    part: str = doc(_FILES)
    file: str = doc(f"the file it is from: {_FILES}")
    row: int = doc("number of the row in its file, from 0")
    text: str = doc("the text; empty if there is none")
    valence: str | None = doc("its class; null if it has none")
    gender: str | None = doc(f"{_SPEAKER}; null if nothing says")
    group: str | None = doc("who speaks; null if nothing says")


class NoisyTexts(Table, name="noisy_texts", has_status=False):
    sentence: int = key(_SENTENCE)
    original: int = doc("number of the sentence that it is a copy of")
    text: str = doc("the copy")
    noise: str | None = doc("the artificial word that was added; null if none was")
    valence: str = doc("its class")
    gender: str = doc(_SPEAKER)


class LexiconWords(Table, name="lexicon", public=False, has_status=False):
    """A valence lexicon that a user brings."""

    word: str = key("the word, in lower case")
    valence: float = doc("from -1, the lowest, to 1, the highest; mean if the file has several")
    bin: int = doc("number of the class that its valence is in, from 0")


class OfModel(Table):
    model: str = key("the model")


class OfSeed(OfModel):
    seed: Int32 | None = key("number of the seed, from 0; null: mean over the seeds")


class OfCorpus(OfSeed):
    corpus: str = key(_CORPUS)


class OfSentence(OfCorpus):
    sentence: int = key(_SENTENCE)


class Outcomes(OfSentence, name="outcomes", public=False, has_status=False):
    """What each model finds in each text that it is tested on."""

    valence: str = doc("true class")
    gender: str = doc("true gender")
    found_valence: str = doc("class by the model")
    found_gender: str = doc("gender by the attacker")


class Why(Table):
    ep_status: str = doc("'ok', or why there is no EP, in a word")
    ep_reason: str = doc("why there is no EP, in a sentence; empty if there is one")
    eg_status: str = doc("'ok', or why there is no EG, in a word")
    eg_reason: str = doc("why there is no EG, in a sentence; empty if there is one")

    def explain(self, ep_status: str, eg_status: str) -> None:
        """Say why there is no EP, or no EG."""
        self.ep_status, self.ep_reason = ep_status, EP_STATUSES[ep_status]
        self.eg_status, self.eg_reason = eg_status, EG_STATUSES[eg_status]


class _Sampled(OfSentence):
    ep: float = doc("EP of the sentence against General with the same seed")
    ep_random: float | None = doc("EP of random lists, mean over those that it has a value of")
    eg: float = doc("EG of the sentence")


class Samples(Why, _Sampled, name="samples"):
    num_general: Int32 = doc("G of equation 1: words that EP is divided by; null without an EP", "words")
    num_avoided: Int32 = doc("listed words that General's explanation alone has; null likewise", "words")
    num_added: Int32 = doc("listed words that this model's alone has; null likewise", "words")
    num_against: Int32 = doc("words that speak against the class, though of its bin; null without", "words")
    num_opposite: Int32 = doc("words that speak for the class, though of the opposite bin", "words")
    listed_share: float = doc("share of words that give gender away; null without an attribution")
    right_sign_share: float = doc("share of words of the lexicon with the right sign")
    lexicon_share: float = doc("share of words of the lexicon with any sign")
    num_words: Int32 = doc("words that the model read", "words")
    num_unread: Int32 = doc("words that it did not read, as beyond its limit", "words")


class WordShares(OfSentence, name="words", public=False, has_status=False):
    """What each listed word of each sentence has of its attribution."""

    word: str = key("entry of a list")
    list: str = key("name of the list")
    num: Int32 = doc("times that the sentence has it", "occurrences")
    share: float = doc("share of the sentence's attribution that falls on it")
    part: float = doc("what it adds to the sentence's EP; null where that has none")
    num_avoided: Int32 = doc("words of it that General's explanation alone has; null likewise", "words")
    num_added: Int32 = doc("words of it that this model's alone has; null likewise", "words")


class _Measured(OfCorpus):
    valence_uar: TextEstimate = _number("unweighted average recall of valence", heading="UAR of valence")
    gender_uar: TextEstimate = _number(
        "unweighted average recall of gender, by an attacker on the frozen representation", heading="UAR of gender"
    )
    ep: TextEstimate = _number(
        "EP against General, equation 1, mean over the sentences that have one; higher is more private", heading="EP"
    )
    ep_random: TextEstimate = _number(
        "EP with random words in the place of those that give gender away, mean over the lists",
        heading="EP of random lists",
    )
    eg: TextEstimate = _number(
        "EG, equation 2, mean over the sentences that General gets right; higher generalises better", heading="EG"
    )
    listed_share: TextEstimate = _number(
        "share of the attribution that falls on words that give gender away; lower is more private",
        heading="listed share",
    )
    right_sign_share: TextEstimate = _number(
        "share that falls on words of the valence lexicon, with the right sign; null without a lexicon",
        heading="right-sign share",
    )
    lexicon_share: TextEstimate = _number(
        "share that falls on words of the valence lexicon, with any sign; null without a lexicon",
        heading="share of the lexicon",
    )
    num_rows: int | None = doc("texts that it was tested on", "texts", heading="texts")
    num_units: int = doc(_UNITS)
    num_explained: int = doc("texts that were explained", "texts")
    num_ep: int = doc("texts that have an EP, with one seed at least", "texts", heading="with EP")
    num_eg: int = doc("texts that have an EG, with one seed at least", "texts", heading="with EG")


class Models(Why, _Measured, name="models"):
    """What each gives away."""


MEASURES = {column.name: column.heading or "" for column in Models.columns if column.ends}
"""Numbers of the table ``models``, and what pages call each."""

EXPLAINED = tuple(MEASURES)[2:]
"""Those that come from attributions."""


class Orderings(OfModel, name="orderings"):
    against: str = key(f"the other model; or '{RANDOM_LISTS}', of EP")
    corpus: str = key(_CORPUS)
    measure: str = key("a column of the table models", show=MEASURES.__getitem__)
    difference: TextEstimate = _number("mean over the texts of the model, less that of the other; General's EP is 0")
    num_units: int = doc(_UNITS)
    sd_training: float = doc("standard deviation of the difference between seeds; null of one seed")
    p: float | None = doc(
        "two-sided, of no difference: the larger of that by the signs of speakers, in each of whom the two may be "
        "interchanged, and that by Student's t over speakers and seeds; of one seed the first; null of too few"
    )
    p_holm: float = doc("after Holm, over the rows of the same corpus and measure", heading="p (Holm)", show="p_value")
    p_benjamini_hochberg: float = doc("after Benjamini and Hochberg, over the same rows")
    expected: str | None = doc("'lower' or 'higher': what the paper expects; null: nothing")
    found: bool | None = doc(
        "whether the interval lies on that side of 0; null where nothing is expected, and without an interval"
    )


class EpWords(OfModel, name="ep_words"):
    word: str = key("entry of a list of words that give gender away")
    list: str = key("name of the list", show="phrase")
    corpus: str = key(_CORPUS)
    num_occurrences: int = doc("times that the explained sentences have it", "occurrences")
    num_sentences: int = doc("explained sentences that have it", "sentences")
    part: float | None = doc("what it adds to EP; null where there is none", heading="part of EP", digits=4)
    num_avoided: int | None = doc("words of it in General's explanations alone, over all seeds", "words")
    num_added: int | None = doc("words of it in this model's alone, over all seeds", "words")
    share: float = doc("its part of the listed share: of the attribution, mean over all sentences", digits=4)
    share_where_used: float = doc("its share of the attribution, mean over sentences that have it")
    share_general: float = doc(
        "share of the model General; null of General itself, and without it", heading="share in General", digits=4
    )
    change: TextEstimate = _number("share, less that of General; null as for share_general", digits=4)
    stopped: bool = doc("whether the interval of change lies below 0 and share is at most half; null without one")


class Noise(OfSeed, name="noise"):
    word: str | None = key("artificial word, of a class and a gender; null: of all")
    share: TextEstimate = _number("share of the attribution that falls on the artificial word, mean over the texts")
    first: TextEstimate = _number("share of the texts in which no other word has a larger attribution")
    even_share: float = doc("both, were the attributions of all words as large", heading="if all words had as much")
    highlighted: bool | None = doc("whether the interval of share lies above even_share; null without one")
    num_texts: int = doc("explained texts that have an artificial word", "texts")
    num_units: int = doc(_UNITS)


TABLES = schemas(Texts, NoisyTexts, Models, Orderings, EpWords, Noise, Samples, Attributed)
