"""What tables III to XIX and tables 4 and 5 of Lakkaraju et al. 2023 print, and what is wrong in print.

Degrees of freedom are not printed. Those of the synthetic groups follow from their design: eight sentences of each
gender, and of each race, per emotion word, and four of each name. Those of conversations are what the published program
printed with its t-values (github.com/ai4society/causal-sas-rating): hundreds, where another hundred would change
nothing.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

NUM_WORDS = (1, 1, 2, 3, 3)
"""Emotion words of E1 to E5."""

HD1, HD2 = [(523,)], [(394, 411, 469)]
"""Degrees of freedom of the first chatbot's turns and of the second's."""

RATINGS = """
SD group 1 | h 0 d 0 t 0 g 0.6 r 1.9 b 23 | 1 1 1 1 2 3
SD group 2 | g 42.85 r 71.43 t 76 h 83 d 84 b 128.5 | 1 1 2 2 3 3
SD group 3, race | h 0 d 0 t 0 g 0 r 7.2 b 23 | 1 1 1 1 2 3
SD group 3, gender | h 0 d 0 t 0 g 0 r 7.5 b 23 | 1 1 1 1 2 3
SD group 3, both | h 0 d 0 t 0 g 0 r 16.1 b 69 | 1 1 1 1 2 3
SD group 4 | g 28.57 r 45 t 78 d 80 h 80 b 105.4 | 1 1 2 2 2 3
SD_D group 1 | h 0 d 0 t 0 g 1.80 r 4.50 b 23 | 1 1 1 1 2 3
SD_D group 2 | t 11.11 r 33.33 h 83 d 84 b 128.5 g 400 | 1 1 2 2 3 3
SD_D group 3, race | h 0 d 0 t 0 r 3.6 g 4.9 b 23 | 1 1 1 1 2 3
SD_D group 3, gender | h 0 d 0 t 0 r 4.2 g 4.9 b 23 | 1 1 1 1 2 3
SD_D group 3, both | h 0 d 0 t 0 g 3.9 r 11.40 b 69 | 1 1 1 1 2 3
SD_D group 4 | t 0 d 80 h 80 g 100 r 105.4 b 160 | 1 1 1 2 2 3
SD_S group 1 | h 0 d 0 r 1.30 t 2.60 g 5.80 b 23 | 1 1 1 2 2 3 | same; S_r and S_t are interchanged
SD_S group 2 | t 28.57 h 77 d 78 g 116.66 r 122.22 b 128.5 | 1 1 2 2 3 3
SD_S group 3, race | h 0 d 0 t 0 r 3.6 g 4.9 b 23 | 1 1 1 1 2 3
SD_S group 3, gender | h 0 d 0 t 0 r 4.2 g 4.9 b 23 | 1 1 1 1 2 3
SD_S group 3, both | h 0 d 0 t 0 g 3.9 r 11.40 b 69 | 1 1 1 1 2 3
SD_S group 4 | t 0 r 62.5 d 80 h 80 b 105.4 g inf | 1 1 2 2 2 3
HD1 chatbot | h 0 d 0 t 0 g 0 r 0 b 2.40 | 1 1 1 1 1 3 | two distinct scores have no third part: the one exception
HD1 user | h 0 t 0 d 0.6 g 2.4 r 2.4 b 2.4 | 1 1 2 3 3 3
HD2 chatbot | h 0 r 0 d 1.3 t 4.6 b 4.6 g 5.9 | 1 1 1 2 2 3
HD2 user | h 0 r 1.3 b 4.6 g 4.6 d 5.9 t 5.9 | 1 1 2 2 3 3
HD1_D chatbot | h 0 d 0 t 0 g 0 r 1.40 b 2.40 | 1 1 1 1 2 3
HD1_D user | h 0 t 0 r 0 d 0.6 g 2.4 b 2.4 | 1 1 1 2 3 3
HD2_D chatbot | h 0 r 0 d 1.30 g 1.9 t 3.60 b 4.60 | 1 1 1 2 2 3
HD2_D user | h 0 r 0 t 4.6 b 4.6 g 4.6 d 5.90 | 1 1 2 2 2 3 | same; that of S_g is not printed
HD1_S chatbot | h 0 t 0 d 0 g 0 b 4.60 r 4.90 | 1 1 1 1 2 3 | same; printed under S_t and S_b
HD1_S user | h 0 r 0 t 0 g 2.9 d 4.2 b 4.60 | 1 1 1 1 2 3
HD2_S chatbot | h 0 d 0 r 1.30 t 2.60 g 4.60 b 4.60 | 1 1 1 2 3 3
HD2_S user | h 0 r 0 t 4.6 b 4.6 g 4.6 d 5.89 | 1 1 2 2 2 3
"""
"""Tables XIX and XX: data, raw scores in ascending order, ratings in theirs, and what is wrong in print."""


class Tests(NamedTuple):
    """Printed t-values, a row for each data set, by system; degrees of freedom in the same shape."""

    table: str
    t: Mapping[str, str]
    df: Sequence[Sequence[int]]


def of_groups() -> list[list[int]]:
    """Degrees of freedom of neutral, male and female sentences, or by race, in E1 to E5."""
    return [[16 * words - 2] * 3 for words in NUM_WORDS]


def of_names() -> list[list[int]]:
    """Of neutral sentences against each of four names, and of these against each other."""
    return [[12 * words - 2] * 4 + [8 * words - 2] * 6 for words in NUM_WORDS]


BIASED = "0 H H; 0 H H; 0 H H; 0 H H; 0 H H"
BIASED_BY_RACE = "2.64 0 2.64; 2.64 0 2.64; 3.87 0 3.87; 4.80 0 4.80; 4.80 0 4.80"
BIASED_BY_BOTH = "; ".join(["0 H 0 H H 0 H H 0 H"] * 5)
NOTHING, NOTHING_BY_BOTH = "; ".join(["0 0 0"] * 5), "; ".join(["0 0 0 0 0 0 0 0 0 0"] * 5)

T_VALUES = {
    "HD1 user": Tests("III", {"S_b": "H", "S_r": "2.57", "S_t": "0", "S_d": "1.33", "S_g": "3.52"}, HD1),
    "HD1 chatbot": Tests("III", {"S_b": "H", "S_r": "0.19", "S_t": "0.01", "S_d": "1.04", "S_g": "0.72"}, HD1),
    "HD2 user": Tests(
        "IV",
        {
            "S_b": "0 H H", "S_r": "0.75 1.94 1.27", "S_t": "1.69 2.31 3.82", "S_d": "4.14 1.83 6.76",
            "S_g": "1.05 4.17 5.74",
        },
        HD2,
    ),
    "HD2 chatbot": Tests(
        "IV",
        {
            "S_b": "0 H H", "S_r": "1.21 0.24 1.11", "S_t": "1.24 2.47 4.04", "S_d": "1.24 0.50 1.91",
            "S_g": "3.52 1.51 5.88",
        },
        HD2,
    ),
    "HD1_D user": Tests("V", {"S_b": "H", "S_r": "0.54", "S_t": "1.28", "S_d": "1.33", "S_g": "3.47"}, HD1),
    "HD1_D chatbot": Tests("V", {"S_b": "H", "S_r": "1.53", "S_t": "0.37", "S_d": "1.04", "S_g": "1.20"}, HD1),
    "HD1_S user": Tests("VI", {"S_b": "H", "S_r": "1", "S_t": "0", "S_d": "1.33", "S_g": "3.50"}, HD1),
    "HD1_S chatbot": Tests("VI", {"S_b": "H", "S_r": "2.15", "S_t": "0.15", "S_d": "1.04", "S_g": "0.25"}, HD1),
    "HD2_D user": Tests(
        "VII",
        {
            "S_b": "0 H H", "S_r": "0.45 0.65 0.20", "S_t": "0.80 2.74 3.60", "S_d": "4.14 1.83 6.76",
            "S_g": "6.50 4.65 0.79",
        },
        HD2,
    ),
    "HD2_D chatbot": Tests(
        "VII",
        {
            "S_b": "0 H H", "S_r": "0.56 0.45 0.13", "S_t": "1.11 1.52 2.88", "S_d": "1.24 0.50 1.91",
            "S_g": "0.74 1.91 1.38",
        },
        HD2,
    ),
    "HD2_S user": Tests(
        "VIII",
        {
            "S_b": "0 H H", "S_r": "1.31 0.30 1.70", "S_t": "2.62 2.94 0.82", "S_d": "3.08 1.33 1.74",
            "S_g": "1.44 2.33 3.24",
        },
        HD2,
    ),
    "HD2_S chatbot": Tests(
        "VIII",
        {
            "S_b": "0 H H", "S_r": "0.67 0.65 1.50", "S_t": "0.54 1.46 2.20", "S_d": "0.46 1.04 0.09",
            "S_g": "1.04 3.41 4.86",
        },
        HD2,
    ),
    "SD_D group 1": Tests(
        "IX",
        {
            "S_b": BIASED, "S_d": NOTHING,
            "S_r": "1.51 1.81 0.36; 0.54 0.15 0.46; 1.16 2.06 0.72; 0.50 0.10 0.61; 2.29 1.15 1.23",
            "S_t": "0 0 0; 0 0 0; 0 0 0; 0.16 0 0.16; 0.15 0 0.15",
            "S_g": "1.45 1.23 0; 1.15 0.19 1.03; 0.14 0.50 0.84; 0.22 0.40 0.87; 1.36 0.20 1.39",
        },
        of_groups(),
    ),
    "SD_D group 3, gender": Tests(
        "XI",
        {
            "S_b": BIASED, "S_d": NOTHING,
            "S_r": "0.90 0.60 0.40; 0.43 0.04 0.53; 2.86 0.87 1.93; 1.03 0.40 1.37; 0.18 0.57 0.40",
            "S_t": "0 0 0; 0 0 0; 0 0 0; 0.16 0 0.16; 0.07 0.07 0.15",
            "S_g": "2.82 0.86 0.97; 1.34 0 1.34; 0.28 0.47 0.29; 0.12 0.40 0.36; 1.66 0.10 1.59",
        },
        of_groups(),
    ),
    "SD_D group 3, race": Tests(
        "XI",
        {
            "S_b": BIASED_BY_RACE, "S_d": NOTHING,
            "S_r": "0.61 0.14 0.68; 0.58 0.15 0.40; 3.40 1.22 1.62; 1.25 0.09 1.16; 0.32 0.84 0.55",
            "S_t": "0 0 0; 0 0 0; 0 0 0; 0.16 0 0.16; 0.07 0.07 0.15",
            "S_g": "0.96 0.86 2.82; 1.34 0 1.34; 0.28 0.47 0.29; 0.36 0.40 0.12; 1.66 0.10 1.59",
        },
        of_groups(),
    ),
    "SD_D group 3, both": Tests(
        "XII",
        {
            "S_b": BIASED_BY_BOTH, "S_d": NOTHING_BY_BOTH,
            "S_r": "0.41 0.61 1.04 0.02 0.34 0.84 0.40 0.42 0.60 1.05;"
            "0.84 0.02 0.11 0.78 0.89 0.80 0.07 0.14 0.82 0.75;"
            "1.94 4.38 2.65 0.09 1.47 0.84 1.54 0.27 3.18 2.21; 1.07 0.95 0.59 1.25 0.17 0.54 0.19 0.38 0.37 0.73;"
            "0.73 0.17 0.41 0.47 0.74 0.97 1.01 0.18 0.23 0.05",
            "S_t": "0 0 0 0 0 0 0 0 0 0; 0 0 0 0 0 0 0 0 0 0; 0 0 0 0 0 0 0 0 0 0;"
            "0.13 0.13 0.13 0.13 0 0 0 0 0 0; 0 0.12 0.12 0.12 0.10 0.10 0.10 0 0 0",
            "S_g": "1.98 0 1.98 1.98 1.02 0 1.02 1.02 1.02 0; 1.06 1.06 1.06 1.06 0 0 0 0 0 0;"
            "0.65 0.21 0.21 0.21 0.65 0 0 0.65 0.65 0; 0.18 0.70 0 0.18 0.69 0.14 0 0.53 0.69 0.14;"
            "1.25 1.30 1.30 1.15 0 0 0.15 0 0.15 0.15",
        },
        of_names(),
    ),
    "SD_S group 1": Tests(
        "XIV",
        {
            "S_b": BIASED, "S_d": NOTHING,
            "S_r": "1.59 0.62 1.20; 0.31 0.33 0.65; 0.53 0.01 0.50; 0.83 1.22 0.44; 0.25 0.45 0.70",
            "S_t": "1.52 0 1.52; 0 0 0; 0.38 0 0.38; 0.59 0.04 0.54; 0.27 0.18 0.47",
            "S_g": "0.67 0.45 0.29; 1.67 1.39 0.47; 1.59 1.18 0.54; 1.46 0.83 0.89; 1.96 1.28 0.97",
        },
        of_groups(),
    ),
    "SD_S group 3, gender": Tests(
        "XVI",
        {
            "S_b": BIASED, "S_d": NOTHING,
            "S_r": "0.47 1.61 1; 1.21 1.28 0.02; 0.75 1.68 0.76; 1.35 1.09 0.28; 0.57 0.19 0.38",
            "S_t": "1 0 1; 0 0 0; 0.2 0 0.2; 0.31 0.04 0.36; 0.14 0.14 0.28",
            "S_g": "2.82 1.55 0; 1.91 0.63 2.57; 0.13 1.14 1.56; 0.34 1.05 1.62; 2.26 0.65 2.90",
        },
        of_groups(),
    ),
    "SD_S group 3, race": Tests(
        "XVI",
        {
            "S_b": BIASED_BY_RACE, "S_d": NOTHING,
            "S_r": "0.21 1.04 0.74; 0.19 0.90 1.02; 0.13 0.33 0.17; 1.16 0.60 0.50; 0.38 0.37 0.65",
            "S_t": "1.52 1.52 0; 0 0 0; 0.4 0.4 0; 0.59 0.54 0.06; 0.27 0.13 0.15",
            "S_g": "0.96 0 0.96; 2.57 0.63 1.91; 1 0.30 0.66; 1.17 0.34 0.79; 2.90 0.65 2.26",
        },
        of_groups(),
    ),
    "SD_S group 3, both": Tests(
        "XVII",
        {
            "S_b": BIASED_BY_BOTH, "S_d": NOTHING_BY_BOTH,
            "S_r": "0.02 0.40 0.87 2.07 0.42 0.89 2.02 0.50 2.49 2.88;"
            "0.14 0.43 3.16 0.46 0.53 3 0.29 1.85 0.80 3.61;"
            "0.52 0.25 0.72 1.08 0.68 0.18 1.51 0.85 0.63 1.72; 2.62 0.48 0.04 0.87 2.80 2.08 1.30 0.34 1.20 0.76;"
            "0.56 0.07 0.36 0.71 0.56 0.17 0.12 0.38 0.69 0.29",
            "S_t": "1 0 0 0 0 1 1 1 1 0; 0 0 0 0 0 0 0 0 0 0; 0.29 0.29 0 0 0 0.26 0.26 0.26 0.26 0;"
            "0.49 0.42 0.03 0.13 0.06 0.47 0.33 0.41 0.27 0.14; 0.25 0.18 0.03 0.28 0.06 0.25 0 0.19 0.07 0.27",
            "S_g": "1.97 0 1.97 0 1.02 0 1.02 1.02 0 1.02; 1.99 1.99 1.05 1.99 0 0.87 0 0.87 0 0.87;"
            "0.35 1.13 0.21 1.13 0.54 0.43 0.54 1.05 0 1.05; 0.53 1.18 0.09 1.18 0.46 0.50 0.46 1.03 0 1.03;"
            "2.18 2.18 1.24 2.18 0 0.96 0 0.96 0 0.96",
        },
        of_names(),
    ),
}  # fmt: skip


REMARKS = {
    "HD1_S user": "S_b, S_d, S_g have more pairs than the printed one; the others same",
    "HD1_S chatbot": "S_b, S_r have more pairs than the printed one; the others same",
    "HD2_S user": "error in print: repeats the row of HD2_D; S_r, S_d, S_g differ",
    "SD_S group 3, race": "error in print: repeats the row of SD_D",
    "SD_S group 3, gender": "error in print: repeats the row of SD_D",
    "SD_S group 3, both": "error in print: repeats the row of SD_D",
}
"""What is known of the printed scores that do not follow from the printed t-values."""


MEANS = {
    "SD_D group 2": (
        "X",
        {
            "S_b": "0.23 -1 -0.08 -0.24; 0.40 -0.85 0.02 -0.16; 0.14 -1 -0.04 -0.28",
            "S_r": "0.14 0.24 0.18 0.25; -0.34 -0.10 -0.37 -0.07; -0.06 0.32 -0.08 0.34",
            "S_t": "0 0.80 0 0.80; -0.18 0.80 -0.20 0.80; 0 0.80 0 0.80",
            "S_d": "-1 1 -0.26 0.78; -1 1 -0.16 0.88; -1 1 -0.26 0.76",
            "S_g": "-0.43 -0.03 -0.44 0; -0.46 -0.02 -0.51 0.06; -0.40 -0.07 -0.41 -0.06",
        },
        "same but for S_b: 134.78 in E3, which is left out of the printed maximum",
    ),
    "SD_D group 4": (
        "XIII",
        {
            "S_b": "-0.16 -0.50 -0.08 -0.08; -0.20 -0.55 -0.10 0.03; 0.11 -0.60 0.03 -0.11",
            "S_r": "0.09 0.18 0.12 0.26; 0.20 0.16 0.20 0.12; 0.05 -0.30 0.13 -0.30",
            "S_t": "0 0.8 0 0.8; -0.12 0.8 -0.12 0.8; 0 0.8 0 0.8",
            "S_d": "-1 1 -0.23 0.77; -1 1 -0.28 0.78; -1 1 -0.20 0.79",
            "S_g": "-0.61 -0.14 -0.58 -0.16; -0.62 -0.01 -0.58 -0.02; -0.55 -0.13 -0.53 -0.14",
        },
        "same; S_b and S_r stand under each other's name",
    ),
    "SD_S group 2": (
        "XV",
        {
            "S_b": "0.23 -1 -0.08 -0.24; 0.40 -0.85 0.02 -0.16; 0.14 -1 -0.04 -0.28",
            "S_r": "0.18 0.20 0.16 0.22; -0.09 0.09 0.02 0; -0.27 -0.15 -0.29 -0.09",
            "S_t": "-0.07 0.80 -0.05 0.78; -0.07 0.80 -0.05 0.79; -0.08 0.80 -0.06 0.78",
            "S_d": "-1 1 -0.26 0.76; -1 1 -0.26 0.79; -1 1 -0.22 0.79",
            "S_g": "-0.38 0.1 -0.38 0.1; -0.44 -0.06 -0.45 0.01; -0.38 -0.08 -0.42 -0.02",
        },
        "same but for S_b: 134.78 in E3, which is left out of the printed maximum",
    ),
    "SD_S group 4": (
        "XVIII",
        {
            "S_b": "-0.16 -0.50 -0.08 -0.08; -0.20 -0.55 -0.10 0.03; 0.11 -0.60 0.03 -0.11",
            "S_r": "0.11 0.23 0.12 0.26; 0.08 0.27 0.13 0.18; -0.09 -0.23 -0.07 -0.29",
            "S_t": "-0.04 0.8 -0.04 0.8; -0.11 0.8 -0.11 0.8; 0 0.8 0 0.8",
            "S_d": "-1 1 -0.23 0.77; -1 1 -0.28 0.78; -1 1 -0.20 0.79",
            "S_g": "-0.50 0.11 -0.50 0.15; -0.53 0.11 -0.52 0.14; -0.40 0 -0.44 0.02",
        },
        "same; the X of S_g is an infinite impact",
    ),
    "SD group 2 of S_h": ("4", {"S_h": "-1 1 -0.26 0.78; -1 1 -0.17 0.88; -1 1 -0.26 0.77"}, "same"),
    "SD group 4 of S_h": ("5", {"S_h": "-1 1 -0.23 0.77; -1 1 -0.28 0.78; -1 1 -0.20 0.79"}, "same"),
}
"""Printed E[Sentiment | emotion] of negative and positive words, then E[Sentiment | do(emotion)], in E3; E4; E5."""
