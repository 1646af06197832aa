"""What a worker needs that has a sentiment system or a translator in memory."""

from collections.abc import Iterator

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.runtime.resources import model_folder, model_request
from tiltmeter.jobs.sentiment.rating.config import RatingRun
from tiltmeter.jobs.sentiment.rating.sources import RatingSources
from tiltmeter.jobs.sentiment.rating.systems import TransformerSystem
from tiltmeter.jobs.sentiment.translation.translators import MarianTranslator


def rating_requests(config: RatingRun, sources: RatingSources, num_gpus: int) -> list[ResourceRequest]:
    """What scoring and translating ask for.

    Raises:
        ClusterError: if a setting wants GPUs and there are none.
    """
    return [*_systems(config, sources, num_gpus), *_translators(config, sources, num_gpus)]


def _systems(config: RatingRun, sources: RatingSources, num_gpus: int) -> Iterator[ResourceRequest]:
    for name in sources.systems:
        if isinstance(system := config.sentiment[name], TransformerSystem):
            folder = model_folder(system.model, system.revision, f"sentiment.{name}.model")
            yield model_request(f"score {name}", {system.model: folder}, system.device, num_gpus, f"sentiment.{name}")


def _translators(config: RatingRun, sources: RatingSources, num_gpus: int) -> Iterator[ResourceRequest]:
    for name in sources.round_trips:
        if isinstance(trip := config.translator[name], MarianTranslator):
            there = model_folder(trip.there, trip.revision_there, f"translator.{name}.there")
            back = model_folder(trip.back, trip.revision_back, f"translator.{name}.back")
            models = {trip.there: there, trip.back: back}
            yield model_request(f"translate {name}", models, trip.device, num_gpus, f"translator.{name}")
