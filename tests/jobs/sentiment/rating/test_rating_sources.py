"""What a rating needs is looked for before any work, and refused with what would fix it."""

from dataclasses import asdict

import pytest

from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.sentiment.rating.sources import find_sources
from tiltmeter.jobs.sentiment.translation.apertium import TranslationError
from tiltmeter.operators.sentiment.gru import GRUConfig, score
from tiltmeter.operators.sentiment.gru_training import LabelledTexts, train
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.models.checkpoints import CheckpointError
from tiltmeter.storage.models.described_weights import DescribedWeights
from tiltmeter.storage.models.gru_files import gru_content

RATING = "job=sentiment_rating"


@pytest.fixture
def found(configured):
    return lambda *settings: find_sources(configured(RATING, *settings))


@pytest.fixture
def without_apertium(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))


def test_without_apertium_the_usual_run_goes_on_and_says_how_to_install_it(found, without_apertium):
    sources = found()
    assert sources.round_trips == {}
    assert "apt-get install apertium apertium-eng-spa" in sources.missing["es"]
    assert list(sources.systems) == ["biased_female", "random", "textblob", "vader"]


def test_apertium_that_is_asked_for_must_be_there(found, without_apertium):
    with pytest.raises(TranslationError, match="apt-get install apertium apertium-eng-spa"):
        found("translator=apertium")


def test_a_language_pair_that_is_not_installed_is_named(found):
    with pytest.raises(TranslationError, match=r"'en' to 'qq'"):
        found("translator=apertium", "translator.es.language=qq")


def test_a_translation_model_that_is_not_there_is_named(found, tmp_path):
    with pytest.raises(CheckpointError, match=rf"translator.es.there={tmp_path}: .*holds no config.json"):
        found("translator=marian", f"translator.es.there={tmp_path}")


def test_a_classifier_that_is_not_there_is_named(found, tmp_path):
    with pytest.raises(CheckpointError, match=rf"sentiment.transformer.model={tmp_path}: .*holds no config.json"):
        found("sentiment=transformer", f"sentiment.transformer.model={tmp_path}")


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"num_labels": 1}, r"sentiment.transformer.model=\S+: has one output, as a regression has"),
        ({"num_labels": 2}, r"sentiment.transformer.classifier.labels: .*LABEL_0, LABEL_1, do not say what they are"),
    ],
)
def test_a_head_that_says_no_sentiment_is_refused_before_any_work(found, write_bert, tmp_path, described, message):
    folder = write_bert(tmp_path / "bert", ["a"], "BertForSequenceClassification", **described)
    with pytest.raises((CheckpointError, InputError), match=message):
        found("sentiment=transformer", f"sentiment.transformer.model={folder}")


def test_a_network_of_another_program_is_refused(found, tmp_path):
    file = tmp_path / "gru.safetensors"
    file.write_bytes(b"nothing of the sort")
    with pytest.raises(ValueError, match=r"gru.safetensors: .*sentiment.gru.path"):
        found("sentiment=gru", f"sentiment.gru.path={file}")


@pytest.mark.parametrize("kind", ["expected", "top"])
def test_a_network_scores_by_what_is_set(found, tmp_path, kind):
    texts = LabelledTexts(["a good film", "a bad film", "a film"], ["good", "bad", "none"])
    values = {"good": 0.9, "bad": -0.6, "none": 0.1}
    trained = train(texts, texts, values, GRUConfig(dimensions=4, hidden=4, max_epochs=1), 0)
    file = tmp_path / "gru.safetensors"
    file.write_bytes(gru_content(DescribedWeights(asdict(trained.description), trained.weights)))
    system = found("sentiment=gru", f"sentiment.gru.path={file}", f"sentiment.gru.score={kind}").systems["gru"]
    scores, truncated = system.load("cpu")(texts.texts)
    assert scores == pytest.approx(score(trained, texts.texts, kind))
    assert not truncated.any()


