"""What agreements mean, learnt without labels, by Splink's estimation.

Fellegi and Sunter's model (:mod:`.records.linkage`) is one of two classes of pairs. How fields agree in pairs of two
entities, u, is seen in random pairs, which are hardly ever matches. The share of matches among all pairs, lambda, is
that of pairs which agree by strict rules, over the share of matches that do. How fields agree in matches, m, is found
by expectation maximisation (Dempster, Laird and Rubin 1977) among the pairs of a blocking rule, a session; the fields
that the rule is about are estimated in others. Of several sessions the median counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.resolution.records.columns import DETERMINISTIC, ORIGIN, SESSIONS, rules_of
from tiltmeter.operators.resolution.records.comparison import DEGREES, comparisons_of, database_of, degree_names
from tiltmeter.operators.resolution.records.comparison import linker_of as linker
from tiltmeter.operators.resolution.records.linkage import shares_of
from tiltmeter.operators.resolution.records.scorer import Scorer, Unlabelled

if TYPE_CHECKING:
    from splink import Linker
    from splink.internals.blocking_rule_creator import BlockingRuleCreator

_FIRST_M = 0.95
"""P(equal | match) with which a session begins, of the fields that its rule is about."""

_LEAST_WEIGHT = -0.1
"""Bits of equal values: with less, matches are not what was found; a field with one value for all has 0 or so."""


class Learnt(NamedTuple):
    """What a scorer learnt without labels.

    Attributes:
        agreements: as of :func:`train_scorer`, without counts of labelled pairs.
        sessions: ``session, field, degree, m, num_pairs, match_share``: what each session found.
        fits: ``session, field, other, num_pairs, bits, observed, fitted``: of two fields in the pairs of a session,
            the divergence of what the model expects from how they agree together, in bits for each pair, and both
            shares of the pairs in which both agree to the highest degree.
    """

    agreements: pl.DataFrame
    sessions: pl.DataFrame
    fits: pl.DataFrame


@dataclass(frozen=True)
class _Session:
    """Of a session: the pairs, the share of matches among them, and m by the name of the field, from degree 0 up."""

    name: str
    num_pairs: int
    share: float
    m: Mapping[str, FloatArray]
    patterns: pl.DataFrame


def learn_unlabelled(prepared: pl.DataFrame, config: Scorer, seed: int) -> Learnt:
    """Estimate lambda, u and m from the records alone.

    A half is added to each of the pairs that an estimate rests on, as for labels (:func:`.linkage.shares_of`): to the
    random pairs for u, to the matches that the largest session expects for m. As random pairs hold the share lambda of
    matches, u is what they leave: (u - lambda m) / (1 - lambda).

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
    num_random = min(settings.max_pairs, _num_pairs(prepared))
    rows = []
    for number, (name, field) in enumerate(config.fields.items()):
        having = [session for session in sessions if name in session.m]
        m = np.median([session.m[name] for session in having], axis=0)
        distinct = np.maximum(u[number] - prior * m, 0.0) / (1.0 - prior)
        num_matches = max(session.num_pairs * session.share for session in having)
        m, distinct = shares_of(m / m.sum() * num_matches), shares_of(distinct / distinct.sum() * num_random)
        weights = np.log2(m / distinct)
        if weights[-1] < _LEAST_WEIGHT:
            raise ValueError(
                f"field {name!r}: equal values speak against a match, m {m[-1]:.3g} being less than u "
                f"{distinct[-1]:.3g}: something else than matches was found; set other records.unlabelled.sessions, or "
                "leave the field out"
            )
        words = degree_names(field)
        columns = {"field": [name] * len(words), "degree": range(len(words)), "agreement": words, "m": m, "u": distinct}
        rows.append(pl.DataFrame(columns | {"match_weight": weights}))
    nothing = pl.lit(None, pl.Int64)
    agreements = pl.concat(rows).with_columns(prior=pl.lit(prior), num_matches=nothing, num_distinct=nothing)
    return Learnt(agreements, _session_rows(sessions), _fits(sessions, config, u))


def _num_pairs(prepared: pl.DataFrame) -> int:
    num = prepared.height
    if ORIGIN not in prepared.columns:
        return num * (num - 1) // 2
    first = int((prepared[ORIGIN] == prepared[ORIGIN][0]).sum())
    return first * (num - first)


def _random_pairs(
    prepared: pl.DataFrame, config: Scorer, settings: Unlabelled, seed: int
) -> tuple[list[FloatArray], float]:
    """Of each field u from degree 0 up, and lambda."""
    from splink import block_on

    made = linker(database_of(), prepared, comparisons_of([*config.fields.values()]))
    rules: list[str | BlockingRuleCreator] = [block_on(*keys) for keys in rules_of(prepared, DETERMINISTIC)]
    try:
        made.training.estimate_probability_two_random_records_match(rules, settings.recall)
    except ValueError as error:
        raise ValueError(
            f"more pairs agree by the strict rules than a recall of {settings.recall:g} allows, if each is a match; "
            "set stricter records.unlabelled.rules, or a higher records.unlabelled.recall"
        ) from error
    # The number itself, as others than Splink may draw from the same one.
    drawn = int(keyed_generator(seed, Stream.RANDOM_PAIRS, 0, 0, 0).integers(2**31))
    made.training.estimate_u_using_random_sampling(settings.max_pairs, seed=drawn, min_count_per_level=None)
    model = _model(made)
    prior = model["probability_two_random_records_match"]
    if not 0.0 < prior < 1.0:
        raise ValueError(
            f"the strict rules {[dict(rule) for rule in settings.rules]} say that {prior:.0%} of all pairs are "
            "matches; set others in records.unlabelled.rules"
        )
    return [_shares(comparison, "u") for comparison in model["comparisons"]], prior


