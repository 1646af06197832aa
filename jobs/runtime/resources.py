"""What stages ask of each worker beyond what is usual: memory for vectors, language models and pairs, and GPUs.

Estimates, made before any work from the settings and the sizes of files, with constants that were measured. They say
how many workers fit on a node; nothing holds a worker to them.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.cluster.config import WORKER_SETTING, ClusterConfig
from tiltmeter.jobs.classifiers.decoys.config import DecoyBenchmarkRun
from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.embedding.config import EmbeddingsRun
from tiltmeter.jobs.embedding.corpus.texts import Text
from tiltmeter.jobs.embedding.embed import EmbeddingConfig
from tiltmeter.jobs.embedding.vectors.encoding import EncoderEmbedding
from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.runtime.composition import RunConfig
from tiltmeter.jobs.runtime.devices import Device, uses_gpus
from tiltmeter.jobs.sentiment.rating.config import RatingRun
from tiltmeter.jobs.sentiment.rating.systems import TransformerSystem
from tiltmeter.jobs.sentiment.translation.translators import MarianTranslator
from tiltmeter.operators.embedding.fasttext import FastTextConfig
from tiltmeter.operators.embedding.glove import GloveConfig, vector_bytes
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.models.checkpoints import find_checkpoint

_MEGA = 1_000_000
_ITSELF = {"a worker itself": 400}
_MODEL_LIBRARIES = {"torch, transformers and a batch of texts": 1000}
_CUDA = {"torch for CUDA": 2500}
_HALF_PRECISION = ("float16", "bfloat16")


def asks(config: RunConfig, found: Any, num_gpus: int) -> list[ResourceRequest]:
    """The asks of the stages that need more than ``cluster.worker_megabytes``, or a GPU.

    Args:
        config: of the run.
        found: its sources.
        num_gpus: free in the cluster.

    Raises:
        ClusterError: if a setting wants GPUs and there are none.
    """
    if isinstance(config, EmbeddingsRun):
        return list(_embedding_asks(config, found, num_gpus))
    if isinstance(config, RatingRun):
        return list(_rating_asks(config, found, num_gpus))
    if isinstance(config, DecoyBenchmarkRun | PrivacyMetricsRun):
        return list(_fine_tuning_asks(config, num_gpus))
    if isinstance(config, ResolutionRun) and config.pairs is not None:
        return [_file_ask("read pairs", found.files["pairs"], _PAIRS)]
    return []


# --- embeddings -----------------------------------------------------------------------------------------------------


def _embedding_asks(config: EmbeddingsRun, found: Any, num_gpus: int) -> Iterator[ResourceRequest]:
    embedding = config.embedding
    if isinstance(embedding, EmbeddingConfig):
        on_gpu = uses_gpus(embedding.device, num_gpus) and embedding.trainer.name == "glove"
        largest = max(found.texts, key=num_tokens)
        yield (_train_on_gpu if on_gpu else _train)(largest, embedding, config.cluster)
    elif isinstance(embedding, EncoderEmbedding):
        for name, checkpoint in found.checkpoints.items():
            yield _model_ask("encode", {name: checkpoint.folder}, embedding.device, num_gpus, "embedding")
    else:
        files = [file for of_model in found.files.values() for file in of_model]
        yield _file_ask("read vectors", max(files, key=lambda file: file.state.num_bytes), _VECTORS)


def _train(text: Text, embedding: EmbeddingConfig, cluster: ClusterConfig) -> ResourceRequest:
    advice = "raise embedding.min_count or lower embedding.trainer.dimensions"
    parts = {WORKER_SETTING: cluster.worker_megabytes} | _vectors(text, embedding)
    return ResourceRequest("stage train", parts, advice=advice)


def _train_on_gpu(text: Text, embedding: EmbeddingConfig, _: ClusterConfig) -> ResourceRequest:
    num_pairs = 20.6 * num_tokens(text) ** 0.846
    pairs = {f"about {_rounded(num_pairs)} pairs of words": _megabytes(24 * num_pairs)}
    parts = _CUDA | pairs | _vectors(text, embedding)
    return ResourceRequest("stage train", parts, on_gpu=True, advice="set embedding.device=cpu")


def _vectors(text: Text, embedding: EmbeddingConfig) -> dict[str, int]:
    """Of one replica, the result and its table included, for the vocabulary that docs/scale.md expects."""
    num_words, trainer = round(4.43 * num_tokens(text) ** 0.589), embedding.trainer
    if isinstance(trainer, GloveConfig):
        num_bytes = 1.8 * vector_bytes(num_words, trainer.dimensions)
    else:
        num_bytes = 24.0 * num_words * trainer.dimensions
    if isinstance(trainer, FastTextConfig):
        num_bytes += 16.0 * trainer.num_buckets * trainer.dimensions
    return {f"vectors of about {_rounded(num_words)} words of {text.corpus.name}": _megabytes(num_bytes)}


def _rounded(number: float) -> str:
    """To two digits: an estimate has no more."""
    return f"{float(f'{number:.2g}'):,.0f}"


def num_tokens(text: Text) -> float:
    """About how many tokens a corpus has: its size over 6 bytes of plain text, 21 of a dump, or 3 of Parquet for each,
    and 4 times as many where it is packed.
    """
    each = {"mediawiki": 21, "parquet": 3}
    return sum(
        source.num_bytes / each.get(source.format, 6) * (1 if source.compression == "none" else 4)
        for source in text.sources
    )


# --- language models ------------------------------------------------------------------------------------------------


def _rating_asks(config: RatingRun, found: Any, num_gpus: int) -> Iterator[ResourceRequest]:
    for name in found.systems:
        if isinstance(system := config.sentiment[name], TransformerSystem):
            folder = _folder(system.model, system.revision, f"sentiment.{name}.model")
            yield _model_ask(f"score {name}", {system.model: folder}, system.device, num_gpus, f"sentiment.{name}")
    for name in found.round_trips:
        if isinstance(trip := config.translator[name], MarianTranslator):
            there = _folder(trip.there, trip.revision_there, f"translator.{name}.there")
            back = _folder(trip.back, trip.revision_back, f"translator.{name}.back")
            models = {trip.there: there, trip.back: back}
            yield _model_ask(f"translate {name}", models, trip.device, num_gpus, f"translator.{name}")


def _fine_tuning_asks(config: DecoyBenchmarkRun | PrivacyMetricsRun, num_gpus: int) -> Iterator[ResourceRequest]:
    """Of a worker that trains and explains a checkpoint; the small encoder keeps within what is usual."""
    models = config.models
    on_gpu = uses_gpus(models.device, num_gpus, "models.device")
    parts = {}
    if models.checkpoint is not None:
        folder = _folder(models.checkpoint, models.revision, "models.checkpoint")
        # The weights, their gradients, RMSprop's mean squares, and the weights of the best epoch so far.
        parts[f"weights of {models.checkpoint}, four times"] = 4 * _weights(Path(folder))
    if parts or on_gpu:
        needed = _MODEL_LIBRARIES | parts | (_CUDA if on_gpu else {})
        yield ResourceRequest("stage train", needed, on_gpu, advice="set models.device=cpu" if on_gpu else "")


def _model_ask(stage: str, models: Mapping[str, str], device: Device, num_gpus: int, setting: str) -> ResourceRequest:
    """Of a worker that holds one of the models at a time."""
    on_gpu = uses_gpus(device, num_gpus, f"{setting}.device")
    sizes = {f"weights of {name}": _weights(Path(folder)) for name, folder in models.items()}
    largest = max(sizes, key=lambda name: sizes[name])
    parts = _MODEL_LIBRARIES | {largest: sizes[largest]} | (_CUDA if on_gpu else {})
    return ResourceRequest(f"stage {stage}", parts, on_gpu, advice=f"set {setting}.device=cpu" if on_gpu else "")


def _folder(model: str, revision: str | None, setting: str) -> str:
    """Where a model lies. It was found before: a local folder need not be read again to tell its version."""
    folder = Path(model).expanduser()
    return str(folder) if folder.is_dir() else find_checkpoint(model, revision, setting).folder


def _weights(folder: Path) -> int:
    """Megabytes of a model's weights in float32."""
    files = [*folder.glob("model*.safetensors")] or [*folder.glob("pytorch_model*.bin")]
    described = json.loads((folder / "config.json").read_bytes())
    is_half = (described.get("dtype") or described.get("torch_dtype")) in _HALF_PRECISION
    return _megabytes(sum(file.stat().st_size for file in files) * (2 if is_half else 1))


# --- files that are read whole --------------------------------------------------------------------------------------


class _Content(NamedTuple):
    """What a file holds, and the memory that a byte of it takes, as it is, packed, and in Parquet."""

    name: str
    plain: float
    packed: float
    parquet: float


_PAIRS = _Content("pairs", 5, 20, 12)
_VECTORS = _Content("vectors", 1.7, 2, 9)


def _file_ask(stage: str, file: FoundFile, content: _Content) -> ResourceRequest:
    path = file.uri.partition("?")[0]
    is_packed = path.endswith((".bz2", ".gz", ".zst"))
    each = content.parquet if path.endswith(".parquet") else content.packed if is_packed else content.plain
    size = file.state.num_bytes
    what = f"{content.name} of a file of {_megabytes(size):,} MB"
    return ResourceRequest(f"stage {stage}", _ITSELF | {what: _megabytes(each * size)})


def _megabytes(num_bytes: float) -> int:
    return round(num_bytes / _MEGA)
