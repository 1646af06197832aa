"""The tables of `private_vectors`, and those that its units leave for each other."""

from tiltmeter.jobs.runtime.table import Estimate, Int32, Table, doc, key, schemas

_BETA = "distortion that its dimensions and published sensitivity are for; 0: none"
_EXACT = "smallest epsilon at which it is (epsilon, delta)-private for a pair at the median distance"
_BOUND = "nominal bound on the privacy loss per unit of distance"
_OTHER_TEXTS = "the interval of the value for other texts and other noise"
_OTHER_WORDS = "the interval of attacker for other words"
_OTHER_DRAWS = "the interval, for other words and noise (null: it is exact),"
_BELIEF = "most that anybody can believe in the right word, mean of words; null: there is no bound"


class Published(Table):
    mechanism: str = key("name of the mechanism, or of a control")
    dimensions: Int32 = key("dimensions m of what is published", "dimensions")


class OfMechanism(Published):
    epsilon: float = key(_BOUND, "1/distance")


class Compared(OfMechanism):
    compared_at: str = key(
        "'nominal' epsilon, or 'exact' privacy at the median distance, alike for all", heading="alike in"
    )


class Mechanisms(Compared, name="mechanisms", has_status=False):
    projection: str = doc("'none', 'gaussian', 'haar' (a random subspace) or 'public_pca'")
    law: str = doc("of the noise: by the 'norm', or 'gaussian'")
    sensitivity: float = doc("Delta, the most that the map is taken to stretch a distance", heading="Delta")
    sensitivity_kind: str = doc("'none', 'published' (1 + beta), 'exact_vocabulary' or 'spectral'")
    delta: float = doc(
        "chance that the sensitivity does not hold, proven for the vocabulary; 0 where it is certified",
        heading="chance",
        show="p_value",
    )
    scale: float = doc("s of noise by the norm, sigma of normal noise", "distance")
    deviation: float = doc("standard deviation of each coordinate of the noise", "distance")
    epsilon_x_nearest: float = doc(
        "epsilon times the median distance of a word to its nearest", heading="× nearest", digits=1
    )
    epsilon_x_median: float = doc("epsilon times the median distance of two words", heading="× median", digits=1)
    epsilon_x_diameter: float = doc(
        "epsilon times the largest distance: local privacy over the vocabulary", heading="× diameter", digits=1
    )
    guarantee: str = doc("what is promised, in a sentence")


class Anchored(Table, name="anchored", public=False, has_status=False):
    """Exact privacy of a mechanism at the median distance."""

    exact_epsilon: float = doc("at the first delta")


class Sensitivity(Table, name="sensitivity", has_status=False):
    projection: str = key("kind of map")
    dimensions: Int32 = key("dimensions m of what is published", "dimensions")
    beta: float = key(_BETA)
    sensitivity_kind: str = key("'published' (1 + beta), 'exact_vocabulary' or 'spectral'", heading="kind")
    sensitivity: float = doc("the most that the map stretches a distance, rounding errors included", heading="Delta")
    delta: float = doc(
        "chance over the map that it does not hold, proven by a union bound; 0 where it is certified",
        heading="chance",
        show="p_value",
    )
    typical_stretch: float = doc("median of the stretch over pairs of words", heading="typical")
    first: str = doc("word of the pair that is stretched most")
    second: str = doc("the other word")
    num_words: int = doc("different vectors of the vocabulary", "words")
    num_merged: int = doc("words whose vector another word has too", "words")


class Profiles(Compared, name="profiles", has_status=False):
    distance_kind: str = key("'nearest': median of a word to its nearest; 'median' and 'largest': of two words")
    stretch: str = key("'typical' of the map, or 'worst': as much as the sensitivity allows")
    distance: float = doc("of the pair", "distance")
    delta: float = key("slack")
    bound: float = doc(
        "privacy loss that is never exceeded: epsilon times the distance; null for normal noise", digits=1
    )
    exact_epsilon: float = doc("smallest epsilon at which the mechanism is (epsilon, delta)-private for the pair")


