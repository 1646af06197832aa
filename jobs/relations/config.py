"""The config of `relation_rules`: instances, rules, the network, and what is asked of it."""

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Annotated, Literal, Self

import pydantic
from pydantic import AfterValidator, ConfigDict, Field

from tiltmeter.jobs.embedding.config import Cutting
from tiltmeter.jobs.runtime.config import CommonConfig, each_once
from tiltmeter.operators.relations.induction import Induction
from tiltmeter.operators.relations.learning.settings import DecoderConfig, EncoderConfig, TrainingConfig
from tiltmeter.storage.corpora.corpora import CorpusConfig
from tiltmeter.storage.corpora.sources import Paths

_CONFIG = ConfigDict(extra="forbid")
_Path = Annotated[str, Field(min_length=1)]
_Share = Annotated[float, Field(gt=0.0, le=1.0)]
_Count = Annotated[int, Field(ge=1)]

Split = Literal["training", "development", "test"]
SPLITS: tuple[Split, ...] = ("training", "development", "test")


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Encoder(EncoderConfig):
    """How a sentence is read, and what that starts from.

    Attributes:
        vectors: file of word vectors; ``words`` is then as many as they have numbers.
        most_vectors: the first words of the file, that many.
        checkpoint: a transformer that reads in place of the BiLSTM: a local folder, or a name on the hub.
        revision: of a model on the hub.
    """

    vectors: _Path | None = None
    most_vectors: _Count = 50_000
    checkpoint: _Path | None = None
    revision: _Path | None = None

    @property
    def network(self) -> EncoderConfig:
        """Of what it consists."""
        return EncoderConfig(**{one.name: getattr(self, one.name) for one in fields(EncoderConfig)})

    @pydantic.model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if self.vectors is not None and self.checkpoint is not None:
            raise ValueError("encoder.vectors: a transformer has its own vectors; leave out encoder.checkpoint or it")
        return self


