"""Models: trained from labels and rules, and what they predict."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.relations.config import Model, RelationRulesRun
from tiltmeter.jobs.relations.instances import Parts, read_instances
from tiltmeter.jobs.relations.material import Variant
from tiltmeter.jobs.relations.pretrained import load_transformer, read_vectors
from tiltmeter.jobs.relations.supervising import Supervised, supervised_parts
from tiltmeter.jobs.relations.tables import PREDICTED, TRAINING
from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.operators.relations import supervision
from tiltmeter.operators.relations.instances import Instance
from tiltmeter.operators.relations.learning import training
from tiltmeter.operators.relations.learning.readers import InstanceReader
from tiltmeter.operators.relations.learning.settings import DecoderConfig, EncoderConfig, TrainingConfig
from tiltmeter.operators.relations.learning.training import (
    Labelled,
    best_epoch,
    build,
    relation_probabilities,
    train,
)
from tiltmeter.operators.relations.learning.vocabularies import Vocabulary, vocabulary_of
from tiltmeter.storage.models.described_weights import DescribedWeights, parse_weights, weights_content
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from tiltmeter.operators.relations.learning.networks import RelationNetwork

_CONTENT = "content"
_MOST_PIECES = 512


def variants(config: RelationRulesRun) -> list[Variant]:
    """All that are trained."""
    models: list[Model] = ["joint", *config.ablations]
    shares = [share for share in config.shares if share != config.rules.share]
    kinds: list[tuple[Model, float]] = [(model, config.rules.share) for model in models]
    kinds += [("joint", share) for share in shares]
    return [Variant(model, share, seed) for model, share in kinds for seed in range(config.seeds)]


def train_models(
    runner: Runner,
    config: RelationRulesRun,
    parts: Parts,
    evidence: Mapping[str, Sequence[TableRef]],
    pretrained: Mapping[str, Any],
) -> dict[Variant, Finished]:
    """A unit for each variant, with tables ``model`` (one cell), ``training`` and ``predicted``.

    Args:
        evidence: inputs that say what rules say, by their roles.
        pretrained: identity of what the encoder starts from.
    """
    wanted = variants(config)
    units = [_unit(config, variant, parts, evidence, pretrained) for variant in wanted]
    done = runner.run_whole(Stage("train", each(_train), {"models": units}))["models"]
    return dict(zip(wanted, done, strict=True))


def joint_models(config: RelationRulesRun, models: Mapping[Variant, Finished]) -> list[TableRef]:
    """Those that learn from all the rules which others are compared by, of all seeds."""
    return [
        finished.tables["model"]
        for variant, finished in models.items()
        if (variant.model, variant.share) == ("joint", config.rules.share)
    ]


def _unit(
    config: RelationRulesRun,
    variant: Variant,
    parts: Parts,
    evidence: Mapping[str, Sequence[TableRef]],
    pretrained: Mapping[str, Any],
) -> Unit:
    settings = {
        "operators": [training.VERSION, supervision.VERSION],
        "model": variant.model,
        "share": variant.share,
        "number": variant.seed,
        "seed": config.seed,
        "mode": config.data.mode,
        "inverses": dict(config.data.inverses),
        "encoder": asdict(config.encoder.network),
        "decoder": asdict(config.decoder),
        "training": asdict(config.training),
        **pretrained,
    }
    name = f"{variant.model}, {variant.share:g} of the rules, seed {variant.seed}"
    return Unit("relation_model/2", name, settings, {**{split: [ref] for split, ref in parts.items()}, **evidence})


def _train(store: Store, unit: Unit) -> Tables:
    config = unit.config
    supervised = supervised_parts(store, unit, config["share"], config["mode"], config["inverses"])
    encoder, vectors = EncoderConfig(**config["encoder"]), read_vectors(config)
    if vectors:
        encoder = replace(encoder, words=next(iter(vectors.values())).size)
    seed = config["seed"] + config["number"]
    data = supervised["training"]
    everything = [one for _, one in read_instances(store, unit.input("training"))]  # words need no label
    symbols = [rule for rules in data.rules for rule in rules]
    reads_untyped = encoder.untyped == "read"
    vocabulary = vocabulary_of(
        everything, data.labels, symbols, encoder.min_count, vectors, reads_untyped=reads_untyped
    )
    decoder = None if config["model"] == "no_decoder" else DecoderConfig(**config["decoder"])
    settings = TrainingConfig(**config["training"])
    classifies = config["model"] != "no_classifier"
    transformer, reader = _transformer_and_reader(config, vocabulary, encoder)
    known = {number: vectors[word] for word, number in vocabulary.numbers["words"].items() if word in vectors}
    network = build(
        encoder,
        decoder,
        settings,
        vocabulary.sizes,
        seed,
        classifies=classifies,
        transformer=transformer,
        vectors=known,
    )
    labelled = {split: _labelled(reader, supervised[split]) for split in ("training", "development")}
    history = train(network, labelled["training"], labelled["development"], settings, seed)
    yield "model", _model_table(network, vocabulary, {**config, "encoder": asdict(encoder)})
    yield "training", table_of(list(_history_rows(history, config, data)), TRAINING)
    if classifies:
        rows = [row for split in ("development", "test") for row in _predicted(network, reader, store, unit, split)]
        yield "predicted", table_of(rows, PREDICTED)


def _transformer_and_reader(
    config: Mapping[str, Any], vocabulary: Vocabulary, encoder: EncoderConfig
) -> tuple["PreTrainedModel | None", InstanceReader]:
    loaded = load_transformer(config)
    if loaded is None:
        return None, InstanceReader(vocabulary, encoder.prune)
    transformer, tokenizer = loaded
    most: int = getattr(transformer.config, "max_position_embeddings", _MOST_PIECES)
    return transformer, InstanceReader(vocabulary, encoder.prune, tokenizer, min(most, _MOST_PIECES))


def _labelled(reader: InstanceReader, part: Supervised) -> Labelled:
    numbers = reader.vocabulary.numbers["relations"]
    return Labelled(
        [reader.example(one) for one, _ in part.instances],
        np.array([numbers.get(label, len(numbers)) for label in part.labels], dtype=np.int64),
        [[reader.vocabulary.rule(rule) for rule in rules] for rules in part.rules],
    )


def _history_rows(history: Sequence[training.Epoch], config: Mapping[str, Any], data: Supervised) -> Iterator[Row]:
    best = best_epoch(history)
    for place, epoch in enumerate(history):
        yield {
            "model": config["model"],
            "share": config["share"],
            "seed": config["number"],
            "epoch": place + 1,
            **epoch._asdict(),
            "score": epoch.score,
            "is_best": place == best,
            "warning": _warning(best + 1, len(history), config["training"]["max_epochs"]),
            "num_instances": len(data.instances),
            "num_with_rules": sum(map(bool, data.rules)),
        }


def _warning(best: int, num_epochs: int, most: int) -> str:
    """Why the best epoch may not be the best there is."""
    if best == num_epochs:
        after = "more may be better (training.max_epochs)" if best == most else "it rose too little (training.patience)"
        return f"the best epoch is the last of {num_epochs}: {after}"
    if best == 1:
        return f"the best epoch is the first of {num_epochs}: smaller steps may be better (training.rate)"
    return ""


def _predicted(
    network: "RelationNetwork", reader: InstanceReader, store: Store, unit: Unit, split: str
) -> Iterator[Row]:
    rows = read_instances(store, unit.input(split))
    vocabulary = reader.vocabulary
    probabilities = relation_probabilities(network, [reader.example(one) for _, one in rows])
    numbers = vocabulary.numbers["relations"]
    for (row, _), shares in zip(rows, probabilities, strict=True):
        gold = numbers.get(row["relation"])
        yield {
            "split": split,
            "instance": row["instance"],
            "seed": unit.config["number"],
            "predicted": vocabulary.relations[int(shares.argmax())],
            "probability": float(shares.max()),
            "gold_probability": None if gold is None else float(shares[gold]),
        }


@dataclass(frozen=True)
class Trained:
    """A model that a unit has trained."""

    network: "RelationNetwork"
    reader: InstanceReader
    decoder: DecoderConfig

    @property
    def vocabulary(self) -> Vocabulary:
        """Of words, annotations, relations and symbols."""
        return self.reader.vocabulary

    def probabilities(self, instances: Sequence[Instance], hidden: Sequence[Sequence[int]]) -> np.ndarray[Any, Any]:
        """Of all relations, with tokens hidden: ``[instances, relations]``."""
        pairs = zip(instances, hidden, strict=True)
        return relation_probabilities(self.network, [self.reader.example(one, tokens) for one, tokens in pairs])


def _model_table(network: "RelationNetwork", vocabulary: Vocabulary, config: Mapping[str, Any]) -> pa.Table:
    kept = ("model", "encoder", "decoder", "checkpoint")
    described = {"vocabulary": asdict(vocabulary)} | {name: config[name] for name in kept if name in config}
    weights = {name: weight.numpy() for name, weight in network.state_dict().items()}
    return pa.table(
        {_CONTENT: pa.array([weights_content(DescribedWeights(described, weights), "network")], pa.binary())}
    )


def load_model(store: Store, ref: TableRef) -> Trained:
    """The model of a table of one cell, ready to predict."""
    import torch

    [content] = store.read(ref)[_CONTENT].to_pylist()
    described, weights = parse_weights(content, "network")
    entries = described["vocabulary"]
    entries |= {name: tuple(listed) for name, listed in entries.items() if isinstance(listed, list)}
    vocabulary = Vocabulary(**entries)
    encoder, decoder = EncoderConfig(**described["encoder"]), DecoderConfig(**described["decoder"])
    kind = described["model"]
    transformer, reader = _transformer_and_reader(described, vocabulary, encoder)
    network = build(
        encoder,
        None if kind == "no_decoder" else decoder,
        TrainingConfig(),
        vocabulary.sizes,
        seed=0,
        classifies=kind != "no_classifier",
        transformer=transformer,
    )
    network.load_state_dict({name: torch.from_numpy(weight.copy()) for name, weight in weights.items()})
    network.eval()
    return Trained(network, reader, decoder)
