"""Job `error_characterisation`: where a classifier goes wrong, and why."""

from collections.abc import Mapping, Sequence
from typing import Any

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.classifiers.errors import features, flagged, forests, ranking, slices, texts
from tiltmeter.jobs.classifiers.errors.config import (
    CharacterisedData,
    ErrorCharacterisationRun,
    ErrorSources,
    LabelledFile,
    find_sources,
)
from tiltmeter.jobs.classifiers.errors.features import DataSet
from tiltmeter.jobs.classifiers.errors.tables import TABLES, Features, Flagged, Kept, Predicted, Predictions, Read
from tiltmeter.jobs.classifiers.models import TextModel, TrainedSource
from tiltmeter.jobs.classifiers.networks import Encoders
from tiltmeter.jobs.classifiers.resources import training_requests
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.operators.classifiers.errors.readable import ReadableFeatures
from tiltmeter.operators.classifiers.errors.rounds import STRATEGIES
from tiltmeter.storage.records import labels, read_records
from tiltmeter.storage.store.ledger import TableRef

ErrorRun = Run[ErrorCharacterisationRun, ErrorSources]


def run(run: ErrorRun) -> None:
    """Predict, count features, rank errors by them, find slices, promise, and play rounds of labelling."""
    config, seed = run.config, run.config.seed
    read, columns = _read_texts(run)
    predicted = _predict(run, read)
    is_scored = config.data.scored_by is not None
    of_halves: dict[str, Any] = {"texts": read["data"], "predicted": predicted, "seed": None if is_scored else seed}
    run.do([texts.HalveTexts(label="halves", **of_halves)])
    data = DataSet(read["data"], predicted, _count_features(run, read["data"]), columns, config.data.cuts)
    if (known := run.sources.slices) is not None:
        about: dict[str, Any] = {"slices": known.slices, "is_same": (known.data or {}).get("digest") == data.digest}
        run.do([flagged.RetestSlices(label="slices of an earlier run", data=data, level=config.job.level, **about)])
    if config.data.loss is not None:
        flagged.export_flagged(run, _flag_rows(run, data, _find_slices(run, data, None), None))
    elif is_scored:
        files = {name: file.identity for name, file in run.sources.earlier.files.items()}
        run.do([forests.ScoreTexts(label="texts", data=data, files=files, seed=seed)])
    elif reason := data.one_kind(run.runner.store):
        run.do([forests.ListTexts(label="texts", data=data, reason=reason)])
    else:
        rows = _characterise(run, data)
        if "base" in read and config.rounds.number:
            _play_rounds(run, data, read["base"])
        flagged.export_flagged(run, rows)


def _read_texts(run: ErrorRun) -> tuple[dict[str, TableRef], TableRef | None]:
    """Of both files; and losses and the user's own columns, where there are any."""
    config, files = run.config, run.sources.texts.files
    parts: dict[str, LabelledFile] = {"data": config.data, "base": config.base}
    works: dict[str, texts.ReadTexts] = {}
    for name, file in files.items():
        about: dict[str, Any] = {
            "label": f"texts of {name}.path",
            "file": file.identity,
            "columns": parts[name].names,
            "header": parts[name].header,
            "classes": parts[name].classes,
            "probabilities": config.data.probabilities if name == "data" else None,
            "limit": parts[name].limit,
            "seed": None if parts[name].limit is None else config.seed,
            "spelling": _spelling(config.data, files["data"].uri) if name == "base" else [],
        }
        more: dict[str, Any] = {"extra": config.data.columns, "losses": config.data.losses}
        works[name] = texts.ReadTexts(**about)
        if name == "data" and any(more.values()):
            works[name] = texts.ReadColumns(is_score=config.data.high_is_good, **about, **more)
    done = run.do(works.values())
    columns = done.refs("columns")
    return dict(zip(files, done.refs(Read), strict=True)), columns[0] if columns else None


def _spelling(data: CharacterisedData, uri: str) -> list[str]:
    """How the file of texts writes the classes."""
    if data.label is None:
        return []
    given = labels(read_records(uri, [data.label], header=data.header)[data.label])
    return [str(label) for label in given.drop_nulls().unique().sort()]


def _predict(run: ErrorRun, read: Mapping[str, TableRef]) -> TableRef:
    config, data = run.config, read["data"]
    if "base" not in read:
        classes = sorted(config.data.probabilities or {})
        return run.do([texts.GivenPredictions(texts=data, classes=classes)]).one(Predicted)
    if config.base.model == "words":
        by_words = texts.PredictByWords(label="base model of words", texts=data, base=read["base"])
        return run.do([by_words]).one(Predicted)
    on_gpu = uses_gpus(config.models.device, run.runner.pool.num_gpus, "models.device")
    training = texts.TrainBase(
        label="base model",
        group="base",
        encoders=Encoders(config.models, run.sources.encoder, on_gpu),
        texts=read["base"],
        seed=config.seed,
        development=config.base.development,
    )
    model = TextModel(TrainedSource(), on_gpu, run.do([training]).one("model"))
    by_network = texts.PredictByNetwork(label="predictions of the base model", texts=data, model=model)
    return run.do([by_network]).one(Predicted)


