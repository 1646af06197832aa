"""What stands out in the posteriors of a sentiment classifier, in sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.report.sides import Lean
from tiltmeter.jobs.report.wording import estimate, listed, number, p_equals, p_value, percent, plural, some, verb
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.sentiment.posterior.groups import least_p

LEAN = Lean("difference", has_direction=lambda row: row["p_holm"] is not None and row["p_holm"] <= ALPHA)
"""A side is named by the p-value after Holm, and the interval has to lie there."""

ALPHA = 0.05
_CONTRAST, _WITHOUT_DRAWS = "contrast", "log_odds"
_NUM_WORDS = 5
_SIDES = {"above": "first", "below": "second"}


def findings(frames: Frames) -> Iterator[str]:
    """Of each table what it says in a sentence or two."""
    if "classifier" in frames:
        yield from _classifiers(frames["classifier"])
    if "lexicon" in frames:
        yield from _lexicon(frames["lexicon"])
    if "words" in frames:
        yield from _nearest(frames["words"])
    if "groups" in frames:
        yield from _groups(frames["groups"])


def _classifiers(rows: pl.DataFrame) -> Iterator[str]:
    whole = rows.filter(pl.col("fold") == -1).drop_nulls("auc")
    if whole.height:
        yield (
            f"Of texts that they have not seen, {plural(whole.height, 'classifier')} {verb(whole.height, 'tell')} "
            f"positive from negative with an AUC of {number(_mean(whole['auc']), 3)}."
        )


def _mean(values: pl.Series) -> float:
    return float(str(values.mean()))


def _lexicon(rows: pl.DataFrame) -> Iterator[str]:
    """Distances to one posterior beside contrasts and what needs no draws: the mean over classifiers, exact draws."""
    for prior, measures in _measures(rows).items():
        if _WITHOUT_DRAWS in measures and _CONTRAST in measures:
            positive, contrast, plain = (
                number(measures[name]["pearson"], 2) for name in ("distance_positive", _CONTRAST, _WITHOUT_DRAWS)
            )
            yield (
                f"Under the prior {prior!r}, distance to p(s | +) correlates with being positive in the lexicon by "
                f"{positive}, the contrast of both posteriors by {contrast}, and the classifier's own score of the "
                f"word, which needs no draws, by {plain}."
            )


def _measures(rows: pl.DataFrame) -> dict[str, dict[str, dict[str, float]]]:
    chosen = rows.filter((pl.col("seed") == -1) & (pl.col("sampler") == "exact")).drop_nulls("pearson")
    measures: dict[str, dict[str, dict[str, float]]] = {}
    for row in chosen.to_dicts():
        measures.setdefault(row["prior"], {})[row["measure"]] = row
    return measures


def _nearest(rows: pl.DataFrame) -> Iterator[str]:
    exact = rows.filter(sampler="exact", status="ok").sort("contrast", "word", descending=[True, False])
    for (prior,), part in exact.group_by("prior", maintain_order=True):
        words = part["word"].to_list()
        near, far = (listed(end) for end in (words[:_NUM_WORDS], words[: -_NUM_WORDS - 1 : -1]))
        yield f"Under {prior!r}, nearest to positive rather than negative: {near}; to negative: {far}."


def _groups(rows: pl.DataFrame) -> Iterator[str]:
    """A sentence for each comparison, over all priors."""
    shown = rows.filter(sampler="exact", measure=_CONTRAST, status="ok").drop_nulls("p_holm")
    for (comparison,), part in shown.group_by("comparison", maintain_order=True):
        verdicts = [_verdict(row) for row in part.to_dicts() if LEAN.side(row) in _SIDES]
        yield f"{comparison}, with words as units: {'; '.join(verdicts) or _neither(part)}."


def _neither(part: pl.DataFrame) -> str:
    row = part.sort("p_holm", "p").row(0, named=True)
    least = min(1.0, row["num_tests"] * least_p(row["num_first"], row["num_second"]))
    tests = plural(row["num_tests"], "test")
    if least > ALPHA:
        words = f"{row['num_first']} and {row['num_second']} words"
        return f"{words} could not have shown a side: after Holm over {tests} no p could be below {p_value(least)}"
    return (
        "neither side is surely nearer to positive under any prior, smallest "
        f"{p_equals(row['p_holm'])} after Holm over {tests}, where {p_value(least)} was possible"
    )


def _verdict(row: Mapping[str, Any]) -> str:
    difference = f"contrast of {row['first']} less {row['second']} {estimate(row, 'difference', 4)}"
    side = row[_SIDES[LEAN.side(row)]]
    corrected = f"{p_equals(row['p_holm'])} after Holm over {plural(row['num_tests'], 'test')}"
    return f"under {row['prior']!r}, {side} words are nearer to positive ({difference}, {corrected})"


def doubts(frames: Frames, *, made_up: bool) -> Iterator[str]:
    """What a reader has to know of how far the findings hold."""
    if made_up:
        yield "The reviews are made up, of words whose log odds are known; nothing here is about language."
    yield (
        "Groups are tested with words as units, forms of one lemma as one, corrected for all comparisons and priors. "
        "Draws are no sample of names: with ten thousand of them every difference is significant, whatever it means."
    )
    if "words" in frames:
        yield from _left_out(frames["words"])
    if "chains" in frames:
        yield from _support(frames["chains"])
        yield from _missing(frames["chains"])
    if "diagnostics" in frames:
        yield _convergence(frames["diagnostics"])


def _support(rows: pl.DataFrame) -> Iterator[str]:
    shares = rows.filter(sampler="exact").drop_nulls("off_support").group_by("prior", maintain_order=True)
    for (prior,), part in shares.agg(pl.col("off_support").mean()).group_by("prior", maintain_order=True):
        share = _mean(part["off_support"])
        if share > 0.5:
            yield (
                f"{percent(share, 0)} of the draws under {prior!r} are farther from the texts than 99.9% of these are: "
                "the posterior is of inputs that the classifier was never shown."
            )


def _missing(rows: pl.DataFrame) -> Iterator[str]:
    if reasons := rows.filter(pl.col("status") != "ok")["reason"].unique(maintain_order=True).to_list():
        yield f"Not drawn: {some(reasons)}."


def _convergence(rows: pl.DataFrame) -> str:
    chains = rows.filter(pl.col("sampler") != "exact")
    keys = ["seed", "prior", "label", "sampler"]
    sets = chains.unique(keys, maintain_order=True)
    wrong = sets.filter(pl.col("status") != "ok")
    if sets.is_empty():
        return "All draws are independent; there are no chains that would have to converge."
    if wrong.is_empty():
        return f"All {plural(sets.height, 'set')} of chains passed the diagnostics{_beside_exact(chains)}."
    names = [f"{row['sampler']}, {row['prior']}, {row['label']} ({row['reason']})" for row in wrong.to_dicts()]
    verdict = f"{verb(wrong.height, 'have')} not converged"
    return f"{wrong.height} of {plural(sets.height, 'set')} of chains {verdict}: {some(names)}."


def _beside_exact(chains: pl.DataFrame) -> str:
    differences = chains["z_exact"].drop_nulls().abs()
    if differences.is_empty():
        return ", and there are no exact draws beside them"
    return (
        f", and no mean of {differences.len():,} differs from that of exact draws by more than "
        f"{number(float(str(differences.max())), 1)} standard errors"
    )


def _left_out(rows: pl.DataFrame) -> Iterator[str]:
    """Words of the lexicon that nothing is concluded of; each prior and sampler has the same ones."""
    words = rows.unique("word").filter((pl.col("status") == "both_sides") | pl.col("polarity").is_not_null())
    both, unknown = (words.filter(status=status).height for status in ("both_sides", "no_vector"))
    if both or unknown:
        yield (
            f"Of {plural(words.height, 'word')} of the lexicon, {both} on both of its sides and {unknown} without a "
            "vector are left out."
        )
