"""Job `privacy_metrics`: what models of valence, private ones among them, give away of who speaks, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.classifiers.attributions import NamedModel, explanations
from tiltmeter.jobs.classifiers.labelled_data import read_labelled_data
from tiltmeter.jobs.classifiers.models import TextModel, TrainedSource
from tiltmeter.jobs.classifiers.networks import Encoders
from tiltmeter.jobs.classifiers.privacy import tables
from tiltmeter.jobs.classifiers.privacy.comparisons import AdjustOrderings, Measured, SumUp
from tiltmeter.jobs.classifiers.privacy.config import PENALISED, PrivacyMetricsRun, PrivacyRun, find_sources
from tiltmeter.jobs.classifiers.privacy.estimates import ControlNoise
from tiltmeter.jobs.classifiers.privacy.explanations import LexiconColumns, MeasureModel, ReadLexicon
from tiltmeter.jobs.classifiers.privacy.models import AttackModel, lesson
from tiltmeter.jobs.classifiers.privacy.tables import CONTROL, CORPORA, GENERAL, NOISE_MODELS, NOISY, RESEEDED
from tiltmeter.jobs.classifiers.privacy.texts import AddNoise, DivideTexts, Labels
from tiltmeter.jobs.classifiers.resources import training_requests
from tiltmeter.jobs.classifiers.tables import Attributed
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.storage.store.ledger import TableRef

_EXPLAINED = ("sentence", "position", "word", "attribution", "predicted", "gold", "status")

Trained = Mapping[str, Sequence[TableRef]]
"""Models by name, one for each seed."""

Attributions = Mapping[str, Sequence[Sequence[TableRef]]]
"""By model, for each seed one table for each corpus that it is explained by."""


class SpokenTexts(NamedTuple):
    """Who says what.

    Attributes:
        texts: of the schema of ``Texts``.
        noisy: the copy of the test part with artificial words; None where no model learns them.
        sentences: that are explained, by corpus.
    """

    texts: TableRef
    noisy: TableRef | None
    sentences: Mapping[str, TableRef]

    def sentences_of(self, model: str) -> dict[str, TableRef]:
        """Those by which a model is explained, by corpus."""
        return {name: ref for name, ref in self.sentences.items() if name != NOISY or model in NOISE_MODELS}

    @property
    def said(self) -> list[TableRef]:
        """With the text and the speaker of every sentence; a copy says which one it is of."""
        spoken = [self.texts.select("sentence", "text", "group")]
        return spoken if self.noisy is None else [*spoken, self.noisy.select("sentence", "text", "original")]


def run(run: PrivacyRun) -> None:
    """Train the models, attack and explain them, and sum up what they give away within the corpus and across."""
    models = run.config.models
    texts, lexicon = _read_texts(run), _read_lexicon(run)
    on_gpu = uses_gpus(models.device, run.runner.pool.num_gpus, "models.device")
    trained = _train(run, Encoders(models, run.sources.encoder, on_gpu), texts.texts)
    outcomes = _attack(run, on_gpu, texts, trained)
    attributions = _explain(run, on_gpu, texts, trained)
    measured = _measure(run, texts, attributions, lexicon)
    shown = {name: attributions[name] for name in measured if name in attributions}
    run.publish("attributions", [ref for by_seed in shown.values() for refs in by_seed for ref in refs])
    run.publish("samples", [ref for part in measured.values() for ref in part.samples])
    _sum_up(run, texts, outcomes, measured)
    if texts.noisy is not None:
        run.publish("noisy_texts", [texts.noisy])
        _control_noise(run, texts, texts.noisy, shown)


def _read_texts(run: PrivacyRun) -> SpokenTexts:
    config, corpora = run.config, run.config.corpora
    about: dict[str, Any] = {"classes": config.classes, "seed": config.seed}
    about["max_sentences"] = config.explanations.max_sentences
    refs = {
        name: read_labelled_data(run.runner, data, run.sources.texts[name], config.seed)
        for name, data in corpora.items()
    }
    divide = DivideTexts(
        label="parts",
        data=refs["data"],
        across=refs.get("across"),
        unbiased=refs.get("unbiased"),
        splits=config.splits,
        labels={name: Labels.of(data, config.classes) for name, data in corpora.items()},
        shared={name: getattr(config, name).shares_groups for name in corpora if name != "data"},
        **about,
    )
    [(_, divided)] = run.do([divide]).pairs
    texts = divided.tables["texts"]
    sentences = {name: divided.tables[name] for name in CORPORA if name in divided.tables}
    if "ArtNoise" not in config.models.names:
        return SpokenTexts(texts, None, sentences)
    read = texts.select("sentence", "part", "text", "valence", "gender", "status")
    label = "copy with artificial words"
    [(_, copied)] = run.do([AddNoise(label=label, group=NOISY, texts=read, noise=config.models.noise, **about)]).pairs
    return SpokenTexts(texts, copied.tables["texts"], sentences | {NOISY: copied.tables["sentences"]})


def _read_lexicon(run: PrivacyRun) -> list[TableRef]:
    """The table of its words; none without a lexicon."""
    lexicon, file = run.config.lexicon, run.sources.lexicon
    if file is None:
        return []
    ends = lexicon.upper_ends(len(run.config.classes))
    columns = LexiconColumns(lexicon.header, lexicon.word, lexicon.valence, lexicon.low, lexicon.high, ends)
    work = ReadLexicon(label="valence lexicon", group="lexicon", file=file.identity, read=columns)
    return run.do([work]).refs(tables.LexiconWords)


def _train(run: PrivacyRun, encoders: Encoders, texts: TableRef) -> Trained:
    """Models of which one can't be trained are missing."""
    config, trained = run.config, dict[str, list[TableRef]]()
    # EP compares with General, which is there before what is trained for it.
    for stage, is_for_ep in {"train": False, "train for EP": True}.items():
        general = trained.get(GENERAL, [])
        lessons = [
            lesson(config, encoders, name, seed, texts, general[seed] if is_for_ep else None)
            for name in config.models.names
            if (name in PENALISED) == is_for_ep and (general or not is_for_ep)
            for seed in range(config.models.num_seeds)
        ]
        trained |= {name: done.refs("model") for name, done in run.do(lessons, stage=stage).groups.items()}
    return {name: trained[name] for name in config.models.names if name in trained}


