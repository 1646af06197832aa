"""Degrees of agreement of each kind of field, in words and as levels of a comparison by Splink.

Columns are called by number: ``f0`` is the first field, ``f0_other`` its second column, ``f0_words`` its words.
"""

from typing import TYPE_CHECKING

from tiltmeter.operators.resolution.records.columns import OTHER, WORDS
from tiltmeter.operators.resolution.records.scorer import ComparedField

if TYPE_CHECKING:
    from splink.internals.comparison_creator import ComparisonCreator
    from splink.internals.comparison_level_creator import ComparisonLevelCreator

_SHARED = f"len(list_intersect({{0}}{WORDS}_l, {{0}}{WORDS}_r))"
_JACCARD = f"{_SHARED} / (len({{0}}{WORDS}_l) + len({{0}}{WORDS}_r) - {_SHARED})"

_LIKE = "Jaro-Winkler {} or more"
_NAMES = ["equal", "swapped", *(f"both {_LIKE.format(least)}" for least in (0.92, 0.88)), "second equal", "first equal"]
_DAYS = ["equal", "up to 1 edit", *(f"up to {apart} apart" for apart in ("1 month", "1 year", "10 years"))]


def levels_of(field: ComparedField, column: str) -> "tuple[list[str], list[ComparisonLevelCreator]]":
    """Degrees of agreement of a field, whose column has this name, from the highest down to "different".

    Returns:
        Their words, and the levels: first that a value is missing, which is none, then one for each degree, the highest
        with term frequencies if the field has them.
    """
    from splink import comparison_level_library as library
    from splink import comparison_library as ready

    made: ComparisonCreator
    other, steps = f"{column}{OTHER}", sorted(field.steps, reverse=True)
    match field.kind:
        case "name":
            words, made = ["equal", *map(_LIKE.format, (0.92, 0.88, 0.7))], ready.NameComparison(column)
        case "forename_surname":
            words, made = _NAMES, ready.ForenameSurnameComparison(column, other)
        case "date_of_birth":
            words, made = _DAYS, ready.DateOfBirthComparison(column, input_is_string=False)
        case "email":
            like = _LIKE.format(0.88)
            words, made = ["equal", "user names equal", like, f"user names {like}"], ready.EmailComparison(column)
        case "postcode":
            parts = [f"{part} equal" for part in ("sectors", "districts", "areas")]
            words, made = ["equal", *parts], ready.PostcodeComparison(column)
        case "distance":
            words = [f"up to {most:g} km apart" for most in field.within]
            made = ready.DistanceInKMAtThresholds(column, other, field.within)
        case "array":
            words = [f"{least:g} or more in common" for least in steps]
            made = ready.ArrayIntersectAtSizes(column, [int(least) for least in steps])
        case "embedding":
            words = [f"cosine {least:g} or more" for least in steps]
            made = ready.CosineSimilarityAtThresholds(column, steps)
        case _:
            between = _between(field, column)
            words = ["equal", *(name for name, _ in between)]
            levels = [library.ExactMatchLevel(column), *(level for _, level in between), library.ElseLevel()]
            made = ready.CustomComparison([library.NullLevel(column), *levels])
    # Some of them come with term frequencies, whether asked for or not.
    levels = [level.configure(tf_adjustment_column=None) for level in made.create_comparison_levels()]
    if field.term_frequency:
        levels[1].configure(tf_adjustment_column=column, tf_adjustment_weight=1.0)
    return [*words, "different"], levels


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
