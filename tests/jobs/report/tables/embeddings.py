"""Small public tables made by hand."""

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.jobs.measures import tables

TAGGED = "<b>&"
PAIRS = (("woman", "man"), ("she", "he"))
SHARES = {"guard": 20.0, "cook": 40.0, "editor": 50.0, "nurse": 90.0, TAGGED: 60.0}
ENGLISH = {"model": "enwiki", "language": "en"}
SETS = {"target_x": "insects", "target_y": "flowers", "attribute_a": "unpleasant", "attribute_b": TAGGED}


def interval(name, value, half_width=0.05):
    return {name: value, f"{name}_low": value - half_width, f"{name}_high": value + half_width}


def status(*, ok):
    return {"status": "ok", "reason": ""} if ok else {"status": "missing_words", "reason": "not in the vocabulary: 'x'"}


def psychometrics(*, ok=True, words=SHARES, pairs=PAIRS, is_gender=True, of=ENGLISH):
    """PSE 0.3, 0.4, ... in the order of the words, 0.02 more with the next pair; flips 0.15 around it."""
    rows = []
    for shift, (cue_1, cue_2) in enumerate(pairs):
        for at, (word, share) in enumerate(words.items()):
            row = of | {"word": word, "cue_1": cue_1, "cue_2": cue_2, "is_gender": is_gender, "percent_women": share}
            names = {"pse": 0.3 + 0.1 * at + 0.02 * shift, "jnd": 0.2}
            numbers = [interval(f"{name}{end}", value) for name, value in names.items() for end in ("", "_fit")]
            numbers.append(interval("flip", names["pse"], 0.15))
            measured = {key: value for part in numbers for key, value in part.items() if key != "flip"} if ok else {}
            rows.append(row | measured | {"num_replicas": 32 if ok else 0} | status(ok=ok))
    return pl.DataFrame(pa.Table.from_pylist(rows, tables.PSYCHOMETRICS))


def points(rows):
    alphas = np.linspace(0.0, 1.0, 101)
    keys = ("model", "language", "word", "cue_1", "cue_2")
    steps = [
        {key: row[key] for key in keys} | {"alpha": alpha, "share": share}
        for row in rows.to_dicts()
        if row["pse"] is not None
        for alpha, share in zip(alphas, (alphas > row["pse"]).astype(float), strict=True)
    ]
    return pl.DataFrame(pa.Table.from_pylist(steps, tables.PSYCHOMETRIC_POINTS))


def pooled(*, ok=True, words=SHARES, of=ENGLISH):
    """PSE 0.31, 0.41, ... in the order of the words, 0.05 around it."""
    deviations = {"jnd": 0.2, "sd_pairs": 0.06, "sd_replicas": 0.03, "sd_rest": 0.01}
    rows = [
        of
        | {"word": word, "percent_women": share, "num_pairs": 2, "num_replicas": 32}
        | (interval("pse", 0.31 + 0.1 * at) | deviations if ok else {})
        | status(ok=ok)
        for at, (word, share) in enumerate(words.items())
    ]
    return pl.DataFrame(pa.Table.from_pylist(rows, tables.POOLED_PSYCHOMETRICS))


def correlation(measure, against, pearson, spearman=None, *, cues=(None, None), of=ENGLISH, **more):
    """A row of ``validation``; the intervals are 0.1 around both correlations."""
    row = of | {"measure": measure, "against": against, "cue_1": cues[0], "cue_2": cues[1], "num_occupations": 5}
    numbers = interval("pearson", pearson, 0.1) | interval("spearman", pearson if spearman is None else spearman, 0.1)
    return row | numbers | {"pearson_p": 0.0494, "spearman_p": 0.00012} | status(ok=True) | more


def validation(*rows):
    return pl.DataFrame(pa.Table.from_pylist(list(rows), tables.VALIDATION))


def held_against(of=ENGLISH):
    """What the psychophysics of one model gives."""
    pairs = [
        row
        for pair in PAIRS
        for row in (
            correlation("pse", "share_men", -0.5, cues=pair, of=of),
            correlation("jnd", "dispersion", 0.25, cues=pair, of=of, pearson_low=None, spearman_low=None),
        )
    ]
    return [
        *pairs,
        correlation("pse", "share_men", -0.6, of=of),
        correlation("wefat", "share_men", -0.4, of=of, similarity="cosine"),
        correlation("pse", "wefat", 0.9, 0.8, of=of, similarity="cosine"),
        correlation("wefat", "share_women", 0.4, of=of, similarity="cosine"),
    ]


def association(name, effect, *, ok=True, half_width=0.5, of=ENGLISH, **more):
    """A row of ``associations``; without an interval where ``half_width`` is None."""
    row = of | {"test": name, "similarity": "cosine", "statistic": "mean", "ddof": 1} | SETS
    counts = {"num_targets": 8, "num_attributes": 16, "missing_words": ["gnat"], "num_replicas": 32}
    numbers = interval("effect_size", effect, half_width) if half_width else {"effect_size": effect}
    found = numbers | {"absolute_effect_size": abs(effect), "p_value": 0.004, "p_method": "exact"}
    return row | counts | (found if ok else {}) | status(ok=ok) | more


def associations(*rows):
    return pl.DataFrame(pa.Table.from_pylist(list(rows), tables.ASSOCIATIONS))


def summary(*rows, of=ENGLISH):
    usual = of | {"similarity": "cosine", "statistic": "mean", "ddof": 1, "significance": 0.05}
    numbers = {"num_tests": 2, "num_significant": 1, "mean_effect_size": -0.25, "sd_effect_size": 0.5}
    sizes = {"mean_absolute_effect_size": 0.75, "sd_absolute_effect_size": 0.125}
    return pl.DataFrame(
        pa.Table.from_pylist([usual | numbers | sizes | row for row in rows], tables.ASSOCIATION_SUMMARY)
    )


def word_associations(*, ok=True, words=SHARES, of=ENGLISH):
    """Effect sizes -1, -0.5, ... in the order of the words."""
    same = of | {"test": "jobs", "attribute_a": "female terms", "attribute_b": "male terms", "similarity": "cosine"}
    rows = [
        same
        | {"word": word, "ddof": 1, "percent_women": share, "num_attributes": 16, "num_replicas": 32}
        | (interval("effect_size", 0.5 * at - 1.0, 0.2) if ok else {})
        | status(ok=ok)
        for at, (word, share) in enumerate(words.items())
    ]
    return pl.DataFrame(pa.Table.from_pylist(rows, tables.WORD_ASSOCIATIONS))


def survey(*, ok=True, of=ENGLISH):
    """All tables of the psychophysics and the association tests of a model."""
    gender = psychometrics(ok=ok, of=of)
    return {
        "psychometrics": gender,
        "psychometric_points": points(gender),
        "pooled_psychometrics": pooled(ok=ok, of=of),
        "validation": validation(*(held_against(of) if ok else [])),
        "associations": associations(association("weat1", 1.0, ok=ok, of=of)),
        "occupation_contrast": associations(association("occupations", 0.7, of=of)),
        "association_summary": summary({}, of=of),
        "word_associations": word_associations(ok=ok, of=of),
    }


def together(*surveys):
    """The tables of a run on several models."""
    return {name: pl.concat([tables_of[name] for tables_of in surveys]) for name in surveys[0]}
