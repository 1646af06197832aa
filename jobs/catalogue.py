"""All jobs by name: a line each for ours, an entry point of the group ``tiltmeter.jobs`` for those of other packages.

A job is loaded when it is asked for, so that nobody waits for what others import.
"""

from collections.abc import Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from tiltmeter.jobs.runtime.settings.files import SettingsFolders
from tiltmeter.storage.errors import Refusal, choices

if TYPE_CHECKING:
    from tiltmeter.jobs.runtime.job import Job

GROUP = "tiltmeter.jobs"

SETTINGS, CONFIG = "tiltmeter.conf", "tiltmeter"
"""The package of the settings, and the file in it that names the others."""

PLAN = "plan"
"""The job of which another job is planned."""

OURS = {
    "association": "tiltmeter.jobs.association.job:JOB",
    "attribution": "tiltmeter.jobs.classifiers.attribution.job:JOB",
    "bootstrap": "tiltmeter.jobs.embedding.bootstrap.job:JOB",
    "compare": "tiltmeter.jobs.upkeep.compare.job:JOB",
    "corpus_export": "tiltmeter.jobs.embedding.corpus_export.job:JOB",
    "decoy_benchmark": "tiltmeter.jobs.classifiers.decoys.job:JOB",
    "entity_resolution": "tiltmeter.jobs.resolution.job:JOB",
    "error_characterisation": "tiltmeter.jobs.classifiers.errors.job:JOB",
    "gender_adversary": "tiltmeter.jobs.adversary.job:JOB",
    "gender_survey": "tiltmeter.jobs.gender.job:JOB",
    "gru_training": "tiltmeter.jobs.sentiment.gru_training.job:JOB",
    "mitigation": "tiltmeter.jobs.mitigation.job:JOB",
    "overnight": "tiltmeter.jobs.upkeep.overnight.job:JOB",
    "plan": "tiltmeter.jobs.upkeep.plan.job:JOB",
    "privacy_metrics": "tiltmeter.jobs.classifiers.privacy.job:JOB",
    "private_vectors": "tiltmeter.jobs.embedding.private_vectors.job:JOB",
    "prune": "tiltmeter.jobs.upkeep.prune.job:JOB",
    "psychophysics": "tiltmeter.jobs.psychophysics.job:JOB",
    "relation_rules": "tiltmeter.jobs.relations.job:JOB",
    "sentence_pairs": "tiltmeter.jobs.language_models.job:JOB",
    "sentiment_posterior": "tiltmeter.jobs.sentiment.posterior.job:JOB",
    "sentiment_rating": "tiltmeter.jobs.sentiment.rating.job:JOB",
    "survey": "tiltmeter.jobs.survey.job:JOB",
    "vector_quality": "tiltmeter.jobs.embedding.vector_quality.job:JOB",
    "word_influence": "tiltmeter.jobs.classifiers.influence.job:JOB",
}


def names() -> list[str]:
    """Of all jobs, sorted."""
    return sorted({*OURS, *_theirs()})


def with_job(words: Sequence[str]) -> list[str]:
    """Settings of a command line, where a job may stand by its name alone, and behind ``plan`` the one that is planned.

    >>> with_job(["seed=1", "compare"]), with_job(["plan", "survey"])
    (['job=compare', 'seed=1'], ['job=plan', 'job.of=survey'])

    Raises:
        Refusal: if two jobs are named.
    """
    bare = [word for word in words if word.isidentifier()]
    jobs = [word for word in bare if word in names()] if bare else []
    if not jobs:
        return list(words)
    others = [word for word in words if word != jobs[0]]
    if jobs[0] == PLAN and len(bare) > 1:
        others.remove(bare[1])
        others.insert(0, f"job.of={bare[1]}")
    elif second := next((word for word in others if word in jobs or word.startswith("job=")), None):
        raise Refusal(f"{jobs[0]} {second}: two jobs are named; leave one out: job=overnight runs several")
    return [f"job={jobs[0]}", *others]


def job(name: str) -> "Job[Any, Any]":
    """The job of a name.

    Raises:
        ConfigError: if there is none, or if what a package offers under the name is no job.
    """
    # They bring what the name of a job does not need.
    from tiltmeter.jobs.runtime.config import ConfigError
    from tiltmeter.jobs.runtime.job import Job, loaded

    if name not in OURS and name not in _theirs():
        raise ConfigError(f"job={name}: there is no such job; choose one of {choices(name, names())}")
    place = OURS.get(name) or _theirs()[name].value
    offered = loaded(place)
    if not isinstance(offered, Job):
        raise ConfigError(f"job={name}: {place} is a {type(offered).__name__}, and must be a Job")
    return offered


def settings_packages() -> list[str]:
    """Packages with the settings of other people's jobs: ``conf/job/<name>.yaml`` beside the entry point's module."""
    return sorted({f"{point.module.partition('.')[0]}.conf" for point in _theirs().values()})


def settings_folders(more: Sequence[str] = ()) -> SettingsFolders:
    """All files of settings: ours, those of other people's jobs, and those of more folders."""
    packages = [f"pkg://{package}" for package in (*settings_packages(), SETTINGS)]
    return SettingsFolders([*(f"file://{folder}" for folder in more), *packages])


@cache
def _theirs() -> dict[str, EntryPoint]:
    """Entry points by name; none takes the name of a job of ours."""
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in OURS}
