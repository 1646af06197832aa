"""What jobs ask of a cluster, by hand from the sizes of what they start from."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tiltmeter.cluster.config import ClusterError
from tiltmeter.jobs.catalogue import job
from tiltmeter.jobs.embedding.resources import num_tokens
from tiltmeter.jobs.embedding.vectors.encoding import EncoderEmbedding
from tiltmeter.jobs.embedding.vectors.vector_files import FileEmbedding
from tiltmeter.jobs.sentiment.rating.systems import SimpleSystem, TransformerSystem
from tiltmeter.jobs.sentiment.translation.translators import MarianTranslator
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


@pytest.fixture(scope="module")
def association(configured):
    """The config of a run that measures other embeddings."""
    config = configured("job=association")
    return lambda embedding: replace(config, embedding=embedding, corpora=())


@pytest.fixture(scope="module")
def rating(configured):
    return configured("job=sentiment_rating")


@pytest.fixture
def checkpoint(tmp_path):
    """A folder with 3 MB of weights in half precision."""
    (tmp_path / "config.json").write_text(json.dumps({"dtype": "bfloat16", "model_type": "bert"}))
    (tmp_path / "model.safetensors").write_bytes(bytes(3_000_000))
    return tmp_path


def test_tokens_are_told_from_the_size_and_the_format():
    assert num_tokens(text(6_000_000)) == 1_000_000
    assert num_tokens(text(6_000_000, compression="bz2")) == 4_000_000
    dump = num_tokens(text(22_000_000_000, "mediawiki", "bz2"))
    assert dump == pytest.approx(4.9e9, rel=0.2)  # the English Wikipedia, docs/scale.md


def test_training_asks_for_the_vectors_of_the_largest_corpus(bootstrap):
    [ask] = asked(bootstrap(trainer=GloveConfig(dimensions=300)), texts=[text(1_000), text(6_000_000_000)])
    # 4.43 x (10^9 tokens)^0.589 = 885,939 words, each of 16 x 304 bytes (302 rounded up), 1.8 times
    assert ask.parts == {"cluster.worker_megabytes": 1500, "vectors of about 890,000 words of made_up": 7757}
    assert (ask.stage, ask.megabytes, ask.on_gpu) == ("stage train", 9257, False)


def test_fasttext_asks_for_its_ngrams_too(bootstrap):
    trainers = Word2VecConfig(dimensions=100), FastTextConfig(dimensions=100, num_buckets=200_000)
    [word2vec], [fasttext] = (asked(bootstrap(trainer=trainer), texts=[text(6_000_000_000)]) for trainer in trainers)
    assert word2vec.megabytes == 1500 + round(24 * 885_939 * 100 / 1e6)
    assert fasttext.megabytes == word2vec.megabytes + 16 * 200_000 * 100 / 1e6


def test_glove_asks_for_gpus_where_there_are_some(bootstrap):
    corpus = {"texts": [text(6_000_000)], "num_gpus": 2}
    [ask] = asked(bootstrap(), **corpus)
    assert ask.on_gpu
    assert ask.parts["about 2,500,000 pairs of words"] == 59  # 20.6 x (10^6 tokens)^0.846 x 24 bytes
    assert ask.advice == "set embedding.device=cpu"
    assert not asked(bootstrap(device="cpu"), **corpus)[0].on_gpu
    assert not asked(bootstrap(trainer=Word2VecConfig()), **corpus)[0].on_gpu


def test_a_gpu_that_must_be_there_and_is_not_is_refused_before_any_work(bootstrap):
    with pytest.raises(ClusterError, match=r"embedding.device=cuda: the cluster has no free GPU"):
        asked(bootstrap(device="cuda"), texts=[text(1)])


def test_an_encoder_asks_for_its_weights_in_single_precision(association, checkpoint):
    config = association(EncoderEmbedding("encoder", str(checkpoint)))
    found = {"checkpoints": {"tiny": SimpleNamespace(folder=str(checkpoint))}}
    [ask] = asked(config, **found)
    assert ask.parts == {"torch, transformers and a batch of texts": 1000, "weights of tiny": 6}
    assert asked(config, num_gpus=1, **found)[0].on_gpu


def test_a_rating_asks_for_each_of_its_models(rating, checkpoint):
    model, large = str(checkpoint), checkpoint / "large"
    large.mkdir()
    (large / "config.json").write_text(json.dumps({"dtype": "float32"}))
    (large / "model.safetensors").write_bytes(bytes(7_000_000))
    systems = {"vader": SimpleSystem("vader"), "bert": TransformerSystem("transformer", model)}
    config = replace(rating, sentiment=systems, translator={"es": MarianTranslator("marian", "es", model, str(large))})
    found = asked(config, systems=dict.fromkeys(systems), round_trips={"es": None})
    assert [(ask.stage, ask.megabytes) for ask in found] == [("stage score bert", 1006), ("stage translate es", 1007)]
    assert asked(config, systems={}, round_trips={}) == []


def test_files_that_are_read_whole_are_asked_for_by_their_size(configured, association):
    resolution = configured("job=entity_resolution", "pairs=pairs.parquet")
    [pairs] = asked(resolution, files={"pairs": found_file("pairs.parquet", 100)})
    assert pairs.parts == {"a worker itself": 400, "pairs of a file of 100 MB": 1200}
    files = {"a": [found_file("a.bin", 100)], "b": [found_file("b.vec.gz", 300)]}
    [vectors] = asked(association(FileEmbedding("file", "a.bin")), files=files)
    assert vectors.parts == {"a worker itself": 400, "vectors of a file of 300 MB": 600}


def test_jobs_without_anything_special_ask_for_nothing(configured):
    assert asked(configured("job=gru_training", "labelled.path=a")) == []


@pytest.mark.parametrize("job", ["decoy_benchmark", "privacy_metrics"])
def test_fine_tuning_asks_for_several_times_the_weights(configured, checkpoint, job):
    data = ["data.path=texts.csv", "data.text=text", "data.label=label"]
    more = ["data.gender=gender", "data.group=speaker"] if job == "privacy_metrics" else []
    config = configured(f"job={job}", *data, *more)
    assert asked(config) == []
    [on_gpu] = asked(replace(config, models=replace(config.models, device="cuda")), num_gpus=1)
    assert on_gpu.on_gpu
    tuned = replace(config, models=replace(config.models, checkpoint=str(checkpoint)))
    [ask] = asked(tuned)
    # 3 MB in half precision are 6 MB in single precision.
    assert ask.parts == {"torch, transformers and a batch of texts": 1000, f"weights of {checkpoint}, four times": 24}
    [of_adamw] = asked(replace(tuned, models=replace(tuned.models, training=TrainingConfig(optimizer="adamw"))))
    assert of_adamw.parts[f"weights of {checkpoint}, five times"] == 30
