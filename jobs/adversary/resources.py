"""What a worker needs that has an embedding or a classifier in memory."""

from collections.abc import Iterator, Sequence

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.adversary.config import AdversarySources, GenderAdversaryRun
from tiltmeter.jobs.adversary.victims import EncoderVictim, SentimentVictim, TransformerVictim
from tiltmeter.jobs.classifiers.resources import training_requests
from tiltmeter.jobs.embedding.resources import embedding_requests
from tiltmeter.jobs.runtime.resources import model_folder, model_request
from tiltmeter.jobs.sentiment.rating.systems import TransformerSystem


def adversary_requests(
    config: GenderAdversaryRun, sources: AdversarySources, num_gpus: int
) -> Sequence[ResourceRequest]:
    """What embeddings and victims ask for.

    Raises:
        ClusterError: if a setting wants GPUs and there are none.
    """
    return [*embedding_requests(config, sources, num_gpus), *_victims(config, num_gpus)]


def _victims(config: GenderAdversaryRun, num_gpus: int) -> Iterator[ResourceRequest]:
    for name, victim in config.victim.items():
        setting = f"victim.{name}"
        if isinstance(victim, EncoderVictim):
            yield from training_requests(victim, num_gpus)
        elif isinstance(victim, TransformerVictim):
            folder = model_folder(victim.model, victim.revision, f"{setting}.model")
            yield model_request(f"attack {name}", {victim.model: folder}, victim.device, num_gpus, setting)
        elif isinstance(victim, SentimentVictim) and isinstance(victim.system, TransformerSystem):
            system, setting = victim.system, f"{setting}.system"
            folder = model_folder(system.model, system.revision, f"{setting}.model")
            yield model_request(f"attack {name}", {system.model: folder}, system.device, num_gpus, setting)