class Audits(OfMechanism, name="audits", has_status=False):
    choice: str = key("'nearest' or 'random': how the other word was chosen; with the number of the first")
    pair: str = key("two words")
    score: str = key("what the auditor looks at")
    num_draws: int = doc("releases of each of the two words", "releases")
    claimed: float = doc("bound on the privacy loss of the pair that is claimed; null for normal noise", digits=2)
    exact: float = doc("smallest epsilon of the exact profile, at the first delta", digits=2)
    audited: float = doc("loss by the set of scores that was chosen: logarithm of the ratio of its two shares")
    audited_low: float = doc("lower bound on it, and so on the privacy loss of the pair", heading="at least", digits=2)
    audited_high: float = doc("upper bound on it, which says nothing of other sets of scores")
    verdict: str = doc(
        "'within', or what is wrong: 'above the claim', 'above the exact curve', 'not the specified law'"
    )
    level: float = doc("chance at most that anything true is denied in the whole table")
    family: int = doc("audits that share the level", "audits")


class Distances(OfMechanism, name="distances", has_status=False):
    beta: float = key(_BETA)
    read_out: str = key("'distance', 'debiased_distance' or 'inner_product'", heading="of", show="phrase")
    error: Estimate = doc(
        "mean absolute error over pairs of words and runs",
        "distance",
        digits=2,
        interval="the interval of the error of another run with its noise, by job.interval",
    )
    closed_form: float = doc("what it should be; null where no closed form is known", "distance", digits=2)
    constant_error: float = doc(
        "error of the best public constant, which reads no vector", "distance", heading="constant", digits=2
    )
    proposition: float = doc(
        "bound on all errors at once by propositions 7 and 8, at the first delta; null for M1 and debiased", "distance"
    )
    quantile_bound: float = doc("the same bound by the exact quantile of the noise in place of claim 6", "distance")
    num_runs: int = doc("runs with noise of their own", "runs")


class OfTask(Table):
    task: str = key("name of the task")


class Utility(Compared, OfTask, name="utility"):
    epsilon: float = key("nominal; null for what has no noise", "1/distance")
    noise_per: str = key(
        "noise drawn for each 'occurrence' of a word or once for a 'word'; 'none'", heading="noise per"
    )
    exact_epsilon: float | None = doc(_EXACT, heading="exact", digits=2)
    measure: str = key("'accuracy', or 'area' under the ROC curve")
    value: Estimate = doc(
        "mean over the runs",
        ends=("low", "high"),
        interval=(f"{_OTHER_TEXTS}; of one run, for texts alone", _OTHER_TEXTS),
    )
    num_test: int = doc("texts or words of a test part", "texts")
    sd_training: float | None = doc(
        "standard deviation of the value between runs with noise of their own; null of one run"
    )
    num_runs: int = doc("runs with noise of their own", "runs")


class Deniability(Compared, name="deniability"):
    exact_epsilon: float = doc(_EXACT, heading="exact", digits=2)
    returned: float = doc("N_w: share of perturbations that are nearest to their word, mean over words")
    distinct: float = doc(
        "S_w: different words that perturbations of one are nearest to, mean over words",
        "words",
        heading="different words",
        digits=1,
    )
    attacker: Estimate = doc(
        "share of words that the most likely guess names, of all perturbations",
        heading="named",
        interval=(f"{_OTHER_WORDS}, whose draws are a cluster each", _OTHER_WORDS),
    )
    cap_mean: float | None = doc(_BELIEF, heading="belief, most")
    cap_largest: float | None = doc("the largest of these bounds of the words")
    num_words: int = doc("words that are perturbed", "words")
    num_draws: int = doc("perturbations of each", "releases")


class OfRelease(Table):
    release: str = key("name of the release")
    input: str = key("what the account calls the vectors")


