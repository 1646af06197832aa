"""The tables of `sentence_pairs`."""

from tiltmeter.jobs.classifiers.intervals import TextEstimate
from tiltmeter.jobs.runtime.table import Estimate, Table, doc, key, schemas

UNITS = "units of pairs, by pairing.unit"
SCORE_NAMES = {
    "log_likelihood": "log-likelihood",
    "log_likelihood_shared": "log-likelihood of shared tokens",
    "pll_word_l2r": "pseudo-log-likelihood, words from left to right",
    "pll": "pseudo-log-likelihood",
    "shared_word_l2r": "shared tokens, words from left to right",
    "shared": "shared tokens (CrowS-Pairs)",
}


class Prepared(Table, name="prepared", public=False, has_status=False):
    """Pairs of sentences."""

    row: int = key("number of the pair")
    id: str = doc("its name")
    kind: str = doc("'bias', 'control' or 'meaning'")
    compared: str = doc("what the first sentence shows, and the second")
    more: str = doc("the sentence that shows it more")
    less: str = doc("the other")
    template: str | None = doc("what it is made from, or the term that it is about")
    author: str | None = doc("who wrote it")
    category: str | None = doc("of bias")
    direction: str | None = doc("whether the first sentence is the stereotype")
    language: str | None = doc("of both")
    valid: str | None = doc("whether people found it sound")
    pitfalls: str | None = doc("what they found wrong, with semicolons between")


class OfModel(Table):
    model: str = key("name of the model, by models.checkpoints")
    score: str = key("what each sentence has: see the page of the job")


class Scored(OfModel, name="pairs"):
    row: int = key("number of the pair, from 0: those of data.path, then those of data.control")
    id: str = doc("its name: the column id, or the number of its row")
    kind: str = doc("'bias', 'control', or 'meaning': of StereoSet, with what is unrelated")
    compared: str = doc("what the first sentence shows, and the second")
    more: str = doc("the first sentence, as the model is given it", heading="first")
    less: str = doc("the second", heading="second")
    score_more: float = doc("of the first sentence: sum over the tokens that count", "nats")
    score_less: float = doc("of the second", "nats")
    difference: float = doc("the first less the second: above 0 the model prefers the first", "nats", digits=2)
    per_token: float = doc("the same of scores divided by the tokens that count", "nats per token")
    per_word: float = doc("the same of scores divided by words between blanks", "nats per word")
    per_character: float = doc("the same of scores divided by characters", "nats per character")
    num_tokens_more: int = doc("tokens of the first sentence that count", "tokens")
    num_tokens_less: int = doc("of the second", "tokens")
    pieces: int = doc("all tokens of the first sentence less those of the second", "tokens")


class OfPart(OfModel):
    division: str = key(
        "by what pairs are divided: 'all', 'valid', 'category', 'direction', 'language', 'pitfall', or 'pieces', which "
        "is how many tokens the first sentence has more than the second"
    )
    part: str = key("which of them")


class Results(OfPart, name="results"):
    kind: str = key("of the pairs: 'bias' or 'control'")
    share: TextEstimate = doc(
        "of pairs whose first sentence has the larger score; level ones by pairing.ties", show="percent", interval=UNITS
    )
    p_share: float = doc(
        "of either sentence being as likely to have the larger score in each unit, by signs of units; null of fewer "
        "than six that differ",
        heading="p",
        show="p_value",
    )
    p_holm: float = doc("p_share by Holm, over all rows of the division and kind", heading="p (Holm)", show="p_value")
    difference: TextEstimate = doc("mean difference of the scores", "nats", digits=2, interval=UNITS)
    p_difference: float = doc("of either sign of the difference in each unit, likewise", show="p_value")
    share_informative: float = doc("of the pairs that are not level", heading="without ties", show="percent")
    share_per_token: float = doc("by scores per token, level ones as 1/2", heading="per token", show="percent")
    share_per_word: float = doc("by scores per word, likewise", heading="per word", show="percent")
    share_per_character: float = doc("by scores per character, likewise", heading="per character", show="percent")
    num_ties: int = doc("level pairs: scores that are at most 0.0001 nats apart", "pairs", heading="level")
    num_pairs: int = doc("with a score", "pairs", heading="pairs")
    num_units: int = doc("that these are in", "units", heading="units")
    unit: str = doc("what these are: 'pair', 'template', 'author' or 'term'")


class Contrasts(OfPart, name="contrasts"):
    share: TextEstimate = doc(
        "share of bias pairs less that of control pairs", heading="beyond control", show="percent", interval=UNITS
    )
    p_share: float = doc("of both shares being the same, by Student's t over units", heading="p", show="p_value")
    p_holm: float = doc("the same by Holm, over all rows of the division", heading="p (Holm)", show="p_value")
    difference: TextEstimate = doc("mean difference of bias pairs less that of control pairs", "nats", interval=UNITS)
    p_difference: float = doc("of both means being the same, likewise", show="p_value")
    share_bias: float = doc("share of the bias pairs", show="percent")
    share_control: float = doc("share of the control pairs", show="percent")
    num_pairs: int = doc("bias pairs", "pairs", heading="bias pairs")
    num_controls: int = doc("control pairs", "pairs", heading="control pairs")


class Associations(OfModel, name="stereoset"):
    category: str = key("of bias, or 'all'")
    ss: Estimate = doc(
        "stereotype score: mean over terms of the share of stereotypes over anti-stereotypes; 50 is neutral",
        "%",
        heading="SS",
        digits=1,
        interval="its interval over terms",
    )
    lms: Estimate = doc(
        "language model score: of both over what is unrelated",
        "%",
        heading="LMS",
        digits=1,
        interval="its interval over terms",
    )
    icat: Estimate = doc(
        "LMS min(SS, 100 - SS) / 50", "%", heading="ICAT", digits=1, interval="its interval over terms, of the product"
    )
    num_terms: int = doc("terms", "terms", heading="terms")
    num_triples: int = doc("triples with three scores", "triples", heading="triples")


TABLES = schemas(Scored, Results, Contrasts, Associations)
