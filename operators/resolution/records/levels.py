"""Degrees of agreement of each kind of field, in words and as levels of a comparison by Splink.

Columns are called by number: ``f0`` is the first field, ``f0_other`` its second column, ``f0_words`` its words.
"""

from typing import TYPE_CHECKING, NamedTuple

from tiltmeter.operators.resolution.records.columns import OTHER, WORDS
from tiltmeter.operators.resolution.records.scorer import LISTS, ComparedField

if TYPE_CHECKING:
    from collections.abc import Sequence

    from splink.internals.comparison_creator import ComparisonCreator
    from splink.internals.comparison_level_creator import ComparisonLevelCreator

_SHARED = f"len(list_intersect({{0}}{WORDS}_l, {{0}}{WORDS}_r))"
_JACCARD = f"{_SHARED} / (len({{0}}{WORDS}_l) + len({{0}}{WORDS}_r) - {_SHARED})"

_LIKE = "Jaro-Winkler {} or more"
_READY = {
    "name": ["equal", *map(_LIKE.format, (0.92, 0.88, 0.7))],
    "forename_surname": [
        "equal",
        "swapped",
        *(f"both {_LIKE.format(least)}" for least in (0.92, 0.88)),
        "second equal",
        "first equal",
    ],
    "date_of_birth": ["equal", "up to 1 edit", "up to 1 month apart", "up to 1 year apart", "up to 10 years apart"],
    "email": ["equal", "user names equal", _LIKE.format(0.88), f"user names {_LIKE.format(0.88)}"],
    "postcode": ["equal", "sectors equal", "districts equal", "areas equal"],
}
"""Degrees of the comparisons that Splink has ready, from the highest down."""


class Levels(NamedTuple):
    """Degrees of agreement from the highest down to "different", and what is no agreement as a value is missing."""

    missing: "ComparisonLevelCreator"
    words: list[str]
    levels: "Sequence[ComparisonLevelCreator]"


def levels_of(field: ComparedField, column: str) -> Levels:
    """The levels of a field, whose column has this name; the highest with term frequencies, if the field has them."""
    if field.kind in _READY or field.kind in (*LISTS, "distance"):
        missing, *levels = _ready(field, column).create_comparison_levels()
        # Some of them come with term frequencies, whether asked for or not.
        levels = [level.configure(tf_adjustment_column=None) for level in levels]
        words = [*(_READY.get(field.kind) or _step_words(field)), "different"]
    else:
        from splink import comparison_level_library as library

        between = _between(field, column)
        missing = library.NullLevel(column)
        levels = [library.ExactMatchLevel(column), *(level for _, level in between), library.ElseLevel()]
        words = ["equal", *(name for name, _ in between), "different"]
    if field.term_frequency:
        levels[0].configure(tf_adjustment_column=column, tf_adjustment_weight=1.0)
    return Levels(missing, words, levels)


def _ready(field: ComparedField, column: str) -> "ComparisonCreator":
    from splink import comparison_library as library

    other, steps = f"{column}{OTHER}", sorted(field.steps, reverse=True)
    match field.kind:
        case "name":
            return library.NameComparison(column)
        case "forename_surname":
            return library.ForenameSurnameComparison(column, other)
        case "date_of_birth":
            return library.DateOfBirthComparison(column, input_is_string=False)
        case "email":
            return library.EmailComparison(column)
        case "postcode":
            return library.PostcodeComparison(column)
        case "distance":
            return library.DistanceInKMAtThresholds(column, other, field.within)
        case "array":
            return library.ArrayIntersectAtSizes(column, [int(size) for size in steps])
        case _:
            return library.CosineSimilarityAtThresholds(column, steps)


def _step_words(field: ComparedField) -> list[str]:
    if field.kind == "distance":
        return [f"up to {most:g} km apart" for most in field.within]
    form = "{:g} or more in common" if field.kind == "array" else "cosine {:g} or more"
    return [form.format(least) for least in sorted(field.steps, reverse=True)]


def _between(field: ComparedField, column: str) -> "list[tuple[str, ComparisonLevelCreator]]":
    """Degrees of agreement between equal and different, from the highest down."""
    from splink import comparison_level_library as levels

    def letters(least: float) -> "tuple[str, ComparisonLevelCreator]":
        return f"Jaro-Winkler {least} or more", levels.JaroWinklerLevel(column, least)

    def words(least: float) -> "tuple[str, ComparisonLevelCreator]":
        condition = f"{_JACCARD.format(column)} >= {least}"
        return f"Jaccard of words {least} or more", levels.CustomLevel(condition, label_for_charts=str(least))

    match field.kind:
        case "string":
            return [letters(0.95), letters(0.9), words(0.6), letters(0.8), words(0.4), words(0.2), letters(0.7)]
        case "code":
            return [(f"up to {most} edits", levels.LevenshteinLevel(column, most)) for most in (1, 2, 4)]
        case _:
            return [(f"up to {most} apart", levels.AbsoluteDifferenceLevel(column, most)) for most in field.within]