Ablation = Literal["no_decoder", "no_classifier"]
DecoderKind = Literal["published", "constrained", "retrieval"]
Model = Literal["joint", "no_decoder", "no_classifier"]


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class RelationRulesJob:
    """``job=relation_rules``.

    Attributes:
        level: nominal coverage of intervals.
        num_resamples: of sentences (or documents), by which later runs judge differences.
        unit_instances: instances whose rules are matched, or written, in a unit of work.
    """

    name: Literal["relation_rules"] = "relation_rules"
    level: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = 0.95
    num_resamples: Annotated[int, Field(ge=2)] = 200
    unit_instances: _Count = 500


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class PartFiles:
    """A file for each part."""

    training: _Path | None = None
    development: _Path | None = None
    test: _Path | None = None

    @property
    def files(self) -> dict[Split, str | None]:
        """Of each part."""
        return {"training": self.training, "development": self.development, "test": self.test}


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class Data:
    """Instances.

    Attributes:
        path, development, test: files of the three parts; ``path`` None: sentences that are made up.
        sentences: how many of these the training part has; the others have half as many.
        mode: whether labels are learnt from beside rules, or what rules say alone.
        inverses: relations that hold the other way too, and as which: a pair of which rules speak so the other way
            round teaches nothing; empty: any relation may.
        trees: files of CoNLL-U with the lemmas, parts of speech and trees of the sentences.
    """

    path: _Path | None = None
    development: _Path | None = None
    test: _Path | None = None
    sentences: Annotated[int, Field(ge=10)] = 200
    mode: Literal["rules", "rules+labels"] = "rules+labels"
    inverses: Mapping[str, str] = field(default_factory=dict)
    trees: PartFiles = PartFiles()

    @property
    def files(self) -> dict[Split, str | None]:
        """Of each part."""
        return {"training": self.path, "development": self.development, "test": self.test}

    @pydantic.model_validator(mode="after")
    def _has_all_parts(self) -> Self:
        given = [name for name, path in self.files.items() if path is not None]
        if given and len(given) < len(SPLITS):
            missing = next(name for name in SPLITS if name not in given)
            setting = "path" if missing == "training" else missing
            raise ValueError(f"data.{setting}: must name the file of the {missing} part, as the others are named")
        return self


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class Rules:
    """Where rules come from.

    Attributes:
        source: a ``file``, or those ``induced`` from the training part, or made of ``tags``; or a file without
            relations, and ``mappings`` that say which rules match which instance.
        path: of the file: JSON or YAML with id, relation and pattern.
        tags: files of what rules say: a line for each instance, with a relation and tokens.
        mappings: files of what rules match: a line for each instance, with relations and names.
        induction: how they are mined.
        share: of the rules that match something in training, the most frequent first.
    """

    source: Literal["file", "induced", "tags", "mappings"] = "file"
    path: _Path | None = None
    tags: PartFiles = PartFiles()
    mappings: PartFiles = PartFiles()
    induction: Induction = Induction()
    share: _Share = 1.0

    @pydantic.model_validator(mode="after")
    def _has_files(self) -> Self:
        for name in ("tags", "mappings"):
            if self.source == name and None in getattr(self, name).files.values():
                raise ValueError(
                    f"rules.{name}: must name a file for training, development and test with rules.source={name}"
                )
        if self.source == "mappings" and self.path is None:
            raise ValueError("rules.path: must name the file of the rules that rules.mappings name")
        if self.source == "induced" and self.path is not None:
            raise ValueError("rules.path: no file is read with rules.source=induced; leave one of them out")
        return self


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class Decoding:
    """How rules are written.

    Attributes:
        kinds: decoders: the ``published`` one, which is free, that under the ``constrained`` beam search, and
            ``retrieval`` of known rules that match.
        seeds: models of so many seeds write; None: all.
    """

    kinds: Annotated[tuple[DecoderKind, ...], Field(min_length=1), AfterValidator(each_once)] = (
        "published",
        "constrained",
        "retrieval",
    )
    seeds: _Count | None = None


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class UnlabelledTexts:
    """Texts over which rules are run too, known ones and new ones.

    Attributes:
        path, format, language: as of a corpus; ``path`` None: none.
        mentions: table of ``text`` and ``type``, by which arguments are told; None: by the rules themselves.
        facts: table of ``subject``, ``relation`` and ``object``, by which the precision of rules is estimated.
        most_between: tokens between the arguments.
        examples: matches of a rule that the table ``text_matches`` has.
        reading: how the work is cut.
    """

    path: Paths | None = None
    format: Literal["auto", "mediawiki", "wikiextractor", "jsonl", "parquet", "text"] = "auto"
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[a-z0-9]{1,8})*$")] = "en"
    mentions: _Path | None = None
    facts: _Path | None = None
    most_between: Annotated[int, Field(ge=0, le=100)] = 10
    examples: Annotated[int, Field(ge=0, le=1000)] = 3
    reading: Cutting = Cutting()

    @property
    def corpus(self) -> CorpusConfig | None:
        """The texts, as a corpus."""
        return None if self.path is None else CorpusConfig("texts", self.language, self.path, self.format)

    @pydantic.model_validator(mode="after")
    def _has_texts(self) -> Self:
        for name in ("mentions", "facts"):
            if self.path is None and getattr(self, name) is not None:
                raise ValueError(f"texts.{name}: is of no use without texts: set texts.path, or leave it out")
        return self


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class RelationRulesRun(CommonConfig):
    """A run of ``relation_rules``.

    Attributes:
        seeds: models that are trained of each kind.
        ablations: models without one of the two parts.
        shares: of rules, for the learning curve.
    """

    job: RelationRulesJob
    data: Data
    rules: Rules
    encoder: Encoder
    decoder: DecoderConfig
    training: TrainingConfig
    decoding: Decoding
    texts: UnlabelledTexts = UnlabelledTexts()
    seeds: Annotated[int, Field(ge=1)] = 5
    ablations: Annotated[tuple[Ablation, ...], AfterValidator(each_once)] = ()
    shares: Annotated[tuple[_Share, ...], AfterValidator(each_once)] = ()

    @pydantic.model_validator(mode="after")
    def _fits(self) -> Self:
        width = 2 * self.encoder.gcn
        if self.decoder.layers * self.decoder.hidden != width:
            raise ValueError(
                f"decoder.hidden={self.decoder.hidden}: {self.decoder.layers} layers must start from the vectors of "
                f"both arguments, {width} numbers; set it to {width // self.decoder.layers}"
            )
        if self.data.path is not None and self.rules.source == "file" and self.rules.path is None:
            raise ValueError(
                "rules.path: must name a file of rules; or set rules.source=induced, which mines them from data.path"
            )
        return self