class Releases(Published, OfRelease, name="releases", has_status=False):
    epsilon: float = doc(_BOUND, "1/distance")
    spent: float = doc("that all releases of the input so far come to together, this one included", "1/distance")
    max_epsilon: float = doc("that may be spent on it", "1/distance")
    sensitivity: float = doc("Delta")
    delta: float = doc("slack of normal noise; 0: there is none", heading="delta", show="p_value")
    spent_delta: float = doc("slack of all releases of the input so far, this one included")
    max_delta: float = doc("that may be spent on it")
    num_releases: int = doc("of the input so far, this one included", "releases")
    scale: float = doc("of the noise", "distance")
    step: float = doc("of the grid that vectors are published on", "distance")
    radius: float | None = doc("public, that vectors were shortened to; null: they were not", "distance")
    rounding_delta: float | None = doc(
        "chance at most that rounding errors change a vector of the release", heading="by rounding", show="p_value"
    )
    num_rows: int = doc("vectors", "vectors")
    guarantee: str = doc("what is promised, in a sentence")
    exact_delta: float = doc("slack of the exact epsilons")
    nearest_distance: float | None = doc(
        "of a vector to its nearest other, median; of private ones in two digits", "distance"
    )
    median_distance: float | None = doc("of two vectors; of private ones in two digits", "distance")
    exact_nearest: float | None = doc(
        "exact epsilon of near vectors, as far apart as the sensitivity allows", heading="near", digits=2
    )
    exact_typical: float | None = doc(
        "exact epsilon of two vectors at the median distance, by the map's typical stretch", heading="typical", digits=2
    )
    exact_worst: float | None = doc(
        "exact epsilon of two vectors at the median distance, as far as the sensitivity allows",
        heading="worst",
        digits=2,
    )
    cap_mean: float | None = doc(_BELIEF, heading="belief, most")
    cap_largest: float | None = doc("the largest of these bounds of the words")
    named: float = doc("share of the vectors given away whose nearest word is the right one: what an attacker names")
    num_named: int = doc("vectors given away that were tried", "vectors")
    attacker: Estimate | None = doc(
        "the same of words of the vocabulary that were released anew, with noise of their own", interval=_OTHER_WORDS
    )
    num_words: int | None = doc("words, or private vectors, that were released anew", "words")
    num_draws: int | None = doc("times each was", "releases")
    warning: str = doc("what whoever gives this away should know; empty: nothing")


class ReleaseAudits(Table, name="release_audits", has_status=False):
    check: str = key(
        "'radius' of the noise; cosine of the noise of 'rows', 'blocks', of the same rows by 'another_name' or "
        "'another_key'; 'stretch' of the map"
    )
    value: float = doc("mean radius in units of the scale, or square of it; mean cosine; largest stretch", digits=4)
    expected: float = doc("by epsilon and Delta as they are published; of a stretch the most that it may be", digits=4)
    num_compared: int = doc("rows, or pairs of rows", "rows", heading="of")
    p_value: float = doc(
        "chance of a value as far off, if the release is what it says; null: nothing is by chance",
        heading="p",
        show="p_value",
    )
    p_holm: float = doc("the same over all checks of the release", heading="p (Holm)", show="p_value")
    verdict: str = doc("'within', 'above the claim' or 'not the specified law'; by p_holm below the level")
    level: float = doc("chance at most that a release as it should be is denied by any check")


class Released(Table, name="released", has_status=False):
    row: int = key("row of the vector, or of its word, in its file, from 0")
    vector: list[float] = doc("the vector that is given away")


class ReleasedMap(Table, name="map", has_status=False):
    row: int = key("coordinate of what is published, from 0")
    vector: list[float] = doc("weights of the coordinates of a vector: row of Phi")


class PrivateTexts(Table, name="private_texts", has_status=False):
    row: int = key("number of the text among records that can be read, from 0")
    num_words: int = doc("of the text, which are no secret", "words")
    num_unknown: int = doc("that the vocabulary lacks, of which it is no secret where they stand", "words")
    text: str = doc("that is given away")
    epsilon: float | None = doc(
        "largest loss of the text against any other of as many words, exactly: that of a word, by word_privacy, times "
        "the words; null: not known"
    )
    nominal_epsilon: float | None = doc("bound on it: epsilon times the largest distance, times the words; null: none")


class TextReleases(OfRelease, name="text_releases", has_status=False):
    mechanism: str = key("name of the mechanism")
    epsilon: float = doc(_BOUND, "1/distance")
    gamma: float | None = doc("distance beyond which words are alike; null: none", "distance")
    spent: float = doc("that all releases of the input so far come to together, this one included", "1/distance")
    max_epsilon: float = doc("that may be spent on it", "1/distance")
    spent_delta: float = doc("slack of all releases of the input so far, this one included")
    max_delta: float = doc("that may be spent on it")
    num_releases: int = doc("of the input so far, this one included", "releases")
    num_texts: int = doc("that were written anew", "texts")
    num_words: int = doc("of all texts", "words")
    num_unknown: int = doc("of them, that the vocabulary lacks: not protected, as it shows where they stand", "words")
    kept: float | None = doc("share of the other words that came out as they were", show="percent")
    similarity: float | None = doc("mean over texts of the cosine of their mean vectors before and after", digits=2)
    similarity_other: float | None = doc("the same of each text before and the next one after", digits=2)
    rounding_delta: float | None = doc(
        "chance at most that rounding changes a word of the exponential mechanism",
        heading="by rounding",
        show="p_value",
    )
    guarantee: str = doc("what is promised, in a sentence")
    warning: str = doc("what whoever gives this away should know; empty: nothing")


