"""The tables of `private_vectors`: every column with its type, its unit and a sentence."""

import pyarrow as pa

from tiltmeter.jobs.runtime.columns import REASON, STATUS, count, interval, number, text
from tiltmeter.storage.store.tables import column

MECHANISM = text("mechanism", "name of the mechanism, or of a control", key=True)
DIMENSIONS = count("dimensions", "dimensions m of what is published", "dimensions", key=True, type=pa.int32())
EPSILON = column(
    "epsilon", pa.float64(), "nominal bound on the privacy loss per unit of distance", "1/distance", key=True
)
BETA = column(
    "beta", pa.float64(), "distortion that its dimensions and published sensitivity are for; 0: none", key=True
)
COMPARED = text("compared_at", "'nominal' epsilon, or 'exact' privacy at the median distance, alike for all", key=True)
EXACT = number(
    "exact_epsilon", "smallest epsilon at which it is (epsilon, delta)-private for a pair at the median distance"
)
_INTERVAL = [
    number(
        "low", "lower end of the interval of the value for other texts and other noise; of one run, for texts alone"
    ),
    number("high", "upper end of the interval of the value for other texts and other noise"),
]

MECHANISMS = pa.schema(
    [
        MECHANISM,
        DIMENSIONS,
        EPSILON,
        COMPARED,
        text("projection", "'none', 'gaussian', 'haar' (a random subspace) or 'public_pca'"),
        text("law", "of the noise: by the 'norm', or 'gaussian'"),
        number("sensitivity", "Delta, the most that the map is taken to stretch a distance"),
        text("sensitivity_kind", "'none', 'published' (1 + beta), 'exact_vocabulary' or 'spectral'"),
        number(
            "delta", "chance that the sensitivity does not hold, proven for the vocabulary; 0 where it is certified"
        ),
        number("scale", "s of noise by the norm, sigma of normal noise", "distance"),
        number("deviation", "standard deviation of each coordinate of the noise", "distance"),
        number("epsilon_x_nearest", "epsilon times the median distance of a word to its nearest"),
        number("epsilon_x_median", "epsilon times the median distance of two words"),
        number("epsilon_x_diameter", "epsilon times the largest distance: local privacy over the vocabulary"),
        text("guarantee", "what is promised, in a sentence"),
    ]
)

SENSITIVITY = pa.schema(
    [
        text("projection", "kind of map", key=True),
        DIMENSIONS,
        BETA,
        text("sensitivity_kind", "'published' (1 + beta), 'exact_vocabulary' or 'spectral'", key=True),
        number("sensitivity", "the most that the map stretches a distance, rounding errors included"),
        number("delta", "chance over the map that it does not hold, proven by a union bound; 0 where it is certified"),
        number("typical_stretch", "median of the stretch over pairs of words"),
        text("first", "word of the pair that is stretched most"),
        text("second", "the other word"),
        count("num_words", "different vectors of the vocabulary", "words"),
        count("num_merged", "words whose vector another word has too", "words"),
    ]
)

PROFILES = pa.schema(
    [
        MECHANISM,
        DIMENSIONS,
        EPSILON,
        COMPARED,
        text(
            "distance_kind",
            "'nearest': median of a word to its nearest; 'median' and 'largest': of two words",
            key=True,
        ),
        text("stretch", "'typical' of the map, or 'worst': as much as the sensitivity allows", key=True),
        number("distance", "of the pair", "distance"),
        column("delta", pa.float64(), "slack", key=True),
        number("bound", "privacy loss that is never exceeded: epsilon times the distance; null for normal noise"),
        number("exact_epsilon", "smallest epsilon at which the mechanism is (epsilon, delta)-private for the pair"),
    ]
)

AUDITS = pa.schema(
    [
        MECHANISM,
        DIMENSIONS,
        EPSILON,
        text("choice", "'nearest' or 'random': how the other word was chosen; with the number of the first", key=True),
        text("pair", "two words", key=True),
        text("score", "what the auditor looks at", key=True),
        count("num_draws", "releases of each of the two words", "releases"),
        number("claimed", "bound on the privacy loss of the pair that is claimed; null for normal noise"),
        number("exact", "smallest epsilon of the exact profile, at the first delta"),
        number("audited", "loss by the set of scores that was chosen: logarithm of the ratio of its two shares"),
        number("audited_low", "lower bound on it, and so on the privacy loss of the pair"),
        number("audited_high", "upper bound on it, which says nothing of other sets of scores"),
        text(
            "verdict", "'within', or what is wrong: 'above the claim', 'above the exact curve', 'not the specified law'"
        ),
        number("level", "chance at most that anything true is denied in the whole table"),
        count("family", "audits that share the level", "audits"),
    ]
)

DISTANCES = pa.schema(
    [
        MECHANISM,
        DIMENSIONS,
        EPSILON,
        BETA,
        text("read_out", "'distance', 'debiased_distance' or 'inner_product'", key=True),
        number("error", "mean absolute error over pairs of words and runs", "distance"),
        *interval("error", "interval of the error of another run with its noise, by job.interval", "distance"),
        number("closed_form", "what it should be; null where no closed form is known", "distance"),
        number("constant_error", "error of the best public constant, which reads no vector", "distance"),
        number(
            "proposition",
            "bound on all errors at once by propositions 7 and 8, at the first delta; null for M1 and debiased",
            "distance",
        ),
        number("quantile_bound", "the same bound by the exact quantile of the noise in place of claim 6", "distance"),
        count("num_runs", "runs with noise of their own", "runs"),
    ]
)

