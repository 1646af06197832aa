"""Job `mitigation`: gender erased from vectors, and measures, probes and quality before and after."""

from collections.abc import Sequence
from importlib.metadata import version
from itertools import product
from typing import Any

from pyarrow import fs

from tiltmeter.jobs.association.config import AssociationConfig
from tiltmeter.jobs.association.measures import find_measure, find_sources
from tiltmeter.jobs.association.weat import SIDES, chosen_tests
from tiltmeter.jobs.embedding import tables as embedding
from tiltmeter.jobs.embedding.bootstrap.job import SUFFIXES, embedding_file, file_label
from tiltmeter.jobs.embedding.config import narrowed
from tiltmeter.jobs.embedding.models import Model, Needs, find_models
from tiltmeter.jobs.embedding.replicas import replica_label
from tiltmeter.jobs.embedding.resources import embedding_requests
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.mitigation.comparing import CompareMeasure, CompareReadings
from tiltmeter.jobs.mitigation.config import LEAST_EXTREMES, MitigationRun, defining_pairs, words_of_gender
from tiltmeter.jobs.mitigation.erasing import Erase, EraseWhole, ReadPairs, query_table
from tiltmeter.jobs.mitigation.tables import TABLES, Readings
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.work import Done
from tiltmeter.operators.association.erasers import EraserSettings, Method
from tiltmeter.operators.embedding.bootstrap import ORIGINAL, replica_name
from tiltmeter.operators.statistics.intervals import IntervalSettings
from tiltmeter.operators.text.wordsets import WordSets
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Finished, TableRef
from tiltmeter.storage.vectors.files import write_embedding

MitigatedRun = Run[MitigationRun, Sources]


def run(run: MitigatedRun) -> None:
    """Erase, measure, compare; publish tables, and write vectors if asked to."""
    models = find_models(run, _needs(run.config))
    for model in models:
        _check_words(run, model)
    judged = _judged(run)
    compare(run, models, erase(run, models, judged))
    if run.config.job.export:
        export(run, models, judged)


def _needs(config: MitigationRun) -> Needs:
    def lists(wordset: WordSets) -> dict[str, list[str]]:
        name = "gender.definitional_pairs" if wordset.gender else "gender_survey.defining"
        return {name: [word for pair in defining_pairs(wordset) for word in pair]}

    return Needs(lists, num_frequent=config.job.num_words)


def _check_words(run: MitigatedRun, model: Model) -> None:
    """Refuse a vocabulary in which nothing can be fitted.

    Raises:
        InputError: saying how many words there are.
    """
    table = run.runner.store.read(model.vectors.originals[ORIGINAL].select("word", "vector"))
    known = set(table.filter(table["vector"].is_valid())["word"].to_pylist())
    needed = 4 * LEAST_EXTREMES
    if (num := len(known.difference(_words_of_gender(run, model)))) < needed:
        raise InputError(
            f"{model.name}: has vectors of {num} words beside those of a gender, and {needed} are needed; take another "
            "embedding, a larger corpus or a lower embedding.min_count, or raise job.num_words"
        )
    if not any(known.issuperset(pair) for pair in defining_pairs(model.wordset)):
        raise InputError(f"{model.name}: has both words of no pair that defines gender; give others in wordset")


def _words_of_gender(run: MitigatedRun, model: Model) -> tuple[str, ...]:
    return words_of_gender(model.wordset, run.config.job.specific)


def _judged(run: MitigatedRun) -> TableRef:
    """Pairs of words that people judged."""
    return run.do([ReadPairs(sets=run.config.job.similarity, version=version("gensim"))], in_driver=True).one("pairs")


