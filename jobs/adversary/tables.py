"""The tables of `gender_adversary`."""

from tiltmeter.jobs.runtime.table import Estimate, Int32, Table, doc, key, schemas

LADDER = "ladder"
"""The search that all others are compared with."""

FLIPPED = ("flipped", "flipped_minimal")
"""Statuses of attacks that change the verdict."""

GENDERS = {"female": "women", "male": "men"}
_TEXTS = "its interval over other texts, by group"
_SEARCH = "'ladder', 'greedy' (the released pass) or 'swap' (all words at once)"


def direction_label(direction: str) -> str:
    """What a page calls a direction.

    >>> direction_label("pair_to_female"), direction_label("neighbours")
    ('pair, to women', 'neighbours')
    """
    kind, _, gender = direction.rpartition("_to_")
    return f"{kind}, to {GENDERS[gender]}" if kind else direction


class OfRow(Table):
    row: int = key("number of the text among all labelled texts, from 0")


class OfVictim(Table):
    victim: str = key("the classifier, by its name in the settings")


class OfDirection(Table):
    direction: str = key("what words are replaced along, and towards which gender", show=direction_label)


class OfControl(OfDirection):
    control: int = key("number of the control direction; -1 for none")


class OfReplica(OfControl):
    replica: int = key("number of the embedding's bootstrap replica; 0 for the original")


class OfSearch(OfDirection, OfVictim, OfRow):
    search: str = key(_SEARCH)


class Texts(OfVictim, OfRow, name="texts"):
    text: str = doc("the text")
    group: str | None = doc("who wrote it, or what else ties texts together; null if there is none")
    label: str | None = doc("its class according to the data")
    predicted: str | None = doc("its class according to the victim; null if it can't read it")
    is_correct: bool = doc("whether the two are the same")
    margin: float = doc("probability of the predicted class, less that of the next")
    num_words: Int32 = doc("words of the text, cut at spaces", "words")
    num_eligible: Int32 = doc("words that some direction may replace", "words")
    has_female: bool = doc("whether it has a woman's word or name")
    has_male: bool = doc("whether it has a man's word or name")


class Candidates(OfDirection, name="candidates", has_status=False):
    word: str = key("a word of the texts, in small letters")
    rank: Int32 = key("place of the candidate among the nearest, from 0")
    candidate: str = doc("what may stand in its place")
    cosine: float = doc("of the candidate with the shifted word")
    leaning: float = doc("by how much it lies further towards women than the word, along the first pair's direction")
    kind: str = doc("'definitional' (of the other gender), 'associated' (leans as few controls do) or 'other'")
    stability: float = doc("share of the embedding's replicas that have the candidate; null without replicas")
    removed_by: str = doc("the constraint that leaves it out; empty if it may be taken")
    num_near: int = doc("of the nearest to the shifted word, those left out as near to the word itself")


class MaskedCandidates(OfRow, name="masked_candidates", has_status=False):
    """What a masked language model has in the place of each word of the texts."""

    position: Int32 = key("place of the word in the text, from 0")
    rank: Int32 = key("place of the candidate among the most probable, from 0")
    word: str = doc("that is hidden, in small letters")
    candidate: str = doc("what may stand in its place")
    log_probability: float = doc("ln of the candidate's probability there, with all other words")
    log_ratio: float = doc("less that of the hidden word; null where the model reads that in pieces")
    removed_by: str = doc("the constraint that leaves it out; empty if it may be taken")


class Attacks(OfSearch, name="attacks", has_status=False):
    status: str = doc("'flipped_minimal', 'flipped', 'robust_proven', 'not_found', 'no_candidate' or 'unreadable'")
    reason: str = doc("why there is no attack, in a sentence; empty otherwise")
    num_changes: Int32 = doc("words that differ in the text that was found", "words")
    is_minimal: bool = doc("whether fewer changes are proven not to flip the verdict")
    probability_before: float = doc("of the victim's class of the text")
    probability_after: float = doc("of the same class of the text that was found")
    num_queries: int = doc("texts that the victim was asked about", "texts")
    num_distinct: int = doc("different ones among them", "texts")
    num_candidates: Int32 = doc("replacements of all words that the search may take")
    num_unlikely: Int32 = doc("further ones that the language model leaves out")
    log10_size: float = doc("log10 of the number of texts within the limit of changes, the original among them")
    fall: float = doc("largest fall of the probability by one change")
    changed_text: str = doc("the text that was found")


class Substitutions(OfSearch, name="substitutions", has_status=False):
    position: Int32 = key("place of the word in the text, from 0")
    word: str = doc("as it stands in the text")
    replacement: str = doc("what stands there in the text that was found")
    kind: str = doc("as in the table candidates")
    shapley: float = doc("its share in the fall of the probability")
    shapley_error: float = doc("standard error of shapley; 0 up to 12 changes, all of whose subsets are read")
    is_flagged: bool = doc("whether VADER's scores of the two differ in their sign")
    is_known: bool | None = doc("whether the victim knows the replacement; null where that can't be told")
    is_flip: bool = doc("whether the verdict flips")


