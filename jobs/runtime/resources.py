"""What stages ask of each worker beyond what is usual: memory for models and files, and GPUs.

Estimates, made before any work from the settings and the sizes of files, with constants that were measured. They say
how many workers fit on a node; nothing holds a worker to them.
"""

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.cluster.config import ClusterError
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.models.checkpoints import find_checkpoint

Device = Literal["auto", "cpu", "cuda"]
"""Where models run: on the cluster's GPUs, or on its CPUs."""

_MEGA = 1_000_000
_ITSELF = {"a worker itself": 400}
_HALF_PRECISION = ("float16", "bfloat16")

MODEL_LIBRARIES = {"torch, transformers and a batch of texts": 1000}
CUDA = {"torch for CUDA": 2500}


def uses_gpus(device: Device, num_gpus: int, setting: str = "embedding.device") -> bool:
    """Whether the setting means the GPUs of a cluster that has this many; ``auto`` means them where torch is installed.

    Raises:
        ClusterError: if it must be GPUs and there are none.
    """
    if device == "cuda" and not num_gpus:
        raise ClusterError(f"{setting}=cuda: the cluster has no free GPU; add a node with one, or set {setting}=cpu")
    return device != "cpu" and num_gpus > 0 and find_spec("torch") is not None


def megabytes(num_bytes: float) -> int:
    """Whole megabytes."""
    return round(num_bytes / _MEGA)


# --- language models ------------------------------------------------------------------------------------------------


def model_request(
    stage: str, models: Mapping[str, str], device: Device, num_gpus: int, setting: str
) -> ResourceRequest:
    """Of a worker that holds one of the models at a time."""
    on_gpu = uses_gpus(device, num_gpus, f"{setting}.device")
    sizes = {f"weights of {name}": model_megabytes(Path(folder)) for name, folder in models.items()}
    largest = max(sizes, key=lambda name: sizes[name])
    parts = MODEL_LIBRARIES | {largest: sizes[largest]} | (CUDA if on_gpu else {})
    return ResourceRequest(f"stage {stage}", parts, on_gpu, advice=f"set {setting}.device=cpu" if on_gpu else "")


def model_folder(model: str, revision: str | None, setting: str) -> str:
    """Where a model lies. It was found before: a local folder need not be read again to tell its version."""
    folder = Path(model).expanduser()
    return str(folder) if folder.is_dir() else find_checkpoint(model, revision, setting).folder


def model_megabytes(folder: Path) -> int:
    """Megabytes of a model's weights in float32."""
    files = [*folder.glob("model*.safetensors")] or [*folder.glob("pytorch_model*.bin")]
    described = json.loads((folder / "config.json").read_bytes())
    is_half = (described.get("dtype") or described.get("torch_dtype")) in _HALF_PRECISION
    return megabytes(sum(file.stat().st_size for file in files) * (2 if is_half else 1))


# --- files that are read whole --------------------------------------------------------------------------------------


class FileContent(NamedTuple):
    """What a file holds, and the memory that a byte of it takes, as it is, packed, and in Parquet."""

    name: str
    plain: float
    packed: float
    parquet: float


def file_request(stage: str, file: FoundFile, content: FileContent) -> ResourceRequest:
    """Of a worker that reads a file whole."""
    path = file.uri.partition("?")[0]
    is_packed = path.endswith((".bz2", ".gz", ".zst"))
    each = content.parquet if path.endswith(".parquet") else content.packed if is_packed else content.plain
    size = file.state.num_bytes
    what = f"{content.name} of a file of {megabytes(size):,} MB"
    return ResourceRequest(f"stage {stage}", _ITSELF | {what: megabytes(each * size)})
