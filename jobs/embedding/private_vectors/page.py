"""The page of `private_vectors`: of a study, and of a release."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.embedding.private_vectors import tables
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.report.grids import Row, cell, number, optional
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.views import Draw, Frames, Show, section, shown
from tiltmeter.jobs.report.wording import DASH, listed, percent, plural
from tiltmeter.jobs.report.wording import number as written
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.table import Table
from tiltmeter.operators.embedding.private_release.mechanisms import DESIGNS

_ASKED = (
    "Noise is added to vectors so that they can be given away. How much do such vectors still say of the word or text "
    "that they are of, and what are they good for? A nominal epsilon is a bound per unit of distance, which means "
    "something else in every dimension; so each mechanism has its exact privacy beside it: the smallest epsilon at "
    "which a pair of vectors is (epsilon, delta)-private."
)
_ADJACENT = (
    "What is promised is that one vector is hard to tell from another one near it. Nothing is promised of the corpus "
    "that vectors were trained on, and the loss of a text is the sum over its words."
)
_STUDY = "STUDY: not private. All noise here is drawn from the public seed, and anybody can draw it again."
_OWNERS = (
    "What is given away is released, with the map where there is one. All else here is computed from the private "
    "vectors or words themselves, and is for you."
)
_WHERE = {
    "norm": "per unit of distance",
    "gaussian": "per unit of distance up to the largest that there may be, with a slack",
}
_WRITTEN = (
    "Every word of private texts gave way to a word of a public vocabulary, drawn by a mechanism that makes it hard to "
    "tell the word from others. How much can what is written still say of what was?"
)
_KEEP = (
    "What is given away is private_texts. All else here is computed from the private texts or the vocabulary, and is "
    "for you. How many words a text has, their order, and where words stand that the vocabulary lacks are not "
    "protected; an attacker who knows what words go together guesses better than any rate here says."
)
_ONE_SIDE = 0.025
"""Of intervals of 95 %, that lie above a truth which they should hold."""

_VERY_LITTLE = 1.0
"""Privacy loss above which a promise is hardly one."""


def page(run: Run[PrivateVectorsRun, Any], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    config, asked = run.config, [Paragraph(_ASKED)]
    if not config.release.key_file:
        facts = {"job": config.job.name, "mechanisms": str(len(config.mechanisms)), "seed": str(config.seed)}
        lead = Lead(asked, [Bullets(list(findings(frames)))], [Bullets([_STUDY, _ADJACENT, *_doubts(frames)])])
        return Body("Vectors that can be given away", facts, lead, list(shown(SECTIONS, frames)))
    title, facts = "A release of private vectors", {"job": config.job.name}
    if "text_releases" in frames:
        [row] = frames["text_releases"].to_dicts()
        warnings = [f"WARNING: {row['warning']}."] if row["warning"] else []
        lead = Lead([Paragraph(_WRITTEN)], [Bullets(list(_text_findings(row, frames)))], [Bullets([*warnings, _KEEP])])
        facts["release"] = row["release"]
        return Body("Private texts, written anew", facts, lead, list(shown(_TEXT_SECTIONS, frames)))
    if "releases" not in frames:
        return Body(title, facts, Lead(asked, []), [])
    [row] = frames["releases"].to_dicts()
    warnings = [f"WARNING: {row['warning']}."] if row["warning"] else []
    lead = Lead(asked, [Bullets(list(_release_findings(row)))], [Bullets([*warnings, _OWNERS, _ADJACENT])])
    return Body(title, facts | {"release": row["release"]}, lead, list(shown(_RELEASE_SECTIONS, frames)))


# --- what was found -------------------------------------------------------------------------------------------------


def findings(frames: Frames) -> Iterator[str]:
    """Of each table what it says in a sentence or two."""
    for table, sentences in _FINDINGS.items():
        if table.table_name in frames:
            yield from sentences(frames[table.table_name])


def _weak(profiles: pl.DataFrame) -> Iterator[str]:
    """Where a nominal epsilon is hardly a promise: exactly, at the median distance and in the typical case."""
    rows = profiles.filter(compared_at="nominal", distance_kind="median", stretch="typical")
    for (epsilon,), part in rows.group_by("epsilon", maintain_order=True):
        low, high = (float(str(end)) for end in (part["exact_epsilon"].min(), part["exact_epsilon"].max()))
        verdict = " That is no privacy in the usual sense." if low > _VERY_LITTLE else ""
        yield (
            f"Epsilon {float(str(epsilon)):g} per unit of distance is, exactly, {written(low, 2)} to "
            f"{written(high, 2)} between two words at the median distance, by the mechanism.{verdict}"
        )


def _certified(sensitivity: pl.DataFrame) -> Iterator[str]:
    maps = {
        key: {row["sensitivity_kind"]: row for row in part.to_dicts()}
        for key, part in sensitivity.filter(projection="gaussian").group_by("dimensions", "beta", maintain_order=True)
    }
    for (dimensions, _), kinds in maps.items():
        published, exact, spectral = (kinds[kind] for kind in ("published", "exact_vocabulary", "spectral"))
        is_broken = exact["sensitivity"] > published["sensitivity"]
        verdict = " By this map M2 does not promise what is published." if is_broken else ""
        yield (
            f"The map to {plural(dimensions, 'dimension')} stretches no pair of words by more than "
            f"{written(exact['sensitivity'], 3)} (published: {written(published['sensitivity'], 2)}), and vectors that "
            f"are in no vocabulary by up to {written(spectral['sensitivity'], 2)}.{verdict}"
        )


def _convictions(audits: pl.DataFrame) -> Iterator[str]:
    wrong = audits.filter(pl.col("verdict") != "within")
    if wrong.is_empty():
        yield f"None of {plural(audits.height, 'audit')} found a mechanism less private than it claims."
        return
    names = [f"{row['mechanism']} ({row['pair']}, by {row['score']}: {row['verdict']})" for row in wrong.to_dicts()]
    verdict = f"{plural(wrong.height, 'audit')} of {audits.height} found a mechanism that is not as it claims"
    yield f"{verdict}: {listed(names)}."


def _constants(distances: pl.DataFrame) -> Iterator[str]:
    beaten = distances.filter(pl.col("error") > pl.col("constant_error"))
    if beaten.height:
        worst = (beaten["error"] / beaten["constant_error"]).max()
        yield (
            f"Of {plural(distances.height, 'read-out')} of distances and inner products, {beaten.height} are worse "
            f"than a constant that reads no vector, by up to {written(float(str(worst)), 0)} times: they measure noise."
        )


def _controls(utility: pl.DataFrame) -> Iterator[str]:
    known = utility.filter(status="ok", measure="accuracy")
    for (task,), part in known.group_by("task", maintain_order=True):
        rows = {row["mechanism"]: row for row in part.to_dicts() if row["noise_per"] == "none"}
        if {"non_private", "constant"} > rows.keys():
            continue
        private = part.filter(~pl.col("mechanism").str.starts_with("noise_only"), noise_per="occurrence")
        above = private.filter(pl.col("low") > rows["constant"]["value"])
        yield (
            f"{task}: {percent(rows['non_private']['value'])} without noise, {percent(rows['constant']['value'])} for "
            f"the most frequent class; of {private.height} mechanisms and epsilons the intervals of {above.height} lie "
            f"above it, as by chance alone those of {written(private.height * _ONE_SIDE, 1)} would."
        )


_FINDINGS: Mapping[type[Table], Callable[[pl.DataFrame], Iterator[str]]] = {
    tables.Profiles: _weak,
    tables.Sensitivity: _certified,
    tables.Audits: _convictions,
    tables.Distances: _constants,
    tables.Utility: _controls,
}


def _doubts(frames: Frames) -> Iterator[str]:
    """What a reader has to know of how far the findings hold."""
    if "audits" in frames:
        [level] = frames["audits"]["level"].unique().to_list()
        yield (
            f"All bounds of the audits hold together with a chance of {percent(1 - level, 0)}. In many dimensions no "
            "audit can reach the bound, which is no evidence that it is loose."
        )


def _release_findings(row: Row) -> Iterator[str]:
    """What was given away, and how private it is exactly, by an attacker too."""
    yield (
        f"{plural(row['num_rows'], 'vector')} in {plural(row['dimensions'], 'dimension')} by {row['mechanism']}, with "
        f"epsilon {row['epsilon']:g} {_WHERE[DESIGNS[row['mechanism']].law]}. {row['guarantee']}"
    )
    if row["exact_typical"] is not None:
        yield (
            f"Exactly, with a slack of {row['exact_delta']:g}, epsilon is {written(row['exact_typical'], 2)} between "
            f"two vectors at the median distance ({written(row['exact_worst'], 2)} where the map stretches most), and "
            f"{written(row['exact_nearest'], 2)} between a vector and its nearest other."
        )
    if row["named"] is not None:
        yield "".join(_named(row))
    slack = f", and a slack of {row['spent_delta']:g} of {row['max_delta']:g}" if row["spent_delta"] else ""
    yield (
        f"Of the account of {row['input']}, {row['spent']:g} of {row['max_epsilon']:g} is spent{slack}, by "
        f"{plural(row['num_releases'], 'release')}."
    )


def _text_findings(row: Row, frames: Frames) -> Iterator[str]:
    """What was written, how private it is exactly, and what it cost."""
    yield (
        f"{plural(row['num_texts'], 'text')} of {plural(row['num_words'], 'word')} by {row['mechanism']}, with epsilon "
        f"{row['epsilon']:g}. {row['guarantee']} {plural(row['num_unknown'], 'word')} without a vector became a symbol."
    )
    zipf = {one["prior"]: one for one in frames["word_privacy"].to_dicts()}["zipf"]
    if zipf["loss"] is not None:
        yield (
            f"The largest loss of a word is exactly {written(zipf['loss'], 2)}, where its bound is "
            f"{written(zipf['nominal'], 2)}; no pair loses more than {percent(zipf['ratio'])} of its own bound."
        )
    if zipf["named"] is not None:
        guess = (
            "The best guess names"
            if zipf["loss"] is not None
            else "Whoever sees the noisy vectors, and not their words alone, names at best"
        )
        yield (
            f"{guess} {_share(zipf, 'named')} of words that are as frequent as their place in the file of vectors "
            f"says, and {percent(zipf['prior_rate'])} without any text; {_share(zipf, 'kept')} of them stay."
        )
    if row["kept"] is not None:
        yield (
            f"{percent(row['kept'])} of the words stayed as they were; the similarity of texts before and after is "
            f"{written(row['similarity'], 2)}, and {written(row['similarity_other'], 2)} with another text."
        )
    yield (
        f"Of the account of {row['input']}, {row['spent']:g} of {row['max_epsilon']:g} is spent, by "
        f"{plural(row['num_releases'], 'release')}."
    )


def _share(row: Row, name: str) -> str:
    ends = f" [{percent(row[f'{name}_low'])}, {percent(row[f'{name}_high'])}]"
    return f"{percent(row[name])}{ends if row[f'{name}_low'] is not None else ''}"


def _named(row: Row) -> Iterator[str]:
    yield (
        f"An attacker who knows the vocabulary names {percent(row['named'])} of "
        f"{plural(row['num_named'], 'vector')} that were given away"
    )
    if row["attacker"] is not None:
        yield f", and {_share(row, 'attacker')} of all words"
    if row["cap_mean"] is not None:
        yield ". Whatever is published, nobody's belief in the right word, all being alike beforehand, rises above "
        yield f"{percent(row['cap_mean'])} in the mean of {plural(row['num_words'] or 0, 'word')}, nor above "
        yield f"{percent(row['cap_largest'])} for any of them"
    yield "."


# --- blocks ---------------------------------------------------------------------------------------------------------


def _last_nominal(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(compared_at="nominal").unique("mechanism", keep="last", maintain_order=True)


def _guarantees(rows: pl.DataFrame) -> Iterator[Block]:
    yield Bullets([f"{row['mechanism']}: {row['guarantee']}" for row in _last_nominal(rows).to_dicts()])


def _at_median(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter((pl.col("delta") == rows["delta"][0]) & (pl.col("distance_kind") == "median"))


def _exact_epsilons(rows: pl.DataFrame) -> Iterator[Block]:
    typical = _at_median(rows).filter(stretch="typical", compared_at="nominal")
    if typical["epsilon"].n_unique() > 1:
        titles = ("nominal epsilon", "exact epsilon")
        yield Chart(
            "Exact epsilon at the median distance against the nominal epsilon, by mechanism.",
            "The same nominal epsilon says something else in every dimension.",
            {"": curves(typical, "epsilon", "exact_epsilon", by="mechanism", titles=titles)},
        )


def _accuracies(rows: pl.DataFrame) -> Iterator[Block]:
    known = rows.filter(status="ok", measure="accuracy").with_columns(
        _subject().alias("row"), pl.col("low").alias("value_low"), pl.col("high").alias("value_high")
    )
    figures = {
        str(task): dots(part, "value", "row", title="accuracy")
        for (task,), part in known.group_by("task", maintain_order=True)
    }
    if figures:
        lines = "Lines: intervals over other test texts and other noise."
        yield Chart("Accuracy by mechanism and control.", lines, figures, "Task")


def _subject() -> pl.Expr:
    """What tells a row of a task from all others; noise alone has no epsilon, but dimensions."""
    size = pl.coalesce(pl.col("epsilon").round(2).cast(pl.String), pl.col("dimensions").cast(pl.String))
    noise = pl.when(pl.col("noise_per") == "word").then(pl.lit(" by word")).otherwise(pl.lit(""))
    with_noise = pl.concat_str([pl.lit(" "), pl.col("compared_at"), pl.lit(" "), size, noise])
    is_noisy = pl.col("noise_per") != "none"
    return pl.concat_str([pl.col("mechanism"), pl.when(is_noisy).then(with_noise).otherwise(pl.lit(""))])


def _value(row: Row) -> str:
    if row["status"] != "ok":
        return DASH
    ends = f" [{written(row['low'], 3)}, {written(row['high'], 3)}]" if row["low"] is not None else ""
    return f"{written(row['value'], 3)}{ends}"


_EPSILON = number("epsilon", digits=2)

SECTIONS = [
    section(
        "mechanisms",
        "Mechanisms",
        Show(
            tables.Mechanisms,
            "At the last nominal epsilon. Delta: the most that the map is taken to stretch a distance, and the chance "
            "that it does not hold.",
            "mechanism dimensions epsilon sensitivity delta deviation epsilon_x_nearest epsilon_x_median "
            "epsilon_x_diameter",
            _last_nominal,
        ),
        Draw(tables.Mechanisms, _guarantees),
    ),
    section(
        "profiles",
        "Exact privacy",
        Draw(tables.Profiles, _exact_epsilons),
        Show(
            tables.Profiles,
            "Exact epsilon at the first delta and the median distance.",
            "mechanism dimensions compared_at epsilon stretch bound exact_epsilon",
            _at_median,
            most=80,
        ),
    ),
    section(
        "sensitivity",
        "How far maps stretch distances",
        Show(
            tables.Sensitivity,
            "Largest stretch of a distance by each map, over the vocabulary or over all vectors.",
            [
                *("projection", "dimensions", "sensitivity_kind", "sensitivity", "delta", "typical_stretch"),
                cell("pair", lambda row: f"{row['first']}, {row['second']}" if row["first"] else DASH),
            ],
        ),
    ),
    section(
        "audits",
        "Audits",
        Show(
            tables.Audits,
            "Claimed bound, exact epsilon at the first delta, and lower bound by the draws.",
            "mechanism pair score claimed exact audited_low verdict",
            most=80,
        ),
    ),
    section(
        "distances",
        "Distances and inner products",
        Show(
            tables.Distances,
            "Mean absolute errors, what closed forms say, and the error of a constant.",
            [
                *("mechanism", "dimensions", number("epsilon", digits=1), number("beta", digits=1), "read_out"),
                *(number("error", digits=2), "closed_form", "constant_error"),
                optional(number("proposition", "all below, as printed", 0)),
                optional(number("quantile_bound", "all below", 0)),
            ],
        ),
    ),
    section(
        "utility",
        "Tasks and their controls",
        Draw(tables.Utility, _accuracies),
        Show(
            tables.Utility,
            "All measures.",
            [
                *("task", "mechanism", "dimensions", _EPSILON, "compared_at", "noise_per", "exact_epsilon", "measure"),
                cell("value", _value, is_numeric=True),
                optional("reason"),
            ],
            most=120,
        ),
    ),
    section(
        "deniability",
        "How often an attacker names the word",
        Show(
            tables.Deniability,
            "Share of perturbed vectors that the most likely guess names, with its interval for other words, the most "
            "that anybody can believe in the right word, and different words among the guesses.",
            [
                *("mechanism", "dimensions", "compared_at", _EPSILON),
                *("exact_epsilon", "attacker", "cap_mean", "distinct"),
            ],
        ),
    ),
]

_RELEASE_SECTIONS = [
    section(
        "release",
        "What was released",
        Show(
            tables.Releases,
            "The release.",
            [
                *("release", "input", "mechanism", "dimensions", "epsilon", "spent", "sensitivity", "delta", "scale"),
                cell("grid", lambda row: f"{row['step']:g}", is_numeric=True),
                "rounding_delta",
            ],
        ),
        Show(
            tables.Releases,
            "Exact epsilon of its own vectors, and what an attacker names.",
            [*("exact_nearest", "exact_typical", "exact_worst", "named"), number("attacker"), "cap_mean"],
        ),
    ),
    section(
        "audit",
        "Is it what it says?",
        Show(
            tables.ReleaseAudits,
            "What was written beside what it should be.",
            "check value expected num_compared p_value p_holm verdict",
        ),
    ),
]

_TEXT_SECTIONS = [
    section(
        "release",
        "What was released",
        Show(
            tables.TextReleases,
            "The release: words that stayed, and mean similarity of texts before and after, of the same text and of "
            "another.",
            "release mechanism epsilon gamma spent num_texts num_words num_unknown kept similarity similarity_other",
        ),
    ),
    section(
        "words",
        "How private a word is",
        Show(
            tables.WordPrivacy,
            "Losses over all pairs of the vocabulary where they are exact, and what the best guess names beside the "
            "guess without any text.",
            "prior num_words nominal loss ratio near_loss kept named prior_rate",
        ),
    ),
    section(
        "texts",
        "Texts",
        Show(
            tables.PrivateTexts,
            "The first texts as they are given away.",
            "row text num_words epsilon nominal_epsilon",
            most=20,
        ),
    ),
]
