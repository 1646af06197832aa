"""Where models run: on the cluster's GPUs, or on its CPUs."""

from typing import Literal

from tiltmeter.cluster.connection import ClusterError

Device = Literal["auto", "cpu", "cuda"]


def uses_gpus(device: Device, num_gpus: int, setting: str = "embedding.device") -> bool:
    """Whether the setting means the GPUs of a cluster that has so many.

    Raises:
        ClusterError: if it must be GPUs and there are none.
    """
    if device == "cuda" and not num_gpus:
        raise ClusterError(f"{setting}=cuda: the cluster has no free GPU; add a node with one, or set {setting}=cpu")
    return device != "cpu" and num_gpus > 0
