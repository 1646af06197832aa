"""The page of `privacy_metrics`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from tiltmeter.jobs.classifiers.privacy import tables
from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.classifiers.privacy.tables import CORPORA, GENERAL, MEASURES, RESEEDED
from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.grids import Column, Row, cell, count, grid, optional
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Details, Grid, Paragraph, Section
from tiltmeter.jobs.report.intervals import on_resamples
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.plots.figure import Figure
from tiltmeter.jobs.report.plots.heat import heat
from tiltmeter.jobs.report.plots.style import lines, plain
from tiltmeter.jobs.report.sides import Lean, on_sides
from tiltmeter.jobs.report.views import Draw, Show, grid_column, section, shown
from tiltmeter.jobs.report.wording import estimate, listed, number, phrase, plural, quoted, significant
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.runtime.table import Table
from tiltmeter.operators.statistics.designs.groups import MIN_SIDE
from tiltmeter.operators.statistics.flips import MIN_UNITS
from tiltmeter.operators.statistics.intervals import HOLDS_ITS_ESTIMATE
from tiltmeter.operators.statistics.means import MIN_KISH
from tiltmeter.operators.statistics.multiplicity import least_possible
from tiltmeter.operators.statistics.sides import CONTRADICTORY
from tiltmeter.operators.text.listed_words import WordList
from tiltmeter.storage.files.redaction import redacted

_NUM_WORDS = 8
_FEW_GROUPS = 10
_LEAST_SHOWN = 1e-4
_MOST_ROWS = 20
_NUM_SENTENCES = 6
_SHORTEST, _LONGEST = 5, 16
_SEED = ", seed 0"
_PLACES = {"within": "Within the corpus", "across": "In the other corpus", "noisy": "With artificial words"}

_ASKED = [
    Paragraph(
        "Does a model that is trained to tell valence, from low to high, also know the speaker's gender, and does it "
        "go by the words by which people tell gender?"
    ),
    Paragraph(
        "UAR is the mean share of each class that is recognised; that of gender is of an attacker on the frozen "
        "representation, and chance is one over the number of genders. EP compares a model with General: it is above 0 "
        "where the model's explanations leave out words by which people tell gender, and below 0 where they take up "
        "others. EG is 1 less what falls on words that speak against the valence they have in a lexicon. The higher "
        "both are, the better a model is expected to do with other data."
    ),
]


def page(run: Run[PrivacyMetricsRun, Any], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    config, texts = run.config, frames["texts"]
    facts = {
        "job": config.job.name,
        "from": _file_name(config.data.path, ""),
        "across to": _file_name(config.across.path, "no other corpus"),
        "texts": f"{measured(texts).height:,} of {texts.height:,}",
        "models": f"{len(config.models.names)}, {config.models.num_seeds} of each",
        "encoder": config.models.checkpoint or "small encoder",
        "explained by": phrase(config.explanations.attribution.method),
        "lexicon": _file_name(config.lexicon.path, "none"),
        "seed": str(config.seed),
    }
    return Body("What models give away of who speaks", facts, findings(frames, config), list(_sections(frames, config)))


def _file_name(path: str | None, otherwise: str) -> str:
    return otherwise if path is None else redacted(path).rsplit("/", 1)[-1]


# --- what was found -------------------------------------------------------------------------------------------------


def findings(frames: Frames, config: PrivacyMetricsRun) -> Lead:
    """What was asked, what was found of the orders that the paper expects, and how sure it is."""
    if "models" not in frames:
        return Lead(_ASKED, [Paragraph("No model could be measured; the failures say why.", "warning")], [])
    bullets = [*_extremes(frames["models"]), *_orders(frames), *_chance(frames), *_stopped(frames), *_noise(frames)]
    return Lead(_ASKED, [Bullets(bullets)], [Bullets(list(_doubts(frames, config)))])


def _frame(frames: Frames, table: type[Table]) -> pl.DataFrame:
    """The rows of a table; none where it was not published."""
    name = table.table_name
    return frames[name] if name in frames else pl.DataFrame(table.schema().empty_table())


def _extremes(models: pl.DataFrame) -> Iterator[str]:
    means = models.filter(pl.col("seed").is_null(), pl.col("model") != RESEEDED)
    for corpus in means["corpus"].unique(maintain_order=True):
        part = means.filter(corpus=corpus)
        for measure in ("gender_uar", "ep"):
            known = part.drop_nulls(measure).sort(measure, "model")
            if known.height > 1:
                yield f"{_PLACES[corpus]}, {_lowest_and_highest(known, measure)}."


def _lowest_and_highest(means: pl.DataFrame, measure: str) -> str:
    """Which models have the lowest number and which the highest, of rows that are sorted by it."""
    ends = [means.filter(pl.col(measure) == means[measure][place]).to_dicts() for place in (0, -1)]
    if len(ends[0]) == means.height:
        return f"the {MEASURES[measure]} is the same for all models, {number(means[measure][0], 3)}"
    lowest, highest = (listed([f"{row['model']} ({estimate(row, measure)})" for row in rows]) for rows in ends)
    return f"the {MEASURES[measure]} is lowest for {lowest} and highest for {highest}"


def _orders(frames: Frames) -> Iterator[str]:
    """What the paper expects, and whether it was found: a sentence for each corpus and measure."""
    asked = _frame(frames, tables.Orderings).drop_nulls(["expected", "difference"])
    for (corpus, measure), rows in asked.partition_by("corpus", "measure", maintain_order=True, as_dict=True).items():
        orders = rows.partition_by("expected", "against", maintain_order=True)
        yield f"{_PLACES[str(corpus)]}, {MEASURES[str(measure)]} {'; '.join(map(_order, orders))}."


def _order(rows: pl.DataFrame) -> str:
    """One order, and of which models it was found, such as "higher than 0: found for A, not found for B and C"."""
    side, against, measure = (rows[name][0] for name in ("expected", "against", "measure"))
    other = "0" if (measure, against) == ("ep", GENERAL) else f"{against}'s"
    verdicts = rows.with_columns(verdict=pl.Series(map(verdict, rows.to_dicts())))
    models = {name: verdicts.filter(verdict=name)["model"].to_list() for name in VERDICTS}
    return f"{side} than {other}: {', '.join(f'{name} for {listed(names)}' for name, names in models.items() if names)}"


def _chance(frames: Frames) -> Iterator[str]:
    """What EP is where nothing was done to a model, and of which models it is more than that."""
    if "orderings" not in frames:
        return
    compared = frames["orderings"].filter(pl.col("measure") == "ep", pl.col("against") == RESEEDED)
    means = frames["models"].filter(pl.col("seed").is_null(), pl.col("ep").is_not_null(), model=RESEEDED)
    for row in means.to_dicts():
        rows = compared.filter(pl.col("difference_low").is_not_null(), corpus=row["corpus"])
        if rows.is_empty():
            higher = "who has a higher one can't be told of so few speakers or texts"
        else:
            above = on_sides(rows, Lean("difference")).above["model"].to_list()
            higher = f"the EP of {listed(above) if above else 'no model'} is higher than that"
        about = f"General trained with other random numbers has an EP of {estimate(row, 'ep')}"
        yield f"{_PLACES[row['corpus']]}, {about}; {higher}."


VERDICTS = ("found", "not found", "left open by contradictory numbers", "left open by too few speakers or texts")
"""On what is expected."""


def verdict(row: Row) -> str:
    """Whether what is expected was found: the difference and its whole interval lie on the expected side of 0.

    >>> row = {"expected": "lower", "difference": -0.2, "difference_low": -0.3, "difference_high": -0.1}
    >>> verdict(row), verdict(row | {"expected": "higher"}), verdict(row | {"difference": 0.1})
    ('found', 'not found', 'left open by contradictory numbers')
    >>> verdict(row | {"difference_low": None})
    'left open by too few speakers or texts'
    """
    confirmed, unconfirmed, contradicted, untold = VERDICTS
    if row["difference_low"] is None:
        return untold
    side = Lean("difference").side(row)
    if side in CONTRADICTORY:
        return contradicted
    return confirmed if side == {"lower": "below", "higher": "above"}[row["expected"]] else unconfirmed


def _stopped_words(words: pl.DataFrame) -> list[pl.DataFrame]:
    """Words that each model stopped using within the corpus, those first whose share fell most."""
    stopped = words.filter(pl.col("corpus") == "within", pl.col("stopped")).sort("change", "word")
    by_model = stopped.partition_by("model", maintain_order=True)
    return [rows.unique("word", keep="first", maintain_order=True) for rows in by_model]


def _stopped(frames: Frames) -> Iterator[str]:
    for rows in _stopped_words(_frame(frames, tables.EpWords)):
        rest = [f"{rows.height - _NUM_WORDS} more"] if rows.height > _NUM_WORDS else []
        yield f"{rows['model'][0]} stopped using {listed([*map(quoted, rows['word'][:_NUM_WORDS]), *rest])}."


def _noise(frames: Frames) -> Iterator[str]:
    """Whether explanations show what is known to be so."""
    verbs = {True: "highlight", False: "do not highlight", None: "can't be shown, by so few, to highlight"}
    for row in _learnt_noise(frames):
        yield (
            f"Explanations {verbs[row['highlighted']]} the artificial words that ArtNoise learnt: "
            f"{estimate(row, 'share')} of its attribution falls on them, where {number(row['even_share'], 3)} would if "
            "all words had as much."
        )


def _learnt_noise(frames: Frames) -> list[dict[str, Any]]:
    """What ArtNoise makes of all artificial words, mean over the seeds."""
    is_mean = pl.col("seed").is_null() & pl.col("word").is_null() & pl.col("share").is_not_null()
    return _frame(frames, tables.Noise).filter(is_mean, model="ArtNoise").to_dicts()


# --- how sure it is -------------------------------------------------------------------------------------------------


def _doubts(frames: Frames, config: PrivacyMetricsRun) -> Iterator[str]:
    texts, orderings = measured(frames["texts"]), _frame(frames, tables.Orderings)
    if config.data.group is None:
        yield "Nothing says who speaks: parts share no text, but may share a speaker."
    else:
        counts = {part: texts.filter(part=part)["group"].n_unique() for part in ("training", "development", "test")}
        yield f"The parts share no speaker: {', '.join(f'{num:,} in {part}' for part, num in counts.items())}."
        if counts["training"] < _FEW_GROUPS:
            yield (
                "With so few speakers to learn from, gender and speaker can hardly be told apart: an attacker who does "
                "not recognise strangers need not mean that nothing is given away."
            )
    yield from _units(texts)
    yield _intervals(frames["models"]["seed"].n_unique() - 1, config)
    yield from _could_show(orderings.drop_nulls("p"))
    yield (
        "Explanations are of the class that each model itself finds most probable, by its log odds, unless "
        "explanations.explained and explanations.attribution.output say otherwise: where two models find different "
        "classes, EP and EG compare what speaks for different things."
    )
    if any(row["highlighted"] is False for row in _learnt_noise(frames)):
        yield "Explanations that do not show the artificial words may not show what the other models go by, either."
    yield from _unadjusted(orderings.filter(pl.col("found")))
    if "PrivBias" in config.models.names and config.unbiased.path is None:
        yield (
            "No unbiased corpus was given: PrivBias was first trained with as many training texts of each gender in "
            "each class."
        )
    if config.lexicon.path is None:
        yield "No valence lexicon was given (lexicon.path), and so there is no EG."


def _units(texts: pl.DataFrame) -> Iterator[str]:
    """Who was drawn, of each corpus; too few are these people and no others."""
    for corpus, part in CORPORA.items():
        speakers = texts.filter(pl.col("part") == part).drop_nulls("group").group_by("gender")
        groups = speakers.agg(pl.col("group").n_unique()).sort("gender").rows()
        if not groups:
            continue
        who, total = listed([f"{num:,} {gender}" for gender, num in groups]), sum(num for _, num in groups)
        rest = (
            f": numbers are of these {total:,} people, and say nothing of others. An interval of the UAR of gender "
            f"needs {MIN_SIDE} of each gender, other intervals {MIN_KISH} in all, and a p-value {MIN_UNITS} that differ"
        )
        yield f"{_PLACES[corpus]}, the speakers are {who}{rest if min(num for _, num in groups) < MIN_SIDE else ''}."


def _intervals(num_seeds: int, config: PrivacyMetricsRun) -> str:
    made = config.intervals
    if made.interval not in HOLDS_ITS_ESTIMATE:
        draws = f"{made.num_resamples:,} resamples of the texts"
        return f"{on_resamples(made.level, made.interval, draws)} Other trainings are not in them."
    subject = "speakers, whose texts are not independent"
    if config.data.group is None:
        subject = "texts, as nothing says who speaks"
    seeds = f"and over {num_seeds} trainings that differ in their seed" if num_seeds > 1 else "of this one training"
    return (
        f"Intervals at a nominal {100 * made.level:g}% are of Student's t, between two borders of a score test, over "
        f"{subject}, {seeds}."
    )


def _could_show(tested: pl.DataFrame) -> Iterator[str]:
    """The least p that a test of each corpus could have had, before any is said to show nothing."""
    if tested.is_empty():
        yield f"No difference has a p-value: one needs {MIN_UNITS} speakers (texts, where nobody is named) that differ."
    for (corpus,), rows in tested.partition_by("corpus", maintain_order=True, as_dict=True).items():
        num, num_tests = max(rows["num_units"].to_list()), max(rows["measure"].value_counts()["count"].to_list())
        least = max(least_possible("flips", num, num_tests), _LEAST_SHOWN)
        yield (
            f"{_PLACES[str(corpus)]}, {num:,} units and {plural(num_tests, 'test')} of a measure allow no p after Holm "
            f"below {number(least, 4)}."
        )


def _unadjusted(orderings: pl.DataFrame) -> Iterator[str]:
    """Orders that an interval shows and a test among many does not."""
    if weak := sum(not significant(p) for p in orderings["p_holm"]):
        yield (
            f"{weak:,} of the {plural(orderings.height, 'order')} found by an interval would not be found by a test, "
            "with p after Holm for the tests of a corpus and measure."
        )


# --- sections -------------------------------------------------------------------------------------------------------


def _sections(frames: Frames, config: PrivacyMetricsRun) -> Iterator[Section]:
    """Those of which there is something to show."""
    models = section("models", "The models", Draw(tables.Models, _models))
    orderings = section("orderings", "What the paper expects", Draw(tables.Orderings, _expected))
    yield from shown([models, orderings], frames)
    if figures := _heat_maps(frames, config):
        yield Section("explanations", "Explanations side by side", list(_explanations(figures)))
    words = section("words", "Words that models stopped using", Draw(tables.EpWords, _words))
    noise = section("noise", "Artificial words", Draw(tables.Noise, _artificial_words))
    yield from shown([words, noise, section("texts", "The texts", Draw(tables.Texts, _texts))], frames)


def _models(models: pl.DataFrame) -> Iterator[Block]:
    ordered = models.sort("corpus", descending=True, maintain_order=True)
    means, by_seed = (ordered.filter(pl.col("seed").is_null() == is_mean) for is_mean in (True, False))
    metrics = ("valence_uar", "gender_uar", "ep", "ep_random", "eg")
    yield _model_grid(
        means, metrics, "Means over the seeds, with intervals over speakers (texts, where nobody is named) and seeds."
    )
    missing = means.filter(pl.col("ep").is_null() | pl.col("eg").is_null())
    if missing.height:
        reasons = _optional(tables.Models, "ep_reason", "eg_reason")
        yield grid("Where there is no EP or no EG.", missing, "corpus", "model", *reasons)
    shares, counts = ("listed_share", "right_sign_share", "lexicon_share"), ("num_explained", "num_ep", "num_eg")
    by_itself = _model_grid(means, shares, "Of each model by itself, means over the seeds.", *counts)
    yield Details("Shares of the attribution, and how many texts have a value", [by_itself])
    yield Details("Each seed", [_model_grid(by_seed, metrics, "Models that differ in their random numbers alone.")])


def _model_grid(rows: pl.DataFrame, measures: Sequence[str], caption: str, *counts: str) -> Grid:
    columns: list[str | Column] = ["corpus", "model", *_optional(tables.Models, "seed", *measures), "num_rows", *counts]
    return Show(tables.Models, caption, columns).grid(rows)


def _optional(table: type[Table], *names: str) -> list[Column]:
    """Columns that are left out where no row has a value."""
    return [optional(grid_column(column)) for column in table.columns if column.name in names]


def _answer(row: Row) -> str:
    answers = {"found": "yes", "not found": "no"}
    return "" if row["difference"] is None else answers.get(verdict(row), verdict(row))


_ORDERINGS = Show(
    tables.Orderings,
    "Found: the difference and its whole interval, over speakers (texts, where nobody is named) and seeds, lie on the "
    "expected side of 0. p is of no difference: the larger of one by the signs of speakers, in each of whom the two "
    "may be interchanged, and one by t over speakers and seeds; after Holm for the tests of a corpus and measure.",
    [
        *("corpus", "measure", "model", "expected", "against", "difference", "num_units", "p_holm"),
        cell("found", _answer),
    ],
)


def _expected(orderings: pl.DataFrame) -> Iterator[Block]:
    rows = orderings.drop_nulls("expected")
    if rows.height:
        yield _ORDERINGS.grid(rows)


def _words(words: pl.DataFrame) -> Iterator[Block]:
    part = _optional(tables.EpWords, "part")
    columns: list[str | Column] = ["word", "list", "num_occurrences", *part, "share_general", "share", "change"]
    for rows in _stopped_words(words):
        caption = f"{rows['model'][0]}: words whose share of the attribution fell to half or less of that in General."
        yield Show(tables.EpWords, caption, columns, most=_MOST_ROWS).grid(rows)


def _artificial_words(noise: pl.DataFrame) -> Iterator[Block]:
    yield Paragraph(
        "ArtNoise is trained with words that mean nothing and tell class and gender; it and General, which does not "
        "know them, are explained on texts of the test part that have one. An explanation that says what a model goes "
        "by highlights them in ArtNoise."
    )
    caption = "Share of the attribution on artificial words, and of the texts in which they come first."
    columns = "model word share first even_share highlighted num_texts"
    rows = noise.filter(pl.col("seed").is_null()).with_columns(pl.col("word").fill_null("all"))
    yield Show(tables.Noise, caption, columns).grid(rows)


def _texts(texts: pl.DataFrame) -> Iterator[Block]:
    used = measured(texts)
    valences = used["valence"].unique(maintain_order=True)
    counted = used.group_by("part", "gender").agg(
        pl.len().alias("num_texts"),
        pl.col("group").n_unique().alias("num_speakers"),
        *((pl.col("valence") == valence).sum().alias(f"valence {valence}") for valence in valences),
    )
    yield grid(
        "Texts that were used, by part, gender and valence.",
        counted.sort("part", "gender"),
        *("part", "gender", count("num_texts"), count("num_speakers")),
        *(count(f"valence {valence}", valence) for valence in valences),
    )
    lost = texts.filter(pl.col("status") != "ok").group_by("file", "reason", maintain_order=True).len("num_texts")
    if lost.height:
        yield grid("Texts that were left out.", lost, "file", "reason", count("num_texts"))


# --- attributions of one sentence by all models, side by side -------------------------------------------------------


def _explanations(figures: Mapping[str, Figure]) -> Iterator[Block]:
    yield Paragraph(
        "Each row is a model with the first seed and the class that it finds, each column a word of the sentence. "
        "Words in bold are on a list of words that give gender away."
    )
    yield Chart(
        "Heat maps, one for each of several sentences: models in rows, words in columns, and each cell the share of "
        "the model's attribution that falls on the word, negative where the word speaks against the class.",
        "Shares of the attribution add up to 1 in each row, without their signs. Sentences are those of the test part "
        "in which words that give gender away weigh most.",
        figures,
        "Sentence",
    )


def _heat_maps(frames: Frames, config: PrivacyMetricsRun) -> dict[str, Figure]:
    """By sentence, those first in which listed words weigh most with the first model."""
    if "samples" not in frames or "attributions" not in frames:
        return {}
    samples = frames.scan("samples").filter(seed=0, corpus="within", status="ok").collect()
    first = samples.filter(pl.col("model") == pl.col("model").first())
    fitting = first.filter(pl.col("num_words").is_between(_SHORTEST, _LONGEST))
    chosen = fitting.sort("listed_share", "sentence", descending=[True, False])["sentence"].head(_NUM_SENTENCES)
    words = WordList([word for entries in config.listed.values() for word in entries])
    is_shown = pl.col("model").str.ends_with(_SEED) & pl.col("sentence").is_in(chosen.implode())
    rows = frames.scan("attributions").filter(is_shown).collect(engine="streaming")
    return dict(_heat_map(rows.filter(sentence=sentence), words) for sentence in chosen)


def _heat_map(rows: pl.DataFrame, words: WordList) -> tuple[str, Figure]:
    """The sentence, and the share of each model's attribution that falls on each of its words."""
    share = pl.col("attribution") / pl.col("attribution").abs().sum().over("model")
    model = pl.format("{} ({})", pl.col("model").str.strip_suffix(_SEED), "predicted")
    cells = rows.sort("position", maintain_order=True).with_columns(share=share.fill_nan(None), label=model)
    first = cells.unique("position", keep="first", maintain_order=True)
    entries = zip(first["word"], words.entries(first["word"].to_list()), strict=True)
    marked = [f"<b>{plain(word)}</b>" if entry else plain(word) for word, entry in entries]
    names = dict(zip(first["position"], marked, strict=True))
    figure = heat(
        cells,
        "position",
        "label",
        "share",
        title="share",
        hover=lambda row: lines(plain(row["label"]), f"{names[row['position']]}: {number(row['share'], 3)}"),
        x_label=names.__getitem__,
    )
    return " ".join(first["word"]), figure
