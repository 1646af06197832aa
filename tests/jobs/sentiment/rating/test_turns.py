"""Turns of conversations: whose gender they have, and which of them are told it by words."""

from importlib import resources

import polars as pl
import pytest
import yaml
from pydantic import TypeAdapter

from tiltmeter.jobs.sentiment.rating.config import FileSentences
from tiltmeter.jobs.sentiment.rating.sentences import find_turns, read_turns, with_words
from tiltmeter.storage.errors import InputError

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


def test_codes_are_read_as_whole_numbers_beside_empty_cells(turns):
    """As pandas writes a column with an empty cell: 1.0."""
    rows = TURNS | {"User_gender": [1.0, None, 2.0, None, 0.0, None]}
    assert told(turns(rows, name="turns.parquet", proxy_speakers=["1"])[1]) == PUBLISHED


def test_the_chatbot_has_its_own_side_or_none_where_nothing_tells_with_whom_it_speaks(turns):
    rows = TURNS | {"User_gender": [1, None, 2, None, 0, None]}
    alone = {name: called for name, called in COLUMNS.items() if name != "conversation"}
    found = told(turns(rows, columns=alone, proxy_speakers=["1"])[1])
    assert [gender for side, gender, _ in found if side == "0"] == [None] * 3
    assert [gender for side, gender, _ in found if side == "1"] == ["male", "female", "neutral"]


@pytest.mark.parametrize(("side", "expected"), [("0", PUBLISHED[1::2]), ("1", PUBLISHED[::2])])
def test_one_side_is_that_of_both(turns, side, expected):
    rows = TURNS | {"User_gender": [1, None, 2, None, 0, None]}
    assert told(turns(rows, proxy_speakers=["1"], speakers=[side])[1]) == expected


def test_who_did_not_disclose_a_gender_may_get_every_word(turns):
    rows = told(turns(proxy_speakers=["1"], unknown_gender="every")[1])
    assert rows == [
        *PUBLISHED[:4], ("1", "neutral", "Hey, Yes"), ("1", "male", "Hey boy, Yes"), ("1", "female", "Hey girl, Yes"),
        ("0", None, "Good"),
    ]  # fmt: skip


def test_without_a_column_of_genders_conversations_are_dealt_and_the_chatbot_says_what_it_said(turns):
    columns = {name: called for name, called in COLUMNS.items() if name != "gender"}
    settings = {"columns": columns, "genders": None, "proxy_speakers": ["1"]}
    dealt = told(turns(proxies_per="conversation", **settings)[1])
    assert dealt == [
        ("1", "neutral", "Hey, Hi"), ("0", "neutral", "Nice job"), ("1", "male", "Hey boy, Level 1"),
        ("0", "male", "Great"), ("1", "female", "Hey girl, Yes"), ("0", "female", "Good"),
    ]  # fmt: skip
    each = told(turns(**settings)[1])
    assert len(each) == 3 * 3 + 3
    assert [row for row in each if row[0] == "0"] == [("0", None, text) for text in TURNS["Text"][1::2]]


OF_TWO = {name: [*values, values[0]] for name, values in TURNS.items()}
OF_TWO["User_gender"] = [1, None, 2, None, 0, None, 2]
"""Users of two genders in a conversation tell nothing of the chatbot."""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"genders": None},
            r"a gender that is none of neutral, male, female \(sentences\.genders=.*line 2, column 'User_gender'",
        ),
        ({"genders": None, "proxies": None, "proxy_speakers": None}, r"a gender that is none of male, female, neutral"),
        ({"proxy_speakers": ["user"]}, r"proxy_speakers: .*has no turn of 'user'; its speakers are '0', '1'"),
        ({"rows": OF_TWO}, r"are female and male in conversation '1', so that nothing tells"),
        ({"speakers": ["bot"]}, r"has no text to rate \(sentences.speakers=\('bot',\)\)"),
    ],
)
def test_what_the_file_does_not_know_is_refused(turns, settings, message):
    with pytest.raises(InputError, match=message):
        turns(**{"proxy_speakers": ["1"]} | settings)