def erase(run: MitigatedRun, models: Sequence[Model], judged: TableRef) -> Done[Erase]:
    """Nothing, and then each method, fitted to gender and at random."""
    chosen: list[tuple[Method | None, bool]] = [(None, False), *product(run.config.job.methods, (False, True))]
    return run.do(
        Erase(
            group=model.name,
            label=f"{model.name} {replica_name(number)} {method or 'as it is'}{', at random' if is_random else ''}",
            method=method,
            is_random=is_random,
            **_settings(run, model, number, judged),
        )
        for model in models
        for method, is_random in chosen
        for number in range(len(model.vectors.originals))
    )


def _settings(run: MitigatedRun, model: Model, number: int, judged: TableRef) -> dict[str, Any]:
    job, tests = run.config.job, chosen_tests(model.wordset, run.config.tests)
    return {
        "eraser": narrowed(EraserSettings, job),
        "num_extremes": job.num_extremes,
        "pairs": defining_pairs(model.wordset),
        "specific": _words_of_gender(run, model),
        "queries": {
            name: sorted({word for side in SIDES for word in getattr(test, side).words}) for name, test in tests.items()
        },
        "number": number,
        "seed": run.config.seed,
        "vectors": model.vectors.originals[number].select("word", "spelled", "vector"),
        "judged": judged,
    }


def compare(run: MitigatedRun, models: Sequence[Model], erased: Done[Erase]) -> None:
    """The tables ``mitigation`` and ``mitigation_checks``."""
    job = run.config.job
    limits = {name: getattr(job, name) for name in ("level", "interval", "min_words", "min_share")}
    measures, checks = [], []
    for model in models:
        units = erased.groups.get(model.name, Done([])).pairs
        by_side: dict[tuple[Method | None, bool], list[tuple[Erase, Finished]]] = {}
        for pair in units:
            by_side.setdefault((pair[0].method, pair[0].is_random), []).append(pair)
        before = Done(by_side.pop((None, False), []))
        for (method, is_random), pairs in by_side.items():
            after = Done(pairs)
            same: dict[str, Any] = {
                "group": model.name,
                "model": model.name,
                "language": model.language,
                "drawn": model.vectors.scheme,
                "method": method,
                "erased": "random" if is_random else "gender",
            }
            label = f"{model.name} {method} {same['erased']}"
            checks.append(
                CompareReadings(
                    label=label,
                    settings=narrowed(IntervalSettings, job),
                    before=before.refs(Readings),
                    after=after.refs(Readings),
                    **same,
                )
            )
            measures += [
                CompareMeasure(
                    label=f"{label} {query} {measure}",
                    measure=measure,
                    version=find_measure(measure).version,
                    query=query,
                    test=test,
                    settings=AssociationConfig(**limits),
                    fit=after.refs(Readings)[ORIGINAL],
                    before=before.refs(query_table(place)),
                    after=after.refs(query_table(place)),
                    **same,
                )
                for measure in run.config.measures
                for place, (query, test) in enumerate(chosen_tests(model.wordset, run.config.tests).items())
            ]
    run.do(measures)
    run.do(checks)


def export(run: MitigatedRun, models: Sequence[Model], judged: TableRef) -> None:
    """Write the vectors of all words into ``exports/``, of every embedding as each method leaves it."""
    done = run.do(
        EraseWhole(
            group=model.name,
            label=f"{file_label(model.name)}_{method}_{replica_label(number)}",
            method=method,
            is_random=False,
            **_settings(run, model, number, judged),
        )
        for model in models
        for method in run.config.job.methods
        for number in range(len(model.vectors.originals))
    )
    for work, unit in done.pairs:
        vectors = embedding_file(run.runner.store.read(unit.tables["vectors"]))
        for form in run.config.job.export:
            place = run.directory.export(f"{work.label}.{SUFFIXES[form]}")
            write_embedding(fs.LocalFileSystem(), str(place), vectors, form, setting="run_dir=<path>")


JOB = Job(
    MitigationRun,
    find_sources,
    run,
    embedding.TABLES | TABLES,
    "tiltmeter.jobs.mitigation.page:page",
    embedding_requests,
)
