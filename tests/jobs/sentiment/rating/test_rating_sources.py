"""What a rating needs is looked for before any work, and refused with what would fix it; turns of conversations: whose
gender they have, and which of them are told it by words; chunks of texts."""

from importlib import resources

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.sentiment.rating.config import FileSentences
from tiltmeter.jobs.sentiment.rating.job import find_sources
from tiltmeter.jobs.sentiment.rating.sentences import chunks, find_turns, read_turns, with_words
from tiltmeter.storage.errors import InputError, Refusal

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
MARIAN = ("translator=marian", "translator.es.there={}")
MODEL = ("sentiment=transformer", "sentiment.transformer.model={}")
PEOPLE = ("sentiment=annotators", "sentiment.annotators.path={}")
TEXTS = ("sentences=human", "sentences.path={}")
REFUSED = [
    (("translator=apertium", "translator.es.language={}"), "qq", r"'en' to 'qq'"),
    (MARIAN, "@empty", r"translator.es.there=\S+empty: .*holds no config.json"),
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


@pytest.mark.long
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


@pytest.mark.long
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


# --- turns -----------------------------------------------------------------------------------------------------------

PROXIES = {"neutral": "Hey, ", "male": "Hey boy, ", "female": "Hey girl, "}
COLUMNS = {"text": "Text", "gender": "User_gender", "conversation": "C_num", "speaker": "UB"}
CODES = {0: None, 1: "male", 2: "female"}
TURNS = {
    "C_num": [1, 1, 2, 2, 3, 3],
    "UB": [1, 0, 1, 0, 1, 0],
    "User_gender": [1, 1, 2, 2, 0, 0],
    "Text": ["Hi", "Nice job", "Level 1", "Great", "Yes", "Good"],
}
"""Turns of users (1) and a chatbot (0), in the columns of the paper's data."""


@pytest.fixture
def turns(tmp_path):
    def read(rows=TURNS, *, name="turns.csv", **settings):
        frame, path = pl.DataFrame(rows), tmp_path / name
        frame.write_parquet(path) if name.endswith("parquet") else frame.write_csv(path)
        usual = yaml.safe_load(resources.files("tiltmeter.conf").joinpath("sentences/file.yaml").read_text())
        chosen = {"path": str(path), "columns": COLUMNS, "genders": CODES, "proxies": PROXIES} | settings
        chosen["columns"] = usual["columns"] | chosen["columns"]
        config = TypeAdapter(FileSentences).validate_python(usual | chosen)
        find_turns(config)
        plain = read_turns(config, str(path))
        return plain, plain if config.proxies is None else with_words(plain, config, config.proxies)

    return read


def told(rows):
    return rows.select("speaker", "gender", "text").rows()


PUBLISHED = [
    ("1", "male", "Hey boy, Hi"), ("0", "male", "Nice job"), ("1", "female", "Hey girl, Level 1"),
    ("0", "female", "Great"), ("1", "neutral", "Hey, Yes"), ("0", "neutral", "Good"),
]  # fmt: skip


@pytest.mark.parametrize("name", ["turns.csv", "turns.parquet"])
def test_users_are_told_by_words_and_the_chatbot_has_the_users_gender(turns, name):
    plain, rows = turns(name=name, proxy_speakers=[1])
    assert told(rows) == PUBLISHED
    assert rows["group"].to_list() == plain["group"].to_list() == ["1", "0"] * 3
    assert [words.to_list() for words in rows["protected_words"]][:3] == [["Hey", "boy"], [], ["Hey", "girl"]]
    assert plain["text"].to_list() == TURNS["Text"]  # which are those that are described


def every(text):
    """A user's turn with each word."""
    return [("1", gender, word + text) for gender, word in PROXIES.items()]


HALVES = TURNS | {"User_gender": [1, None, 2, None, 0, None]}
WITHOUT = {name: {of: called for of, called in COLUMNS.items() if of != name} for name in ("conversation", "gender")}
SAID = [("Hi", "Nice job"), ("Level 1", "Great"), ("Yes", "Good")]
UNTOLD = {"columns": WITHOUT["gender"], "genders": None}
DEALT = [
    ("1", "neutral", "Hey, Hi"), ("0", "neutral", "Nice job"), ("1", "male", "Hey boy, Level 1"),
    ("0", "male", "Great"), ("1", "female", "Hey girl, Yes"), ("0", "female", "Good"),
]  # fmt: skip
ASKED = {
    "codes beside empty cells, as pandas writes them": (
        {"rows": TURNS | {"User_gender": [1.0, None, 2.0, None, 0.0, None]}, "name": "turns.parquet"}, PUBLISHED,
    ),
    "nothing tells with whom the chatbot speaks": (
        {"rows": HALVES, "columns": WITHOUT["conversation"]},
        [(side, gender if side == "1" else None, text) for side, gender, text in PUBLISHED],
    ),
    "the chatbot alone": ({"rows": HALVES, "speakers": ["0"]}, PUBLISHED[1::2]),
    "users alone": ({"rows": HALVES, "speakers": ["1"]}, PUBLISHED[::2]),
    "every word for who did not disclose a gender": (
        {"unknown_gender": "every"}, [*PUBLISHED[:4], *every("Yes"), ("0", None, "Good")],
    ),
    "conversations are dealt without a gender": (UNTOLD | {"proxies_per": "conversation"}, DEALT),
    "every word for all users without a gender": (
        UNTOLD, [row for user, bot in SAID for row in (*every(user), ("0", None, bot))],
    ),
}  # fmt: skip
"""What is asked for, and who says what by it: one side is that of both."""


@pytest.mark.parametrize(("settings", "expected"), ASKED.values(), ids=ASKED)
def test_turns_have_the_gender_and_the_words_that_are_asked_for(turns, settings, expected):
    assert told(turns(**{"proxy_speakers": ["1"]} | settings)[1]) == expected


OF_TWO = {name: [*values, values[0]] for name, values in TURNS.items()}
OF_TWO["User_gender"] = [1, None, 2, None, 0, None, 2]
"""Users of two genders in a conversation tell nothing of the chatbot."""
CODED = r"a gender that is none of neutral, male, female \(sentences\.genders=.*line 2, column 'User_gender'"
PLAIN = {"genders": None, "proxies": None, "proxy_speakers": None}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"genders": None}, CODED),
        (PLAIN, r"a gender that is none of male, female, neutral"),
        ({"proxy_speakers": ["user"]}, r"proxy_speakers: .*has no turn of 'user'; its speakers are '0', '1'"),
        ({"rows": OF_TWO}, r"are female and male in conversation '1', so that nothing tells"),
        ({"speakers": ["bot"]}, r"has no text to rate \(sentences.speakers=\('bot',\)\)"),
    ],
)
def test_what_the_file_does_not_know_is_refused(turns, settings, message):
    with pytest.raises(InputError, match=message):
        turns(**{"proxy_speakers": ["1"]} | settings)


# --- chunks ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
@given(texts=st.lists(st.text(max_size=5), max_size=50), mean_size=st.integers(1, 20))
def test_each_text_is_in_one_chunk_whatever_the_order(texts, mean_size):
    found = chunks(texts, mean_size)
    assert sorted(text for chunk in found for text in chunk) == sorted(set(texts))
    assert found == chunks(reversed(texts), mean_size)


def test_a_text_that_is_added_changes_few_chunks():
    texts = [f"text {number}" for number in range(2000)]
    before, after = chunks(texts, 100), chunks([*texts, "another"], 100)
    assert 10 < len(before) < 40
    changed = [chunk for chunk in after if chunk not in before]
    assert len(changed) < 6
    assert all(50 <= len(chunk) <= 200 for chunk in after[:-1])
    assert any("another" in chunk for chunk in changed)
