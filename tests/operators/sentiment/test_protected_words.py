import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.sentiment.protected_words import ProxyText, first_words, lost_words, with_proxies

PROXIES = {"male": "Hey boy, ", "female": "Hey girl, ", "neutral": "Hey, "}


def test_texts_of_unknown_gender_get_every_proxy() -> None:
    assert with_proxies(["a", "b"], PROXIES) == [
        ProxyText(0, "male", "Hey boy, a", ["Hey", "boy"]),
        ProxyText(0, "female", "Hey girl, a", ["Hey", "girl"]),
        ProxyText(0, "neutral", "Hey, a", ["Hey"]),
        ProxyText(1, "male", "Hey boy, b", ["Hey", "boy"]),
        ProxyText(1, "female", "Hey girl, b", ["Hey", "girl"]),
        ProxyText(1, "neutral", "Hey, b", ["Hey"]),
    ]


def test_texts_of_known_gender_get_their_own() -> None:
    found = with_proxies(["a", "b", "c"], {"female": "Hey girl, ", "neutral": ""}, ["neutral", None, "female"])
    assert [(made.row, made.gender, made.text) for made in found] == [
        (0, "neutral", "a"), (1, "female", "Hey girl, b"), (1, "neutral", "b"), (2, "female", "Hey girl, c"),
    ]  # fmt: skip
    assert found[0].protected_words == []


def test_turns_that_take_no_proxy_stay_as_they_are_and_have_the_gender_of_whom_they_speak_with() -> None:
    genders, takes_proxy = ["male", "male", None, None], [True, False, False, True]
    assert with_proxies(["a", "b", "c", "d"], PROXIES, genders, takes_proxy)[:4] == [
        ProxyText(0, "male", "Hey boy, a", ["Hey", "boy"]),
        ProxyText(1, "male", "b", []),
        ProxyText(2, None, "c", []),
        ProxyText(3, "male", "Hey boy, d", ["Hey", "boy"]),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hey boy, hello", ["Hey"]),
        ("HEY, boy", ["Hey"]),
        ("Boy, hello", ["boy"]),
        ("Hello boy, hey", []),
        ("boys", []),
        ("Boy's day", ["boy"]),
        ("", []),
    ],
)
def test_words_that_a_text_starts_with(text, expected) -> None:
    assert first_words([text], [["Hey", "boy"]]) == [expected]


def test_a_gender_without_proxy_and_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"gender \['Female'\]: must be one of male, female, neutral.*sentences\.prox"):
        with_proxies(["a", "b"], PROXIES, ["male", "Female"])
    with pytest.raises(ValueError, match="zip"):
        with_proxies(["a", "b"], PROXIES, ["male"])
    with pytest.raises(ValueError, match="zip"):
        lost_words(["a"], [])


@pytest.mark.parametrize(
    ("text", "word", "is_lost"),
    [
        ("Hey girl, thanks", "hey", False),
        ("HEY girl", "Hey", False),
        ("Ｈｅｙ girl", "hey", False),
        ("They left", "hey", True),
        ("Hello girl", "hey", True),
        ("the boyfriend", "boy", True),
        ("the boys", "boy", True),
        ("a boy-like face", "boy", False),
        ("Adam's brother", "Adam", False),
        ("Adam’s brother", "Adam", False),
        ("the boys' brother", "boys", False),
        ("she'll come", "she", False),
        ("Don't", "don't", False),
        ("Jos\u00e9 came", "Jose\u0301", False),
        ("Jose came", "José", True),
        ("this  man, feels", "this man", False),
        ("this\nMAN's", "this man", False),
        ("this old man", "this man", True),
        ("this", "this man", True),
        ("", "boy", True),
    ],
)
def test_words_are_found_whole(text, word, is_lost) -> None:
    assert lost_words([text], [[word]]) == [[word] if is_lost else []]


def test_each_text_has_its_own_words() -> None:
    texts = ["Hi boy, yes", "Hey girl, yes", "yes", "yes"]
    assert lost_words(texts, [["Hey", "boy"], ["Hey", "girl"], ["Hey", "boy"], []]) == [["Hey"], [], ["Hey", "boy"], []]


@given(st.lists(st.text(max_size=20), max_size=4))
def test_nothing_is_lost_where_nothing_is_translated(texts) -> None:
    made = with_proxies(texts, PROXIES)
    assert len(made) == 3 * len(texts)
    assert not any(lost_words([text.text for text in made], [text.protected_words for text in made]))
