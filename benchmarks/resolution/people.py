"""Records of people, made by rule, of which it is known who is who.

A person has 1 to 12 records (size k with probability proportional to k^-1.5: 2.7 on average), two addresses, e-mails
and telephones, and may live with the person before: such families share surname, addresses and telephones. Frequencies
of names and cities fall with their rank (Zipf and Mandelbrot). Each record gets its errors independently of all others.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

LARGEST = 12
_SIZES = np.arange(1, LARGEST + 1) ** -1.5
_HOUSEHOLDS = 0.2
"""Share of persons who live with the one before."""

_ONSETS = ("b", "br", "ch", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "st", "t", "v", "w", "z")
_RHYMES = ("a", "e", "i", "o", "u", "an", "en", "er", "in", "on", "ar", "el")
_LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))
_DIGITS = np.array(list("0123456789"))

OTHER = {"address": 0.15, "email": 0.1, "phone": 0.15, "surname": 0.015}
"""Share of records that have a person's second one."""

MISSING = {
    "forename": 0.02,
    "surname": 0.005,
    "born": 0.06,
    "city": 0.03,
    "postcode": 0.05,
    "email": 0.35,
    "phone": 0.3,
}
EDITED = {"forename": 0.05, "surname": 0.04, "city": 0.02, "postcode": 0.03, "email": 0.03, "phone": 0.04}
ABBREVIATED, SWAPPED, WRONG_DATE = 0.04, 0.02, 0.05
"""Forenames cut to their first letter; exchanged with surnames; dates of another year, or with day for month."""

FIELDS = ("forename", "surname", "born", "city", "postcode", "email", "phone")


