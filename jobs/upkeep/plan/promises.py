"""What earlier jobs of a night will have done, for those after them: units by their places, and parts of corpora."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tiltmeter.jobs.upkeep.plan.corpora import Parts
from tiltmeter.jobs.upkeep.plan.counting import Counted, CountedStage
from tiltmeter.storage.store.ledger import Finished


class _Part(NamedTuple):
    job: str
    is_counted: bool


@dataclass
class Promises:
    """What the jobs so far will have done.

    Attributes:
        units: by place: the job that does each first, and a stand-in.
        parts: by stage and digest: the job, and whether its units are among ``units``.
    """

    units: dict[str, tuple[str, Finished]] = field(default_factory=dict)
    parts: dict[tuple[str, str], _Part] = field(default_factory=dict)

    def add(self, job: str, counted: Counted, parts: Parts, rest: Parts) -> None:
        """Take a job of the list as done.

        Args:
            job: its name.
            counted: its units.
            parts: of the corpora whose units were counted as far as any.
            rest: of its other corpora.
        """
        self.units |= {place: (job, unit) for place, unit in counted.missing.items()}
        names = {stage.name for stage in counted.stages}
        for whole, stages in ((parts, names), (rest, names - counted.partly)):
            for stage, digests in whole.items():
                for key in digests:
                    self.parts.setdefault((stage, key), _Part(job, stage in stages))

    def without_shared(self, stage: CountedStage, parts: Parts, *, is_counted: bool) -> CountedStage:
        """A stage without the missing units that an earlier job will have done, where places can't tell.

        That is where units of this job, or of the earlier one, depend on tables that are not there yet: those of the
        corpora, or replicas, that both go through in the same way are taken to be the same.

        Args:
            stage: as it was counted, or is taken to be.
            parts: of the corpora that its job reads.
            is_counted: whether its units were counted, and so without those that the earlier job's were found to be.
        """
        weights = parts.get(stage.name, {})
        promised = {key: self.parts[stage.name, key] for key in weights if (stage.name, key) in self.parts}
        if not promised:
            return stage
        others = sum(weight for key, weight in weights.items() if key not in promised) / sum(weights.values())
        num_units = stage.num_done + stage.num_shared + stage.num_missing
        by_place = is_counted and all(part.is_counted for part in promised.values())
        most = stage.num_expected if by_place else stage.num_missing
        num = max(0, min(most, stage.num_missing - round(others * num_units)))
        names = [*stage.shared_with, *(part.job for part in promised.values())] if num else stage.shared_with
        left = stage.num_missing - num
        return replace(
            stage,
            num_missing=left,
            num_expected=min(left, stage.num_expected),
            num_shared=stage.num_shared + num,
            shared_with=tuple(dict.fromkeys(names)),
        )
