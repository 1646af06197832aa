"""Changes of single characters, which ask how a classifier takes text that is misspelt or disguised; and defences.

A stress test of spelling, and mostly of the tokenizer: typos (a letter swapped with the next, dropped, inserted, or
hit beside), letters that look like others, and characters that nobody sees (Boucher et al. 2022; their bidirectional
controls and deletions are other attacks). Look-alikes are those small letters of Cyrillic and Greek that common fonts
draw as Latin ones (Unicode's confusables, UTS 39, revision 15) and that NFKC keeps; of its 1,230 single look-alikes of
ASCII letters 700 vanish there. All kinds change the same words of a text, so that they are beside each other, and a
change of capitals is beside all: what reads small letters alone does not see it.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple

import numpy as np
import regex
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.classifiers.adversary.victims import Pieces, Reader
from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "characters/1"

Kind = Literal["swap", "drop", "insert", "neighbour", "homoglyph", "invisible", "capital"]
Defence = Literal["none", "normal_form", "skeleton"]
DEFENCES: tuple[Defence, ...] = ("none", "normal_form", "skeleton")

_LOOK_ALIKES = "\u0430 \u0441 \u0435 \u0456 \u0458 \u043e\u03bf \u0440 \u0455 \u0445 \u0443"
HOMOGLYPHS = dict(zip("aceijopsxy", _LOOK_ALIKES.split(), strict=True))
"""Of Latin letters, their look-alikes."""

INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
"""Zero-width space, non-joiner and joiner, word joiner, byte order mark, soft hyphen."""

_NEAR = (
    "qwsz ghvn dfxv ersfxc wrsd rtdgcv tyfhvb yugjbn uojk uihknm iojlm opk jkn "
    "hjbm ipkl ol wa etdf weadzx ryfg yihj fgcb qeas sdzc tugh asx"
)
NEIGHBOURS = dict(zip("abcdefghijklmnopqrstuvwxyz", _NEAR.split(), strict=True))
_IGNORABLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
_SKELETON = {ord(other): letter for letter, others in HOMOGLYPHS.items() for other in others}
_SAME, _DIGITS = 1e-6, 9
"""What probabilities may differ by and be the same, and digits by which words are ranked, as rounding is no rank."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class CharacterConfig:
    """Which characters change.

    Attributes:
        kinds: of changes; none: there is no such test.
        numbers: of characters that change, each in another word of a text.
        draws: of words and characters, for each text.
        keep_ends: whether the first and the last letter of a word stay; what is invisible stands between letters.
    """

    kinds: tuple[Kind, ...] = ()
    numbers: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)] = (1, 2, 4)
    draws: Annotated[int, Field(ge=1)] = 4
    keep_ends: bool = True


def changes(token: str, kind: Kind, *, keep_ends: bool) -> list[str]:
    """All that one change of a kind can make of a token, each once; none leaves it as it is, or without a letter.

    Args:
        token: as it stands in a text.
        kind: 'swap' (with the next letter), 'drop', 'insert' (the same letter once more, or one that is beside it on
            the keyboard), 'neighbour' (such a one in its place), 'homoglyph', 'invisible' (between two letters) or
            'capital' (of a small letter, or the reverse).
        keep_ends: as :class:`CharacterConfig` has it.

    >>> changes("film", "swap", keep_ends=True), changes("film", "drop", keep_ends=True)
    (['flim'], ['flm', 'fim'])
    >>> changes("(Bo)", "neighbour", keep_ends=False)[:3], changes("to", "capital", keep_ends=True)
    (['(Go)', '(Ho)', '(Vo)'], [])
    """
    letters = [place for place, letter in enumerate(token) if letter.isalpha()]
    inner = letters[1:-1] if keep_ends else letters
    made = _made(token, kind, letters[1:] if kind == "invisible" else inner)
    return [changed for changed in dict.fromkeys(made) if changed != token and any(map(str.isalpha, changed))]


def _made(token: str, kind: Kind, places: Sequence[int]) -> Iterator[str]:
    for place in places:
        before, letter, after = token[:place], token[place], token[place + 1 :]
        near = NEIGHBOURS.get(letter.lower(), "")
        near = near.upper() if letter.isupper() else near
        match kind:
            case "swap":
                if place + 1 in places:
                    yield before + after[0] + letter + after[1:]
            case "drop":
                yield before + after
            case "insert":
                yield from (before + letter + other + after for other in letter + near)
            case "neighbour":
                yield from (before + other + after for other in near)
            case "homoglyph":
                yield from (before + other + after for other in HOMOGLYPHS.get(letter, ""))
            case "invisible":
                yield from (before + other + letter + after for other in INVISIBLE)
            case "capital":
                yield before + letter.swapcase() + after


def defended(token: str, defence: Defence) -> str:
    """A token as a careful reader takes it.

    'normal_form' is NFKC without what is invisible; 'skeleton' also reads look-alikes as the letters that they look
    like, UTS 39's skeleton as far as :data:`HOMOGLYPHS` reaches. The former spoils words of Persian and Indic scripts,
    which need joiners, and some emoji; the latter all text in Cyrillic and Greek.

    >>> [defended(token, "skeleton") for token in ("f\u200bilm", "\u0440l\u043et", "\ufb01lm", "film")]
    ['film', 'plot', 'film', 'film']
    """
    if defence == "none":
        return token
    plain: str = _IGNORABLE.sub("", unicodedata.normalize("NFKC", token))
    return plain.translate(_SKELETON) if defence == "skeleton" else plain


