"""Victims that learn with found texts, beside those that learn with as many others, on texts that none was made of.

The attacked texts are divided by group before anything is made of them: variants of one half, the sources, are learnt,
and everything is read on the other. All trainings learn the sources themselves and four fifths of the groups of the
training texts, which the number of the training draws, as it does random swaps; so arms are paired. A linear victim is
fitted to its optimum, so that there are no steps to hold equal. Texts and trainings are both drawn: their variances add
up, which is what resampling both comes to (Owen 2007), with Student's t for the few trainings.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tiltmeter.jobs.adversary.attacks import Case, cases_of
from tiltmeter.jobs.adversary.tables import FLIPPED, LADDER, Part, Retrained, Retraining
from tiltmeter.jobs.classifiers.splits import units_of_texts
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers import augmentation
from tiltmeter.operators.classifiers.adversary import fitting, ladder
from tiltmeter.operators.classifiers.adversary.fitting import LinearConfig, analyser, fitted
from tiltmeter.operators.classifiers.adversary.ladder import SearchConfig
from tiltmeter.operators.classifiers.adversary.spaces import Queries, change_limit
from tiltmeter.operators.classifiers.adversary.victims import LinearReader
from tiltmeter.operators.classifiers.adversary.words import folded
from tiltmeter.operators.classifiers.augmentation import Variant, normal_form, random_positions, random_swaps
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics import differences, means
from tiltmeter.operators.statistics.differences import noncentrality
from tiltmeter.operators.statistics.intervals import LINEAR, LOGIT, Scale
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.text_intervals import cut
from tiltmeter.operators.statistics.units import Inferred, units_of
from tiltmeter.storage.store.ledger import Store, TableRef

NONE, COPIES, SWAPS, POSITIONS, COUNTERFACTUALS, FOUND = ARMS = (
    *("none", "copies", "random_swaps", "random_positions", "counterfactuals", "found"),
)
CLAIMS = (SWAPS, COPIES)
"""Arms that found texts are compared with."""

MEASURES = ("accuracy", "flip_rate", "robust_accuracy", "transfer")
_TESTED = MEASURES[:2]
_SHARE = 0.8
_NO_TEXTS = "no text of the half that is learnt from was found to flip a right verdict without changing what is said"


def is_source(row: Part, seed: int) -> bool:
    """Whether a text is in the half that variants are made of, as its group or else what it says tells."""
    tie = row.text if row.group is None else f"group\n{row.group}"
    return document_key(f"{seed}\naugmentation\n{tie}") % 2 == 0


class _Made(NamedTuple):
    """A found text, with what it was made of."""

    variant: Variant
    direction: str
    num_changes: int


class Retrain(Work, unit="adversary_retraining/1", stage="retrain", makes=[Retrained]):
    """One training of each arm.

    Attributes:
        victim: its name.
        linear, masked: how it learns; see :class:`.victims.FitLinear`.
        number: of the training.
        texts: of all parts; attacked: the test texts, in parts; spaces: what their words may become.
        attacks, collected: what the victim's attacks ended with, in parts, and the table ``augmentation``.
    """

    victim: str
    linear: LinearConfig
    masked: Sequence[str]
    search: SearchConfig
    number: int
    seed: int
    texts: TableRef
    attacked: Sequence[TableRef]
    spaces: Sequence[TableRef]
    attacks: Sequence[TableRef]
    collected: TableRef
    operators: Sequence[str] = (augmentation.VERSION, fitting.VERSION, ladder.VERSION)

    def rows(self, store: Store) -> Iterator[Retrained]:
        """Of each held-out text, by arm."""
        attacked = [row for ref in self.attacked for row in Part.read(store, ref)]
        sources = {row.row: row for row in attacked if is_source(row, self.seed)}
        held_out = [row for row in attacked if row.row not in sources]
        spaces = pl.concat([pl.DataFrame(store.read(ref)) for ref in self.spaces])
        cases = cases_of(spaces.filter(control=-1, replica=0))
        flips = pl.DataFrame(store.read(self.collected)).filter(victim=self.victim, search=LADDER)
        added = self._arms(store, sources, cases, self._variants(flips, sources))
        old = dict(flips.group_by("row").agg("text").iter_rows())
        learnt = [*self._training(store), *((row.text, row.label) for row in sources.values())]
        by_found = {normal_form(one.text) for one in added.get(FOUND, [])}
        for arm, variants in added.items():
            texts = [*learnt, *((one.text, one.label) for one in variants)]
            made = fitted([text for text, _ in texts], [label for _, label in texts], self.linear, self.masked)
            terms = {term: number for number, term in enumerate(made.vocabulary)}
            reader = LinearReader(made.model, made.classes, terms, analyser())
            same = [float(normal_form(one.text) in by_found) for one in variants]
            for row in held_out:
                made_of = Retrained(victim=self.victim, row=row.row, arm=arm, number=self.number)
                made_of.num_added, made_of.found_share = len(variants), float(np.mean(same or [np.nan]))
                self._read(made_of, reader, row, cases.get(row.row, []), old.get(row.row, []))
                yield made_of

    def _training(self, store: Store) -> list[tuple[str, str]]:
        """Of the groups of the training texts, those that the number draws."""
        rows = [row for row in store.read(self.texts).to_pylist() if row["part"] == "training"]
        units = units_of_texts(rows)
        draws = keyed_generator(self.seed, Stream.AUGMENTATION, self.number)
        kept = np.zeros(units.num, dtype=bool)
        kept[draws.choice(units.num, max(1, round(_SHARE * units.num)), replace=False)] = True
        return [(row["text"], row["label"]) for row, unit in zip(rows, units.codes, strict=True) if kept[unit]]

    def _variants(self, flips: pl.DataFrame, sources: Mapping[int, Part]) -> list[_Made]:
        """Found of the sources, of which the victim was right, each normal form once."""
        sound = flips.filter(pl.col("is_correct") & ~pl.col("is_flagged") & pl.col("row").is_in(list(sources)))
        made: dict[str, _Made] = {}
        for row in sound.sort("row", "direction").iter_rows(named=True):
            variant = Variant(row["row"], row["label"], row["text"])
            made.setdefault(normal_form(row["text"]), _Made(variant, row["direction"], row["words_changed"]))
        return list(made.values())

    def _arms(
        self, store: Store, sources: Mapping[int, Part], cases: Mapping[int, Sequence[Case]], flips: Sequence[_Made]
    ) -> dict[str, list[Variant]]:
        """What each adds, as many texts as were found; without any, nothing at all."""
        arms: dict[str, list[Variant]] = {NONE: []}
        if not flips:
            return arms
        draws = keyed_generator(self.seed, Stream.AUGMENTATION, self.number, 1)
        named = {(row, case.direction): case.space for row, of_row in cases.items() for case in of_row}
        options = {
            word for row in sources for case in cases.get(row, []) for one in case.space.values() for word in one
        }
        words = sorted(set(folded(sorted(options))))
        for arm in (COPIES, SWAPS, POSITIONS):
            arms[arm] = []
            for (source, label, _), direction, num in flips:
                text = sources[source].text
                if arm == SWAPS:
                    text = random_swaps(text.split(), named[source, direction], num, draws)
                if arm == POSITIONS:
                    text = random_positions(text.split(), words, num, draws)
                arms[arm].append(Variant(source, label, text))
        if others := self._counterfactuals(store, sources):
            taken = np.resize(draws.permutation(len(others)), len(flips))
            arms[COUNTERFACTUALS] = [others[number] for number in taken]
        return arms | {FOUND: [one.variant for one in flips]}

    def _counterfactuals(self, store: Store, sources: Mapping[int, Part]) -> list[Variant]:
        """Sources with all gendered words swapped, those that have some, whether a verdict flips or not."""
        rows = pl.concat([pl.DataFrame(store.read(ref)) for ref in self.attacks])
        swaps = rows.filter(pl.col("num_changes") > 0, pl.col("row").is_in(list(sources)), victim=self.victim)
        rows = swaps.filter(search="swap").sort("row", "direction").select("row", "changed_text")
        return [Variant(row, sources[row].label, text) for row, text in rows.iter_rows()]

    def _read(
        self, result: Retrained, reader: LinearReader, row: Part, cases: Sequence[Case], old: Sequence[str]
    ) -> None:
        """Whether the verdict is right, whether it flips along some direction, and in how many of the old texts."""
        tokens = row.text.split()
        victim_of, label = reader.for_text(tokens, []), _verdict(reader, tokens)
        limit, result.is_flip = change_limit(len(tokens), self.search.max_share), False
        for case in cases:
            if not result.is_flip:
                key = document_key(f"{row.text}\n{case.direction}\nretrained")
                queries = Queries(victim_of(case.space), label)
                attack = ladder.ladder(queries, case.sizes, limit, self.search, self.seed, key)
                result.is_flip = attack.status in FLIPPED
        flipped = [_verdict(reader, text.split()) != label for text in old]
        result.is_correct = reader.classes[label] == row.label
        result.transfer = float(np.mean(flipped)) if flipped else np.nan


def _verdict(reader: LinearReader, tokens: Sequence[str]) -> int:
    return int(reader.for_text(tokens, [])({})(np.zeros((1, 0), dtype=np.int64))[0].argmax())


class EvaluateRetraining(Work, unit="adversary_retraining_summary/2", stage="compare trainings", makes=[Retraining]):
    """Of all victims: the numbers of each arm, and found texts less those that they are compared with.

    Attributes:
        retrained: by training, in parts; attacked: the test texts, in parts.
    """

    level: float
    retrained: Sequence[TableRef]
    attacked: Sequence[TableRef]
    operators: Sequence[str] = (means.VERSION, differences.VERSION)

    def rows(self, store: Store) -> Sequence[Retraining]:
        """P-values are adjusted at the end, over all victims."""
        frame = pl.concat([pl.DataFrame(store.read(ref)) for ref in self.retrained])
        groups = {row.row: row.group for ref in self.attacked for row in Part.read(store, ref)}
        made: list[Retraining] = []
        for [victim], part in frame.group_by("victim", maintain_order=True):
            arms = {arm: part.filter(arm=arm).sort("number", "row") for arm in ARMS if arm in part["arm"]}
            named = [groups[row] for row in part["row"].unique().sort()]
            for arm, rows in arms.items():
                made += [self._row(str(victim), (arm, ""), name, [rows], named) for name in MEASURES]
            for other in CLAIMS:
                pair = [arms[arm] for arm in (FOUND, other) if arm in arms]
                made += [self._row(str(victim), (FOUND, other), name, pair, named) for name in MEASURES]
        tested = [row for row in made if row.against and row.measure in _TESTED]
        adjusted = holm(np.array([row.p_value for row in tested], dtype=np.float64))
        for row, p_value in zip(tested, adjusted.tolist(), strict=True):
            row.p_adjusted = p_value
        return made

    def _row(
        self,
        victim: str,
        key: tuple[str, str],
        measure: str,
        arms: Sequence[pl.DataFrame],
        groups: Sequence[str | None],
    ) -> Retraining:
        arm, against = key
        row = Retraining(victim=victim, arm=arm, against=against, measure=measure, p_value=np.nan, p_adjusted=np.nan)
        if not arms:
            return row.fail("no_texts", _NO_TEXTS)
        parts = [_matrix(part, measure) for part in arms]
        values = parts[0] - parts[1] if against else parts[0]
        result = two_way(values, groups, self.level, cut(-1.0, 1.0) if against else LOGIT)
        row.num_texts, row.num_seeds = int((~np.isnan(values[0])).sum()), len(values)
        counts = arms[0].select(pl.col("num_added", "found_share").mean()).row(0)
        row.num_added, row.found_share = counts
        row.value = Estimate(result.value, result.low, result.high)
        if result.too_few:
            return row.fail(result.status, result.reason)
        if against and result.variance > 0.0:
            row.p_value = result.p
            row.detectable = noncentrality(result.df, self.level) * result.variance**0.5
        return row


def two_way(values: FloatArray, groups: Sequence[str | None], level: float, scale: Scale = LINEAR) -> Inferred:
    """The mean over trainings and texts, with an interval over both.

    The variance of the texts' averages, by group, and that of the trainings' averages add up; what a training does to
    one text counts in both, as where both are resampled, so that the interval is rather too wide than too narrow.

    Args:
        values: ``[trainings, texts]``; NaN where a text has none.
        groups: of the texts; None for a text alone.
        level: nominal coverage.
        scale: of the mean; a share's interval is that of a score test, which holds no number beyond 0 and 1.
    """
    known = ~np.isnan(values).any(axis=0)
    averages: NDArray[np.float64] = np.where(known, np.nan_to_num(values).mean(axis=0), np.nan)
    seeds = values[:, known].mean(axis=1) if known.any() else None
    return mean(averages, units_of(groups, "group"), level=level, scale=scale, seeds=seeds)


def _matrix(rows: pl.DataFrame, measure: str) -> FloatArray:
    """``[trainings, texts]``."""
    columns = {"accuracy": pl.col("is_correct"), "flip_rate": pl.col("is_flip"), "transfer": pl.col("transfer")}
    columns["robust_accuracy"] = pl.col("is_correct") & ~pl.col("is_flip")
    values: FloatArray = rows.select(columns[measure].cast(pl.Float64).fill_null(np.nan)).to_series().to_numpy()
    return values.reshape(rows["number"].n_unique(), -1)
