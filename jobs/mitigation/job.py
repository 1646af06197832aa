"""Job `mitigation`: gender erased from vectors, and measures, probes and quality before and after."""

from importlib.metadata import version
from itertools import product

from pyarrow import fs

from tiltmeter.jobs.association import measures as association
from tiltmeter.jobs.association.config import AssociationConfig
from tiltmeter.jobs.association.measures import ANALOGIES, find_measure, is_along
from tiltmeter.jobs.association.weat import SIDES, chosen_tests
from tiltmeter.jobs.embedding import tables as embedding
from tiltmeter.jobs.embedding.bootstrap.job import SUFFIXES, embedding_file, file_label
from tiltmeter.jobs.embedding.config import narrowed
from tiltmeter.jobs.embedding.models import Model, Needs, find_models
from tiltmeter.jobs.embedding.replicas import replica_label
from tiltmeter.jobs.embedding.resources import embedding_requests
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.mitigation.comparing import Compare
from tiltmeter.jobs.mitigation.config import LEAST_EXTREMES, MitigationRun, defining_pairs, words_of_gender
from tiltmeter.jobs.mitigation.erasing import Erase, query_table
from tiltmeter.jobs.mitigation.tables import TABLES, Readings
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.work import Done
from tiltmeter.operators.association.erasers import EraserSettings, Method
from tiltmeter.operators.embedding.bootstrap import ORIGINAL, replica_name
from tiltmeter.operators.text.wordsets import WordSets
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.vectors.files import write_embedding

MitigatedRun = Run[MitigationRun, Sources]


def find_sources(config: MitigationRun) -> Sources:
    """As :func:`.association.measures.find_sources`.

    Raises:
        InputError: for what is along the direction of pairs, too, which erasers are fitted to.
    """
    for name in config.measures:
        if name == ANALOGIES or is_along(find_measure(name)):
            raise InputError(
                f"measures={name}: is along the direction that job=mitigation erases, of which its probes and clusters "
                "say what is left; leave it out, or name measures of association tests, such as weat"
            )
    return association.find_sources(config)


def run(run: MitigatedRun) -> None:
    """Erase, measure, compare; publish tables, and write vectors if asked to."""
    models = find_models(run, Needs(_lists, num_frequent=run.config.job.num_words))
    for model in models:
        _check_words(run, model)
    methods: list[tuple[Method | None, bool]] = [(None, False), *product(run.config.job.methods, (False, True))]
    erased = run.do(
        _erase(run, model, method, is_random, number)
        for model in models
        for method, is_random in methods
        for number in range(len(model.vectors.originals))
    )
    by_model = {model.name: model for model in models}
    run.do(
        _compare(run, by_model[name], method, is_random, done)
        for name, done in erased.groups.items()
        for method, is_random in methods
        if method
    )
    export(run, erased)


def _lists(wordset: WordSets) -> dict[str, list[str]]:
    name = "gender.definitional_pairs" if wordset.gender else "gender_survey.defining"
    return {name: [word for pair in defining_pairs(wordset) for word in pair]}


def _check_words(run: MitigatedRun, model: Model) -> None:
    """Refuse a vocabulary in which nothing can be fitted.

    Raises:
        InputError: saying how many words there are.
    """
    table = run.runner.store.read(model.vectors.originals[ORIGINAL].select("word", "vector"))
    known = set(table.filter(table["vector"].is_valid())["word"].to_pylist())
    pairs = [pair for pair in defining_pairs(model.wordset) if known.issuperset(pair)]
    needed = 4 * LEAST_EXTREMES + 2 * len(pairs)
    if (num := len(known.difference(words_of_gender(model.wordset, run.config.job.specific)))) < needed:
        raise InputError(
            f"{model.name}: has vectors of {num} words beside those of a gender, and {needed} are needed; take another "
            "embedding, a larger corpus or a lower embedding.min_count, or raise job.num_words"
        )
    if not pairs:
        raise InputError(f"{model.name}: has both words of no pair that defines gender; give others in wordset")


def _erase(run: MitigatedRun, model: Model, method: Method | None, is_random: bool, number: int) -> Erase:
    job, tests = run.config.job, chosen_tests(model.wordset, run.config.tests)
    words = {name: [word for side in SIDES for word in getattr(test, side).words] for name, test in tests.items()}
    what = f"{method or 'as it is'}{', at random' if is_random else ''}"
    return Erase(
        group=model.name,
        label=f"{model.name} {replica_name(number)} {what}",
        method=method,
        is_random=is_random,
        is_exported=bool(job.export and method and not is_random),
        eraser=narrowed(EraserSettings, job),
        num_extremes=job.num_extremes,
        similarity=job.similarity,
        gensim=version("gensim"),
        pairs=defining_pairs(model.wordset),
        specific=words_of_gender(model.wordset, job.specific),
        queries={name: sorted({*listed}) for name, listed in words.items()},
        number=number,
        seed=run.config.seed,
        vectors=model.vectors.originals[number].select("word", "spelled", "vector"),
    )


def _compare(run: MitigatedRun, model: Model, method: Method | None, is_random: bool, erased: Done[Erase]) -> Compare:
    job, tests = run.config.job, chosen_tests(model.wordset, run.config.tests)
    before = Done([pair for pair in erased.pairs if pair[0].method is None])
    after = Done([pair for pair in erased.pairs if (pair[0].method, pair[0].is_random) == (method, is_random)])
    keys = {"model": model.name, "language": model.language, "method": str(method)}
    return Compare(
        group=model.name,
        label=f"{model.name} {method}{', at random' if is_random else ''}",
        keys=keys | {"erased": "random" if is_random else "gender"},
        drawn=model.vectors.scheme,
        measures={name: find_measure(name).version for name in run.config.measures},
        tests=tests,
        settings=AssociationConfig(
            level=job.level, interval=job.interval, min_words=job.min_words, min_share=job.min_share
        ),
        before=before.refs(Readings),
        after=after.refs(Readings),
        words_before=[ref for place in range(len(tests)) for ref in before.refs(query_table(place))],
        words_after=[ref for place in range(len(tests)) for ref in after.refs(query_table(place))],
    )


def export(run: MitigatedRun, erased: Done[Erase]) -> None:
    """Write the vectors of all words into ``exports/``, of every embedding as each method leaves it."""
    for work, unit in erased.pairs if run.config.job.export else ():
        if work.is_exported:
            vectors = embedding_file(run.runner.store.read(unit.tables["vectors"]))
            for form in run.config.job.export:
                name = f"{file_label(work.group)}_{work.method}_{replica_label(work.number)}.{SUFFIXES[form]}"
                place = str(run.directory.export(name))
                write_embedding(fs.LocalFileSystem(), place, vectors, form, setting="run_dir=<path>")


_TABLES = embedding.TABLES | TABLES
JOB = Job(
    MitigationRun,
    find_sources,
    run,
    _TABLES,
    "tiltmeter.jobs.mitigation.page:page",
    embedding_requests,
    extras=["vectors"],
)
