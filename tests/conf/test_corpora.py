"""Corpora as the command chooses them: every language's config composes, and its files are what it says."""

from collections.abc import Callable
from pathlib import Path

import hydra
import pytest

from tiltmeter.jobs.composing import build
from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.storage.corpora.corpora import CorpusConfig, find_sources

_LANGUAGES = {
    "enwiki": "en",
    "zhwiki": "zh",
    "eswiki": "es",
    "arwiki": "ar",
    "dewiki": "de",
    "french": "fr",
    "farsi": "fa",
    "urdu": "ur",
    "wowiki": "wo",
}
_FORMATS = {
    "arwiki": ["wikiextractor"],
    "dewiki": ["wikiextractor"],
    "enwiki": ["wikiextractor"],
    "enwiki_sample": ["mediawiki"],
    "eswiki": ["wikiextractor"],
    "farsi": ["jsonl"] * 3 + ["text"] * 3,
    "french": ["text"] * 3,
    "simplewiki": ["jsonl"],
    "urdu": ["text"],
    "wowiki": ["jsonl"],
    "zhwiki": ["wikiextractor"],
}
_FOLDER = Path(__file__).parents[2] / "conf/corpus"


def _built(*overrides: str) -> CommonConfig:
    with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"):
        return build(hydra.compose("tiltmeter", list(overrides)), overrides)


@pytest.fixture(scope="module")
def side_by_side() -> CommonConfig:
    return _built("job=bootstrap", f"corpus=[{','.join(_LANGUAGES)}]")


def test_the_nine_languages_compose_side_by_side(side_by_side: CommonConfig) -> None:
    config = side_by_side
    assert {corpus.name: corpus.language for corpus in config.corpora} == _LANGUAGES
    assert set(config.wordset) == set(_LANGUAGES.values())


@pytest.mark.parametrize("name", sorted(_FORMATS))
def test_the_files_of_a_corpus_are_recognised(
    name: str, side_by_side: CommonConfig, data_file: Callable[[str], Path]
) -> None:
    config = side_by_side if name in _LANGUAGES else _built("job=bootstrap", f"corpus={name}")
    [corpus] = [corpus for corpus in config.corpora if corpus.name == name]
    if name != "enwiki_sample":
        data = data_file("corpora")
        paths = tuple(str(data / path.split("/corpora/")[1]) for path in corpus.paths)
        corpus = CorpusConfig(corpus.name, corpus.language, paths)
    assert [source.format for source in find_sources(corpus)] == _FORMATS[name]


def test_every_config_but_those_for_any_corpus_has_a_place_of_its_own() -> None:
    names = {path.stem for path in _FOLDER.glob("*.yaml")} - {"file", "wikipedia"}
    assert names == set(_FORMATS)
    for name in names:
        assert (_FOLDER / f"{name}.yaml").read_text().startswith(f"# @package corpus.{name}\n")


@pytest.mark.parametrize("language", ["en", "wo", "pt"])
def test_the_current_dump_of_any_wikipedia_is_downloaded(language: str) -> None:
    [corpus] = _built("job=bootstrap", "corpus=wikipedia", f"corpus.language={language}").corpora
    assert (corpus.name, corpus.language, corpus.download) == (f"{language}wiki", language, True)
    assert corpus.paths[0].startswith(f"https://dumps.wikimedia.org/{language}wiki/latest/{language}wiki-latest-pages")


def test_a_preset_takes_bert_as_the_paper_on_measures_does() -> None:
    """Azarpanah and Farhadloo 2021, table 2: base, cased; the sum of the last four hidden layers at [CLS]."""
    embedding = _built("job=association", "embedding=bert_cls").embedding
    assert embedding.models == ("google-bert/bert-base-cased",)
    assert (embedding.encoder.layers, embedding.encoder.pooling) == ((-4, -3, -2, -1), "first")
    assert embedding.encoder.pool_special
