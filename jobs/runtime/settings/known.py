"""Which settings there are, and which one was meant by a word that is none of them."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import getitem
from typing import Any, Self

from tiltmeter.jobs.runtime.settings.files import Choice, SettingsFolders, absolute
from tiltmeter.jobs.runtime.wording import listed
from tiltmeter.storage.errors import meant, nearest

COMMANDS = {
    "runs": "tiltmeter.jobs.upkeep.runs:write_index",
    "lookup": "tiltmeter.jobs.resolution.records.lookup:lookup_words",
    "doctor": "tiltmeter.jobs.upkeep.doctor:diagnose",
    "init": "tiltmeter.jobs.upkeep.init:write_settings",
    "completion": "tiltmeter.jobs.completion:completion",
}
"""What stands in place of a job and is none, with the function that answers the words behind it."""

_MOST_NAMES = 20
FORMER = {
    "": {
        "corpus.shard_megabytes": "it is called reading.shard_megabytes",
        "embedding.cooccurrence.num_blocks": "blocks follow the memory of a worker, cluster.worker_megabytes",
        "embedding.glove.tile_words": "it is called embedding.cooccurrence.tile_words",
        "embedding.glove": "it is called embedding.trainer",
        "embedding.group_size": "units are dealt one by one",
    },
    "overnight": {
        "job.notify": "set notify.command to a command that reads the outcome as JSON; docs/overnight.md has one for a "
        "webhook and one for mail",
    },
    "private_vectors": {"release.most_epsilon": "it is called release.max_exact_epsilon"},
    "relation_rules": {
        "encoder.most_vectors": "it is called encoder.max_vectors",
        "rules.induction.least_confirmed": "it is called rules.induction.min_confirmed",
        "rules.induction.least_precision": "it is called rules.induction.min_precision",
        "rules.induction.least_support": "it is called rules.induction.min_support",
        "rules.induction.most_between": "it is called rules.induction.max_between",
        "rules.induction.most_instances": "it is called rules.induction.max_instances",
        "rules.induction.most_kept": "it is called rules.induction.max_kept",
        "texts.most_between": "it is called texts.max_between",
    },
    "sentiment_posterior": {
        "words.most": "it is called words.max_words",
        "elliptical": "chains are drawn by nuts alone; set nuts.chains, nuts.warmup and nuts.draws",
        "gibbs": "no bags are drawn; words.min_count and words.max_words choose the words that are held against draws",
        "nearest": "no texts are looked up for draws; priors=[empirical] draws the texts themselves",
    },
    "word_influence": {
        "probes.most_claims": "it is called probes.max_claims",
        "ratios.most": "it is called ratios.max_checked",
        "ratios.sureness": "it is called ratios.confidence",
    },
}
"""By job, or of all jobs, settings and groups of them that there were, and what is in their place."""


def keys_of(node: Any, prefix: str = "") -> Iterator[str]:
    """All keys of nested mappings, with dots.

    >>> list(keys_of({"job": {"name": "a", "size": 1}, "seed": 0}))
    ['job', 'job.name', 'job.size', 'seed']
    """
    if isinstance(node, Mapping):
        for name, inner in node.items():
            key = f"{prefix}.{name}" if prefix else str(name)
            yield key
            yield from keys_of(inner, key)


@dataclass(frozen=True)
class Known:
    """The settings of a composed config, and those that other jobs and other choices have.

    Attributes:
        composed: as far as it is, as plain mappings.
        folders: with the files that it could be composed of.
    """

    composed: Mapping[str, Any]
    folders: SettingsFolders = field(default_factory=lambda: SettingsFolders(()))

    def without(self, key: str) -> Self:
        """The same, had a key not been set."""
        *parents, name = key.split(".")
        changed = deepcopy(dict(self.composed))
        node: Any = reduce(getitem, parents, changed)
        del node[name]
        return replace(self, composed=changed)

    def no_such(self, key: str) -> str:
        """What to say of a key that is no setting."""
        for former, instead in (FORMER[""] | FORMER.get(str(self._job), {})).items():
            if f"{key}.".startswith(f"{former}."):
                return f"is no longer a setting: {instead}"
        group = self._group(key)
        if owners := [option for option in self.folders.options(group) if self._has(f"{group}/{option}", key)]:
            job = f"job={self._job}" if group == "job" else "what is chosen"
            return f"is a setting of {'+' if self.is_added(group) else ''}{group}={listed(owners)}, not of {job}"
        return f"there is no such setting{self._meant(key)}"

    def is_added(self, group: str) -> bool:
        """Whether what is chosen of a group is added to the job's settings, with a plus."""
        return group != "job" and group in self.folders.gathered(f"job/{self._job}", {}).settings

    @property
    def _job(self) -> Any:
        job = self.composed.get("job")
        return job.get("name") if isinstance(job, Mapping) else None

    def _group(self, key: str) -> str:
        first = key.partition(".")[0]
        return first if first in self.composed else "job"

    def _has(self, name: str, key: str) -> bool:
        """Whether a file of settings, or one that it chooses or may choose, has a key."""
        file, folder = self.folders.file(name), name.rpartition("/")[0]
        return file.setting(key) is not None or any(
            self._may_have(
                choice, folder, key.removeprefix(f"{choice.within(file.package)}.") if choice.package else key
            )
            for choice in file.choices
        )

    def _may_have(self, choice: Choice, folder: str, key: str) -> bool:
        if not choice.group:
            return self._has(absolute(choice.options[0], folder), key)
        group = absolute(choice.group, folder)
        if group.partition("/")[0] != key.partition(".")[0]:
            return False
        return key == group or any(self._has(f"{group}/{option}", key) for option in self.folders.options(group))

    def _meant(self, key: str) -> str:
        parent, _, name = key.rpartition(".")
        beside = [known.removeprefix(f"{parent}.") for known in self._keys if known.rpartition(".")[0] == parent]
        if similar := nearest(name, beside):
            return f"; did you mean {parent}{'.' if parent else ''}{similar}?"
        if elsewhere := [known for known in self._keys if known.rpartition(".")[2] == name]:
            return f"; did you mean {listed(elsewhere[:_MOST_NAMES], 'or')}?"
        if asked := meant(key, self._keys):
            return asked
        return f"; {parent or 'the job'} has {listed(beside)}" if 0 < len(beside) <= _MOST_NAMES else ""

    @cached_property
    def _keys(self) -> list[str]:
        return [*dict.fromkeys([*keys_of(self.composed), *self.folders.groups])]
