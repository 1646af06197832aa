"""Job `word_influence`: what a word does in its context, and whether a classifier leans by words alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.classifiers.influence.config import WordInfluenceRun, find_sources
from tiltmeter.jobs.classifiers.influence.probes import DrawProbeContexts, ProbeShard, SumUpProbes
from tiltmeter.jobs.classifiers.influence.questions import (
    Checks,
    DrawContexts,
    EvaluateStudent,
    MaskWords,
    Replacements,
    ReplaceWords,
)
from tiltmeter.jobs.classifiers.influence.students import (
    DivideTexts,
    InfluenceRun,
    ListWords,
    StudentModel,
    find_teachers,
    train_students,
)
from tiltmeter.jobs.classifiers.influence.tables import TABLES, Flags, Prepared, Words
from tiltmeter.jobs.classifiers.labelled_data import read_labelled_data
from tiltmeter.jobs.runtime.files import Found
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.resources import CUDA, MODEL_LIBRARIES, model_folder, model_megabytes, uses_gpus
from tiltmeter.storage.store.ledger import TableRef


def run(run: InfluenceRun) -> None:
    """Train teachers and students, see how well these follow, and ask them."""
    config, seed = run.config, run.config.seed
    labelled = read_labelled_data(run.runner, config.data, run.sources.files, seed)
    max_words, kind = config.models.encoder.max_words, config.data.group or "sentence"
    divided = run.do([DivideTexts(label="texts as words", texts=labelled, max_words=max_words, seed=seed)])
    prepared = divided.one(Prepared)
    teachers = find_teachers(run, prepared)
    listed = run.do(
        ListWords(label=f"words of teacher {teacher.name}", group=teacher.name, teacher=teacher, texts=prepared)
        for teacher in teachers
    )
    words = {name: group.one(Words) for name, group in listed.groups.items()}
    students = train_students(run, teachers, prepared, words)
    run.do(
        EvaluateStudent(
            label=f"student {student.number} of teacher {student.teacher.name}",
            group=student.teacher.name,
            student=student,
            texts=prepared,
            intervals=config.intervals,
            kind=kind,
            run_seed=seed,
            seed=student.number,
        )
        for student in students
    )
    first = {student.teacher.name: student for student in students if student.number == 0}
    _replace_words(run, prepared, words, first)
    if config.masking.max_texts:
        run.do(
            MaskWords(
                label=f"student {student.number} of teacher {student.teacher.name}",
                group=student.teacher.name,
                student=student,
                vocabulary=words[student.teacher.name],
                texts=prepared,
                masking=config.masking,
                bias=config.influence_bias,
                intervals=config.intervals,
                kind=kind,
                run_seed=seed,
                seed=student.number,
            )
            for student in students
        )
    if config.probes.words:
        _probe_words(run, prepared, words, first, kind)


def _replace_words(
    run: InfluenceRun, prepared: TableRef, words: Mapping[str, TableRef], students: Mapping[str, StudentModel]
) -> None:
    config, ratios = run.config, run.config.ratios
    drawing = DrawContexts(
        label="contexts",
        group="contexts",
        texts=prepared,
        num=ratios.num_contexts,
        size=ratios.unit_contexts,
        seed=config.seed,
        tags=ratios.parts_of_speech,
    )
    [(_, drawn)] = run.do([drawing]).pairs
    run.do(
        ReplaceWords(
            label=f"{shard} of teacher {name}",
            group=name,
            student=student,
            vocabulary=words[name],
            contexts=contexts,
            ratios=Replacements(ratios.max_words, ratios.max_checked, ratios.confidence),
            checks=Checks(config.exact, ratios.num_checked),
            bias=config.influence_bias,
            level=config.intervals.level,
            seed=config.seed,
        )
        for name, student in students.items()
        for shard, contexts in drawn.tables.items()
    )


def _probe_words(
    run: InfluenceRun,
    prepared: TableRef,
    words: Mapping[str, TableRef],
    students: Mapping[str, StudentModel],
    kind: str,
) -> None:
    config, probes, seed = run.config, run.config.probes, run.config.seed
    drawing = DrawProbeContexts(
        label="contexts of probes",
        group="contexts",
        texts=prepared,
        most=probes.max_contexts,
        size=probes.unit_contexts,
        seed=seed,
        tag=probes.part_of_speech,
    )
    [(_, drawn)] = run.do([drawing]).pairs
    probed = run.do(
        ProbeShard(
            label=f"{shard} of teacher {name}",
            group=name,
            student=student,
            vocabulary=words[name],
            contexts=contexts,
            words=probes.listed,
            positive=probes.positive,
            tag=probes.part_of_speech,
            max_words=config.ratios.max_words,
            num_random=probes.num_random,
            confidence=probes.confidence,
            exact=config.exact,
            seed=seed,
        )
        for name, student in students.items()
        for shard, contexts in drawn.tables.items()
    )
    run.do(
        SumUpProbes(
            label=f"probes of teacher {name}",
            group=name,
            teacher=students[name].teacher,
            flags=shards.refs(Flags),
            contexts=list(drawn.tables.values()),
            vocabulary=words[name],
            control=probes.control,
            probe=probes.probe,
            words=probes.listed,
            positive=probes.positive,
            tag=probes.part_of_speech,
            kind=kind,
            max_words=config.ratios.max_words,
            num_random=probes.num_random,
            num_random_checked=probes.num_random_checked,
            num_checked=probes.num_checked,
            max_claims=probes.max_claims,
            intervals=config.intervals,
            seed=seed,
        )
        for name, shards in probed.groups.items()
    )


def _requests(config: WordInfluenceRun, _: Found, num_gpus: int) -> Sequence[ResourceRequest]:
    located = config.models.located
    if not located:
        return []
    on_gpu = uses_gpus(config.models.device, num_gpus, "models.device")
    sizes = {name: model_megabytes(Path(model_folder(*where))) for name, where in located.items()}
    largest = max(sizes, key=lambda name: sizes[name])
    needs = MODEL_LIBRARIES | {f"weights of {located[largest].checkpoint}": sizes[largest]} | (CUDA if on_gpu else {})
    advice = "set models.device=cpu" if on_gpu else ""
    return [ResourceRequest("stage train students", needs, on_gpu, advice=advice)]


JOB = Job(
    WordInfluenceRun,
    find_sources,
    run,
    TABLES,
    "tiltmeter.jobs.classifiers.influence.page:page",
    resources=_requests,
    extras=["classifiers"],
)
