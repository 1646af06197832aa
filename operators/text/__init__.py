"""Texts, from the markup of a wiki to words as embeddings spell them, and lists of words.

plain_lines      lines of text from wikitext
segmenter        words of a text, by its language
Normalizer       how a language's words are spelled alike
Tokenizer        lines as words: all of these in one
KneserNey        how surprising words are after each other
text_statistics  lengths of texts and conversations
split_groups     groups of texts in training and test parts
WordList         words and phrases to be found in texts
WordSets         word lists of the measures in one language
swap_gender      "her book" as "his book", and "saw her" as "saw him"

>>> segmenter("en")("Don't panic: it's only words.")
["Don't", 'panic', "it's", 'only', 'words']
"""

from tiltmeter.operators.text.group_splits import split_groups
from tiltmeter.operators.text.lengths import text_statistics
from tiltmeter.operators.text.listed_words import WordList
from tiltmeter.operators.text.normalisation import Normalizer
from tiltmeter.operators.text.perplexity import KneserNey
from tiltmeter.operators.text.pronouns import swap_gender
from tiltmeter.operators.text.segmentation import segmenter
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.operators.text.wikitext import plain_lines
from tiltmeter.operators.text.wordsets import WordSets

__all__ = [
    "KneserNey",
    "Normalizer",
    "Tokenizer",
    "WordList",
    "WordSets",
    "plain_lines",
    "segmenter",
    "split_groups",
    "swap_gender",
    "text_statistics",
]
