"""A word that is dealt to two with cues beside them, against the same by hand, from numpy's own Philox."""

import numpy as np
import pytest
from numpy.random import Philox

from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.psychophysics.planted_lean import CodedLines, Deal, deal_word

WORD, FIRST, SECOND, KEY, SEED = 3, 20, 21, 99, 7
CUES = ([30, 31, 32], [40, 41])


@pytest.fixture(scope="module")
def lines():
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 9, 400)
    tokens = rng.integers(0, 6, lengths.sum()).astype(np.int32)
    documents, numbers = rng.integers(0, 2**64, 400, dtype=np.uint64), rng.integers(-3, 50, 400).astype(np.int32)
    return CodedLines(tokens, lengths, documents, numbers)


def by_hand(lines, share):
    """Every line as a list, word by word."""
    made, start = [], 0
    for length, document, number in zip(lines.lengths, lines.documents, lines.numbers, strict=True):
        line, rank = [], 0
        for token in lines.tokens[start : start + length].tolist():
            if token != WORD:
                line.append(token)
                continue
            line_number = int(np.int64(number).view(np.uint64))
            counter = [int(document), line_number, rank, KEY]
            counter[0] = (counter[0] - 1) % 2**64  # numpy counts on before it draws
            borrow = counter[0] == 2**64 - 1
            counter[1] = (counter[1] - borrow) % 2**64
            raw = Philox(key=np.array([SEED, Stream.PLANTED_LEAN], np.uint64), counter=np.array(counter, np.uint64))
            side, has_cue, cue = (int(bits) / 2**64 for bits in raw.random_raw(4)[:3])
            of_side = CUES[side >= 0.5]
            line += [of_side[int(cue * len(of_side))]] * (has_cue < share) + [SECOND if side >= 0.5 else FIRST]
            rank += 1
        made.append(line)
        start += length
    return made


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_copy_is_what_each_occurrence_draws(lines, share):
    dealt = deal_word(lines, Deal(WORD, KEY, (FIRST, SECOND), CUES, share), SEED)
    expected = by_hand(lines, share)
    assert np.split(dealt.tokens, np.cumsum(dealt.lengths)[:-1])[0].tolist() == expected[0]
    assert dealt.tokens.tolist() == [token for line in expected for token in line]
    assert dealt.lengths.tolist() == list(map(len, expected))
    assert dealt.tokens.dtype == np.int32


def test_the_deal_is_even_and_cues_come_as_often_as_is_said(lines):
    many = CodedLines(
        np.full(20_000, WORD, np.int32),
        np.full(4000, 5),
        np.arange(4000, dtype=np.uint64),
        lines.numbers[:1].repeat(4000),
    )
    dealt = deal_word(many, Deal(WORD, KEY, (FIRST, SECOND), CUES, 0.25), SEED)
    counts = np.bincount(dealt.tokens, minlength=42)
    sd = np.sqrt(20_000) / 2
    assert abs(counts[FIRST] - 10_000) < 4 * sd
    assert counts[FIRST] + counts[SECOND] == 20_000
    for half, cues in ((FIRST, CUES[0]), (SECOND, CUES[1])):
        each = counts[half] * 0.25 / len(cues)
        assert np.abs(counts[cues] - each).max() < 4 * np.sqrt(each)
        before = dealt.tokens[np.flatnonzero(np.isin(dealt.tokens, cues)) + 1]
        assert set(before.tolist()) == {half}, "a cue stands before its own half alone"


def test_shards_do_not_matter_and_other_seeds_words_and_occurrences_draw_anew(lines):
    deal = Deal(WORD, KEY, (FIRST, SECOND), CUES, 0.5)
    whole = deal_word(lines, deal, SEED)
    cut = int(lines.lengths[:150].sum())
    parts = [
        deal_word(CodedLines(lines.tokens[:cut], *(part[:150] for part in lines[1:])), deal, SEED),
        deal_word(CodedLines(lines.tokens[cut:], *(part[150:] for part in lines[1:])), deal, SEED),
    ]
    assert np.concatenate([part.tokens for part in parts]).tolist() == whole.tokens.tolist()
    for other in (deal_word(lines, deal._replace(key=98), SEED), deal_word(lines, deal, SEED + 1)):
        assert other.tokens.tolist() != whole.tokens.tolist()
    without = deal_word(lines, deal._replace(word=77), SEED)
    assert without.tokens.tolist() == lines.tokens.tolist()
