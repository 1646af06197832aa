"""What each word of each text may become, along every direction, and whether a language model has it there."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.adversary import tables
from tiltmeter.jobs.adversary.config import GenderAdversaryRun, LanguageModel, Words
from tiltmeter.jobs.adversary.finding import Near, direction_name, genders
from tiltmeter.jobs.adversary.texts import AttackedTexts, stop_words
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.operators.classifiers.adversary import words as adversary_words
from tiltmeter.operators.classifiers.adversary.words import (
    folded,
    gender_swaps,
    gendered_words,
    replaceable_word,
    replaced,
)
from tiltmeter.operators.text import perplexity, pronouns
from tiltmeter.operators.text.perplexity import KneserNey
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_SWAPPED = ("swap", "names")
_ORDER = ["row", "direction", "control", "replica", "position", "rank"]


def find_spaces(
    runner: Runner, config: GenderAdversaryRun, near: Near, texts: TableRef, cut: AttackedTexts
) -> list[TableRef]:
    """Of each part of the texts, a table of the schema ``SPACES``.

    Args:
        texts: those that can be used, by part.
        cut: those that are attacked.
    """
    settings = {
        "operators": [adversary_words.VERSION, pronouns.VERSION, perplexity.VERSION],
        "direction": config.direction,
        "words": config.words,
        "language_model": config.language_model,
    }
    inputs = {"texts": [texts.select("part", "text")], "near": [*near.along, *near.controls], "counts": [cut.counts]}
    units = [
        Unit("adversary_spaces/2", f"part {number}", settings, {**inputs, "part": [part]})
        for number, part in enumerate(cut.parts)
    ]
    done = runner.run_whole(Stage("find replacements", each(_find), {"texts": units}))["texts"]
    return [finished.tables["spaces"] for finished in done]


class _Text(NamedTuple):
    row: int
    tokens: list[str]


def _find(store: Store, unit: Unit) -> Tables:
    config = unit.config
    texts = [_Text(row["row"], row["text"].split()) for row in store.read(unit.input("part")).to_pylist()]
    options = _shifted(store, unit, texts)
    along = _judged(store, unit, texts, options.filter(control=-1))
    places = along.filter(pl.col("is_likely"), replica=0).select("row", "position", "direction")
    # Where nothing stands along the direction, nothing is asked of its controls.
    beside = options.filter(pl.col("control") >= 0).join(places.unique(), on=places.columns, how="semi")
    counts = pl.DataFrame(store.read(unit.input("counts")))
    options = equalised(pl.concat([along, _judged(store, unit, texts, beside)]), counts)
    swaps = pl.DataFrame(list(_swaps(texts, config)), schema=options.schema, orient="row")
    every = pl.concat([options, swaps]).sort(_ORDER)
    yield "spaces", every.select(tables.SPACES.names).to_arrow().cast(tables.SPACES)


def _judged(store: Store, unit: Unit, texts: Sequence[_Text], options: pl.DataFrame) -> pl.DataFrame:
    """With what the language model says of each, if there is one."""
    if unit.config["language_model"].ratio is None:
        return options.with_columns(pl.lit(True).alias("is_likely"))
    return options.join(_likely(store, unit, texts, options), on=["row", "position", "candidate"])


def _shifted(store: Store, unit: Unit, texts: Sequence[_Text]) -> pl.DataFrame:
    """A row for each candidate of each word, with the token as it reads then."""
    barred = stop_words()
    places = [
        (text.row, position, token, word)
        for text in texts
        for position, token in enumerate(text.tokens)
        if (word := replaceable_word(token, barred)) is not None
    ]
    schema = {"row": pl.Int64, "position": pl.Int32, "token": pl.String, "word": pl.String}
    positions = pl.DataFrame(places, schema=schema, orient="row")
    near = _near(store, unit, positions["word"].unique())
    joined = positions.join(near, on="word")
    pairs = joined.select("token", "candidate").unique(maintain_order=True)
    written = [replaced(token, candidate) for token, candidate in pairs.iter_rows()]
    return joined.join(pairs.with_columns(pl.Series("option", written, pl.String)), on=["token", "candidate"]).select(
        "row", "direction", "control", "replica", "position", "rank", "candidate", "option"
    )


def _near(store: Store, unit: Unit, words: pl.Series) -> pl.DataFrame:
    columns = ["direction", "control", "replica", "word", "rank", "candidate", "removed_by"]
    parts = [pl.DataFrame(store.read(ref.select(*columns))) for ref in unit.inputs["near"]]
    near = pl.concat([part.filter(pl.col("word").is_in(words.implode())) for part in parts])
    return near.filter(removed_by="").drop("removed_by")


def equalised(options: pl.DataFrame, counts: pl.DataFrame) -> pl.DataFrame:
    """Along controls, at each place of a text, as many words as along the direction itself, and as frequent ones.

    More candidates are more chances to flip a verdict, and so are words that a classifier has often read. Both belong
    to the texts and not to what it does: each candidate along the direction, the nearest first, is given that likely
    word along the control which is the nearest to it by the logarithm of its count.

    Args:
        options: with the columns of ``SPACES``, ``rank`` and ``candidate``.
        counts: of words in small letters: ``word`` and ``count``.
    """
    place = ["row", "position", "direction"]
    sizes = counts.select("word", (1 + pl.col("count")).log().alias("size"))
    sized = options.with_columns(word=pl.col("candidate").str.to_lowercase()).join(sizes, on="word", how="left")
    sized = sized.with_columns(pl.col("size").fill_null(0.0)).filter("is_likely")
    along = sized.filter(control=-1, replica=0).with_columns(turn=pl.col("rank").rank("ordinal").over(place))
    left, taken = sized.filter(pl.col("control") >= 0), [options.filter(control=-1)]
    for turn in range(1, 1 + int(along["turn"].to_numpy().max(initial=0))):
        wanted = along.filter(turn=turn).select(*place, pl.col("size").alias("wanted"))
        beside = left.join(wanted, on=place).with_columns(distance=(pl.col("size") - pl.col("wanted")).abs())
        chosen = beside.sort("distance", "rank", "candidate").unique(
            [*place, "control"], keep="first", maintain_order=True
        )
        left = left.join(chosen, on=[*place, "control", "candidate"], how="anti")
        taken.append(chosen.select(options.columns))
    return pl.concat(taken)


def _likely(store: Store, unit: Unit, texts: Sequence[_Text], options: pl.DataFrame) -> pl.DataFrame:
    """Each candidate at its position, however many directions lead to it."""
    config: LanguageModel = unit.config["language_model"]
    words = {text.row: folded(text.tokens) for text in texts}
    grouped = options.select("row", "position", "candidate").unique().sort("row", "position", "candidate")
    grouped = grouped.group_by("row", "position", maintain_order=True).agg("candidate")
    key = ("language model", digest([config, list(unit.input("texts").columns.items())]))
    likely, log_ratio = [], np.log(config.ratio) if config.ratio else -np.inf
    with resident(key, lambda _: _model(store, unit, config)) as model:
        for row, position, candidates in grouped.iter_rows():
            others = [candidate.lower() for candidate in candidates]
            gains = model.substitution_gains(words[row], position, others, prefix_only=config.context == "prefix")
            likely.append((gains >= log_ratio).tolist())
    return grouped.with_columns(pl.Series("is_likely", likely, pl.List(pl.Boolean))).explode("candidate", "is_likely")


def _model(store: Store, unit: Unit, config: LanguageModel) -> KneserNey:
    rows = store.read(unit.input("texts")).to_pylist()
    learnt = [folded(row["text"].split()) for row in rows if row["part"] == "training"]
    return KneserNey(learnt, config.order, config.discount)


def _swaps(texts: Sequence[_Text], config: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Words and names by their counterparts, which need no language model: the grammar is looked after."""
    words: Words = config["words"]
    pairs = {"swap": words.pairs, "names": words.names}
    for kind in (kind for kind in _SWAPPED if kind in config["direction"].kinds):
        lists = gendered_words(pairs[kind], pronouns=kind == "swap")
        for text in texts:
            for gender in genders(config["direction"]):
                name = direction_name(kind, gender)
                for position, option in gender_swaps(text.tokens, lists, gender).items():
                    yield text.row, name, -1, 0, position, 0, option, option, True
