"""Job `word_influence`: what a word does in its context, and whether a classifier leans by words alone."""

from collections.abc import Sequence
from pathlib import Path

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.classifiers.influence.config import InfluenceSources, WordInfluenceRun, find_sources
from tiltmeter.jobs.classifiers.influence.dividing import divide
from tiltmeter.jobs.classifiers.influence.evaluating import evaluate_students
from tiltmeter.jobs.classifiers.influence.learning import list_words, train_students
from tiltmeter.jobs.classifiers.influence.masking import mask_words
from tiltmeter.jobs.classifiers.influence.probing import probe_words
from tiltmeter.jobs.classifiers.influence.replacing import replace_words
from tiltmeter.jobs.classifiers.influence.tables import TABLES
from tiltmeter.jobs.classifiers.influence.teaching import find_teachers
from tiltmeter.jobs.classifiers.labelled_data import read_labelled_data
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.resources import CUDA, MODEL_LIBRARIES, model_folder, model_megabytes, uses_gpus


def run(run: Run[WordInfluenceRun, InfluenceSources]) -> None:
    """Train teachers and students, see how well these follow, and ask them."""
    config, runner = run.config, run.runner
    labelled = read_labelled_data(runner, config.data, run.sources.texts, config.seed)
    texts, prepared = divide(runner, labelled, config.models.encoder.max_words, config.seed)
    run.publish("texts", [texts])
    teachers = find_teachers(runner, config, run.sources, prepared)
    vocabularies = list_words(runner, teachers, prepared)
    run.publish("vocabularies", list(vocabularies.values()))
    students = train_students(runner, config, teachers, prepared, vocabularies)
    run.publish("students", evaluate_students(runner, config, teachers, prepared, students))
    asked = (runner, config, teachers, prepared, vocabularies, students)
    run.publish_all(replace_words(*asked))
    if config.masking.max_texts:
        run.publish("masking", mask_words(*asked))
    if config.probes.words:
        run.publish_all(probe_words(*asked))


def _requests(config: WordInfluenceRun, _: InfluenceSources, num_gpus: int) -> Sequence[ResourceRequest]:
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
    WordInfluenceRun, find_sources, run, TABLES, "tiltmeter.jobs.classifiers.influence.page:page", resources=_requests
)