def _seed_name(model: str, seed: int) -> str:
    """What the table ``attributions`` calls a model."""
    return f"{model}, seed {seed}"


def _of_seed(name: str, seed: int) -> dict[str, Any]:
    """What work on a model with one of the random numbers is called."""
    return {"label": _seed_name(name, seed), "group": name, "name": name, "seed": seed}


def _attack(run: PrivacyRun, on_gpu: bool, texts: SpokenTexts, models: Trained) -> dict[str, list[TableRef]]:
    """Tables ``outcomes`` by model, one for each seed."""
    source = TrainedSource(run.config.models.training.max_tokens)
    read = texts.texts.select("sentence", "part", "text", "valence", "gender", "status")
    noisy = texts.noisy and texts.noisy.select("sentence", "text", "valence", "gender")
    done = run.do(
        AttackModel(
            model=TextModel(source, on_gpu, ref),
            texts=read,
            noisy=noisy if name in NOISE_MODELS else None,
            **_of_seed(name, seed),
        )
        for name, refs in models.items()
        for seed, ref in enumerate(refs)
    )
    return {name: group.refs(tables.Outcomes) for name, group in done.groups.items()}


def _explain(run: PrivacyRun, on_gpu: bool, texts: SpokenTexts, models: Trained) -> Attributions:
    """Published are those of models of which all could be measured."""
    config, chosen = run.config, run.config.explanations
    attributions: dict[str, list[list[TableRef]]] = {}
    for name, refs in models.items():
        sentences = list(texts.sentences_of(name).values())
        for seed, ref in enumerate(refs):
            label = _seed_name(name, seed)
            model = {label: NamedModel(TrainedSource(), on_gpu, ref)}
            works = explanations(model, sentences, chosen.attribution, config.seed, explained=chosen.explained)
            done = run.do(works, stage=f"explain {label}", complete=False, batch_size=None, publish=False)
            attributions.setdefault(name, []).append(done.refs(Attributed))
    return attributions


