"""What a worker needs that trains embeddings, reads vectors from a file, or has an encoder in memory."""

from collections.abc import Sequence

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.cluster.config import WORKER_SETTING, ClusterConfig
from tiltmeter.jobs.embedding.config import EmbeddingConfig, EmbeddingsRun
from tiltmeter.jobs.embedding.encoders.settings import Encoders
from tiltmeter.jobs.embedding.sources import Sources, Text
from tiltmeter.jobs.runtime.resources import CUDA, FileContent, file_request, megabytes, model_request, uses_gpus
from tiltmeter.operators.embedding.fasttext import FastTextConfig
from tiltmeter.operators.embedding.glove import BYTES_PER_PAIR, GloveConfig, vector_bytes

_VECTORS = FileContent("vectors", plain=1.7, packed=2, parquet=9)

# Power laws through the Wikipedias of docs/scale.md: words in the vocabulary, and pairs of them, by tokens.
_WORDS_FACTOR, _WORDS_EXPONENT = 4.43, 0.589
_PAIRS_FACTOR, _PAIRS_EXPONENT = 20.6, 0.846

_BYTES_PER_PAIR_ON_GPU = 24
_COPIES_OF_GLOVE_VECTORS = 1.8  # the vectors, and the table that is made of them
_BYTES_PER_NUMBER_IN_GENSIM = 24.0
_BYTES_PER_NUMBER_OF_A_BUCKET = 16.0

_BYTES_PER_TOKEN = {"mediawiki": 21, "parquet": 3}
_BYTES_PER_TOKEN_OF_PLAIN_TEXT = 6
_PACKED = 4


def embedding_requests(config: EmbeddingsRun, sources: Sources, num_gpus: int) -> Sequence[ResourceRequest]:
    """What the stages that make or read embeddings ask for.

    Raises:
        ClusterError: if a setting wants GPUs and there are none.
    """
    embedding = config.embedding
    if isinstance(embedding, EmbeddingConfig):
        on_gpu = uses_gpus(embedding.device, num_gpus) and embedding.trainer.name == "glove"
        largest = max(sources.texts, key=num_tokens)
        return [(_train_on_gpu if on_gpu else _train)(largest, embedding, config.cluster)]
    if isinstance(embedding, Encoders):
        return [
            model_request("encode", {name: checkpoint.folder}, embedding.device, num_gpus, "embedding")
            for name, checkpoint in sources.checkpoints.items()
        ]
    files = [file for replicas in sources.files.values() for file in replicas]
    return [file_request("read vectors", max(files, key=lambda file: file.state.num_bytes), _VECTORS)]


def scratch_bytes(config: object, texts: Sequence[Text]) -> float:
    """What a worker in training keeps in ``cluster.scratch``, at most: pairs of the largest corpus that do not fit its
    memory; none of a job that trains nothing."""
    if not (isinstance(config, EmbeddingsRun) and isinstance(config.embedding, EmbeddingConfig)):
        return 0.0
    if not isinstance(config.embedding.trainer, GloveConfig):
        return 0.0
    needed = max(BYTES_PER_PAIR * num_pairs(num_tokens(text)) for text in texts)
    return needed if needed > config.cluster.worker_data_bytes else 0.0


def num_tokens(text: Text) -> float:
    """About how many tokens a corpus has, by the size of its files, their format and how they are packed."""
    return sum(
        source.num_bytes
        / _BYTES_PER_TOKEN.get(source.format, _BYTES_PER_TOKEN_OF_PLAIN_TEXT)
        * (1 if source.compression == "none" else _PACKED)
        for source in text.sources
    )


def num_words(tokens: float) -> float:
    """About how many words the vocabulary of so many tokens has."""
    return float(_WORDS_FACTOR * tokens**_WORDS_EXPONENT)


def num_pairs(tokens: float) -> float:
    """About how many different pairs of words there are in so many tokens."""
    return float(_PAIRS_FACTOR * tokens**_PAIRS_EXPONENT)


def _train(text: Text, embedding: EmbeddingConfig, cluster: ClusterConfig) -> ResourceRequest:
    advice = "raise embedding.min_count or lower embedding.trainer.dimensions"
    parts = {WORKER_SETTING: cluster.worker_megabytes} | _vectors(text, embedding)
    return ResourceRequest("stage train", parts, advice=advice)


def _train_on_gpu(text: Text, embedding: EmbeddingConfig, _: ClusterConfig) -> ResourceRequest:
    num = num_pairs(num_tokens(text))
    pairs = {f"about {_rounded(num)} pairs of words": megabytes(_BYTES_PER_PAIR_ON_GPU * num)}
    parts = CUDA | pairs | _vectors(text, embedding)
    return ResourceRequest("stage train", parts, on_gpu=True, advice="set embedding.device=cpu")


def _vectors(text: Text, embedding: EmbeddingConfig) -> dict[str, int]:
    """Of one replica, the result and its table included."""
    num, trainer = round(num_words(num_tokens(text))), embedding.trainer
    if isinstance(trainer, GloveConfig):
        num_bytes = _COPIES_OF_GLOVE_VECTORS * vector_bytes(num, trainer)
    else:
        num_bytes = _BYTES_PER_NUMBER_IN_GENSIM * num * trainer.dimensions
    if isinstance(trainer, FastTextConfig):
        num_bytes += _BYTES_PER_NUMBER_OF_A_BUCKET * trainer.num_buckets * trainer.dimensions
    return {f"vectors of about {_rounded(num)} words of {text.corpus.name}": megabytes(num_bytes)}


def _rounded(number: float) -> str:
    """To two digits: an estimate has no more."""
    return f"{float(f'{number:.2g}'):,.0f}"