class Controls(OfControl, OfVictim, name="controls", has_status=False):
    words: str = doc("the pair whose difference is the control; empty for random words, and one from the sphere")
    flip_rate: float = doc("share of the texts that it flips")
    fall: float = doc("mean of the largest fall by one change")
    num_candidates: float = doc("mean number of candidates for a text")
    log10_size: float = doc("mean of log10 of the number of texts that a text can become")


class Summary(OfDirection, OfVictim, name="summary"):
    stratum: str = key("'all' texts, those with 'female' or 'male' words, or with 'neither'", heading="texts with")
    search: str = key(_SEARCH)
    num_texts: int = doc("that the victim can read", "texts")
    num_replicas: Int32 = doc("of the embedding, for the interval", "replicas")
    flip_rate: Estimate = doc(
        "share of the texts whose verdict flips",
        heading="flipped",
        interval="the interval of flip_rate over other texts of this kind, by group; null with too few",
    )
    num_changeable: int = doc("of the texts, those that have a word to replace; the others can't flip", "texts")
    changeable_rate: Estimate = doc(
        "share of these whose verdict flips",
        interval="the interval of changeable_rate over other texts of this kind, by group",
    )
    flip_rate_most: float = doc("with the texts of which it is not proven that none flips", heading="at most")
    one_change_rate: float = doc("share of the texts that one change flips", heading="by one change")
    unflagged_rate: float = doc(
        "share of the texts that flip without a flagged replacement", heading="without changing valence"
    )
    excess: Estimate = doc(
        "flip_rate less the mean of the control directions; null without these",
        interval="the interval of excess over other texts of this kind, by group; null with too few",
    )
    p_value: float = doc(
        "one-sided, of the excess, by its rank among the controls; null: a direction like these",
        heading="p",
        show="p_value",
    )
    p_adjusted: float = doc(
        "after Holm, over all victims and directions; null but for all texts", heading="p, Holm", show="p_value"
    )
    fall: float = doc("mean of the largest fall of the probability by one change")
    fall_excess: float = doc("fall less the mean of the control directions", heading="excess of fall")
    fall_p_value: float = doc(
        "one-sided, of fall_excess, by rank as p_value; not adjusted", heading="p of fall", show="p_value"
    )
    asymmetry: float = doc("flip_rate less that of the direction to the other gender")
    asymmetry_p: float = doc(
        "two-sided, by signs of groups: either way as likely to flip more in each; null with too few",
        heading="p, by signs",
        show="p_value",
    )
    asymmetry_p_adjusted: float = doc("after Holm, over victims and kinds of direction; null but for all texts")
    asymmetry_control_p: float = doc(
        "two-sided, by rank among the asymmetries of the controls; null: two ways like theirs",
        heading="p beside controls",
        show="p_value",
    )
    definitional_share: float = doc(
        "of the Shapley values of flips, on words replaced by words of the other gender",
        heading="of the other gender",
        show="percent",
    )
    associated_share: float = doc("on replacements that lean to a gender", heading="lean to one", show="percent")
    other_share: float = doc("on all other words", heading="others", show="percent")
    num_unproven: int = doc("texts of which it is open whether they can flip", "texts")
    size_slope: float = doc(
        "by how much flip rates rise with log10_size, over the direction and its controls", heading="slope"
    )
    size_excess: float = doc(
        "flip_rate less that of controls with as many texts to become, by this slope", heading="excess at equal size"
    )
    size_p_value: float = doc(
        "one-sided, of size_excess, by rank as p_value; not adjusted", heading="p", show="p_value"
    )
    mean_candidates: float = doc("mean number of candidates for a text", heading="candidates of a text", digits=1)
    mean_control_candidates: float = doc(
        "the same along the control directions; more give more chances", heading="along controls", digits=1
    )


class Augmentation(OfSearch, name="augmentation", has_status=False):
    """Texts that flip a verdict, to train on."""

    text: str = doc("the text that was found")
    label: str = doc("class of the text that it was made of, according to the data")
    group: str | None = doc("who wrote that text, or what else ties texts together; null if there is none")
    words_changed: Int32 = doc("words that differ from that text", "words")
    norm: float = doc("Euclidean norm of the change of all vectors; null if a word has none")
    fluency: float = doc("ln of its probability less that of its source, by the language model, for each word")
    is_flagged: bool = doc("whether a replacement has another sign by VADER, so that the class may not hold")
    is_correct: bool = doc("whether the victim was right about the text that it was made of")
    is_sampled: bool | None = doc("whether it is in the sample; null without one")


