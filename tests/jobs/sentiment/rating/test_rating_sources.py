"""What a rating needs is looked for before any work, and refused with what would fix it."""

import pytest

from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.sentiment.rating.job import find_sources
from tiltmeter.storage.errors import Refusal

RATING = "job=sentiment_rating"
HEADS = {
    "regression": ("BertForSequenceClassification", {"num_labels": 1}),
    "nameless": ("BertForSequenceClassification", {"num_labels": 2}),
    "headless": ("BertModel", {}),
}
FILES = {
    "gru.safetensors": "nothing of the sort",
    "turns.csv": "said\nhello\n",
    "two.csv": "text,annotator_1,annotator_2\nhello,1,1\n",
    "good.csv": "text,annotator_1,annotator_2,annotator_3\na,negative,good,neutral\n",
    "again.csv": "text,annotator_1,annotator_2,annotator_3\na,0,0,0\na,0,0,1\n",
}
MODEL = ("sentiment=transformer", "sentiment.transformer.model={}")
PEOPLE = ("sentiment=annotators", "sentiment.annotators.path={}")
TEXTS = ("sentences=human", "sentences.path={}")
REFUSED = [
    (("translator=apertium", "translator.es.language={}"), "qq", r"'en' to 'qq'"),
    (
        ("translator=marian", "translator.es.there={}"),
        "@empty",
        r"translator.es.there=\S+empty: .*holds no config.json",
    ),
    (MODEL, "@empty", r"sentiment.transformer.model=\S+empty: .*holds no config.json"),
    (MODEL, "@regression", r"sentiment.transformer.model=\S+: has one output, as a regression has"),
    (MODEL, "@nameless", r"sentiment.transformer.classifier.labels: .*LABEL_0, LABEL_1, do not say what they are"),
    (MODEL, "@headless", r"sentiment.transformer.model=.*headless"),
    *((MODEL, name, r"transformer.model=.*there is no such folder") for name in ("../x", "a/b/c", "x:y", "a b", "-x")),
    (("sentiment=gru", "sentiment.gru.path={}"), "@gru.safetensors", r"gru.safetensors: .*sentiment.gru.path"),
    (TEXTS, "@turns.csv", r"sentences.columns: .*turns.csv has no column 'text'; its columns are 'said'"),
    (TEXTS, "@nothing.csv", r"there is no file .*nothing.csv; set sentences.path"),
    (PEOPLE, "@two.csv", r"sentiment.annotators.path: .*two.csv has no column 'annotator_3'"),
    (PEOPLE, "@good.csv", r"none of negative, -1, .* \(1, first at line 2, column 'annotator_2': 'good'\)"),
    (PEOPLE, "@again.csv", r"text 'a' comes again with another annotator_1, in line 2 and line 3"),
]
"""Settings, one with a value or the name of a file or folder behind @."""


@pytest.fixture(scope="module")
def place(write_bert, tmp_path_factory):
    """A folder with models that are none of sentiment, and files that lack something."""
    place = tmp_path_factory.mktemp("sources")
    (place / "empty").mkdir()
    for name, (head, settings) in HEADS.items():
        write_bert(place / name, ["good", "bad", "feels"], head, **settings)
    for name, content in FILES.items():
        (place / name).write_text(content)
    return place


@pytest.fixture
def found(configured):
    return lambda *settings: find_sources(configured(RATING, *settings))


@pytest.mark.parametrize(("settings", "value", "message"), REFUSED, ids=[f"{s[0]} {value}" for s, value, _ in REFUSED])
def test_what_is_not_there_or_says_no_sentiment_is_refused_before_any_work(found, place, settings, value, message):
    chosen, setting = settings
    with pytest.raises(Refusal, match=message):
        found(chosen, setting.format(f"{place}/{value[1:]}" if value.startswith("@") else f"'{value}'"))


def test_without_apertium_the_usual_run_goes_on_and_says_how_to_install_it(found, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    sources = found()
    assert sources.round_trips == {}
    assert "apt-get install apertium apertium-eng-spa" in sources.missing["es"]
    assert list(sources.systems) == ["biased_female", "random", "textblob", "vader"]
    with pytest.raises(Refusal, match="apt-get install apertium apertium-eng-spa"):
        found("translator=apertium")


@pytest.mark.parametrize("kind", ["sentiment", "translator"])
@pytest.mark.parametrize("first", ["# @package {}.../x", "# @package {}.", "# @package {}.a/b", ""])
def test_a_config_file_that_gives_no_name_is_refused_with_its_first_line(configured, tmp_path, kind, first):
    (tmp_path / kind).mkdir()
    settings = "kind: dictionary\nlanguage: es\nthere: {a: b}\nback: {b: a}" if kind == "translator" else "kind: vader"
    (tmp_path / kind / "mine.yaml").write_text(f"{first.format(kind)}\n{settings}\n")
    with pytest.raises(ConfigError, match=rf"{kind}: .* is no name .* begins with '# @package {kind}\.<name>'"):
        configured(RATING, f"{kind}=mine", f"hydra.searchpath=[file://{tmp_path}]")


def test_made_sentences_say_how_they_were_made_unless_a_setting_does(configured):
    made = {"gender": "independent", "gender_confounded": "confounded"}
    made |= {"gender_race": "independent", "gender_race_confounded": "confounded"}
    assert configured(RATING).designed_rating.design == made
    own = configured(RATING, "rating.design={gender: confounded}").designed_rating.design
    assert own == made | {"gender": "confounded"}
    assert configured(RATING, "rating.design=independent").designed_rating.design == "independent"
    assert configured(RATING, "scores=x.csv").designed_rating.design is None
