"""Made-up reviews whose every word says by design how much it speaks for a label.

A review has a label, and words that are drawn one by one: with probability ``share`` an opinion word, of the review's
own side with probability ``loyalty``, and a plain word otherwise. All words of a group are equally likely, so the log
odds log p(w | +) / p(w | -) of a positive word are log(loyalty / (1 - loyalty)), those of a negative word their
opposite, and those of a plain word 0. What a study of sentiment finds here can be held against that.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream

VERSION = "made_up_reviews/1"


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


POSITIVE = _listed(
    """
    admirable amazing beautiful brilliant captivating charming cheerful clever compelling delightful elegant
    enjoyable excellent fantastic fascinating flawless funny graceful great heartfelt hilarious impressive
    inspired joyful lovely magical memorable moving perfect pleasant remarkable splendid superb terrific touching
    witty wonderful worthy
    """
)
NEGATIVE = _listed(
    """
    annoying appalling awful awkward bad bland boring cheap clumsy confusing disappointing dismal dreadful dull
    flawed forgettable hideous hollow horrible incoherent inept insulting lifeless messy miserable mediocre
    painful pathetic pointless poor predictable ridiculous shallow sloppy tedious terrible tiresome ugly
    unbearable weak
    """
)
PLAIN = _listed(
    """
    actor actress aunt baker boy brother camera captain cast chapter cinema city clerk comedy cook daughter
    dialogue doctor drama driver ending engineer evening farmer father film girl guard hero house husband journey
    judge king lawyer librarian man mechanic month mother music night nurse picture pilot play plot queen review
    role scene school screen script secretary sequel series set show singer sister son song sound stage star story
    street studio summer teacher theatre town uncle village voice waiter waitress war week wife winter woman
    writer year
    """
)
FEMALE = _listed(
    """
    amy anna diana ellen emily joan kate laura linda lisa mary nancy sarah susan
    """
)
MALE = _listed(
    """
    alan andrew brian daniel david greg jack john kevin mark mike paul peter steve
    """
)


class Review(NamedTuple):
    """Attributes:
    text: words with spaces between them.
    label: ``positive`` or ``negative``.
    """

    text: str
    label: str


def reviews(num: int, num_words: int, seed: int, share: float = 0.3, loyalty: float = 0.8) -> list[Review]:
    """So many of them, half of each label, that follow from the seed.

    Args:
        num: of reviews.
        num_words: of each.
        share: of opinion words.
        loyalty: share of a review's opinion words that are of its own side.

    >>> [review.label for review in reviews(2, 5, seed=0)]
    ['positive', 'negative']
    """
    return [_review(number, num_words, seed, share, loyalty) for number in range(num)]


def _review(number: int, num_words: int, seed: int, share: float, loyalty: float) -> Review:
    generator = keyed_generator(seed, Stream.MADE_UP_REVIEW, number)
    side, opposite = (POSITIVE, NEGATIVE) if number % 2 == 0 else (NEGATIVE, POSITIVE)
    plain = (*PLAIN, *FEMALE, *MALE)
    words = []
    for opinion, chance, place in generator.random((num_words, 3)).tolist():
        group: Sequence[str] = plain if opinion >= share else side if chance < loyalty else opposite
        words.append(group[int(place * len(group))])
    return Review(" ".join(words), "positive" if number % 2 == 0 else "negative")