def _measure(
    run: PrivacyRun, texts: SpokenTexts, attributions: Attributions, lexicon: Sequence[TableRef]
) -> dict[str, Measured]:
    """What was measured by model, ``RESEEDED`` among them; models of which not all could be explained are missing."""
    config, chosen = run.config, run.config.explanations
    corpora = {name: list(texts.sentences_of(name)) for name in (*attributions, RESEEDED)}
    models = {
        name: [[ref.select(*_EXPLAINED) for ref in refs] for refs in by_seed]
        for name, by_seed in attributions.items()
        if all(len(refs) == len(corpora[name]) for refs in by_seed)
    }
    general = models.get(GENERAL, [])
    reseeded = [refs[: len(corpora[RESEEDED])] for refs in (*general[1:], *general[:1])]
    done = run.do(
        (
            MeasureModel(
                corpora=corpora[name],
                attributions=refs,
                general=general[seed] if general else [],
                lexicon=lexicon,
                classes=config.classes,
                explained=chosen.explained,
                lists=config.listed,
                metrics=chosen.metrics,
                num_random_lists=chosen.num_random_lists,
                least=config.lexicon.least,
                random_seed=config.seed,
                **_of_seed(name, seed),
            )
            for name, by_seed in {**models, **({RESEEDED: reseeded} if len(reseeded) > 1 else {})}.items()
            for seed, refs in enumerate(by_seed)
        ),
        publish=False,
    )
    return {
        name: Measured("own", group.refs(tables.Samples), group.refs(tables.WordShares))
        for name, group in done.groups.items()
    }


def _summed(run: PrivacyRun, texts: SpokenTexts, name: str) -> dict[str, Any]:
    """What work on all of a model has in common."""
    about = {"label": name, "group": name, "name": name, "texts": texts.said}
    return about | {"intervals": run.config.intervals, "seed": run.config.seed}


def _sum_up(run: PrivacyRun, texts: SpokenTexts, outcomes: Trained, measured: Mapping[str, Measured]) -> None:
    """Publish ``models``, ``orderings`` and ``ep_words`` of every model of which all was measured."""
    tested = {name: replace(model, outcomes=outcomes.get(name, ())) for name, model in measured.items()}
    roles = {"general": GENERAL, "control": CONTROL, "reseeded": RESEEDED}
    others: dict[str, Any] = {role: replace(tested[name], role=role) for role, name in roles.items() if name in tested}
    done = run.do(
        (
            SumUp(own=model, **others, **_summed(run, texts, name))
            for name, model in tested.items()
            if name in outcomes or name == RESEEDED
        ),
        publish=False,
    )
    run.publish_all({table.table_name: done.refs(table) for table in (tables.Models, tables.EpWords)})
    orderings = done.refs(tables.Orderings)
    run.do([AdjustOrderings(label="orderings", group="orderings", orderings=orderings)], in_driver=True)


def _control_noise(run: PrivacyRun, texts: SpokenTexts, noisy: TableRef, attributions: Attributions) -> None:
    """Publish whether explanations highlight artificial words; the copy is what was explained last."""
    columns, words = ("sentence", "position", "word", "attribution"), run.config.models.noise.words
    about = noisy.select("sentence", "noise", "valence", "gender")
    run.do(
        ControlNoise(
            copies=about,
            attributions=[refs[-1].select(*columns) for refs in by_seed],
            words=words,
            **_summed(run, texts, name),
        )
        for name, by_seed in attributions.items()
        if name in NOISE_MODELS
    )


def _requests(config: PrivacyMetricsRun, _: object, num_gpus: int) -> Sequence[ResourceRequest]:
    return training_requests(config.models, num_gpus)


JOB = Job(
    PrivacyMetricsRun,
    find_sources,
    run,
    tables.TABLES,
    "tiltmeter.jobs.classifiers.privacy.page:page",
    _requests,
    extras=["classifiers"],
)
