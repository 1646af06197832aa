"""Small tables of gender bias made by hand."""

import polars as pl
import pyarrow as pa

from tiltmeter.jobs.measures import tables

TAGGED = "<b>&"
OK = {"status": "ok", "reason": "", "num_replicas": 32}
LOST = {"status": "missing_words", "reason": "not in the vocabulary: 'x'", "num_replicas": 0}
NO_DIRECTION = {"status": "no_direction", "reason": "no defining pair has both words", "num_replicas": 0}
FORMS = {
    "nurse": {"en": {"neutral": ["nurse"]}, "ar": {"feminine": ["ممرضة"], "masculine": ["ممرض"]}},
    "judge": {"en": {"neutral": ["judge"]}, "ar": {"masculine": ["قاض", "قاضي"]}},
    TAGGED: {"en": {"neutral": [TAGGED]}, "ar": {"neutral": ["شخص"]}},
}
PAIRS = {
    "woman-man": {"en": ("woman", "man"), "ar": ("امرأة", "رجل")},
    "girl-boy": {"en": ("girl", "boy"), "ar": ("امرأة", "صبي")},
}


def key(code):
    return {"model": f"{code}wiki", "language": code}


def interval(name, value, half_width=0.05):
    return {name: value, f"{name}_low": value - half_width, f"{name}_high": value + half_width}


def word(code, listed, item, text, gender, bias=0.0, **changes):
    row = {"word": text, "list": listed, "item": item, "gender": gender, "count": 10, "note": ""}
    return key(code) | row | OK | interval("bias", bias) | changes


def defining(code):
    """The first pair at 0.3 and -0.3, the second at 0.4 and -0.2."""
    rows = []
    for at, (item, words) in enumerate(PAIRS.items()):
        for text, gender, bias in zip(words[code], ("feminine", "masculine"), (0.3, -0.3), strict=True):
            rows.append(word(code, "defining", item, text, gender, bias + 0.1 * at))
    return rows


def forms(code):
    """Feminine forms at 0.2, masculine ones at -0.2, neutral ones at 0; feminine ones occur once, others 10 times."""
    biases, counts = {"feminine": 0.2, "masculine": -0.2, "neutral": 0.0}, {"feminine": 1}
    return [
        word(code, "professions", item, text, gender, biases[gender], count=counts.get(gender, 10))
        for item, of in FORMS.items()
        for gender, texts in of[code].items()
        for text in texts
    ]


def profession(code, name, bias, *, half_width=0.05):
    words = [text for texts in FORMS.get(name, {}).get(code, {"neutral": [name]}).values() for text in texts]
    numbers = interval("bias", bias, half_width) | interval("bias_weighted", bias - 0.1)
    return key(code) | {"profession": name, "forms": words, "missing_words": [], "count": 10} | numbers | OK


def language(code, direct, *, warning="", half_width=0.01):
    values = {"female_words": 0.35, "male_words": -0.25, "first_share": 0.6, "second_share": 0.2, "gap": 0.4}
    numbers = {name: part for value in values for name, part in interval(value, values[value]).items()}
    numbers |= interval("direct_bias", direct, half_width) | interval("direct_bias_weighted", direct + 0.02)
    row = {"script": "Latn", "exponent": 1.0, "num_pairs": 2, "num_professions": 3, "missing_words": []}
    return key(code) | row | {"warning": warning} | numbers | OK


def pair(code, item, change, half_width=0.005):
    female, male = PAIRS[item][code]
    numbers = interval("change", change, half_width) | interval("direct_bias", 0.1) | interval("similarity", 0.9)
    return key(code) | {"pair": item, "feminine": female, "masculine": male} | numbers | OK


def lost(code, **more):
    """What a row holds whose words are missing."""
    return key(code) | LOST | more


def correlations(values, places):
    """``language_correlation``, from r by pair, None where it is unknown; the intervals are 0.2 around."""
    both = values | {(other, one): r for (one, other), r in values.items()} | {(code, code): 1.0 for code in places}
    return table(tables.LANGUAGE_CORRELATION, *(_correlation(*pair, r, places) for pair, r in both.items()))


def _correlation(one, other, r, places):
    row = {"language_1": one, "language_2": other, "position_1": places[one], "position_2": places[other]}
    if r is None:
        reason = "both have 0 professions, and 3 are needed"
        return row | {"num_professions": 0, "status": "too_few_professions", "reason": reason}
    return row | {"num_professions": 3, "status": "ok", "reason": ""} | interval("correlation", r, 0.2)


def table(schema, *rows):
    return pl.DataFrame(pa.Table.from_pylist(list(rows), schema))


def words(*rows):
    return table(tables.GENDER_WORDS, *rows)


def professions(*rows):
    return table(tables.GENDER_PROFESSIONS, *rows)


def languages(*rows):
    return table(tables.GENDER_LANGUAGES, *rows)


def pairs(*rows):
    return table(tables.GENDER_PAIRS, *rows)


def survey():
    """English and Arabic measured, but for a profession in Arabic; Wolof without a direction."""
    wolof, nothing = key("wo") | NO_DIRECTION, {"forms": [], "missing_words": []}
    fajkat = {"word": "fajkat", "list": "professions", "item": "nurse", "gender": "neutral", "note": "a healer too"}
    biases = {"en": {"nurse": 0.3, "judge": -0.1, TAGGED: 0.02}, "ar": {"nurse": 0.1, "judge": -0.2}}
    changes = {"en": {"woman-man": 0.01, "girl-boy": -0.02}, "ar": {"woman-man": 0.003, "girl-boy": 0.001}}
    correlation = {("en", "ar"): 0.9, ("en", "wo"): None, ("ar", "wo"): None}
    return {
        "gender_words": words(
            *(row for code in ("en", "ar") for row in (*defining(code), *forms(code))), lost("wo", **fajkat)
        ),
        "gender_professions": professions(
            *(profession(code, name, bias) for code, of in biases.items() for name, bias in of.items()),
            lost("ar", profession=TAGGED, **nothing),
            *(wolof | nothing | {"profession": name} for name in FORMS),
        ),
        "gender_languages": languages(language("en", 0.1), language("ar", 0.2), wolof),
        "gender_pairs": pairs(
            *(pair(code, item, change) for code, of in changes.items() for item, change in of.items()),
            wolof | {"pair": "woman-man"},
        ),
        "language_correlation": correlations(correlation, {"ar": 0, "en": 1, "wo": 2}),
    }


def only(code):
    """The tables of a survey of one language."""
    by_language = {name: rows for name, rows in survey().items() if "language" in rows.columns}
    return {name: rows.filter(pl.col("language") == code) for name, rows in by_language.items()}