def _count_features(run: ErrorRun, read: TableRef) -> list[TableRef]:
    config, size = run.config, run.config.job.unit_texts
    files, others = run.sources.others.files, dict[str, TableRef]()
    if "lexicon" in files:
        lexicon = features.ReadLexicon(label="lexicon", group="lexicon", file=files["lexicon"].identity)
        others["lexicon"] = run.do([lexicon]).one("rows")
    if "conllu" in files:
        parses = features.ReadParses(label="conllu", group="conllu", file=files["conllu"].identity)
        others["conllu"] = run.do([parses]).one("rows")
    counted = ReadableFeatures(config.readable_words, tags=config.features.tags)
    done = run.do(
        features.CountFeatures(
            label=f"texts from {start}",
            texts=read,
            lexicon=others.get("lexicon"),
            conllu=others.get("conllu"),
            lists=config.readable_words,
            tags=config.features.tags,
            identity=counted.identity["versions"],
            start=start,
            size=size,
        )
        for start in range(0, max(read.num_rows, 1), size)
    )
    return done.refs(Features)


def _characterise(run: ErrorRun, data: DataSet) -> TableRef:
    """Score every text, find slices, see what ranks errors, and promise; the rows with the slices that they are in."""
    config, seed = run.config, run.config.seed
    about: dict[str, Any] = {"data": data, "seed": seed}
    forest = about | {"forest": config.forest, "min_share": config.features.min_share}
    folds = range(config.forest.num_folds)
    scores = run.do(forests.ScoreFold(label=f"fold {fold}", fold=fold, **forest) for fold in folds)
    judge = forests.JudgeTexts(label="texts", scores=scores.refs("scores"), num_folds=len(folds), **about)
    judged = run.do([judge]).one(Predictions)
    kept = _find_slices(run, data, judged.select("row", "is_label_suspected"))
    rows = _flag_rows(run, data, kept, judged.select("row", "error_score"))
    level = config.job.level
    parts = ranking.Parts(config.splits.test, config.splits.balance)
    done = run.do(
        ranking.RankErrors(
            label=f"split {split}", splits=parts, precision=config.precision, level=level, split=split, **forest
        )
        for split in range(config.splits.number)
    )
    means = ranking.SumUpSplits(
        label="means over splits",
        test=parts.test,
        level=level,
        number=config.splits.number,
        drawn_by=ranking.drawn_splits([data.texts], seed, test=parts.test, balance=parts.balance),
        measures=done.refs("measures"),
        precision=done.refs("precision"),
        coverage=done.refs("coverage"),
        features=done.refs("features"),
    )
    run.do([means], in_driver=True)
    run.do([forests.FlagTexts(guarantees=config.guarantees, **forest)])
    return rows


def _find_slices(run: ErrorRun, data: DataSet, judged: TableRef | None) -> TableRef:
    """Of errors, with what is known of their labels, or of losses; those that are confirmed."""
    config = run.config
    sought: dict[str, Any] = {"data": data, "seed": config.seed, "slices": config.slices.searched}
    sought["tags"] = config.slices.tags
    size, total = config.job.unit_permutations, config.slices.num_permutations
    drawn = run.do(
        slices.DrawPermutations(label=f"permutations from {start}", draws=(start, min(start + size, total)), **sought)
        for start in range(0, total, size)
    )
    find = slices.FindSlices(hits=drawn.refs("hits"), judged=judged, level=config.job.level, **sought)
    kept = run.do([find]).one(Kept)
    flagged.export_slices(run, kept, data)
    return kept


def _flag_rows(run: ErrorRun, data: DataSet, kept: TableRef, scores: TableRef | None) -> TableRef:
    """Every row with its score and the slices that it is in."""
    flag = flagged.FlagRows(label="flagged rows", data=data, kept=kept, scores=scores)
    return run.do([flag]).one(Flagged)


def _play_rounds(run: ErrorRun, data: DataSet, base: TableRef) -> None:
    config, rounds = run.config, run.config.rounds
    played = run.do(
        ranking.PlayRounds(
            label=f"{strategy}, seed {number}",
            data=data,
            base=base,
            forest=config.forest,
            min_share=config.features.min_share,
            rounds=rounds,
            strategy=strategy,
            seed=config.seed + number,
        )
        for number in range(rounds.num_seeds)
        for strategy in STRATEGIES
    )
    means = ranking.SumUpRounds(
        label="rounds",
        test=rounds.test,
        level=config.job.level,
        drawn_by=ranking.drawn_splits([data.texts, base], config.seed, test=rounds.test),
        played=played.refs("played"),
    )
    run.do([means], in_driver=True)


def _requests(config: ErrorCharacterisationRun, _: ErrorSources, num_gpus: int) -> Sequence[ResourceRequest]:
    trains = config.base.path is not None and config.base.model == "encoder"
    return training_requests(config.models, num_gpus) if trains else []


JOB = Job(
    ErrorCharacterisationRun,
    find_sources,
    run,
    TABLES,
    "tiltmeter.jobs.classifiers.errors.page:page",
    _requests,
    extras=["classifiers"],
)