def test_a_file_of_texts_must_have_the_columns(found, tmp_path):
    file = tmp_path / "turns.csv"
    file.write_text("said\nhello\n")
    with pytest.raises(
        InputError, match=r"sentences.columns: .*turns.csv has no column 'text'; its columns are 'said'"
    ):
        found("sentences=human", f"sentences.path={file}")
    with pytest.raises(InputError, match=r"there is no file .*nothing.csv; set sentences.path"):
        found("sentences=human", f"sentences.path={tmp_path}/nothing.csv")


@pytest.mark.parametrize("kind", ["sentiment", "translator"])
@pytest.mark.parametrize("first", ["# @package {}.../x", "# @package {}.", "# @package {}.a/b", ""])
def test_a_config_file_that_gives_no_name_is_refused_with_its_first_line(configured, tmp_path, kind, first):
    (tmp_path / kind).mkdir()
    settings = "kind: dictionary\nlanguage: es\nthere: {a: b}\nback: {b: a}" if kind == "translator" else "kind: vader"
    (tmp_path / kind / "mine.yaml").write_text(f"{first.format(kind)}\n{settings}\n")
    with pytest.raises(ConfigError, match=rf"{kind}: .* is no name .* begins with '# @package {kind}\.<name>'"):
        configured(RATING, f"{kind}=mine", f"hydra.searchpath=[file://{tmp_path}]")


@pytest.mark.parametrize("model", ["../x", "a/b/c", "x:y", "a b", "-x"])
def test_a_checkpoint_of_any_name_is_refused_with_its_setting(found, model):
    with pytest.raises(CheckpointError, match=r"sentiment.transformer.model=.*there is no such folder"):
        found("sentiment=transformer", f"sentiment.transformer.model='{model}'")


@pytest.fixture(scope="module")
def headless(write_bert, tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("models") / "headless", ["good", "bad", "feels"])


def test_a_model_without_a_sentiment_head_is_refused_before_the_run(found, headless):
    with pytest.raises(CheckpointError, match=r"sentiment.transformer.model=.*headless"):
        found("sentiment=transformer", f"sentiment.transformer.model={headless}")


def test_codes_of_genders_and_speakers_are_set_on_the_command_line(configured):
    columns = [f"sentences.columns.{name}={name}" for name in ("gender", "speaker", "conversation")]
    codes = ["sentences.genders={0: null, 1: male, 2: female}", "sentences.proxy_speakers=[1]"]
    sentences = configured(RATING, "sentences=human", "sentences.path=x", *columns, *codes).sentences
    assert sentences.genders == {"0": None, "1": "male", "2": "female"}
    assert (sentences.proxy_speakers, sentences.unknown_gender) == (("1",), "neutral")


def test_annotators_must_be_columns_of_the_file(found, tmp_path):
    file = tmp_path / "people.csv"
    file.write_text("text,annotator_1,annotator_2\nhello,1,1\n")
    with pytest.raises(InputError, match=r"sentiment.annotators.path: .*people.csv has no column 'annotator_3'"):
        found("sentiment=annotators", f"sentiment.annotators.path={file}")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a,negative,good,neutral"], r"none of negative, -1, .* \(1, first at line 2, column 'annotator_2': 'good'\)"),
        (["a,0,0,0", "a,0,0,1"], r"text 'a' comes again with another annotator_1, in line 2 and line 3"),
    ],
)
def test_labels_that_say_nothing_or_two_things_are_refused(found, tmp_path, rows, message):
    file = tmp_path / "people.csv"
    file.write_text("\n".join(["text,annotator_1,annotator_2,annotator_3", *rows]))
    with pytest.raises(InputError, match=message):
        found("sentiment=annotators", f"sentiment.annotators.path={file}")


def test_made_sentences_say_how_they_were_made_unless_a_setting_does(configured):
    made = {"gender": "independent", "gender_confounded": "confounded"}
    made |= {"gender_race": "independent", "gender_race_confounded": "confounded"}
    assert configured(RATING).designed_rating.design == made
    own = configured(RATING, "rating.design={gender: confounded}").designed_rating.design
    assert own == made | {"gender": "confounded"}
    assert configured(RATING, "rating.design=independent").designed_rating.design == "independent"
    assert configured(RATING, "scores=x.csv").designed_rating.design is None
