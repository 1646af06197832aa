"""What agreements mean, learnt without labels, by Splink's estimation.

Fellegi and Sunter's model (:mod:`.records.linkage`) is one of two classes of pairs. How fields agree in pairs of two
entities, u, is seen in random pairs, which are hardly ever matches. The share of matches among all pairs, lambda, is
that of pairs which agree by strict rules, over the share of matches that do. How fields agree in matches, m, is found
by expectation maximisation (Dempster, Laird and Rubin 1977) among the pairs of a blocking rule, a session; the fields
that the rule is about are estimated in others. Of several sessions the median counts.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.resolution.records import comparison as compared
from tiltmeter.operators.resolution.records.columns import DETERMINISTIC, ORIGIN, SESSIONS, rule_name, rules_of
from tiltmeter.operators.resolution.records.linkage import shares_of
from tiltmeter.operators.resolution.records.scorer import Rule, Scorer, Unlabelled

_FIRST_M = 0.95
"""P(equal | match) with which a session begins, of the fields that its rule is about."""

_NONE = 1e-12
"""For a share of 0, of which there is no logarithm."""

_LEAST_WEIGHT = -0.1
"""Bits of equal values: with less, matches are not what was found; a field with one value for all has 0 or so."""

_FITS = {"session": pl.String, "field": pl.String, "other": pl.String, "num_pairs": pl.Int64} | dict.fromkeys(
    ("bits", "observed", "fitted"), pl.Float64
)


class Learnt(NamedTuple):
    """What a scorer learnt without labels.

    Attributes:
        agreements: as of :func:`train_scorer`, without counts of labelled pairs.
        sessions: ``session, field, degree, m, num_pairs, match_share``: what each session found.
        fits: ``session, field, other, num_pairs, bits, observed, fitted``: of two fields in the pairs of a session,
            the divergence of what the model expects from how they agree together, G^2 / (2 n ln 2), and both shares
            of the pairs in which both agree to the highest degree.
    """

    agreements: pl.DataFrame
    sessions: pl.DataFrame
    fits: pl.DataFrame


class _Session(NamedTuple):
    """Of a session: its name, how many pairs have each pattern, the degrees of these, the share of matches among the
    pairs, and m from degree 0 up, NaN for one that no pair has; both by the name of the field."""

    name: str
    counts: IntArray
    degrees: Mapping[str, IntArray]
    share: float
    m: Mapping[str, FloatArray]


def learn_unlabelled(prepared: pl.DataFrame, config: Scorer, seed: int) -> Learnt:
    """Estimate lambda, u and m from the records alone.

    As random pairs hold the share lambda of matches, u is what these leave: (u - lambda m) / (1 - lambda), with half a
    pair added for each degree (:func:`.linkage.shares_of`). To the matches that the largest session expects, one is
    added that agrees as others do, so that m leans to u where little is known; what no session has seen says nothing.

    Args:
        prepared: by :func:`.columns.prepare`.
        seed: of the random pairs.

    Raises:
        ValueError: if the strict rules have no pairs, or more than their recall allows; if a session has no pairs; if
            equal values of a field speak against a match.
    """
    settings = config.unlabelled
    if settings is None:
        raise ValueError("there is nothing to learn from; set records.unlabelled")
    u, prior = _random_pairs(prepared, config, settings, seed)
    rules = zip(rules_of(prepared, SESSIONS), config.sessions, strict=True)
    sessions = [_session(prepared, keys, rule, config, u, prior) for keys, rule in rules]
    prior = prior if config.prior is None else config.prior
    num_random, rows = min(settings.max_pairs, _num_pairs(prepared)), []
    for name, field in config.fields.items():
        having = [session for session in sessions if name in session.m]
        by_session = np.array([session.m[name] for session in having])
        is_seen, median = ~np.isnan(by_session).all(axis=0), np.zeros(len(u[name]))
        median[is_seen] = np.nanmedian(by_session[:, is_seen], axis=0)
        distinct = np.maximum(u[name] - prior * median, 0.0) / (1.0 - prior)
        distinct = shares_of(distinct / distinct.sum() * num_random)
        num_matches = max(float(session.counts.sum()) * session.share for session in having)
        m = np.where(is_seen, median, distinct)
        m = (m / m.sum() * num_matches + distinct) / (num_matches + 1.0)
        weights = np.log2(m / distinct)
        if weights[-1] < _LEAST_WEIGHT:
            raise ValueError(
                f"field {name!r}: equal values speak against a match, m {m[-1]:.3g} being less than u "
                f"{distinct[-1]:.3g}: something else than matches was found; set other records.unlabelled.sessions, or "
                "leave the field out"
            )
        words = compared.degree_names(field)
        columns = {"field": [name] * len(words), "degree": range(len(words)), "agreement": words, "m": m, "u": distinct}
        rows.append(pl.DataFrame(columns | {"match_weight": weights}))
    nothing = pl.lit(None, pl.Int64)
    agreements = pl.concat(rows).with_columns(prior=pl.lit(prior), num_matches=nothing, num_distinct=nothing)
    by_degree = [
        {"session": one.name, "field": name, "degree": degree, "m": share}
        | {"num_pairs": int(one.counts.sum()), "match_share": one.share}
        for one in sessions
        for name, m in one.m.items()
        for degree, share in enumerate(m.tolist())
    ]
    fits = [row for one in sessions for row in _fits(one, u)]
    return Learnt(
        agreements, pl.DataFrame(by_degree).with_columns(pl.col("m").fill_nan(None)), pl.DataFrame(fits, _FITS)
    )


def _num_pairs(prepared: pl.DataFrame) -> int:
    num = prepared.height
    if ORIGIN not in prepared.columns:
        return num * (num - 1) // 2
    first = int((prepared[ORIGIN] == prepared[ORIGIN][0]).sum())
    return first * (num - first)


def _random_pairs(
    prepared: pl.DataFrame, config: Scorer, settings: Unlabelled, seed: int
) -> tuple[dict[str, FloatArray], float]:
    """Of each field u from degree 0 up, and lambda."""
    from splink import block_on

    comparisons = compared.comparisons_of([*config.fields.values()])
    for comparison in comparisons:
        # What no pair has keeps the value that it began with.
        comparison.configure(u_probabilities=[_NONE] * comparison.num_non_null_levels)
    made = compared.linker_of(compared.database_of(), prepared, comparisons)
    rules: list[Any] = [block_on(*keys) for keys in rules_of(prepared, DETERMINISTIC)]
    try:
        made.training.estimate_probability_two_random_records_match(rules, settings.recall)
    except ValueError as error:
        raise ValueError(
            f"more pairs agree by the strict rules than a recall of {settings.recall:g} allows, if each is a match; "
            "set stricter records.unlabelled.rules, or a higher records.unlabelled.recall"
        ) from error
    drawn = int(keyed_generator(seed, Stream.RANDOM_PAIRS, 0, 0, 0).integers(2**31))
    made.training.estimate_u_using_random_sampling(settings.max_pairs, seed=drawn, min_count_per_level=None)
    model = made.misc.save_model_to_json()
    prior = model["probability_two_random_records_match"]
    if not 0.0 < prior < 1.0:
        rules_said = ", ".join(map(rule_name, settings.rules))
        raise ValueError(
            f"the strict rules {rules_said!r} say that {prior:.0%} of all pairs are matches; set others in "
            "records.unlabelled.rules"
        )
    return dict(zip(config.fields, _shares(model, "u"), strict=True)), prior


def _shares(model: Mapping[str, Any], kind: str) -> list[FloatArray]:
    """m or u of each comparison, from degree 0 up."""
    levels = [[one for one in by["comparison_levels"] if not one.get("is_null_level")] for by in model["comparisons"]]
    return [np.array([one.get(f"{kind}_probability") or 0.0 for one in reversed(some)]) for some in levels]


def _session(
    prepared: pl.DataFrame, keys: Sequence[str], rule: Rule, config: Scorer, u: Mapping[str, FloatArray], prior: float
) -> _Session:
    """EM among the pairs of a rule, with u as it is."""
    from splink import block_on

    left, names = config.compared_beside(rule), list(config.fields)
    every = dict(zip(names, compared.comparisons_of([*config.fields.values()]), strict=True))
    for name in left:
        every[name].configure(u_probabilities=[max(share, _NONE) for share in u[name][::-1]])
    # Pairs that agree in what the rule is about are matches more often than random ones.
    equal = [_FIRST_M / max(u[name][-1], _NONE) for name, length in rule.items() if name in u and length is None]
    odds = prior / (1.0 - prior) * float(np.prod(equal))
    comparisons = [every[name] for name in left]
    first = odds / (1.0 + odds)
    made = compared.linker_of(compared.database_of(), prepared, comparisons, first, rules=[keys], with_degrees=True)
    columns = {f"{compared.DEGREES}f{names.index(name)}": name for name in left}
    pairs, by = made.inference.predict(warning_mode="never").as_duckdbpyrelation(), ", ".join(columns)
    patterns = pairs.aggregate(f"{by}, count(*)::bigint as num", by).pl().sort([*columns])
    if patterns.is_empty():
        raise ValueError(f"session {rule_name(rule)!r} has no pairs; set other records.unlabelled.sessions")
    trained = made.training.estimate_parameters_using_expectation_maximisation(
        block_on(*keys), estimate_without_term_frequencies=True
    )
    m = dict(zip(left, _shares(made.misc.save_model_to_json(), "m"), strict=True))
    degrees = {name: patterns[column].to_numpy() for column, name in columns.items()}
    for name, shares in m.items():
        shares[np.isin(np.arange(len(shares)), degrees[name], invert=True)] = np.nan
    share = trained.core_model_settings.probability_two_random_records_match
    return _Session(rule_name(rule), patterns["num"].to_numpy(), degrees, share, m)


def _fits(one: _Session, u: Mapping[str, FloatArray]) -> list[dict[str, Any]]:
    """Of each two fields of a session, how far the model is from what is seen."""
    rows, m = [], {name: np.nan_to_num(shares) for name, shares in one.m.items()}
    for name, other in combinations(m, 2):
        known, ends = (one.degrees[name] >= 0) & (one.degrees[other] >= 0), (one.degrees[name], one.degrees[other])
        observed = np.zeros((len(m[name]), len(m[other])))
        np.add.at(observed, tuple(end[known] for end in ends), one.counts[known])
        if num := observed.sum():
            fitted = one.share * np.outer(m[name], m[other]) + (1.0 - one.share) * np.outer(u[name], u[other])
            observed, seen = observed / num, observed > 0.0
            bits = float((observed[seen] * np.log2(observed[seen] / np.maximum(fitted[seen], _NONE))).sum())
            about = {"session": one.name, "field": name, "other": other, "num_pairs": int(num), "bits": bits}
            rows.append(about | {"observed": float(observed[-1, -1]), "fitted": float(fitted[-1, -1])})
    return rows