def make_people(num_records: int, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Records with errors, in no order, and the truth about them.

    Returns:
        ``id, forename, surname, born, city, postcode, email, phone`` (text, null where missing), and
        ``record, cluster``. Neither ids nor the order of rows say anything of the truth.
    """
    random = np.random.default_rng(seed)
    sizes = random.choice(LARGEST, num_records, p=_SIZES / _SIZES.sum()) + 1
    person = random.permutation(np.repeat(np.arange(num_records), sizes)[:num_records])
    clean = _persons(random, int(person.max()) + 1)
    records = _with_errors(random, _seen(random, clean, person))
    ids = pl.Series("id", random.permutation(num_records) + 10**7).cast(pl.String)
    names = random.permutation(int(person.max()) + 1)
    gold = pl.DataFrame({"record": ids, "cluster": pl.Series(names[person]).cast(pl.String)})
    return records.select(ids, *FIELDS), gold


def _persons(random: np.random.Generator, num: int) -> pl.DataFrame:
    """What is true of each person: ``x0`` and ``x1`` are its first and second of a kind."""
    alone = random.random(num) >= _HOUSEHOLDS
    alone[0] = True
    head = np.maximum.accumulate(np.where(alone, np.arange(num), 0))
    forenames, surnames = _names(random, 1_500, (2,)), _names(random, 30_000, (2, 3))
    cities = _names(random, 500, (3,))
    columns = {"forename": forenames.gather(_by_rank(random, num, 1_500, 5))}
    days = random.integers(0, 80 * 365, num)
    columns["born"] = pl.Series(np.datetime64("1930-01-01") + days).cast(pl.Date)
    for number in range(2):
        columns[f"surname{number}"] = surnames.gather(_by_rank(random, num, 30_000, 10)[head])
        city = _by_rank(random, num, 500, 2)[head]
        district = (random.random(num) * np.maximum(1, 99 // (city + 1) ** 0.5)).astype(np.int64)[head]
        columns[f"city{number}"] = cities.gather(city)
        columns[f"postcode{number}"] = pl.Series((100 + city) * 100 + district).cast(pl.String)
        columns[f"phone{number}"] = pl.Series(random.integers(2 * 10**8, 10**9, num)[head]).cast(pl.String)
    table = pl.DataFrame(columns)
    for number, stem in enumerate(("{}.{}", "{}{}")):
        tail = pl.Series(random.integers(1, 100, num)).cast(pl.String)
        host = cities.gather(_by_rank(random, num, 8, 2))
        first = table["forename"] if number == 0 else table["forename"].str.head(1)
        email = pl.format(stem + "{}@{}.org", first, table["surname0"], tail, host)
        table = table.with_columns(email.alias(f"email{number}"))
    return table


def _names(random: np.random.Generator, num: int, lengths: Sequence[int]) -> pl.Series:
    """Different names of so many syllables."""
    syllables = np.array(["".join(pair) for pair in product(_ONSETS, _RHYMES)], dtype=object)
    drawn = [syllables[random.integers(0, len(syllables), (2 * num, length))].sum(axis=1) for length in lengths]
    names = np.unique(np.concatenate(drawn).astype(str))
    return pl.Series(random.permutation(names)[:num])


def _by_rank(random: np.random.Generator, num: int, kinds: int, shift: float) -> Numbers:
    """Ranks r with probability proportional to 1 / (r + shift)."""
    shares = 1 / (np.arange(1, kinds + 1) + shift)
    return np.searchsorted(np.cumsum(shares / shares.sum())[:-1], random.random(num), side="right")


def _seen(random: np.random.Generator, persons: pl.DataFrame, person: Numbers) -> pl.DataFrame:
    """A row for each record: its person's, of what there are two either."""
    rows = persons[person]
    second = {kind: pl.Series(random.random(len(person)) < share) for kind, share in OTHER.items()}
    second |= {"city": second["address"], "postcode": second["address"]}
    chosen = {
        name: rows[f"{name}1"].zip_with(second[name], rows[f"{name}0"])
        for name in ("surname", "city", "postcode", "email", "phone")
    }
    return pl.DataFrame({"forename": rows["forename"], "born": rows["born"], **chosen})


def _with_errors(random: np.random.Generator, records: pl.DataFrame) -> pl.DataFrame:
    def some(share: float) -> pl.Series:
        return pl.Series(random.random(records.height) < share)

    born = _wrong_dates(random, records["born"]).zip_with(some(WRONG_DATE), records["born"])
    columns = {name: records[name] for name in FIELDS} | {"born": born.dt.to_string("%Y-%m-%d")}
    initials = columns["forename"].str.head(1)
    columns["forename"] = initials.zip_with(some(ABBREVIATED), columns["forename"])
    for name, share in EDITED.items():
        letters = _DIGITS if name in ("postcode", "phone") else _LETTERS
        columns[name] = _edited(random, columns[name], letters).zip_with(some(share), columns[name])
    swapped, first, last = some(SWAPPED), columns["forename"], columns["surname"]
    columns |= {"forename": last.zip_with(swapped, first), "surname": first.zip_with(swapped, last)}
    present = {name: pl.when(~some(share)).then(columns[name]).alias(name) for name, share in MISSING.items()}
    return pl.select(**present)


def _wrong_dates(random: np.random.Generator, born: pl.Series) -> pl.Series:
    """Day and month exchanged where both can be, else another year."""
    year, month, day = born.dt.year(), born.dt.month(), born.dt.day()
    other = year + pl.Series(random.choice([-10, -1, 1, 10], len(born)))
    exchanged = (day <= 12) & (day != month)
    parts = pl.DataFrame({
        "year": year.zip_with(exchanged, other),
        "month": day.zip_with(exchanged, month),
        "day": month.zip_with(exchanged, day.clip(1, 28)),
    })  # fmt: skip
    return parts.select(pl.date("year", "month", "day")).to_series()


def _edited(random: np.random.Generator, text: pl.Series, letters: NDArray[np.str_]) -> pl.Series:
    """One character replaced, left out, put in, or exchanged with the next."""
    place = (random.random(len(text)) * text.str.len_chars().to_numpy()).astype(np.int64)
    rows = pl.DataFrame({
        "text": text,
        "place": place,
        "kind": random.integers(0, 4, len(text)),
        "letter": letters[random.integers(0, len(letters), len(text))],
    })  # fmt: skip
    before, at = pl.col("text").str.slice(0, pl.col("place")), pl.col("text").str.slice(pl.col("place"), 1)
    after, kind = pl.col("text").str.slice(pl.col("place") + 1), pl.col("kind")
    edited = (
        pl.when(kind == 0).then(before + pl.col("letter") + after)
        .when(kind == 1).then(before + after)
        .when(kind == 2).then(before + pl.col("letter") + at + after)
        .otherwise(before + after.str.head(1) + at + after.str.slice(1))
    )  # fmt: skip
    return rows.select(edited.replace("", None)).to_series()
