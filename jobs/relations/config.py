"""Settings of `relation_rules`, which `conf/job/relation_rules.yaml` explains, and what a run starts from."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
import pydantic
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from tiltmeter.jobs.embedding.config import Cutting
from tiltmeter.jobs.embedding.sources import Text as Corpus
from tiltmeter.jobs.embedding.sources import find_text
from tiltmeter.jobs.runtime.config import CommonConfig, each_once
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.jobs.runtime.settings.fields import Count, Least2, Text, settings
from tiltmeter.jobs.runtime.work import Subject
from tiltmeter.operators.relations.induction import Induction
from tiltmeter.operators.relations.learning.explanations import Decoder
from tiltmeter.operators.relations.learning.settings import DecoderConfig, EncoderConfig, TrainingConfig
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora.corpora import CorpusConfig
from tiltmeter.storage.corpora.sources import FoundFile, Paths, find_file
from tiltmeter.storage.files.files import file_state
from tiltmeter.storage.models.checkpoints import find_checkpoint
from tiltmeter.storage.models.load import load_encoder
from tiltmeter.storage.records.cells import GIVEN
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.vectors.files import check_pickle, look_through_embedding, read_embedding

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_Share = Annotated[float, Field(gt=0.0, le=1.0)]

Split = Literal["training", "development", "test"]
SPLITS: tuple[Split, ...] = ("training", "development", "test")

Ablation = Literal["no_decoder", "no_classifier"]
Mode = Literal["rules", "rules+labels"]

_CHECKPOINT = "encoder.checkpoint"

LISTS = {"mentions": ["text", "type"], "facts": ["subject", "relation", "object"]}
"""Columns of what is given along with texts: what arguments are, and by which rules are right."""


@settings
class Encoder(EncoderConfig):
    vectors: Text | None
    max_vectors: Count
    checkpoint: Text | None
    revision: Text | None

    @property
    def network(self) -> EncoderConfig:
        """Of what it consists."""
        return EncoderConfig(**{one.name: getattr(self, one.name) for one in fields(EncoderConfig)})

    @pydantic.model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if self.vectors is not None and self.checkpoint is not None:
            raise ValueError("encoder.vectors: a transformer has its own vectors; leave out encoder.checkpoint or it")
        return self


@settings
class RelationRulesJob:
    name: Literal["relation_rules"]
    level: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
    num_resamples: Least2
    unit_instances: Count


@settings
class PartFiles:
    training: Text | None
    development: Text | None
    test: Text | None


@settings
class Data:
    path: Text | None
    development: Text | None
    test: Text | None
    sentences: Annotated[int, Field(ge=10)]
    mode: Mode
    inverses: Mapping[str, str]
    trees: PartFiles

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


@settings
class Rules:
    source: Literal["file", "induced", "tags", "mappings"]
    path: Text | None
    tags: PartFiles
    mappings: PartFiles
    induction: Induction
    share: _Share

    @pydantic.model_validator(mode="after")
    def _has_files(self) -> Self:
        for name in ("tags", "mappings"):
            if self.source == name and None in asdict(getattr(self, name)).values():
                raise ValueError(
                    f"rules.{name}: must name a file for training, development and test with rules.source={name}"
                )
        if self.source == "mappings" and self.path is None:
            raise ValueError("rules.path: must name the file of the rules that rules.mappings name")
        if self.source == "induced" and self.path is not None:
            raise ValueError("rules.path: no file is read with rules.source=induced; leave one of them out")
        return self


@settings
class Decoding:
    kinds: Annotated[tuple[Decoder, ...], Field(min_length=1), AfterValidator(each_once)]
    seeds: Count | None


@settings
class UnlabelledTexts:
    path: Paths | None
    format: Literal["auto", "mediawiki", "wikiextractor", "jsonl", "parquet", "text"]
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[a-z0-9]{1,8})*$")]
    mentions: Text | None
    facts: Text | None
    max_between: Annotated[int, Field(ge=0, le=100)]
    examples: Annotated[int, Field(ge=0, le=1000)]
    reading: Cutting

    @property
    def corpus(self) -> CorpusConfig | None:
        """The texts, as a corpus."""
        return None if self.path is None else CorpusConfig("texts", self.language, self.path, self.format)

    @pydantic.model_validator(mode="after")
    def _has_texts(self) -> Self:
        for name in LISTS:
            if self.path is None and getattr(self, name) is not None:
                raise ValueError(f"texts.{name}: is of no use without texts: set texts.path, or leave it out")
        return self


@settings
class RelationRulesRun(CommonConfig):
    job: RelationRulesJob
    data: Data
    rules: Rules
    encoder: Encoder
    decoder: DecoderConfig
    training: TrainingConfig
    decoding: Decoding
    texts: UnlabelledTexts
    seeds: Count
    ablations: Annotated[tuple[Ablation, ...], AfterValidator(each_once)]
    shares: Annotated[tuple[_Share, ...], AfterValidator(each_once)]

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


# --- what a run starts from -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pretrained(Subject):
    """What an encoder starts from.

    Attributes:
        file: of word vectors, with the number of them, of which the first are taken; None: drawn ones.
        checkpoint: name and version of a transformer; None: none.
    """

    file: tuple[FoundFile, int] | None = None
    checkpoint: tuple[str, str] | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """Nothing where nothing is given."""
        vectors = {} if self.file is None else {"vectors": {"file": self.file[0].identity, "most": self.file[1]}}
        return vectors | ({} if self.checkpoint is None else {"checkpoint": list(self.checkpoint)})

    def record(self) -> dict[str, Any]:
        """Each with its version, for ``run.json``."""
        vectors = {} if self.file is None else {"vectors": self.file[0].redacted}
        return vectors | ({} if self.checkpoint is None else {"checkpoint": self.checkpoint[1]})

    def vectors(self) -> dict[str, NDArray[np.float32]]:
        """By word; none without a file."""
        if self.file is None:
            return {}
        file, most = self.file
        embedding = read_embedding(file.uri, bad=BadRecords())
        return dict(zip(embedding.words[:most], embedding.vectors[:most], strict=True))

    def transformer(self) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase] | None":
        """With its tokenizer; None without a checkpoint."""
        if self.checkpoint is None:
            return None
        name, version = self.checkpoint
        return load_encoder(find_checkpoint(name, version, _CHECKPOINT).folder, "cpu", _CHECKPOINT)


def find_pretrained(encoder: Encoder) -> Pretrained:
    """Look for them.

    Raises:
        InputError: if the file can't be found.
        EmbeddingFileError: if it is in gensim's format, a pickle.
        CheckpointError: if the checkpoint can't be found.
    """
    if encoder.vectors is not None:
        file = find_file(encoder.vectors, "encoder.vectors")
        check_pickle(file.uri, allow_pickle=False, setting=None)
        look_through_embedding(file.uri)
        return Pretrained((file, encoder.max_vectors))
    if encoder.checkpoint is None:
        return Pretrained()
    version = find_checkpoint(encoder.checkpoint, encoder.revision, _CHECKPOINT).version
    return Pretrained(checkpoint=(encoder.checkpoint, version))


@dataclass(frozen=True)
class RelationSources:
    """Attributes:
    files: ``training``, ``development`` and ``test``, none where sentences are made up; ``rules``; ``tags``,
        ``mappings`` and ``trees`` of each part, such as ``tags_test``; ``mentions`` and ``facts``; as far as there are.
    corpus: unlabelled texts, if there are.
    """

    files: Files
    corpus: Corpus | None
    pretrained: Pretrained

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        sources = [] if self.corpus is None else self.corpus.sources
        texts = [{"name": one.name, "bytes": one.num_bytes, "version": one.version} for one in sources]
        return self.files.record() | self.pretrained.record() | {"texts": texts}


RelationsRun = Run[RelationRulesRun, RelationSources]


def find_sources(config: RelationRulesRun) -> RelationSources:
    """Look for the files.

    Raises:
        InputError: if one is missing, or can't be read.
        CheckpointError: if the transformer can't be found.
    """
    data, rules, given = config.data, config.rules, config.texts
    named: dict[str, Any] = {
        split: (path, f"data.{split.replace('training', 'path')}") for split, path in data.files.items()
    }
    paths: dict[str, tuple[str | None, str]] = {**named, "rules": (rules.path, "rules.path")}
    beside = {"rules.tags": rules.tags, "rules.mappings": rules.mappings, "data.trees": data.trees}
    for setting, parts in beside.items():
        kind = setting.partition(".")[2]
        paths |= {f"{kind}_{split}": (path, f"{setting}.{split}") for split, path in asdict(parts).items()}
    files = {name: find_file(path, setting) for name, (path, setting) in paths.items() if path is not None}
    for file in files.values():
        file_state(file.uri)
    for name, columns in LISTS.items():
        if (path := getattr(given, name)) is not None:
            files[name] = find_table(path, f"texts.{name}", columns, rules=dict.fromkeys(columns, (GIVEN,)))
    corpus = given.corpus
    texts = None if corpus is None else find_text(corpus, None, fold_case=False, store=Store(config.store).root)
    return RelationSources(Files(files), texts, find_pretrained(config.encoder))
