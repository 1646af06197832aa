"""Job `decoy_benchmark`: how soon explanations tell that a model is right for the wrong reason."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.cluster.scheduling import evenly
from tiltmeter.jobs.classifiers.decoys import models, sessions
from tiltmeter.jobs.classifiers.decoys.config import BenchmarkSources, DecoyBenchmarkRun, DecoyRun, find_sources
from tiltmeter.jobs.classifiers.decoys.labels import contaminate
from tiltmeter.jobs.classifiers.decoys.models import Trainer
from tiltmeter.jobs.classifiers.decoys.sessions import Pools, Repair
from tiltmeter.jobs.classifiers.decoys.tables import DECOYED, PLAIN, TABLES, Decoys, LeftOut, Repairs, Reviews, Sessions
from tiltmeter.jobs.classifiers.labelled_data import read_labelled_data
from tiltmeter.jobs.classifiers.resources import training_requests
from tiltmeter.jobs.classifiers.splits import split_texts
from tiltmeter.jobs.classifiers.tables import SENTENCES
from tiltmeter.jobs.report.exports import inert
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.work import Done
from tiltmeter.operators.classifiers.decoys.detection import Explained, top_words
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.storage.store.ledger import TableRef

ORIGINAL = ""
"""In place of a decoy's name: the texts as they are."""

_MOST_INSTANCES = 100
"""That a unit explains, if a pool has no more."""

_TABLES = {"identify_and_trust": ("detection", "utility"), "model_comparison": ("side_by_side",)}


def run(run: DecoyRun) -> None:
    """Make decoys, train with and without them, and see what explanations of the models are good for."""
    config, runner = run.config, run.runner
    labelled = read_labelled_data(runner, config.data, run.sources.texts, config.seed)
    run.publish("texts", [labelled])
    texts, trainer = split_texts(runner, labelled, config.seed), Trainer.of(run)
    if set(config.setups) & {"identify_and_trust", "model_comparison", "identify_and_improve"}:
        _find_decoys(run, trainer, texts)
    if "data_contamination" in config.setups:
        contaminate(run, trainer, texts)


def _find_decoys(run: DecoyRun, trainer: Trainer, texts: TableRef) -> None:
    """Setups I to III."""
    setups, cases = run.config.setups, _cases(run, trainer, texts)
    explained = _explain(run, trainer, cases)
    looks = _look(run, explained)
    detected = run.do(
        (
            sessions.SumUpSessions(label=name, group=name, pools=cases[name].means, sessions=done.refs(Sessions))
            for name, done in looks.items()
        ),
        publish=False,
    )
    run.publish_all({name: detected.refs(name) for setup in _TABLES if setup in setups for name in _TABLES[setup]})
    if "identify_and_improve" in setups:
        _improve(run, trainer, texts, cases, looks)
    _export_study(run, explained)


class _Case(NamedTuple):
    """A decoy: what was made of it, pools of texts to be explained, models with it and without, and all of these."""

    tables: Mapping[str, TableRef]
    pools: Sequence[TableRef]
    models: Sequence[TableRef]
    originals: Sequence[TableRef]
    means: Pools


def _cases(run: DecoyRun, trainer: Trainer, texts: TableRef) -> dict[str, _Case]:
    """Decoys by name, those that have a place in the texts.

    Raises:
        InputError: if a decoy that somebody chose does not fit, or none does.
        UnitsFailed: if no model is left, or none without a decoy, with which all others are compared.
    """
    config, shown, number = run.config, run.config.explanations, run.config.models.number
    fit = models.FitDecoys(label="decoys", group="decoys", decoys=config.decoys, texts=texts)
    left_out = run.do([fit]).one(LeftOut)
    reasons = {row.decoy: row.reason for row in LeftOut.read(run.runner.store, left_out)}
    models.check_fit(config.decoys, reasons)
    about: dict[str, Any] = {"texts": texts, "seed": config.seed}
    pools, language_model = (shown.num_pools, shown.pool_size), config.language_model
    made = run.do(
        models.MakeDecoy(
            label=name, group=name, name=name, decoy=decoy, pools=pools, language_model=language_model, **about
        )
        for name, decoy in config.decoys.items()
        if name not in reasons
    )
    tables = {work.name: unit.tables for work, unit in made.pairs}
    trained = train_models(run, trainer, {ORIGINAL: texts} | {name: those["texts"] for name, those in tables.items()})
    evaluated = run.do(
        (
            models.EvaluatePair(
                label=f"{name}, model {index}",
                group=name,
                decoy=name,
                number=str(index),
                made=config.decoys[name],
                decoyed=trainer.model(trained[name][index], DECOYED),
                original=trained[ORIGINAL][index],
                probes=those["probes"],
                measures=those["measures"],
                intervals=config.intervals,
                **about,
            )
            for name, those in tables.items()
            if name in trained
            for index in range(number)
        ),
        publish=False,
    )
    run.publish("decoys", [*evaluated.refs(Decoys), *([left_out] if reasons else [])])
    run.publish("decoy_words", made.refs("words"))
    cases = {}
    for name, done in evaluated.groups.items():
        pooled = [tables[name][pool] for pool in sorted(tables[name]) if pool.startswith("pool_")]
        says, adopted = [pool.columns["text"] for pool in pooled], [ref.select("adopted") for ref in done.refs(Decoys)]
        means = Pools(name, says, number, config.intervals, config.seed, adopted)
        cases[name] = _Case(tables[name], pooled, trained[name], trained[ORIGINAL], means)
    return cases


