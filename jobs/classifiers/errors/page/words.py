"""How the page says a slice and a score."""

from collections.abc import Sequence

from tiltmeter.jobs.report.wording import listed, phrase

SCORES = {
    "published": "features of the paper",
    "readable": "readable features",
    "readable_and_class": "readable features and the predicted class",
    "readable_class_and_probabilities": "readable features, predicted class and probabilities",
    "least_confidence": "least confidence",
    "margin": "margin",
    "entropy": "entropy",
    "predicted_class": "predicted class alone",
    "in_domain_disagreement": "in-domain disagreement",
    "random": "chance",
}
STRATEGIES = {
    "errors": "likely errors",
    "random": "chance",
    "least_confidence": "least confidence",
    "in_domain_disagreement": "in-domain disagreement",
}
_NOUNS = {
    "numbers": "a number",
    "times": "a time",
    "mentions": "a name that is addressed",
    "hashtags": "a hashtag",
    "links": "a link",
    "ellipses": "an ellipsis",
    "capitals": "a word in capitals",
    "exclamation_marks": "an exclamation mark",
    "question_marks": "a question mark",
    "question_yesno": "a question that begins with a verb",
    "question_wh": "a question that begins with a question word",
    "greeting": "a greeting",
    "thanks": "thanks",
    "apology": "an apology",
    "second_person": "“you”",
    "first_person": "“I” or “we”",
    "no": "“no”",
    "contrast": "a “but”",
    "negations": "a negation",
    "boosters": "a word such as “very”",
    "positive_words": "a word of praise",
    "negative_words": "a word of blame",
}
_DENSE = {
    "num_tokens": "{} words and marks",
    "polarity": "polarity {}",
    "valence": "valence {}",
    "confidence": "confidence {}",
}


_CLASSES = {"predicted ": "that the model calls", "labelled ": "whose label is"}


def in_words(predicates: Sequence[str]) -> str:
    """A slice in words, of the names of its predicates.

    >>> in_words(["predicted neutral", "numbers", "no thanks", "num_tokens in 20..40"])
    'texts with a number and 20 to 40 words and marks, without thanks, that the model calls neutral'
    >>> in_words(["polarity in -0.01471..0"])
    'texts with polarity −0.01 to 0'
    >>> in_words(["labelled neutral", "thanks"])
    'texts with thanks, whose label is neutral'
    """
    ends = [
        f"{end} {name.removeprefix(start)}"
        for start, end in _CLASSES.items()
        for name in predicates
        if name.startswith(start)
    ]
    others = [name for name in predicates if not name.startswith(tuple(_CLASSES))]
    with_, without = (
        [_noun(name.removeprefix("no ")) for name in others if name.startswith("no ") == lacks]
        for lacks in (False, True)
    )
    parts = ["texts", *([f"with {listed(with_)}"] if with_ else [])]
    text = " ".join(parts) + (f"{',' if with_ else ''} without {listed(without, 'or')}" if without else "")
    comma = "," if with_ or without else ""
    return f"{text}{comma} {' and '.join(ends)}" if ends else text


def _noun(name: str) -> str:
    feature, _, ends = name.partition(" in ")
    if ends:
        low, high = ends.split("..")
        low, high = (f"{round(float(end), 2):g}" for end in (low, high))
        span = low if low == high else f"{low} to {high}"
        return _DENSE.get(feature, f"{phrase(feature)} {{}}").format(span.replace("-", "−"))
    kind, _, rest = feature.partition(":")
    return f"the {kind} {rest}" if rest else _NOUNS.get(feature, phrase(feature))
