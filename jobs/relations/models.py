"""Models: what they learn of labels and rules, their training, and what they predict."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import NamedTuple

import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.relations.config import Mode, Pretrained, RelationRulesRun, RelationsRun, Split
from tiltmeter.jobs.relations.rules import Evidence, Rule, Symbols, statement
from tiltmeter.jobs.relations.tables import Annotations, Predictions, Training
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Done, Work
from tiltmeter.operators.relations import supervision
from tiltmeter.operators.relations.instances import NO_RELATION, Instance
from tiltmeter.operators.relations.learning import training as learning
from tiltmeter.operators.relations.learning.models import Kind, RelationModel
from tiltmeter.operators.relations.learning.settings import DecoderConfig, EncoderConfig, TrainingConfig
from tiltmeter.operators.relations.learning.training import Epoch, best_epoch, train
from tiltmeter.operators.relations.learning.vocabularies import vocabulary_of
from tiltmeter.operators.relations.supervision import supervised_by_rules
from tiltmeter.storage.models.described_weights import DescribedWeights, parse_weights, weights_content
from tiltmeter.storage.store.ledger import Store, TableRef

_CONTENT = "content"


# --- what models are told -------------------------------------------------------------------------------------------


class Supervised(NamedTuple):
    """What is known of the instances of a part.

    Attributes:
        labels: what models are told; of parts but the training one, the relation that holds.
        rules: symbols of the rules that match and have the label.
    """

    instances: Sequence[Instance]
    labels: Sequence[str]
    rules: Sequence[Sequence[Symbols]]


class Supervision(Work):
    """How instances and rules become what models are told.

    Attributes:
        share: of the rules.
        mode: whether labels are learnt from.
        inverses: relations that hold the other way too; none: any may.
    """

    share: float
    mode: Mode
    inverses: Mapping[str, str]
    evidence: Evidence

    def parts(self, store: Store) -> dict[str, Supervised]:
        """Of the training part and the development part."""
        rules = self.evidence.used(store, self.share)
        return {
            "training": self._part(store, "training", rules, self.mode),
            "development": self._part(store, "development", rules, "rules+labels"),
        }

    def _part(self, store: Store, split: Split, rules: Mapping[str, Rule], mode: Mode) -> Supervised:
        pairs, matches = self.evidence.instances(store, split), self.evidence.names(store, split)
        names = [[name for name in matches.get(row.instance, ()) if name in rules] for row, _ in pairs]
        instances, labels = [one for _, one in pairs], [row.relation or NO_RELATION for row, _ in pairs]
        kept = [True] * len(pairs)
        if mode == "rules":
            labels = [self._label(row, of_row, rules) for (row, _), of_row in zip(pairs, names, strict=True)]
            sentences = [row.sentence for row, _ in pairs]
            kept = supervised_by_rules(instances, sentences, labels, self.inverses or None).tolist()
        of_each = [
            [rules[name].symbols for name in of_row if rules[name].relation == label]
            for of_row, label in zip(names, labels, strict=True)
        ]
        return Supervised([*compress(instances, kept)], [*compress(labels, kept)], [*compress(of_each, kept)])

    def _label(self, row: Annotations, names: Iterable[str], rules: Mapping[str, Rule]) -> str:
        """What rules say; of a share of rules, tags that rest on one of them."""
        relation = statement(row, names, rules)
        if self.share == 1.0 or row.tag is None:
            return relation
        return relation if any(rules[name].relation == relation for name in names) else NO_RELATION


# --- training -------------------------------------------------------------------------------------------------------


class TrainModel(Supervision, unit="relation_model/2", stage="train", makes=[Training, Predictions]):
    """A model of a kind, a share of the rules and a seed; one without a classifier predicts nothing."""

    operators: Sequence[str] = (learning.VERSION, supervision.VERSION)
    model: Kind
    number: int
    seed: int
    encoder: EncoderConfig
    decoder: DecoderConfig
    training: TrainingConfig
    pretrained: Pretrained

    def tables(self, store: Store) -> Tables:
        """The table ``model`` of one cell, its training, and what it predicts."""
        parts = self.parts(store)
        encoder, vectors, data = self.encoder, self.pretrained.vectors(), parts["training"]
        if vectors:
            encoder = replace(encoder, words=next(iter(vectors.values())).size)
        everything = [one for _, one in self.evidence.instances(store, "training")]  # words need no label
        symbols = [rule for rules in data.rules for rule in rules]
        reads_untyped = encoder.untyped == "read"
        vocabulary = vocabulary_of(
            everything, data.labels, symbols, encoder.min_count, vectors, reads_untyped=reads_untyped
        )
        seed, transformer = self.seed + self.number, self.pretrained.transformer()
        model = RelationModel.new(
            self.model, encoder, self.decoder, vocabulary, transformer, self.training, seed, vectors
        )
        labelled = {split: model.labelled(*part) for split, part in parts.items()}
        history = train(model.network, labelled["training"], labelled["development"], self.training, seed)
        yield "model", _model_table(model, self.pretrained)
        yield from tables_of(self._epochs(history, data), [Training])
        if self.model != "no_classifier":
            yield from tables_of(self._predictions(store, model), [Predictions])

    def _epochs(self, history: Sequence[Epoch], data: Supervised) -> Iterator[Training]:
        best, sizes = best_epoch(history), (len(data.instances), sum(map(bool, data.rules)))
        for place, epoch in enumerate(history):
            yield Training(
                model=self.model,
                share=self.share,
                seed=self.number,
                epoch=place + 1,
                **epoch._asdict(),
                score=epoch.score,
                is_best=place == best,
                warning=_warning(best + 1, len(history), self.training.max_epochs),
                num_instances=sizes[0],
                num_with_rules=sizes[1],
            )

    def _predictions(self, store: Store, model: RelationModel) -> Iterator[Predictions]:
        relations, numbers = model.vocabulary.relations, model.vocabulary.numbers["relations"]
        parts: tuple[Split, ...] = ("development", "test")
        for split in parts:
            rows = self.evidence.instances(store, split)
            probabilities = model.probabilities([one for _, one in rows], [()] * len(rows))
            for (row, _), shares in zip(rows, probabilities, strict=True):
                gold = numbers.get(row.relation or "")
                yield Predictions(
                    split=split,
                    instance=row.instance,
                    seed=self.number,
                    predicted=relations[int(shares.argmax())],
                    probability=float(shares.max()),
                    gold_probability=None if gold is None else float(shares[gold]),
                )


def _warning(best: int, num_epochs: int, most: int) -> str:
    """Why the best epoch may not be the best there is."""
    if best == num_epochs:
        after = "more may be better (training.max_epochs)" if best == most else "it rose too little (training.patience)"
        return f"the best epoch is the last of {num_epochs}: {after}"
    if best == 1:
        return f"the best epoch is the first of {num_epochs}: smaller steps may be better (training.rate)"
    return ""


def _model_table(model: RelationModel, pretrained: Pretrained) -> pa.Table:
    described = model.description()
    if pretrained.checkpoint is not None:
        described["checkpoint"] = list(pretrained.checkpoint)
    weights = {name: weight.numpy() for name, weight in model.network.state_dict().items()}
    return pa.table({_CONTENT: [weights_content(DescribedWeights(described, weights), "network")]})


def load_model(store: Store, ref: TableRef) -> RelationModel:
    """The model of a table of one cell, ready to predict."""
    [content] = store.read(ref)[_CONTENT].to_pylist()
    described, weights = parse_weights(content, "network")
    checkpoint = tuple(described["checkpoint"]) if "checkpoint" in described else None
    return RelationModel.of(described, weights, Pretrained(checkpoint=checkpoint).transformer())


# --- the stage ------------------------------------------------------------------------------------------------------


def variants(config: RelationRulesRun) -> list[tuple[Kind, float, int]]:
    """Kind, share of the rules and number of the seed of every model that is trained."""
    models: list[Kind] = ["joint", *config.ablations]
    kinds = [(model, config.rules.share) for model in models]
    kinds += [(models[0], share) for share in config.shares if share != config.rules.share]
    return [(model, share, seed) for model, share in kinds for seed in range(config.seeds)]


def train_models(run: RelationsRun, evidence: Evidence) -> Done[TrainModel]:
    """All of them; they leave tables ``model``, ``training`` and ``predicted``."""
    config = run.config
    return run.do(
        TrainModel(
            label=f"{model}, {share:g} of the rules, seed {number}",
            group="models",
            model=model,
            share=share,
            number=number,
            seed=config.seed,
            mode=config.data.mode,
            inverses=dict(config.data.inverses),
            encoder=config.encoder.network,
            decoder=config.decoder,
            training=config.training,
            pretrained=run.sources.pretrained,
            evidence=evidence,
        )
        for model, share, number in variants(config)
    )


def joint_models(config: RelationRulesRun, models: Done[TrainModel]) -> list[TableRef]:
    """Those that learn from all the rules which others are compared by, of all seeds."""
    return [
        unit.tables["model"] for work, unit in models.pairs if (work.model, work.share) == ("joint", config.rules.share)
    ]
