"""Corpora as the command chooses them: every language's config composes, and its files are what it says."""

from pathlib import Path

import hydra
import pytest
from omegaconf import OmegaConf

from tiltmeter.jobs.composing import build
from tiltmeter.operators.statistics.intervals import IntervalSettings
from tiltmeter.storage.corpora.corpora import CorpusConfig, find_sources

_LANGUAGES = {
    **{f"{code}wiki": code for code in ("en", "zh", "es", "ar", "de", "wo")},
    "french": "fr",
    "farsi": "fa",
    "urdu": "ur",
}
_FORMATS = {
    **{f"{code}wiki": ["wikiextractor"] for code in ("ar", "de", "en", "es", "zh")},
    "enwiki_sample": ["mediawiki"],
    "simplewiki": ["jsonl"],
    "wowiki": ["jsonl"],
    "farsi": ["jsonl"] * 3 + ["text"] * 3,
    "french": ["text"] * 3,
    "urdu": ["text"],
}
_FOLDER = Path(__file__).parents[2] / "conf/corpus"


def _built(*overrides):
    with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"):
        return build(hydra.compose("tiltmeter", list(overrides)), overrides)


@pytest.fixture(scope="module")
def side_by_side():
    return _built("job=bootstrap", f"corpus=[{','.join(_LANGUAGES)}]")


def test_the_nine_languages_compose_side_by_side(side_by_side):
    assert {corpus.name: corpus.language for corpus in side_by_side.corpora} == _LANGUAGES
    assert set(side_by_side.wordset) == set(_LANGUAGES.values())


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(_FORMATS))
def test_the_files_of_a_corpus_are_recognised(name, side_by_side, data_file):
    config = side_by_side if name in _LANGUAGES else _built("job=bootstrap", f"corpus={name}")
    [corpus] = [corpus for corpus in config.corpora if corpus.name == name]
    if name != "enwiki_sample":
        data = data_file("corpora")
        paths = tuple(str(data / path.split("/corpora/")[1]) for path in corpus.paths)
        corpus = CorpusConfig(corpus.name, corpus.language, paths)
    assert [source.format for source in find_sources(corpus)] == _FORMATS[name]


def test_every_config_but_those_for_any_corpus_has_a_place_of_its_own():
    names = {path.stem for path in _FOLDER.glob("*.yaml")} - {"file", "wikipedia"}
    assert names == set(_FORMATS)
    for name in names:
        assert (_FOLDER / f"{name}.yaml").read_text().startswith(f"# @package corpus.{name}\n")


def test_the_current_dump_of_any_wikipedia_is_downloaded():
    [corpus] = _built("job=bootstrap", "corpus=wikipedia", "corpus.language=pt").corpora
    assert (corpus.name, corpus.language, corpus.download) == ("ptwiki", "pt", True)
    assert corpus.paths[0].startswith("https://dumps.wikimedia.org/ptwiki/latest/ptwiki-latest-pages")


@pytest.mark.long
def test_a_preset_takes_bert_as_the_paper_on_measures_does():
    """Azarpanah and Farhadloo 2021, table 2: base, cased; the sum of the last four hidden layers at [CLS]."""
    embedding = _built("job=association", "embedding=bert_cls").embedding
    assert embedding.models == ("google-bert/bert-base-cased",)
    assert (embedding.encoder.layers, embedding.encoder.pooling) == ((-4, -3, -2, -1), "first")
    assert embedding.encoder.pool_special


@pytest.mark.parametrize("job", ["association", "psychophysics", "gender_survey", "survey"])
def test_the_intervals_of_jobs_are_those_of_operators(job):
    own, shared = (OmegaConf.load(_FOLDER.parent / f"{name}.yaml") for name in (f"job/{job}", "intervals"))
    assert {"/intervals", "association"} & {*own.defaults}, "those of another job are its own"
    assert not {"level", "interval"} & {*own.job}
    assert IntervalSettings(**shared) == IntervalSettings()