def _model(made: "Linker") -> dict[str, Any]:
    model: dict[str, Any] = made.misc.save_model_to_json()
    return model


def _shares(comparison: Mapping[str, Any], kind: str) -> FloatArray:
    """m or u from degree 0 up; 0 for what was never seen."""
    levels = [level for level in comparison["comparison_levels"] if not level.get("is_null_level")]
    return np.array([level.get(f"{kind}_probability") or 0.0 for level in reversed(levels)], dtype=np.float64)


def _session(
    prepared: pl.DataFrame,
    keys: Sequence[str],
    rule: Mapping[str, int | None],
    config: Scorer,
    u: Sequence[FloatArray],
    prior: float,
) -> _Session:
    """EM among the pairs of a rule, with u as it is."""
    from splink import block_on

    left, names = config.compared_beside(rule), list(config.fields)
    numbers = [names.index(name) for name in left]
    every = comparisons_of([*config.fields.values()])
    for number in numbers:
        every[number].configure(u_probabilities=[max(share, 1e-12) for share in u[number][::-1]])
    # Pairs that agree in what the rule is about are matches more often than random ones.
    odds = prior / (1.0 - prior)
    for name, length in rule.items():
        if name in names and length is None:
            odds *= _FIRST_M / max(u[names.index(name)][-1], 1e-12)
    database = database_of()
    comparisons = [every[number] for number in numbers]
    made = linker(database, prepared, comparisons, odds / (1.0 + odds), rules=[keys], with_degrees=True)
    columns = [f"{DEGREES}f{number}" for number in numbers]
    pairs = made.inference.predict(warning_mode="never").as_duckdbpyrelation()
    counts = f"{', '.join(columns)}, count(*)::bigint as num"
    patterns = pairs.aggregate(counts, ", ".join(columns)).pl()
    patterns = patterns.rename(dict(zip(columns, left, strict=True))).sort(left)
    if patterns.is_empty():
        raise ValueError(f"session {dict(rule)} has no pairs; set other records.unlabelled.sessions")
    trained = made.training.estimate_parameters_using_expectation_maximisation(
        block_on(*keys), estimate_without_term_frequencies=True
    )
    share = trained.core_model_settings.probability_two_random_records_match
    m = {name: _shares(one, "m") for name, one in zip(left, _model(made)["comparisons"], strict=True)}
    return _Session(_rule_name(rule), int(patterns["num"].sum()), share, m, patterns)


def _rule_name(rule: Mapping[str, int | None]) -> str:
    return ", ".join(name if length is None else f"{name} ({length})" for name, length in rule.items())


def _session_rows(sessions: Sequence[_Session]) -> pl.DataFrame:
    rows = [
        {"session": one.name, "field": name, "degree": degree, "m": share}
        | {"num_pairs": one.num_pairs, "match_share": one.share}
        for one in sessions
        for name, m in one.m.items()
        for degree, share in enumerate(m.tolist())
    ]
    return pl.DataFrame(rows)


def _fits(sessions: Sequence[_Session], config: Scorer, u: Sequence[FloatArray]) -> pl.DataFrame:
    """Of each session and two of its fields, how far the model is from what is seen."""
    by_name, rows = dict(zip(config.fields, u, strict=True)), []
    for one in sessions:
        for name, other in combinations(one.m, 2):
            observed = np.zeros((len(one.m[name]), len(one.m[other])))
            seen = one.patterns.filter((pl.col(name) >= 0) & (pl.col(other) >= 0))
            np.add.at(observed, (seen[name].to_numpy(), seen[other].to_numpy()), seen["num"].to_numpy())
            if num := observed.sum():
                matches, others = (np.outer(by[name], by[other]) for by in (one.m, by_name))
                fitted = one.share * matches + (1.0 - one.share) * others
                bits = _divergence(observed / num, fitted)
                row = {"session": one.name, "field": name, "other": other, "num_pairs": int(num), "bits": bits}
                rows.append(row | {"observed": observed[-1, -1] / num, "fitted": fitted[-1, -1]})
    kinds = {"session": pl.String, "field": pl.String, "other": pl.String, "num_pairs": pl.Int64}
    return pl.DataFrame(rows, {**kinds, **dict.fromkeys(("bits", "observed", "fitted"), pl.Float64)})


def _divergence(observed: NDArray[np.float64], fitted: NDArray[np.float64]) -> float:
    """Of Kullback and Leibler, in bits: G^2 / (2 n ln 2)."""
    seen = observed > 0.0
    return float((observed[seen] * np.log2(observed[seen] / np.maximum(fitted[seen], 1e-12))).sum())
