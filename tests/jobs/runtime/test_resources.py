"""What jobs ask of a cluster, by hand from the sizes of what they start from."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.fixtures.page_models import check_text
from tiltmeter.cluster.config import ClusterError
from tiltmeter.jobs.catalogue import job
from tiltmeter.jobs.embedding.resources import num_tokens
from tiltmeter.jobs.sentiment.rating.systems import SimpleSystem, TransformerSystem
from tiltmeter.jobs.sentiment.translation.round_trips import MarianTranslator
from tiltmeter.operators.classifiers.training import TrainingConfig
from tiltmeter.operators.embedding.fasttext import FastTextConfig
from tiltmeter.operators.embedding.glove import GloveConfig
from tiltmeter.operators.embedding.word2vec import Word2VecConfig
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.files.state import FileState


def text(num_bytes, form="text", compression="none"):
    source = SimpleNamespace(num_bytes=num_bytes, format=form, compression=compression)
    return SimpleNamespace(sources=[source], corpus=SimpleNamespace(name="made_up"))


def found_file(name, megabytes):
    return FoundFile(name, FileState(megabytes * 10**6, "1", has_ranges=True), is_named=True)


def asked(config, num_gpus=0, **found):
    """The asks of a run that starts from this, on a cluster with so many GPUs."""
    return list(job(config.job.name).resources(config, SimpleNamespace(**found), num_gpus))


@pytest.fixture(scope="module")
def bootstrap(configured):
    """The config of a run that trains, with other settings of its embeddings."""
    config = configured("job=bootstrap")
    return lambda **settings: replace(config, embedding=replace(config.embedding, **settings))


def write_checkpoint(folder, config, num_bytes):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(bytes(num_bytes))
    return str(folder)


def test_tokens_are_told_from_the_size_and_the_format():
    assert num_tokens(text(6_000_000)) == 1_000_000
    assert num_tokens(text(6_000_000, compression="bz2")) == 4_000_000
    dump = num_tokens(text(22_000_000_000, "mediawiki", "bz2"))
    assert dump == pytest.approx(4.9e9, rel=0.2)  # the English Wikipedia, docs/scale.md


@pytest.mark.long
def test_what_jobs_ask_for(bootstrap, configured, tmp_path):
    """Of 10^9 tokens 4.43 x (10^9)^0.589 = 885,939 words have vectors of 16 x 304 bytes (of 302 numbers), 1.8 times; by
    word2vec of 24 x 100. Of 10^6 tokens are 20.6 x (10^6)^0.846 pairs of 24 bytes; 3 MB in half precision are 6 MB.
    """
    million, thousand_million = [text(6_000_000)], [text(1_000), text(6_000_000_000)]
    fasttext = FastTextConfig(dimensions=100, num_buckets=200_000)
    model = write_checkpoint(tmp_path / "half", {"dtype": "bfloat16", "model_type": "bert"}, 3_000_000)
    large = write_checkpoint(tmp_path / "large", {"dtype": "float32"}, 7_000_000)
    encoder = configured("job=association", "embedding=encoder", f"embedding.model={model}")
    tiny = {"checkpoints": {"tiny": SimpleNamespace(folder=model)}}
    systems = {"vader": SimpleSystem(kind="vader"), "bert": TransformerSystem(kind="transformer", model=model)}
    trip = MarianTranslator(kind="marian", language="es", there=model, back=large)
    rated = replace(configured("job=sentiment_rating"), sentiment=systems, translator={"es": trip})
    pairs = configured("job=entity_resolution", "pairs=pairs.parquet")
    files = {"a": [found_file("a.bin", 100)], "b": [found_file("b.vec.gz", 300)]}
    asks = {
        "GloVe": asked(bootstrap(trainer=GloveConfig(dimensions=300)), texts=thousand_million),
        "word2vec": asked(bootstrap(trainer=Word2VecConfig(dimensions=100)), texts=thousand_million, num_gpus=2),
        "fastText, with its n-grams": asked(bootstrap(trainer=fasttext), texts=thousand_million),
        "GloVe where there are GPUs": asked(bootstrap(), texts=million, num_gpus=2),
        "GloVe on CPUs": asked(bootstrap(device="cpu"), texts=million, num_gpus=2),
        "an encoder": asked(encoder, **tiny),
        "an encoder where there is a GPU": asked(encoder, num_gpus=1, **tiny),
        "a rating": asked(rated, systems=dict.fromkeys(systems), round_trips={"es": None}),
        "a rating of nothing": asked(rated, systems={}, round_trips={}),
        "pairs": asked(pairs, files={"pairs": found_file("pairs.parquet", 100)}),
        "files of vectors": asked(configured("job=association", "embedding=file", "embedding.path=a.bin"), files=files),
        "a GRU": asked(configured("job=gru_training", "labelled.path=a")),
    }
    data = ["data.path=texts.csv", "data.text=text", "data.label=label"]
    for job_, more in (("decoy_benchmark", []), ("privacy_metrics", ["data.gender=gender", "data.group=speaker"])):
        config = configured(f"job={job_}", *data, *more)
        tuned = replace(config, models=replace(config.models, checkpoint=model))
        by_adamw = replace(tuned.models, training=TrainingConfig(optimizer="adamw"))
        on_gpu = replace(config, models=replace(config.models, device="cuda"))
        asks |= {
            job_: asked(config),
            f"{job_}, fine-tuned": asked(tuned),
            f"{job_}, by AdamW": asked(replace(tuned, models=by_adamw)),
            f"{job_}, on a GPU": asked(on_gpu, num_gpus=1),
        }
    said = (
        line.replace(large, "checkpoint/large").replace(model, "checkpoint")
        for case, found in asks.items()
        for line in [f"\n# {case}", *(f"{ask.megabytes:,} MB{', GPU' * ask.on_gpu}: {ask}" for ask in found)]
    )
    check_text(Path(__file__), "asks", said)


def test_a_gpu_that_must_be_there_and_is_not_is_refused_before_any_work(bootstrap):
    with pytest.raises(ClusterError, match=r"embedding.device=cuda: the cluster has no free GPU"):
        asked(bootstrap(device="cuda"), texts=[text(1)])