UTILITY = pa.schema(
    [
        text("task", "name of the task", key=True),
        MECHANISM,
        DIMENSIONS,
        column("epsilon", pa.float64(), "nominal; null for what has no noise", "1/distance", key=True),
        COMPARED,
        text("noise_per", "noise drawn for each 'occurrence' of a word or once for a 'word'; 'none'", key=True),
        EXACT,
        text("measure", "'accuracy', or 'area' under the ROC curve", key=True),
        number("value", "mean over the runs"),
        *_INTERVAL,
        count("num_test", "texts or words of a test part", "texts"),
        number("sd_training", "standard deviation of the value between runs with noise of their own; null of one run"),
        count("num_runs", "runs with noise of their own", "runs"),
        STATUS,
        REASON,
    ]
)

DENIABILITY = pa.schema(
    [
        MECHANISM,
        DIMENSIONS,
        EPSILON,
        COMPARED,
        EXACT,
        number("returned", "N_w: share of perturbations that are nearest to their word, mean over words"),
        number("distinct", "S_w: different words that perturbations of one are nearest to, mean over words", "words"),
        number("attacker", "share of words that the most likely guess names, of all perturbations"),
        number("attacker_low", "lower end of the interval of attacker for other words, whose draws are a cluster each"),
        number("attacker_high", "upper end of the interval of attacker for other words"),
        number("cap_mean", "most that anybody can believe in the right word, mean of words; null: there is no bound"),
        number("cap_largest", "the largest of these bounds of the words"),
        count("num_words", "words that are perturbed", "words"),
        count("num_draws", "perturbations of each", "releases"),
        STATUS,
        REASON,
    ]
)

RELEASES = pa.schema(
    [
        text("release", "name of the release", key=True),
        text("input", "what the account calls the vectors", key=True),
        MECHANISM,
        DIMENSIONS,
        number("epsilon", "nominal bound on the privacy loss per unit of distance", "1/distance"),
        number("spent", "that all releases of the input so far come to together, this one included", "1/distance"),
        number("max_epsilon", "that may be spent on it", "1/distance"),
        number("sensitivity", "Delta"),
        number("delta", "slack of normal noise; 0: there is none"),
        number("spent_delta", "slack of all releases of the input so far, this one included"),
        number("max_delta", "that may be spent on it"),
        count("num_releases", "of the input so far, this one included", "releases"),
        number("scale", "of the noise", "distance"),
        number("step", "of the grid that vectors are published on", "distance"),
        number("radius", "public, that vectors were shortened to; null: they were not", "distance"),
        number("rounding_delta", "chance at most that rounding errors change a vector of the release"),
        count("num_rows", "vectors", "vectors"),
        text("guarantee", "what is promised, in a sentence"),
        number("exact_delta", "slack of the exact epsilons"),
        number(
            "nearest_distance", "of a vector to its nearest other, median; of private ones in two digits", "distance"
        ),
        number("median_distance", "of two vectors; of private ones in two digits", "distance"),
        number("exact_nearest", "exact epsilon of near vectors, as far apart as the sensitivity allows"),
        number("exact_typical", "exact epsilon of two vectors at the median distance, by the map's typical stretch"),
        number("exact_worst", "exact epsilon of two vectors at the median distance, as far as the sensitivity allows"),
        number("cap_mean", "most that anybody can believe in the right word, mean of words; null: there is no bound"),
        number("cap_largest", "the largest of these bounds of the words"),
        number("named", "share of the vectors given away whose nearest word is the right one: what an attacker names"),
        count("num_named", "vectors given away that were tried", "vectors"),
        number("attacker", "the same of words of the vocabulary that were released anew, with noise of their own"),
        number("attacker_low", "lower end of the interval of attacker for other words"),
        number("attacker_high", "upper end of the interval of attacker for other words"),
        count("num_words", "words, or private vectors, that were released anew", "words"),
        count("num_draws", "times each was", "releases"),
        text("warning", "what whoever gives this away should know; empty: nothing"),
    ]
)

RELEASE_AUDITS = pa.schema(
    [
        text(
            "check",
            "'radius' of the noise; cosine of the noise of 'rows', 'blocks', of the same rows by 'another_name' or "
            "'another_key'; 'stretch' of the map",
            key=True,
        ),
        number("value", "mean radius in units of the scale, or square of it; mean cosine; largest stretch"),
        number("expected", "by epsilon and Delta as they are published; of a stretch the most that it may be"),
        count("num_compared", "rows, or pairs of rows", "rows"),
        number("p_value", "chance of a value as far off, if the release is what it says; null: nothing is by chance"),
        number("p_holm", "the same over all checks of the release"),
        text("verdict", "'within', 'above the claim' or 'not the specified law'; by p_holm below the level"),
        number("level", "chance at most that a release as it should be is denied by any check"),
    ]
)

RELEASED = pa.schema(
    [
        count("row", "row of the vector, or of its word, in its file, from 0", key=True),
        column("vector", pa.list_(pa.float64()), "the vector that is given away"),
    ]
)

MAP = pa.schema(
    [
        count("row", "coordinate of what is published, from 0", key=True),
        column("vector", pa.list_(pa.float64()), "weights of the coordinates of a vector: row of Phi"),
    ]
)

TABLES = {
    "mechanisms": MECHANISMS,
    "sensitivity": SENSITIVITY,
    "profiles": PROFILES,
    "audits": AUDITS,
    "distances": DISTANCES,
    "utility": UTILITY,
    "deniability": DENIABILITY,
    "releases": RELEASES,
    "released": RELEASED,
    "map": MAP,
    "release_audits": RELEASE_AUDITS,
}
