"""What a worker needs that trains and explains text classifiers."""

from pathlib import Path

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.classifiers.config import CHECKPOINT_SETTING, TrainedModels
from tiltmeter.jobs.runtime.resources import CUDA, MODEL_LIBRARIES, model_folder, model_megabytes, uses_gpus

_COPIES = {"rmsprop": 4, "adamw": 5}
"""Of the weights: these, their gradients, the means of the optimizer, and the weights of the best epoch so far."""

_TIMES = {4: "four times", 5: "five times"}


def training_requests(models: TrainedModels, num_gpus: int) -> list[ResourceRequest]:
    """Of a worker with a checkpoint, or on a GPU; the small encoder keeps within what is usual.

    Raises:
        ClusterError: if ``models.device`` wants GPUs and there are none.
    """
    on_gpu = uses_gpus(models.device, num_gpus, "models.device")
    parts = {}
    if models.checkpoint is not None:
        folder = model_folder(models.checkpoint, models.revision, CHECKPOINT_SETTING)
        copies = _COPIES[models.training.optimizer]
        parts[f"weights of {models.checkpoint}, {_TIMES[copies]}"] = copies * model_megabytes(Path(folder))
    if not parts and not on_gpu:
        return []
    needs = MODEL_LIBRARIES | parts | (CUDA if on_gpu else {})
    return [ResourceRequest("stage train", needs, on_gpu, advice="set models.device=cpu" if on_gpu else "")]
