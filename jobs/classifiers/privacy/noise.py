"""The copy of the test part with artificial words, and whether explanations highlight them: rows of ``noise``."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.privacy import tables
from tiltmeter.jobs.classifiers.privacy.config import Noise, PrivacyMetricsRun
from tiltmeter.jobs.classifiers.privacy.estimates import (
    Texts,
    TextValues,
    mean_of_seeds,
    resampled_sentences,
    said_texts,
    select_said,
    speakers,
)
from tiltmeter.jobs.classifiers.privacy.labels import Row
from tiltmeter.jobs.classifiers.privacy.texts import SpokenTexts, drawn
from tiltmeter.jobs.classifiers.tables import SENTENCES
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.rows import OK, failed
from tiltmeter.operators.classifiers.decoys import making as decoy_making
from tiltmeter.operators.classifiers.privacy import noise as artificial_noise
from tiltmeter.operators.classifiers.privacy import spoken
from tiltmeter.operators.classifiers.privacy.noise import salience, with_noise
from tiltmeter.operators.classifiers.privacy.spoken import Spoken
from tiltmeter.operators.statistics import means, resampling
from tiltmeter.operators.statistics.intervals import LOGIT
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

NOISY = "noisy"
"""The corpus that is the copy."""

MODELS = ("General", "ArtNoise")
"""Those that are tested and explained on it: one that knows nothing of artificial words, and one that learnt them."""

VERSIONS = [artificial_noise.VERSION, decoy_making.VERSION]
_PARTS = ("training", "development", "test")
_COPIED = ("text", "noise", "valence", "gender")
_MEASURES = ("share", "first")

Cell = tuple[str, str]
"""A class and a gender."""


@dataclass(frozen=True)
class NoisyTexts:
    """Attributes:
    texts: of the schema ``NOISY_TEXTS``.
    sentences: that are explained, of the schema ``SENTENCES``.
    """

    texts: TableRef
    sentences: TableRef


def read_noisy(runner: Runner, config: PrivacyMetricsRun, texts: TableRef) -> NoisyTexts | None:
    """The test part with artificial words; None where no model learns them.

    Raises:
        UnitsFailed: if the words are not those of the genders, or in the texts already.
    """
    if "ArtNoise" not in config.models.names:
        return None
    settings = {
        "operators": VERSIONS,
        "noise": config.models.noise,
        "classes": config.classes,
        "seed": config.seed,
        "max_sentences": config.explanations.max_sentences,
    }
    inputs = {"texts": [texts.select("sentence", "part", "text", "valence", "gender", "status")]}
    unit = Unit("noisy_texts/1", "copy with artificial words", settings, inputs)
    [done] = runner.run_whole(Stage("add artificial words", each(_copy), {NOISY: [unit]}))[NOISY]
    return NoisyTexts(done.tables["texts"], done.tables["sentences"])


def sentences_of(model: str, texts: SpokenTexts, noisy: NoisyTexts | None) -> dict[str, TableRef]:
    """The sentences by which a model is explained, by corpus."""
    if noisy is None or model not in MODELS:
        return dict(texts.sentences)
    return {**texts.sentences, NOISY: noisy.sentences}


def _copy(store: Store, unit: Unit) -> Tables:
    config = unit.config
    rows = store.read(unit.input("texts")).to_pylist()
    copies = noisy_copies(rows, config)
    yield "texts", pa.Table.from_pylist(copies, tables.NOISY_TEXTS)
    chosen = drawn([copy for copy in copies if copy["noise"] is not None], config)
    yield "sentences", pa.Table.from_pylist(chosen, SENTENCES)


def noisy_copies(rows: Sequence[Row], config: Mapping[str, Any]) -> list[Row]:
    """Copies of the texts of the test part, of which some have their artificial word; numbered after all texts.

    Args:
        rows: of the table ``texts``.
        config: of the unit.

    Raises:
        InputError: if there are not as many genders as lists of words, or a word is in the texts already.
    """
    used = [row for row in rows if row["status"] == "ok" and row["part"] in _PARTS]
    _check_new(used, config["noise"])
    words = words_by_cell(used, config["classes"], config["noise"])
    originals = [row for row in used if row["part"] == "test"]
    copies = noisy_rows(originals, words, config["noise"], config["seed"])
    return [
        {"sentence": number, "original": copy["sentence"]} | {name: copy[name] for name in _COPIED}
        for number, copy in enumerate(copies, start=len(rows))
    ]


def words_by_cell(rows: Sequence[Mapping[str, Any]], classes: Sequence[str], noise: Noise) -> dict[Cell, str]:
    """The artificial word of each class and gender.

    Args:
        rows: of all parts that may have them.
        classes: of valence.
        noise: the words.

    Raises:
        InputError: if there are not as many genders as lists of words.
    """
    genders = sorted({row["gender"] for row in rows if row["part"] in _PARTS})
    if len(genders) != len(noise.words):
        raise InputError(
            f"models.noise.words: has {len(noise.words)} lists of words, and the texts have {len(genders)} genders, "
            f"{', '.join(genders)}; set it to a list for each, in their order, or leave ArtNoise out of models.names"
        )
    return {
        (label, gender): word
        for gender, words in zip(genders, noise.words, strict=True)
        for label, word in zip(classes, words, strict=True)
    }


def noisy_rows(rows: Sequence[Mapping[str, Any]], words: Mapping[Cell, str], noise: Noise, seed: int) -> list[Row]:
    """Rows of which a random selection has its artificial word in the text; ``noise`` is the word, None in others."""
    added = [words[row["valence"], row["gender"]] for row in rows]
    texts = with_noise([row["text"] for row in rows], added, noise.share, noise.times, seed)
    return [
        {**row, "text": text, "noise": None if text == row["text"] else word}
        for row, word, text in zip(rows, added, texts, strict=True)
    ]


def _check_new(rows: Sequence[Row], noise: Noise) -> None:
    artificial = {folded(word) for words in noise.words for word in words}
    for row in rows:
        if known := artificial.intersection(folded(row["text"]).split()):
            raise InputError(
                f"models.noise.words: {min(known)!r} is in a text already (sentence {row['sentence']} of the table "
                "texts); set other words"
            )


def control_noise(
    runner: Runner,
    config: PrivacyMetricsRun,
    texts: TableRef,
    noisy: NoisyTexts,
    attributions: Mapping[str, Sequence[TableRef]],
) -> list[TableRef]:
    """Tables of the schema ``NOISE``, one for each model.

    Args:
        runner: of the stages.
        config: of the run.
        texts: of the schema ``TEXTS``, which say who speaks.
        noisy: the copy.
        attributions: of its sentences, by model, for each seed.
    """
    operators = [artificial_noise.VERSION, spoken.VERSION, means.VERSION, resampling.VERSION]
    settings: dict[str, Any] = {"operators": operators, "seed": config.seed}
    settings |= {"intervals": config.intervals, "words": config.models.noise.words}
    about = noisy.texts.select("sentence", "noise", "valence", "gender")
    sentences = [select_said(texts), select_said(noisy.texts)]
    units = {
        name: [
            Unit(
                "noise_salience/5",
                name,
                {"model": name, **settings},
                {
                    "texts": [about],
                    "said": sentences,
                    "attributions": [ref.select("sentence", "position", "word", "attribution") for ref in refs],
                },
            )
        ]
        for name, refs in attributions.items()
    }
    done = runner.run_whole(Stage("control artificial words", each(_control), units))
    return [finished.tables["noise"] for [finished] in done.values()]


def _control(store: Store, unit: Unit) -> Tables:
    texts = {row["sentence"]: row for row in store.read(unit.input("texts")).to_pylist()}
    samples = pl.DataFrame(
        [
            {"seed": seed, **_sample(texts[sentence], list(lines))}
            for seed, ref in enumerate(unit.inputs["attributions"])
            for sentence, lines in groupby(store.read(ref).to_pylist(), lambda line: line["sentence"])
        ]
    )
    sentences = said_texts(store, unit.inputs["said"])
    yield from with_draws({"noise": (list(noise_rows(samples, sentences, unit.config)), tables.NOISE)}, None)


def _sample(text: Row, lines: Sequence[Row]) -> Row:
    values = np.array([np.nan if line["attribution"] is None else line["attribution"] for line in lines], np.float64)
    is_noise = np.array([folded(line["word"]) == folded(text["noise"]) for line in lines])
    return {"sentence": text["sentence"], "word": text["noise"], **salience(values, is_noise)._asdict()}


def noise_rows(samples: pl.DataFrame, texts: Texts, config: Mapping[str, Any]) -> Iterator[Row]:
    """Of all artificial words together and of each, the means over the seeds and those of each seed.

    Args:
        samples: ``seed``, ``sentence``, ``word`` and the salience of each explained text.
        texts: of all sentences.
        config: of the unit.
    """
    samples = samples.with_columns(pl.col(*_MEASURES, "even_share").fill_nan(None))
    words = [word for entries in config["words"] for word in entries]
    for word in [None, *(word for word in words if word in samples["word"].to_list())]:
        rows = samples if word is None else samples.filter(word=word)
        yield _row(None, word, rows, texts, config)
        for (seed,), part in rows.partition_by("seed", maintain_order=True, as_dict=True).items():
            yield _row(seed, word, part, texts, config)


def _row(seed: Any, word: str | None, rows: pl.DataFrame, texts: Texts, config: Mapping[str, Any]) -> Row:
    rows = rows.sort("seed", "sentence")
    known = rows.drop_nulls("share").unique("sentence").sort("sentence")["sentence"].to_list()
    row = {"model": config["model"], "seed": seed, "word": word, "num_texts": len(known)}
    if not known:
        return row | failed("no_attribution", "no word of any of the texts has an attribution other than 0")
    drawn, units = resampled_sentences(known, f"{NOISY} {word or ''}", texts, config), speakers(known, texts)
    part = rows.filter(pl.col("sentence").is_in(known))
    by_seed = {
        name: part[name].cast(pl.Float64).fill_null(np.nan).to_numpy().reshape(-1, len(known))
        for name in (*_MEASURES, "even_share")
    }
    even = float(mean_of_seeds(by_seed["even_share"]).mean())
    why = OK
    for name in _MEASURES:
        measure = TextValues(Spoken(by_seed[name], mean_of_seeds(by_seed[name]), units), drawn)
        result = measure.inferred(config, LOGIT)
        row |= measure.columns(name, result, config, LOGIT)
        why = failed("too_few_units", result.reason) if result.too_few else OK
    is_above = None if row["share_low"] is None else bool(row["share_low"] > even)
    return row | {"even_share": even, "highlighted": is_above, "num_units": units.num, **why}
