"""The tables of the survey's own: what a planted lean is found as, and how small a difference a text can show."""

from tiltmeter.jobs.embedding.tables import NUM_REPLICAS, OfModel
from tiltmeter.jobs.runtime.table import Estimate, Int32, doc, key, schemas

_AGAIN = "the interval for this corpus drawn again, at 95 %"


class Control(OfModel, name="control"):
    word: str = key("the word whose occurrences were dealt by chance to two made-up words", heading="word that is two")
    share: float = doc(
        "chance that a cue was put before an occurrence: a female one of the first, a male one of the second; 0: none",
        heading="with a cue",
        show="percent",
        digits=0,
    )
    num_first: int = doc("occurrences of the first", "occurrences", heading="of the first")
    num_second: int = doc("occurrences of the second", "occurrences", heading="of the second")
    num_cues: int = doc("cues that were put in", "words", heading="cues put in")
    first: Estimate = doc(
        "mean PSE of the first over gender cue pairs", "mixture", heading="PSE of the first", interval=_AGAIN
    )
    second: Estimate = doc(
        "mean PSE of the second over gender cue pairs", "mixture", heading="PSE of the second", interval=_AGAIN
    )
    difference: Estimate = doc("PSE of the first less that of the second", "mixture", interval=_AGAIN)
    p: float = doc("two-sided, of the hypothesis that the two differ by the deal alone", heading="p", digits=4)
    smallest: float = doc(
        "the smallest difference of the two that is found with a chance of 80 %",
        "mixture",
        heading="smallest to be found",
    )
    num_pairs: Int32 = doc("gender cue pairs that are measured", "pairs")
    num_replicas: Int32 = doc(NUM_REPLICAS, "replicas")


class SmallestDifferences(OfModel, name="smallest_differences"):
    num_numbers: Int32 = doc("occupations with a pooled PSE", "occupations", heading="occupations")
    num_differences: Int32 = doc("differences of two of them", "differences", heading="pairs")
    num_apart: Int32 = doc(
        "of these, those whose q of Benjamini and Hochberg 1995 is at most 0.05", "differences", heading="told apart"
    )
    smallest: float = doc(
        "the smallest true difference that the 95 % interval of a difference leaves 0 out for with a chance of 80 %, "
        "the middle one over all differences",
        "mixture",
        heading="smallest to be found",
    )
    smallest_tenfold: float = doc(
        "the same with ten times the text, if intervals shrink with the square root of its length", "mixture"
    )
    widest: float = doc("the largest difference of two of them that was seen", "mixture", heading="widest seen")
    num_tokens: int = doc("running words of the corpus", "words", heading="running words")


TABLES = schemas(Control, SmallestDifferences)
