"""Sections of the page of `association` beside the tests: other measures, analogies, sentences as published."""

import polars as pl

from tiltmeter.jobs.association.tables import Analogies, Measures, SentenceTests, measure_name
from tiltmeter.jobs.report.findings import by_model, labelled, measured, split
from tiltmeter.jobs.report.html.elements import Paragraph, Section
from tiltmeter.jobs.report.views import Show
from tiltmeter.jobs.runtime.published import Frames


def other_measures(frames: Frames) -> Section:
    """Each measure, of each model."""
    rows = frames["measures"]
    text = (
        "Other measures of bias, of the words of the association tests and along the direction of pairs of words. "
        "Intervals are over replicas, where there are any. p-values are of the original corpus and "
        "of the words at hand, which are exchanged at random; they are not corrected for the number of queries and "
        "measures."
    )
    parts = split(rows, "measure").values()
    grids = [_MEASURES.grid(labelled(by_model(part, frames)), "model") for part in parts]
    return Section("measures", "Other measures", [Paragraph(text), *grids])


def sentences_as_published(frames: Frames) -> Section:
    """Tests of sentences as they were published."""
    rows = frames["sentence_tests"]
    text = (
        "Each test of words beside what was published for sentences. Without any bias, SEAT's p, which deals "
        "sentences, and CEAT's, which takes draws of contexts for studies, are far too often small: they are for "
        "comparison with what was published elsewhere. What p-values say about words, the association tests have."
    )
    parts = split(rows, "model").values()
    return Section("sentences", "Sentences", [Paragraph(text), *(_SENTENCES.grid(part, "model") for part in parts)])


def analogies(frames: Frames) -> Section:
    """Of each list of pairs, with what stands in their way."""
    rows = measured(frames["analogies"])
    text = (
        "Pairs of words x and y, of all that are listed, whose difference is most like that of two given words "
        "(Bolukbasi et al. 2016): the first is to x as the second to y. They illustrate and measure nothing: x and y "
        "differ by construction, so that the answer that the same embedding gives where no word is left out, often x "
        "itself (Nissim et al. 2020), stands beside. The share of replicas says how many of these texts, drawn again, "
        "list the pair, too."
    )
    repeated = rows.filter(input_rank=1).height
    finding = f"In {repeated} of {rows.height} the answer would be a word of the question."
    grids = [_ANALOGIES.grid(labelled(by_model(part, frames)), "model") for part in split(rows, "query").values()]
    return Section("analogies", "Generated analogies", [Paragraph(text), Paragraph(finding), *grids])


_SENTENCES = Show(
    SentenceTests,
    "d without a template: its least and largest value when one template is left out. Spread: standard deviations of "
    "associations between the words of a set, and between the sentences of a word.",
    "test method effect_size least_without=d_without_a_template,_least? most_without=largest? "
    "sd_words=spread_of_words? sd_sentences=of_sentences? variance? tau_squared? published_p? num_words "
    "num_sentences reason",
    most=200,
)

_ANALOGIES = Show(
    Analogies,
    lambda rows: f"{rows['seeds'][0].replace(', ', ' is to x as ')} is to y ({rows['query'][0]}).",
    "rank first second parallel distance share=in_replicas? answer any_answer=answer,_none_left_out input_rank",
    most=100,
)


def _measures_caption(rows: pl.DataFrame) -> str:
    first = rows.row(0, named=True)
    without = "" if first["neutral"] is None else f"; {first['neutral']:g} is an embedding without it"
    nulls = rows["null"].unique(maintain_order=True)
    null = " ".join(_EXCHANGED.get(name, f"There is no p-value: {name}.") for name in nulls)
    return f"{measure_name(first['measure'])}: a larger value says that {first['larger']}{without}. {null}"


_EXCHANGED = {
    "targets": "p deals the words of X and Y anew.",
    "attributes": "p deals the words of A and B anew; beside it that for all words of a query at once (max-T).",
    "pairs": "p exchanges the words of each pair.",
    "directions": (
        "p is the share of directions that give as much, of this one and those of pairs of other listed words of about "
        "the same frequencies, drawn at random."
    ),
}

_MEASURES = Show(
    Measures,
    _measures_caption,
    "query groups=X,_Y attributes=by word? value p_value=p? p_max_t=p,_all_words? num_words=words reason",
    most=200,
)
