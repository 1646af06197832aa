"""What noisy vectors are still good for: distances and inner products, tasks beside their controls, and guesses of
words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import Any

import numpy as np

from tiltmeter.jobs.embedding.config import narrowed
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.mechanisms import Mechanism, Noise, stretch_of
from tiltmeter.jobs.embedding.private_vectors.sources import PrivateSources
from tiltmeter.jobs.embedding.private_vectors.tables import Deniability, Distances, Utility
from tiltmeter.jobs.embedding.private_vectors.vocabulary import Geometry, Maps, map_of, vectors_of, words_and_vectors
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release import deniability, noise, utility
from tiltmeter.operators.embedding.private_release import distances as read_outs
from tiltmeter.operators.embedding.private_release.mechanisms import Specification
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.intervals import LOG, IntervalSettings, bootstrap_interval
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.operators.text.segmentation import spaced
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.records import read_records
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, TableRef

_NO_NOISE = {"dimensions": 0, "epsilon": None, "compared_at": "nominal", "exact_epsilon": None, "noise_per": "none"}


# --- experiments 1 and 2: distances and inner products --------------------------------------------------------------


class ReadDistances(Work, unit="private_read_outs/2", stage="read distances", makes=[Distances]):
    """What is left of distances and inner products of the words of two sides."""

    row: Row
    operator: str = read_outs.VERSION
    sensitivity: float
    noise: str = noise.VERSION
    words: int
    runs: int
    seed: int
    delta: float
    intervals: IntervalSettings
    vocabulary: TableRef
    map: TableRef | None

    def rows(self, store: Store) -> Iterator[Distances]:
        words, vectors = words_and_vectors(store, self.vocabulary)
        projection, about = map_of(store, self.map, vectors.shape[1]), self.row
        made = Specification("norm", about["dimensions"], self.sensitivity, self.sensitivity / about["epsilon"])
        order = keyed_generator(self.seed, Stream.PRIVATE_STUDY, document_key("distances")).permutation(len(vectors))
        chosen = np.array_split(order[: 2 * self.words], 2)
        first, second = (vectors[part] for part in chosen)
        runs = []
        for number in range(self.runs):
            # The same noise for all mechanisms, up to its dimensions and scale: they differ in nothing else.
            generator = keyed_generator(self.seed, Stream.PRIVATE_NOISE, document_key("distances"), number)
            runs.append(read_outs.mean_errors(generator, first, second, projection, made))
        images = vectors @ projection.T
        forms = read_outs.closed_forms(first, second, images[chosen[0]], images[chosen[1]], made)
        if about["beta"]:  # propositions 7 and 8 are of M2
            given = about["beta"], made.num_dimensions, about["epsilon"], self.delta
            forms = read_outs.with_bounds(forms, np.concatenate([first, second]), *given)
        scheme = self._scheme([[words[place] for place in part] for part in chosen], made)
        for name, form in forms.items():
            errors = np.array([run[name] for run in runs])
            # Of one more run, beside the mean of these.
            mean, spread = float(np.mean(errors)), (1 + 1 / self.runs) ** 0.5
            ends = bootstrap_interval(mean, errors, self.intervals.level, self.intervals.interval, LOG, spread=spread)
            error = Estimate(mean, float(ends.low), float(ends.high), errors, scheme)
            yield Distances(**about, read_out=name, error=error, num_runs=self.runs, **form._asdict())

    def _scheme(self, words: Sequence[Sequence[str]], made: Specification) -> Scheme:
        """What runs with noise are keyed by: those of one scheme add the same noise, up to its scale, to the same
        words.

        The intervals are over noise alone. Of other words the same noise would make any change of their distances look
        sure, so that these are not paired.
        """
        about = {"words": digest(words), "dimensions": made.num_dimensions, "law": made.law}
        return {"paired_by": "replicas", "seed": self.seed, "about": "distances", "operator": noise.VERSION, **about}


def distance_works(
    config: PrivateVectorsRun, vocabulary: TableRef, maps: Maps, geometry: Geometry
) -> Iterator[ReadDistances]:
    """M1, and M2 with each beta, at each epsilon."""
    asked = config.distances
    mechanisms = [stretch_of("M1", config.beta, maps, geometry)]
    mechanisms += [stretch_of("M2", beta, maps, geometry) for beta in asked.betas if asked.epsilons]
    for item in mechanisms:
        for epsilon in asked.epsilons:
            about = {"mechanism": item.name, "dimensions": item.map.num_dimensions, "epsilon": epsilon}
            yield ReadDistances(
                group="distances",
                label=f"{item.name} {item.map.num_dimensions}, epsilon {epsilon:g}",
                row=about | {"beta": item.map.beta},
                sensitivity=item.sensitivity,
                words=asked.words,
                runs=asked.runs,
                seed=config.seed,
                delta=config.deltas[0],
                intervals=narrowed(IntervalSettings, config.job),
                vocabulary=vocabulary,
                map=item.map.ref,
            )


# --- experiments 3 and 4: tasks beside their controls ---------------------------------------------------------------


class DoTask(Work, unit=utility.VERSION, stage="tasks", makes=[Utility]):
    """A task by a mechanism, or by a control.

    Attributes:
        row: keys of the table, and the exact epsilon.
        task: what it is of, ``texts`` or ``words``.
        mechanism: None for what has no noise.
    """

    row: Row
    task: str
    files: Sequence[Mapping[str, Any]]
    columns: Sequence[str]
    tokens: Any
    noise: str = noise.VERSION
    language: str
    limit: int | None
    runs: int
    penalties: Sequence[float]
    folds: int
    level: float
    means: str = means.VERSION
    seed: int
    mechanism: Noise | None
    vocabulary: TableRef

    def rows(self, store: Store) -> Iterator[Utility]:
        words, vectors = words_and_vectors(store, self.vocabulary)
        data = self._data(words)
        parts = [self._test_part(data, number) for number in range(self.runs)]
        if why := data.unusable(self.folds, parts):
            yield Utility(**self.row, measure="accuracy").fail("too_little_data", why)
            return
        images = self.mechanism.images(store, vectors) if self.mechanism else vectors
        runs = [self._result(data, vectors, images, number, part) for number, part in enumerate(parts)]
        for measure in runs[0].measures:
            values = np.array([result.measures[measure] for result in runs])
            row = Utility(**self.row, measure=measure, num_test=int(parts[0].sum()), num_runs=self.runs)
            if isnan(values.mean()):
                row.fail("undefined", "two classes, both in the test part, are needed")
            else:
                row.value = Estimate(float(values.mean()))
                row.sd_training = float(values.std(ddof=1)) if len(values) > 1 else None
            if measure == "accuracy":
                accuracy = utility.mean_accuracy(runs, parts, self.level)
                row.value = replace(row.value, low=accuracy.low, high=accuracy.high)
                row.status, row.reason = accuracy.status, accuracy.reason
            yield row

    def _data(self, vocabulary: Sequence[str]) -> utility.TaskData:
        """Of the files; rows without a text or class are left out, and single words that have no vector.

        Raises:
            InputError: if a file can't be read.
        """
        column, label = self.columns
        parts = [read_records(file["uri"], [column, label]) for file in self.files]
        rows = {word: row for row, word in enumerate(vocabulary)}
        tokenizer = Tokenizer(spaced(self.language))
        texts, labels, is_test = [], [], []
        for number, part in enumerate(parts):
            records = part.head(self.limit) if self.limit else part
            pairs = zip(records[column].cast(str).to_list(), records[label].cast(str).to_list(), strict=True)
            known = [(text, kind) for text, kind in pairs if text and kind]
            if self.task == "words":
                known = [(text, kind) for text, kind in known if text in rows]
            texts += [[text] if self.task == "words" else tokenizer(text) for text, _ in known]
            labels += [kind for _, kind in known]
            is_test += [number == 1] * len(known)
        names = {name: number for number, name in enumerate(sorted(set(labels)))}
        classes = np.array([names[kind] for kind in labels], dtype=np.int64)
        return utility.TaskData(
            utility.occurrences(texts, rows), classes, np.array(is_test) if len(parts) > 1 else None
        )

    def _test_part(self, data: utility.TaskData, number: int) -> BoolArray:
        """Of one run: that of the file, or a random one."""
        if data.is_test is not None:
            return data.is_test
        task = document_key(f"test part of {self.row['task']}")
        split = keyed_generator(self.seed, Stream.PRIVATE_STUDY, task, number)
        return utility.held_out(split, len(data.labels))

    def _result(
        self, data: utility.TaskData, vectors: FloatArray, images: FloatArray, number: int, is_test: BoolArray
    ) -> utility.TaskResult:
        if self.row["mechanism"] == "constant":
            return utility.TaskResult(utility.majority_hits(data.labels, is_test))
        features = self._features(data, vectors, images, number)
        if self.task == "words":
            result = utility.linear_result(features, data.labels, is_test)
            return utility.TaskResult(result.hits, {"area": result.area})
        return utility.TaskResult(
            utility.text_hits(features, data.labels, is_test, self.penalties, self.folds, self.seed)
        )

    def _features(self, data: utility.TaskData, vectors: FloatArray, images: FloatArray, number: int) -> FloatArray:
        row = self.row
        if self.mechanism is None:
            return utility.mean_vectors(data.words, vectors[data.words.rows])
        key = document_key(str(sorted(row.items(), key=str)))
        generator = keyed_generator(self.seed, Stream.PRIVATE_NOISE, key, number)
        if row["mechanism"].startswith("noise_only"):
            images = np.zeros_like(images)
        made, by_word = self.mechanism.specification, row["noise_per"] == "word"
        return utility.private_means(generator, data.words, images, made.law, made.scale, by_word=by_word)


def task_works(
    config: PrivateVectorsRun, sources: PrivateSources, vocabulary: TableRef, mechanisms: Sequence[Mechanism]
) -> Iterator[DoTask]:
    """Every task by every mechanism, and by controls that show what the numbers mean."""
    asked, language = config.utility, config.embedding.language
    for name, task in asked.tasks.items():
        for row, mechanism in _task_subjects(config, mechanisms):
            label = f"{name}, {row['mechanism']} {row['dimensions'] or ''} {row['compared_at']} {row['epsilon'] or ''}"
            yield DoTask(
                group=name,
                label=label.strip(),
                row={"task": name} | row,
                task=task.kind,
                files=[file.identity for file in sources.tasks[name]],
                columns=(task.text, task.label),
                tokens=Tokenizer(spaced(language)).identity,
                language=language,
                limit=asked.limit,
                runs=asked.runs,
                penalties=asked.penalties,
                folds=asked.folds,
                level=config.job.level,
                seed=config.seed,
                mechanism=mechanism,
                vocabulary=vocabulary,
            )


def _task_subjects(config: PrivateVectorsRun, mechanisms: Sequence[Mechanism]) -> Iterator[tuple[Row, Noise | None]]:
    """What is put to a task: controls without noise, noise alone, and mechanisms."""
    yield {"mechanism": "non_private"} | _NO_NOISE, None
    yield {"mechanism": "constant"} | _NO_NOISE, None
    for noise_per in config.utility.noise_per:
        alone: dict[tuple[int, str], Noise] = {}
        for item in mechanisms:
            alone.setdefault((item.map.num_dimensions, item.noise.specification.law), item.noise)
            yield item.row | {"exact_epsilon": item.exact_epsilon, "noise_per": noise_per}, item.noise
        for (num, law), made in alone.items():
            control = {"mechanism": f"noise_only {law}", "dimensions": num, "noise_per": noise_per}
            yield _NO_NOISE | control, made


# --- what a perturbed vector still says of its word, and how often the best guess names it --------------------------


class GuessWords(Work, unit=deniability.VERSION, stage="guess words", makes=[Deniability]):
    """Words perturbed by a mechanism, again and again."""

    row: Row
    mechanism: Noise
    noise: str = noise.VERSION
    shares: str = means.VERSION
    words: int
    draws: int
    level: float
    seed: int
    vocabulary: TableRef

    def rows(self, store: Store) -> Iterator[Deniability]:
        vectors, made = vectors_of(store, self.vocabulary), self.mechanism.specification
        images = self.mechanism.images(store, vectors)
        order = keyed_generator(self.seed, Stream.PRIVATE_STUDY, document_key("deniability")).permutation(len(vectors))
        words = order[: self.words]
        results, hits = [], []
        for word in words:
            key = document_key(f"deniability/{self.row}"), int(word)
            generator = keyed_generator(self.seed, Stream.PRIVATE_NOISE, *key)
            drawn = noise.draw_noise(generator, made.law, (self.draws, images.shape[1]), made.scale)
            nearest = deniability.nearest_rows(images[word] + drawn, images)
            results.append(deniability.deniability(nearest, int(word)))
            hits.append(nearest == word)
        row = Deniability(**self.row, **attacker_columns(np.concatenate(hits), words, images, made, self.level))
        row.returned = float(np.mean([result.returned for result in results]))
        row.distinct = float(np.mean([result.distinct for result in results]))
        yield row


def attacker_columns(hits: BoolArray, words: IntArray, images: FloatArray, made: Specification, level: float) -> Row:
    """How often words are named, with its interval for other words, and bounds that need no draw; for a row of a table.

    Args:
        hits: ``[words * draws]``, draw after draw of each word, which are one cluster.
        words: ``[words]``, rows of the vocabulary.
        images: ``[p, m]`` of the vocabulary.
        level: nominal coverage.
    """
    num_draws = len(hits) // len(words)
    rate = means.share(hits, units_of(np.repeat(words, num_draws), "word"), level=level)
    row: Row = {"attacker": Estimate(rate.value, rate.low, rate.high), "num_words": rate.num_units}
    row |= {"num_draws": num_draws, "status": rate.status, "reason": rate.reason}
    if made.law == "norm":  # normal noise has no bound
        caps = deniability.naming_caps(words, images, made.scale)
        row |= {"cap_mean": float(caps.mean()), "cap_largest": float(caps.max())}
    return row


def word_guesses(
    config: PrivateVectorsRun, vocabulary: TableRef, mechanisms: Sequence[Mechanism]
) -> Iterator[GuessWords]:
    """For every mechanism."""
    asked = config.deniability
    for item in mechanisms if asked.words else ():
        yield GuessWords(
            group="mechanisms",
            label=f"{item.name} {item.compared_at} {item.epsilon:g}",
            row=item.row | {"exact_epsilon": item.exact_epsilon},
            mechanism=item.noise,
            words=asked.words,
            draws=asked.draws,
            level=config.job.level,
            seed=config.seed,
            vocabulary=vocabulary,
        )