class WordPrivacy(Table, name="word_privacy", has_status=False):
    mechanism: str = key("name of the mechanism")
    prior: str = key("of an attacker: 'uniform', or 'zipf': 1 / place of the word in the file of vectors")
    epsilon: float = doc(_BOUND, "1/distance")
    num_words: int = doc("of the vocabulary, no two with the same vector", "words")
    nominal: float | None = doc(
        "bound on the loss of a word: epsilon times the largest distance, gamma at most; null: none", digits=2
    )
    loss: float | None = doc(
        "largest loss of a word, exactly, over all pairs and outputs; null of noisy vectors: not known", digits=2
    )
    first: str | None = doc("word of the pair that loses most")
    second: str | None = doc("the other word")
    ratio: float | None = doc("largest loss of a pair as a share of its own bound, exactly; at most 1", digits=3)
    near_loss: float | None = doc(
        "exact loss of a word and its nearest other, in the median; of noisy vectors exact epsilon, at the first delta",
        digits=2,
    )
    kept: Estimate | None = doc(
        "chance that a word comes out as it was, by the prior", show="percent", interval=f"{_OTHER_DRAWS} of kept"
    )
    named: Estimate | None = doc(
        "chance that the best guess names the word, of one who knows all else, and sees the vector if it is noisy",
        show="percent",
        interval=f"{_OTHER_DRAWS} of named",
    )
    prior_rate: float = doc("the same without any text", show="percent")
    num_draws: int | None = doc("words that the prior drew; null: kept and named are exact", "words")


TABLES = schemas(
    *(Mechanisms, Sensitivity, Profiles, Audits, Distances, Utility, Deniability),
    *(Releases, Released, ReleasedMap, ReleaseAudits, PrivateTexts, TextReleases, WordPrivacy),
)


# --- what units leave for each other --------------------------------------------------------------------------------


class Stretches(Table, name="tiles", public=False, has_status=False):
    """The pair of some words that each map stretches most."""

    map: int = key("number of the map")
    ratio: float = doc("of the distances of the images and of the words")
    upper: float = doc("no pair is stretched more, rounding errors included")
    largest: float = doc("distance of two of these words")
    first: str = doc("a word of the pair")
    second: str = doc("the other")


class Described(Table, name="geometry", public=False, has_status=False):
    """A map, and the distances of some words, which are the same in each row."""

    nearest: float = doc("median distance of a word to its nearest")
    median: float = doc("distance of two words, in the median")
    typical: float = doc("median stretch of a distance by the map")
    spectral: float = doc("largest singular value of the map")


class ScoreCounts(Table, name="counts", public=False, has_status=False):
    """How many releases of a batch have a score in a bin."""

    score: str = key("what the auditor looks at")
    bin: int = key("number of the bin")
    count: int = doc("releases")


class Normalisers(Table, name="normalisers", public=False, has_status=False):
    """Of the exponential mechanism."""

    log_z: float = doc("logarithm of the sum of the weights of all words")


class LossesOfBlock(Table, name="losses", public=False, has_status=False):
    """Of some words against all."""

    loss: float = doc("largest over pairs")
    first: int = doc("row of a word of the pair")
    second: int = doc("row of the other")
    ratio: float = doc("largest share of the bound")
    reach: float = doc("largest distance, gamma at most")
    near: list[float] = doc("loss of each word and its nearest")
    named: list[float] = doc("of each prior, chance that the best guess is right and one of these words is written")


class Rewritten(Table, name="rewritten", public=False, has_status=False):
    """A text as it is given away."""

    places: list[int] = doc("rows of its words in the vocabulary; -1 for one that this lacks")