class Outcome(NamedTuple):
    """What changes of one kind make of a text, averaged over draws.

    Attributes:
        kind, number, defence: of the changes, and what reads them.
        flips: share of the draws that change the verdict, in the words that matter most.
        random_flips: the same in words drawn at random.
        unmoved: share of all draws that leave every probability as it was.
        pieces: that the classifier cuts the changed words into, for each piece before.
        unknown, unknown_before: share of these pieces that it does not know, and of those before. NaN where that, or
            the number of pieces, can't be told.
    """

    kind: Kind
    number: int
    defence: Defence
    flips: float
    random_flips: float
    unmoved: float
    pieces: float
    unknown: float
    unknown_before: float


_Changed = Mapping[int, str]
"""Of a text, what stands at the places that have changed."""


def stress(
    reader: Reader, tokens: Sequence[str], config: CharacterConfig, draws: np.random.Generator
) -> Iterator[Outcome]:
    """What each kind and number of changes makes of a text, without and with defences.

    Words that matter most are those whose deletion leaves the least of the probability of the text's class, without a
    defence. Only words are changed that have a change of every kind, so that all kinds change the same ones. Draws of
    more changes hold those of fewer.

    Args:
        reader: the classifier.
        tokens: of the text.
        config: of the changes.
        draws: of the text alone.

    Returns:
        Nothing of numbers that the text has no words for, and of a defence behind which it can't be read.
    """
    texts = _drawn(reader, tokens, config, draws)
    every = [changed for of_kind in texts.values() for changed in of_kind]
    words = list(dict.fromkeys([*tokens, *(word for changed in every for word in changed.values())]))
    for defence in DEFENCES if texts else ():
        first, *rest = _read(reader, tokens, every, defence)
        if np.isnan(first).any():
            continue
        shares = np.array(rest).reshape(len(texts), config.draws, 2, first.size)
        is_flip = ~np.isnan(shares).any(axis=-1) & (shares.argmax(axis=-1) != first.argmax())
        flips, unmoved = is_flip.mean(axis=1).tolist(), (np.abs(shares - first) <= _SAME).all(axis=-1).mean(axis=(1, 2))
        sizes = dict(zip(words, reader.pieces([defended(word, defence) for word in words]), strict=True))
        for row, ((kind, number), of_kind) in enumerate(texts.items()):
            most, random = flips[row]
            pieces, unknown, before = _pieces(tokens, of_kind, sizes)
            yield Outcome(kind, number, defence, most, random, float(unmoved[row]), pieces, unknown, before)


def _drawn(
    reader: Reader, tokens: Sequence[str], config: CharacterConfig, draws: np.random.Generator
) -> dict[tuple[Kind, int], list[_Changed]]:
    """By kind and number, of each draw the changes of the words that matter most, and then of words at random."""
    options = [{kind: changes(token, kind, keep_ends=config.keep_ends) for kind in config.kinds} for token in tokens]
    places = [place for place, of_token in enumerate(options) if all(of_token.values())]
    numbers = [number for number in sorted(set(config.numbers)) if number <= len(places)]
    texts: dict[tuple[Kind, int], list[_Changed]] = {(kind, number): [] for kind in config.kinds for number in numbers}
    if not texts:
        return texts
    first, *without = _read(reader, tokens, [{place: ""} for place in places], "none")
    left = np.nan_to_num([shares[first.argmax()] for shares in without], nan=1.0).round(_DIGITS).tolist()
    ranked = [place for _, place in sorted(zip(left, places, strict=True))]
    for _ in range(config.draws):
        orders = ranked, draws.permutation(places).tolist()
        chosen = sorted({place for order in orders for place in order[: max(numbers)]})
        for kind in dict.fromkeys(config.kinds):
            of_kind = {place: options[place][kind] for place in chosen}
            words = {place: some[int(draws.integers(len(some)))] for place, some in of_kind.items()}
            for number in numbers:
                texts[kind, number] += [{place: words[place] for place in order[:number]} for order in orders]
    return texts


def _read(reader: Reader, tokens: Sequence[str], texts: Sequence[_Changed], defence: Defence) -> FloatArray:
    """``[1 + texts, classes]``: of the text, and of what it has become."""
    space: dict[int, list[str]] = {}
    choices = np.zeros((1 + len(texts), len(tokens)), dtype=np.int64)
    for row, changed in enumerate(texts, start=1):
        for place, word in changed.items():
            options, option = space.setdefault(place, []), defended(word, defence)
            if option not in options:
                options.append(option)
            choices[row, place] = 1 + options.index(option)
    return reader.for_text([defended(token, defence) for token in tokens], [])(space)(choices[:, list(space)])


def _pieces(tokens: Sequence[str], texts: Sequence[_Changed], sizes: Mapping[str, Pieces]) -> tuple[float, ...]:
    """Of the changed words, as :class:`Outcome` has them."""
    pairs = [(tokens[place], word) for changed in texts for place, word in changed.items()]
    with np.errstate(divide="ignore", invalid="ignore"):
        counts = np.array([[sizes[word] for word in pair] for pair in pairs], dtype=np.float64)
        (before, lost), (after, unknown) = counts.sum(axis=0)
        return float(after / before), float(unknown / after), float(lost / before)