def train_models(run: DecoyRun, trainer: Trainer, texts: Mapping[str, TableRef]) -> dict[str, list[TableRef]]:
    """Models by decoy, or ``ORIGINAL``, as many as are asked for; none of what has failed.

    Raises:
        UnitsFailed: if no model is left, or none without a decoy, with which all others are compared.
    """
    done = run.do(
        trainer.lesson(f"{name or 'no decoy'}, model {number}", name, number, ref)
        for name, ref in texts.items()
        for number in range(run.config.models.number)
    )
    if ORIGINAL not in done.groups:
        run.runner.check()
    return {name: group.refs("model") for name, group in done.groups.items()}


_Pairs = Mapping[tuple[str, int], Mapping[str, Sequence[TableRef]]]
"""Attributions by method, number of the models and their kind: a table for each pool."""

_Looks = Mapping[str, Done[sessions.LookAtPools]]


def _explain(run: DecoyRun, trainer: Trainer, cases: Mapping[str, _Case]) -> Mapping[str, _Pairs]:
    """Publish what both models of each pair make of the same instances; by decoy."""
    shown = run.config.explanations
    done = run.do(
        (
            models.ExplainPools(
                label=f"{name}, {kind} {number}, {method}, {place}",
                group=name,
                decoy=name,
                kind=kind,
                number=number,
                model=trainer.model(refs[number]),
                sentences=[pool.select(*SENTENCES.names) for pool in pools],
                attribution=replace(shown.attribution, method=method),
                seed=run.config.seed,
            )
            for name, case in cases.items()
            for number in range(run.config.models.number)
            for kind, refs in ((DECOYED, case.models), (PLAIN, case.originals))
            for method in shown.methods
            for place, pools in enumerate(evenly(case.pools, max(1, _MOST_INSTANCES // shown.pool_size)))
        ),
        batch_size=None,
    )
    explained: dict[str, dict[tuple[str, int], dict[str, list[TableRef]]]] = {}
    for work, unit in done.pairs:
        pairs = explained.setdefault(work.decoy, {})
        kinds = pairs.setdefault((work.attribution.method, work.number), {DECOYED: [], PLAIN: []})
        kinds[work.kind] += [unit.tables[name] for name in sorted(unit.tables)]
    every = [refs for pairs in explained.values() for kinds in pairs.values() for refs in kinds.values()]
    run.publish("attributions", [ref for refs in every for ref in refs])
    return explained


def _look(run: DecoyRun, explained: Mapping[str, _Pairs]) -> _Looks:
    """What comes of looking at explanations, and of the controls, by decoy."""
    config, shown = run.config, run.config.explanations
    about: dict[str, Any] = {
        "top_words": shown.top_words,
        "selections": shown.selections,
        "max_clusters": shown.max_clusters,
        "judgement": config.debugger.judgement,
        "num_suspects": config.debugger.num_suspects,
        "budgets": config.improvement.budgets if "identify_and_improve" in config.setups else (),
    }
    done = run.do(
        (
            sessions.LookAtPools(
                label=f"{name}, {method}, model {number}",
                group=name,
                decoy=name,
                made=config.decoys[name],
                method=method,
                number=number,
                **seen,
                **about,
            )
            for name, pairs in explained.items()
            for method, number, seen in _ways(pairs, config)
        ),
        batch_size=None,
    )
    return done.groups


def _ways(pairs: _Pairs, config: DecoyBenchmarkRun) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Method or control, number of the models, and what is seen of both kinds of them.

    Controls see the same instances as whoever has explanations, and what a model made of them.
    """
    ways = [(method, number, kinds, sessions.COLUMNS) for (method, number), kinds in pairs.items()]
    for control in config.debugger.controls:
        first = config.explanations.methods[0]
        ways += [(control, index, kinds, sessions.SEEN) for (method, index), kinds in pairs.items() if method == first]
    for method, number, kinds, columns in ways:
        yield method, number, {kind: [ref.select(*columns) for ref in refs] for kind, refs in kinds.items()}


def _improve(run: DecoyRun, trainer: Trainer, texts: TableRef, cases: Mapping[str, _Case], looks: _Looks) -> None:
    """Publish how well models are repaired, and what they gain."""
    config, store = run.config, run.runner.store
    reviews = {name: done.refs(Reviews) for name, done in looks.items()}
    repairs = {name: sessions.repairs_of(store, refs, config.models.number) for name, refs in reviews.items()}
    removed = run.do(
        sessions.RemoveWords(
            label=f"{name} without {words or 'any'}",
            group=name,
            words=words,
            texts=texts,
            decoyed=cases[name].tables["texts"],
            probes=cases[name].tables["probes"],
        )
        for name, of_decoy in repairs.items()
        for words in sorted({repair.words for repair in of_decoy})
    )
    parts = {(work.group, work.words): unit.tables for work, unit in removed.pairs}
    as_they_are = {
        (name, repair): cases[name].models[repair.model]
        for name, of_decoy in repairs.items()
        for repair in of_decoy
        if (name, repair.words) in parts
    }
    evaluated = run.do(
        (
            sessions.EvaluateRepaired(
                label=f"{name} without {repair.words or 'any'}, model {repair.model}",
                group=name,
                decoy=name,
                number=str(repair.model),
                words=repair.words,
                model=trainer.model(model),
                texts=parts[name, repair.words]["evaluated"],
                max_tokens=trainer.max_tokens,
            )
            for (name, repair), model in _repaired(run, trainer, as_they_are, parts).items()
        ),
        batch_size=None,
    )
    run.do(
        sessions.SumUpRepairs(
            label=name,
            group=name,
            pools=cases[name].means,
            made=config.decoys[name],
            reviews=reviews[name],
            repairs=done.refs(Repairs),
        )
        for name, done in evaluated.groups.items()
    )


def _repaired(
    run: DecoyRun,
    trainer: Trainer,
    as_they_are: Mapping[tuple[str, Repair], TableRef],
    parts: Mapping[tuple[str, str], Mapping[str, TableRef]],
) -> dict[tuple[str, Repair], TableRef]:
    """Models by decoy and repair; those that read texts without words, or from which none is removed, as they are."""
    lessons = {}
    for name, repair in as_they_are:
        if repair.words and run.config.improvement.remedy == "retrain":
            label, learnt = f"{name} without {repair.words}, model {repair.model}", parts[name, repair.words]["texts"]
            lessons[trainer.lesson(label, name, repair.model, learnt)] = name, repair
    done = run.do(lessons, stage="train repaired").pairs if lessons else []
    return {**as_they_are, **{lessons[work]: unit.tables["model"] for work, unit in done}}


# --- a study with people --------------------------------------------------------------------------------------------


_STUDY = ("model", "method", "pool", "place", "text", "label", "predicted", "words")
"""Columns of ``exports/study.csv``."""


def _export_study(run: DecoyRun, explained: Mapping[str, _Pairs]) -> None:
    """Instances, of models whose names tell nothing, with no text a formula; in ``study_key.csv``, which is which."""
    rows: list[dict[str, Any]] = []
    names: dict[str, tuple[str, str, str, int]] = {}
    every = ((decoy, *key, kinds) for decoy, pairs in explained.items() for key, kinds in pairs.items())
    for decoy, method, number, kinds in every:
        for kind, refs in kinds.items():
            name = f"model {document_key(f'{run.config.seed}/{decoy}/{kind}/{number}') % 2**32:08x}"
            names[name] = (name, decoy, kind, number)
            for pool, ref in enumerate(refs):
                lines = run.runner.store.read(ref).to_pylist()
                about = {"model": name, "method": method, "pool": pool}
                rows += (about | row for row in _instances(lines, run.config.explanations.top_words))
    rows.sort(key=lambda row: (row["model"], row["method"], row["pool"], row["place"]))
    keys = pl.DataFrame(sorted(names.values()), ("model", "decoy", "trained", "number"), orient="row")
    for name, table in {"study": pl.DataFrame(rows).select(_STUDY), "study_key": keys}.items():
        run.directory.export_bytes(f"{name}.csv", table.with_columns(inert(pl.col(pl.String))).write_csv().encode())


def _instances(lines: Sequence[Mapping[str, Any]], num_words: int) -> Iterator[dict[str, Any]]:
    """What a model said of each, and the words that explain it."""
    for place, (_, group) in enumerate(groupby(lines, key=lambda line: line["sentence"]), start=1):
        words = list(group)
        values = np.array([line["attribution"] for line in words], dtype=np.float64)
        top = top_words(Explained([line["word"] for line in words], values), num_words)
        shown = "; ".join(f"{words[index]['word']} ({values[index]:+.3f})" for index in top)
        labels = {"label": words[0]["gold"], "predicted": words[0]["predicted"]}
        yield {"place": place, "text": " ".join(line["word"] for line in words), "words": shown, **labels}


def _requests(config: DecoyBenchmarkRun, _: BenchmarkSources, num_gpus: int) -> Sequence[ResourceRequest]:
    return training_requests(config.models, num_gpus)


JOB = Job(
    DecoyBenchmarkRun,
    find_sources,
    run,
    TABLES,
    "tiltmeter.jobs.classifiers.decoys.page:page",
    _requests,
    extras=["classifiers"],
)
