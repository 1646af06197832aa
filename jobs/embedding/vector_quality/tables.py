"""The table of `vector_quality`, and what it is made of."""

from tiltmeter.jobs.embedding.lookup import OfReplicas
from tiltmeter.jobs.embedding.tables import NUM_REPLICAS, OfModel
from tiltmeter.jobs.runtime.table import Estimate, Int32, Table, doc, key, schemas

WHOLE = "all"
"""In place of a section: the whole set."""

_SECTION = f"of a set of analogies; '{WHOLE}': the whole set"


class Scores(Table, name="quality_scores", public=False, has_status=False):
    """Of one embedding on one set."""

    section: str = key(_SECTION)
    value: float = doc("as in quality")
    value_of_all: float = doc("as in quality")
    value_with_inputs: float | None = doc("as in quality")
    num_items: Int32 = doc("pairs or questions")
    num_missing: Int32 = doc("of these, those that lack a word")
    num_words: Int32 = doc("words that count")


class Quality(OfModel, name="quality"):
    set: str = key("name of the set of pairs or questions")
    section: str = key(_SECTION)
    task: str = doc("'similarity' (value is Spearman's rho) or 'analogies' (the share of right answers)")
    value: OfReplicas = doc(
        "rho of cosines with what people say, over pairs of which both words are there; or of the questions whose "
        "words are all there the share that 3CosAdd answers right, where it may not answer a word of the question",
        ends=("low", "high"),
        heading="score",
    )
    value_of_all: Estimate = doc(
        "the same over all items: a pair that lacks a word has the mean cosine of the others, a question is wrong",
        heading="of all items",
        interval="its interval, as of value",
    )
    value_with_inputs: Estimate = doc(
        "of analogies, the share when a word of the question may be answered",
        heading="inputs allowed",
        interval="its interval, as of value",
    )
    by_section: Estimate = doc(
        "of a whole set of analogies: value, for other sections like these",
        heading="over sections",
        interval="the interval of value over sections, of the original embedding",
    )
    num_sections: Int32 = doc("sections that it rests on")
    num_items: Int32 = doc("pairs or questions", "items", heading="items")
    num_missing: Int32 = doc("of these, those that lack a word in the original embedding", "items", heading="missing")
    missing: float = doc("share of these", show="percent", heading="missing")
    num_words: Int32 = doc("words of the embedding that count, and may be answered", "words", heading="words")
    num_replicas: Int32 = doc(NUM_REPLICAS, "replicas")


TABLES = schemas(Quality)
