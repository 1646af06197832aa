"""Job `gender_adversary`: whether a classifier's verdict changes with gender more than with other things."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from math import ceil
from typing import Any, NamedTuple, cast

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.adversary import candidates, victims
from tiltmeter.jobs.adversary.attacks import AttackTexts
from tiltmeter.jobs.adversary.augmentation import KEY, CollectTexts, export_sample
from tiltmeter.jobs.adversary.candidates import FindCandidates, FindControls
from tiltmeter.jobs.adversary.characters import ChangeCharacters, EvaluateCharacters
from tiltmeter.jobs.adversary.config import (
    MASKED_SETTING,
    AdversaryRun,
    AdversarySources,
    GenderAdversaryRun,
    find_sources,
)
from tiltmeter.jobs.adversary.masked import FindMaskedSpaces, MaskedModel
from tiltmeter.jobs.adversary.retraining import EvaluateRetraining, Retrain
from tiltmeter.jobs.adversary.spaces import PART, CutTexts, FindSpaces
from tiltmeter.jobs.adversary.summary import READ, EvaluateAttacks
from tiltmeter.jobs.adversary.tables import TABLES, Augmentation, Candidates, Misspellings, Near, Pairs, Retrained
from tiltmeter.jobs.classifiers.labelled_data import read_labelled_data
from tiltmeter.jobs.classifiers.networks import Encoders
from tiltmeter.jobs.classifiers.resources import training_requests
from tiltmeter.jobs.classifiers.splits import split_texts
from tiltmeter.jobs.embedding import tables as embedding
from tiltmeter.jobs.embedding.config import EmbeddingConfig, FileEmbedding
from tiltmeter.jobs.embedding.corpora import read_corpora
from tiltmeter.jobs.embedding.pages import without_bad_files
from tiltmeter.jobs.embedding.replicas import replica_scheme, train
from tiltmeter.jobs.embedding.resources import embedding_requests
from tiltmeter.jobs.embedding.vectors import ReadVectors
from tiltmeter.jobs.runtime.draws import ORDER, Scheme
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.resources import model_folder, model_request, uses_gpus
from tiltmeter.jobs.runtime.work import Done
from tiltmeter.jobs.sentiment.rating.systems import TransformerSystem
from tiltmeter.operators.embedding.bootstrap import ORIGINAL
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Finished, TableRef

_NUM_UNITS, _MOST_TEXTS = 64, 25
"""Units that texts are cut into at least, for as many workers, and texts of one, as each may take seconds."""

_PART_TEXTS = 200
"""Whose replacements are looked for together, which takes longer to begin than to do."""


def run(run: AdversaryRun) -> None:
    """Find what words may be replaced by, attack the victims with it, and compare the outcome with controls."""
    labelled = read_labelled_data(run.runner, run.config.data, run.sources.labelled, run.config.seed)
    texts = split_texts(run.runner, labelled, run.config.seed)
    vectors, cut = whole_vectors(run), cut_texts(run, labelled, texts)
    near = find_candidates(run, cut, vectors.tables)
    labels = label_candidates(run, near)
    models = train_victims(run, texts)
    spaces = find_spaces(run, near, texts, cut)
    attacked = attack_texts(run, models, spaces, labels)
    run.publish("texts", [*attacked.refs("texts"), cut["left_out"]])
    run.publish_all({name: attacked.refs(name) for name in ("attacks", "substitutions")})
    collected = collect_texts(run, attacked, texts, vectors)
    if run.config.augmentation.retrain:
        retrain(run, attacked, collected, texts, spaces)
    if run.config.characters.kinds:
        change_characters(run, attacked)
    evaluate(run, attacked, near.refs(Pairs), vectors)


class WholeVectors(NamedTuple):
    """The vectors of all words of an embedding.

    Attributes:
        tables: with the columns ``word``, the most frequent first, and ``vector``: the original, then its replicas.
        replicas: what tells these replicas from others, in their order: two runs that agree on it draw alike whatever
            lines their corpora share, or read the same files.
    """

    tables: Sequence[TableRef]
    replicas: Scheme


def whole_vectors(run: AdversaryRun) -> WholeVectors:
    """Trained, or read from files.

    Raises:
        UnitsFailed: if an embedding can't be trained or read.
        InputError: if a direction has no vectors.
    """
    config, runner = run.config.embedding, run.runner
    if isinstance(config, EmbeddingConfig):
        corpora = read_corpora(run).corpora
        [corpus], trained = corpora.values(), train(run, corpora)
        resampling = corpus.resampling(runner.store, config)
        drawn = replica_scheme(run.config.seed, config, corpus.vocabulary, resampling)
        # Texts are drawn beside them, so that draws of runs that train alike have noise that these do not share.
        replicas = {name: value for name, value in drawn.items() if name not in ("paired_by", ORDER)}
        refs = [ref.select("word", "vector") for ref in trained.refs("embedding")[: config.num_replicas + 1]]
    else:
        [files], asked = run.sources.files.values(), cast(FileEmbedding, config)
        reading: dict[str, Any] = {"format": asked.format, "allow_pickle": asked.allow_pickle}
        works = (ReadVectors(label=redacted(file.uri), file=file.identity, **reading) for file in files)
        refs = without_bad_files(runner, run.do(works), run.config.reading.max_bad_share).refs("vectors")
        replicas = {"tables": digest([dict(ref.columns) for ref in refs[ORIGINAL + 1 :]])}
    candidates.check_directions(run.config.direction, runner.store, refs[ORIGINAL])
    return WholeVectors(refs, replicas | {"number": len(refs) - 1})


def cut_texts(run: AdversaryRun, labelled: TableRef, texts: TableRef) -> Mapping[str, TableRef]:
    """Tables of the test texts by name; ``texts``: those that can be used, by part, of the ``labelled`` ones."""
    most, size = run.config.max_texts, run.config.unit_texts or _PART_TEXTS
    seed = None if most is None else run.config.seed
    work = CutTexts(label="texts", unit_texts=size, max_texts=most, seed=seed, labelled=labelled, texts=texts)
    [(_, unit)] = run.do([work]).pairs
    return unit.tables


def find_candidates(
    run: AdversaryRun, cut: Mapping[str, TableRef], vectors: Sequence[TableRef]
) -> Done[FindCandidates]:
    """Of all words, in all embeddings; along control directions in the original alone."""
    config = run.config
    same: dict[str, Any] = {
        "direction": config.direction,
        "candidates": config.candidates,
        "lists": {name: file.identity for name, file in run.sources.lists.files.items()},
        "words": config.words,
        "attacked": cut["words"],
        "counts": cut["counts"],
    }
    along = [
        FindCandidates(label=f"replica {number}", replica=number, vectors=ref, **same)
        for number, ref in enumerate(vectors)
    ]
    same |= {"controls": config.controls, "seed": config.seed, "vectors": vectors[ORIGINAL], "replica": ORIGINAL}
    starts = range(0, config.controls.number if config.direction.shifts else 0, candidates.CONTROLS_OF_UNIT)
    return run.do([*along, *(FindControls(label=f"controls from {start}", start=start, **same) for start in starts)])


def label_candidates(run: AdversaryRun, near: Done[FindCandidates]) -> TableRef:
    """The table ``candidates``."""
    refs, is_control = near.refs(Near), [isinstance(work, FindControls) for work, _ in near.pairs]
    work = candidates.LabelCandidates(
        label="candidates",
        words=run.config.words,
        top=run.config.candidates.top,
        near=[ref for ref, beside in zip(refs, is_control, strict=True) if not beside],
        controls=[ref.select("rank", "cosine", "leaning") for ref in compress(refs, is_control)],
    )
    return run.do([work]).one(Candidates)


def train_victims(run: AdversaryRun, texts: TableRef) -> dict[str, TableRef]:
    """Tables of models by the name of the classifier, of those that learn the training texts."""
    config = run.config
    names = sorted(config.words.gendered().genders)
    fitted = run.do(
        victims.FitLinear(
            label=name, group=name, linear=victim.linear, masked=names if victim.masked else [], texts=texts
        )
        for name, victim in config.victim.items()
        if isinstance(victim, victims.LinearVictim)
    )
    models = {name: done.one("model") for name, done in fitted.groups.items()}
    for name, victim in config.victim.items():
        if isinstance(victim, victims.EncoderVictim):
            on_gpu = uses_gpus(victim.device, run.runner.pool.num_gpus, f"victim.{name}.device")
            encoders = Encoders(victim, run.sources.victims[name].encoder, on_gpu)
            work = victims.TrainEncoder(label=name, group=name, encoders=encoders, texts=texts, seed=config.seed)
            models[name] = run.do([work], stage=f"train {name}").one("model")
    return models


def find_spaces(
    run: AdversaryRun, near: Done[FindCandidates], texts: TableRef, cut: Mapping[str, TableRef]
) -> Done[FindSpaces]:
    """What words may become, of each part of the texts."""
    config, parts = run.config, [ref for name, ref in cut.items() if name.startswith(PART)]
    same: dict[str, Any] = {
        "direction": config.direction,
        "words": config.words,
        "language_model": config.language_model,
        "texts": texts.select("part", "text"),
        "near": near.refs(Near),
        "counts": cut["counts"],
    }
    kind: type[FindSpaces] = FindSpaces
    model = config.masked_model
    if model.model is not None and run.sources.masked is not None:
        on_gpu = uses_gpus(model.device, run.runner.pool.num_gpus, "masked_model.device")
        kind = FindMaskedSpaces
        same |= {"masked": MaskedModel(model.model, run.sources.masked.version, on_gpu), "top": model.top}
        same |= {"lists": {name: file.identity for name, file in run.sources.lists.files.items()}}
        same |= {name: getattr(config, name) for name in ("candidates", "controls", "seed")}
    return run.do(kind(label=f"part {number}", attacked=part, **same) for number, part in enumerate(parts))


def attack_texts(
    run: AdversaryRun, models: Mapping[str, TableRef], spaces: Done[FindSpaces], labels: TableRef
) -> Done[AttackTexts]:
    """What all victims make of all texts; ``labels``: the table ``candidates``."""
    config, pairs = run.config, list[tuple[AttackTexts, Finished]]()
    num_texts = sum(work.attacked.num_rows for work, _ in spaces.pairs)
    size = config.unit_texts or min(_MOST_TEXTS, max(1, ceil(num_texts / _NUM_UNITS)))
    for name, victim in run.sources.victims.items():
        on_gpu = uses_gpus(victim.device, run.runner.pool.num_gpus, f"victim.{name}.device")
        model = replace(victim, on_gpu=on_gpu, made=models.get(name))
        works = (
            AttackTexts(
                label=f"{name} {work.label}" + (f" from text {start}" if size < work.attacked.num_rows else ""),
                victim=model,
                search=config.search,
                words=config.words,
                directions=config.direction.names,
                seed=config.seed,
                part=work.attacked,
                span=(start, start + size) if size < work.attacked.num_rows else None,
                spaces=unit.tables["spaces"],
                candidates=labels,
            )
            for work, unit in spaces.pairs
            for start in range(0, max(1, work.attacked.num_rows), size)
        )
        pairs += run.do(works, stage=f"attack {name}", publish=False).pairs
    return Done(pairs)


def collect_texts(run: AdversaryRun, attacked: Done[AttackTexts], texts: TableRef, vectors: WholeVectors) -> TableRef:
    """The table ``augmentation``, whose sample is exported."""
    config = run.config
    work = CollectTexts(
        label="found texts",
        language_model=config.language_model,
        per_source=config.augmentation.per_source if config.augmentation.sample else None,
        seed=config.seed,
        texts=texts,
        vectors=vectors.tables[ORIGINAL].select("word", "vector"),
        about=[ref.select("row", "victim", "text", "label", "group", "is_correct") for ref in attacked.refs("texts")],
        attacks=[ref.select(*KEY, "status", "num_changes", "changed_text") for ref in attacked.refs("attacks")],
        substitutions=[ref.select(*KEY, "word", "replacement", "is_flagged") for ref in attacked.refs("substitutions")],
    )
    collected = run.do([work]).one(Augmentation)
    if config.augmentation.sample:
        export_sample(run, collected)
    return collected


def retrain(
    run: AdversaryRun, attacked: Done[AttackTexts], collected: TableRef, texts: TableRef, spaces: Done[FindSpaces]
) -> None:
    """What linear victims become that learn with found texts."""
    config, parts = run.config, [work.attacked for work, _ in spaces.pairs]
    names = sorted(config.words.gendered().genders)
    made = run.do(
        Retrain(
            label=f"{name}, training {number}",
            victim=name,
            linear=victim.linear,
            masked=[*names] if victim.masked else [],
            search=config.search,
            number=number,
            seed=config.seed,
            texts=texts,
            attacked=parts,
            spaces=spaces.refs("spaces"),
            attacks=[ref.select(*KEY, "num_changes", "changed_text") for ref in attacked.refs("attacks")],
            collected=collected,
        )
        for name, victim in config.linear_victims.items()
        for number in range(config.augmentation.seeds)
    )
    run.do(
        [EvaluateRetraining(label="arms", level=run.config.job.level, retrained=made.refs(Retrained), attacked=parts)]
    )


def change_characters(run: AdversaryRun, attacked: Done[AttackTexts]) -> None:
    """What changes of single characters do to all victims, on the texts that are attacked."""
    config = run.config
    made = run.do(
        ChangeCharacters(
            label=work.label,
            group=work.group,
            victim=work.victim,
            characters=config.characters,
            seed=config.seed,
            part=work.part,
            span=work.span,
        )
        for work, _ in attacked.pairs
    )
    parts = list({work.part.unit + work.part.name: work.part for work, _ in attacked.pairs}.values())
    level = run.config.job.level
    run.do([EvaluateCharacters(label="rates", level=level, made=made.refs(Misspellings), attacked=parts)])


def evaluate(
    run: AdversaryRun, attacked: Done[AttackTexts], pairs: Sequence[TableRef], vectors: WholeVectors
) -> Done[EvaluateAttacks]:
    """What that comes to; ``pairs``: whose differences the controls are."""
    config = run.config
    parts: dict[str, Any] = {
        name: [ref.select(*columns) for ref in attacked.refs(name)] for name, columns in READ.items()
    }
    work = EvaluateAttacks(
        label="summary",
        level=config.job.level,
        num_resamples=config.job.num_resamples,
        directions=config.direction.names,
        num_controls=config.controls.number,
        num_replicas=len(vectors.tables) - 1,
        replicas=vectors.replicas,
        seed=config.seed,
        pairs=pairs,
        **parts,
    )
    return run.do([work])


def _requests(config: GenderAdversaryRun, sources: AdversarySources, num_gpus: int) -> Sequence[ResourceRequest]:
    """What a worker needs that has an embedding, a masked language model or a victim in memory."""
    needed, masked = [*embedding_requests(config, sources, num_gpus)], config.masked_model
    if masked.model is not None:
        models = {masked.model: model_folder(masked.model, masked.revision, MASKED_SETTING)}
        needed.append(model_request(FindSpaces.stage, models, masked.device, num_gpus, "masked_model"))
    for name, victim in config.victim.items():
        setting, asked = f"victim.{name}", victim.system if isinstance(victim, victims.SentimentVictim) else victim
        if isinstance(victim, victims.SentimentVictim):
            setting = f"{setting}.system"
        if isinstance(asked, victims.EncoderVictim):
            needed += training_requests(asked, num_gpus)
        elif isinstance(asked, victims.TransformerVictim | TransformerSystem):
            folder = model_folder(asked.model, asked.revision, f"{setting}.model")
            needed.append(model_request(f"attack {name}", {asked.model: folder}, asked.device, num_gpus, setting))
    return needed


_TABLES = embedding.TABLES | TABLES
JOB = Job(
    GenderAdversaryRun,
    find_sources,
    run,
    _TABLES,
    "tiltmeter.jobs.adversary.page:page",
    _requests,
    extras=["classifiers"],
)