class Retraining(OfVictim, name="retraining"):
    """What training with more texts does to a victim."""

    arm: str = key("what is added: 'none', 'copies', 'random_swaps', 'random_positions', 'counterfactuals' or 'found'")
    against: str = key("the arm whose number is taken off; empty for the number itself")
    measure: str = key("'accuracy', 'flip_rate', 'robust_accuracy' or 'transfer', on held-out texts")
    num_texts: int = doc("held-out texts that have it", "texts")
    num_seeds: int = doc("trainings of each arm", "trainings", heading="seeds")
    num_added: float = doc("texts that are added, in the mean", "texts", heading="added", digits=0)
    found_share: float = doc("of the added texts, those that are found ones", heading="found among them")
    value: Estimate = doc(
        "the number, or the difference",
        digits=3,
        interval="the interval of value over other texts, by group, and seeds",
    )
    p_value: float = doc("two-sided, of no difference, over texts and seeds", heading="p", show="p_value")
    p_adjusted: float = doc(
        "after Holm, over victims, both claims, and accuracy and flip_rate; null for others",
        heading="p, Holm",
        show="p_value",
    )
    detectable: float = doc("smallest difference that is found with a chance of 80 % so", digits=3)


class OfCharacters(OfVictim):
    kind: str = key("'swap', 'drop', 'insert', 'neighbour', 'homoglyph', 'invisible' or 'capital'")
    number: Int32 = key("characters that change, each in another word", heading="characters")
    defence: str = key(
        "what reads the text: 'none', 'normal_form' (NFKC, nothing invisible) or 'skeleton' (look-alikes too)",
        show="phrase",
    )
    unmoved: float = doc("share of changed texts of which no probability changes", show="percent")
    pieces: float = doc(
        "pieces that changed words are read as, for each before; null where that can't be told", digits=2
    )
    unknown: float = doc("share of these pieces that the victim does not know; null likewise", show="percent")
    unknown_before: float = doc("the same of these words before", show="percent")


class Characters(OfCharacters, name="characters"):
    num_texts: int = doc("that have so many words that can change", "texts")
    flip_rate: Estimate = doc(
        "share of verdicts that flip by changes in the words that matter most, of all draws",
        heading="flipped, words that matter",
        interval=_TEXTS,
    )
    random_rate: Estimate = doc("the same in words drawn at random", heading="words at random", interval=_TEXTS)
    excess: Estimate = doc("flip_rate less random_rate", interval=_TEXTS)
    averted: Estimate = doc("flip_rate without a defence less that with it; null without one", interval=_TEXTS)


TABLES = schemas(
    *(Texts, Candidates, MaskedCandidates, Attacks, Substitutions, Controls, Summary, Augmentation, Retraining),
    Characters,
)

# --- between units --------------------------------------------------------------------------------------------------


class Part(OfRow, name="part", public=False, has_status=False):
    """Texts of a unit."""

    text: str = doc("the text")
    label: str = doc("its class")
    group: str | None = doc("whom it is by")


class Near(OfReplica, name="near", public=False, has_status=False):
    """Candidates along every direction, the controls among them."""

    word: str = key("a word of the texts")
    rank: Int32 = key("place of the candidate, from 0")
    candidate: str = doc("what may stand in its place")
    cosine: float = doc("with the shifted word")
    leaning: float = doc("further towards women than the word")
    removed_by: str = doc("the constraint that leaves it out")
    num_near: int = doc("left out as near to the word itself")


class Pairs(OfControl, name="pairs", public=False, has_status=False):
    words: str = doc("whose difference it is")


class Spaces(OfRow, OfReplica, name="spaces", public=False, has_status=False):
    position: Int32 = key("of the token")
    option: str = key("the token with the candidate in it")
    is_likely: bool = doc("whether the language model has it")


class Outcomes(OfReplica, OfVictim, OfRow, name="outcomes", public=False, has_status=False):
    """What every direction came to, without what it found."""

    is_flip: bool = doc("whether the verdict flips")
    fall: float = doc("largest fall by one change")
    num_candidates: Int32 = doc("replacements that may be taken")
    log10_size: float = doc("log10 of the number of texts within the limit of changes")


class Retrained(OfVictim, OfRow, name="retrained", public=False, has_status=False):
    """What a victim that was trained again makes of a held-out text."""

    arm: str = key("what was added")
    number: Int32 = key("of the training")
    is_correct: bool = doc("whether it is right")
    is_flip: bool = doc("whether some direction flips it, searched anew")
    transfer: float = doc("share of the texts found of it before that flip it; null without any")
    num_added: Int32 = doc("texts that were added")
    found_share: float = doc("of these, found ones")


class Misspellings(OfCharacters, OfRow, name="misspellings", public=False, has_status=False):
    flips: float = doc("share of draws that flip the verdict")
    random_flips: float = doc("the same in words at random")
