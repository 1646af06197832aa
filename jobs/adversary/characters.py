"""What changes of single characters make of the victims' verdicts, text by text, and over all texts."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from tiltmeter.jobs.adversary.tables import Characters, Misspellings, Part
from tiltmeter.jobs.adversary.victims import FoundVictim
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers.adversary import victims
from tiltmeter.operators.classifiers.characters import VERSION, CharacterConfig, stress
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.storage.store.ledger import Store, TableRef

_KEY = ("kind", "number", "defence")
_TOLD = ("unmoved", "pieces", "unknown", "unknown_before")


class ChangeCharacters(Work, unit="adversary_misspellings/1", stage="change characters", makes=[Misspellings]):
    """What becomes of the verdicts on the texts of a part.

    Attributes:
        part: the texts.
        span: of its rows, those that are taken; None: all.
    """

    victim: FoundVictim
    characters: CharacterConfig
    seed: int
    part: TableRef
    span: tuple[int, int] | None = None
    operators: Sequence[str] = (VERSION, victims.VERSION)

    def rows(self, store: Store) -> Iterator[Misspellings]:
        """Of one text after the other; each has draws of its own, which its words tell."""
        with self.victim.ready(store) as reader:
            for text in Part.read(store, self.part)[slice(*self.span or (None,))]:
                draws = keyed_generator(self.seed, Stream.CHARACTER_CHANGE, document_key(text.text))
                for outcome in stress(reader, text.text.split(), self.characters, draws):
                    yield Misspellings(row=text.row, victim=self.victim.name, **outcome._asdict())


class EvaluateCharacters(Work, unit="adversary_characters/1", stage="compare characters", makes=[Characters]):
    """Of all victims: rates of each kind and number of changes, with and without defences.

    Attributes:
        made: by text, in parts; attacked: the texts, in parts.
    """

    level: float
    made: Sequence[TableRef]
    attacked: Sequence[TableRef]
    operators: Sequence[str] = (means.VERSION,)

    def rows(self, store: Store) -> Iterator[Characters]:
        """In the order of the attacks."""
        frame = pl.concat([pl.DataFrame(store.read(ref)) for ref in self.made])
        groups = {row.row: row.group for ref in self.attacked for row in Part.read(store, ref)}
        bare = frame.filter(defence="none").select("victim", "row", "kind", "number", pl.col("flips").alias("bare"))
        frame = frame.join(bare, on=bare.columns[:-1], how="left", maintain_order="left")
        for [victim, kind, number, defence], part in frame.group_by("victim", *_KEY, maintain_order=True):
            row = Characters(victim=str(victim), kind=str(kind), number=int(str(number)), defence=str(defence))
            yield self._filled(row, part, groups)

    def _filled(self, row: Characters, part: pl.DataFrame, groups: Mapping[int, str | None]) -> Characters:
        units, level = units_of([groups[number] for number in part["row"]], "group"), self.level
        flips, random, bare = (part[name].to_numpy() for name in ("flips", "random_flips", "bare"))
        rates = [mean(values, units, level=level, scale=LOGIT) for values in (flips, random)]
        differences = [mean(values, units, level=level, scale=FISHER) for values in (flips - random, bare - flips)]
        row.flip_rate, row.random_rate, row.excess, averted = (
            Estimate(one.value, one.low, one.high) for one in (*rates, *differences)
        )
        row.num_texts, row.averted = part.height, Estimate(np.nan) if row.defence == "none" else averted
        for name in _TOLD:
            setattr(row, name, part[name].drop_nulls().mean())
        return row.fail(rates[0].status, rates[0].reason) if rates[0].too_few else row
