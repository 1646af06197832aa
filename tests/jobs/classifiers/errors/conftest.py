"""Runs that several files of tests look at."""

import random

import pytest

from tests.jobs.classifiers.errors.made_up_tweets import HEADER, SMALL, USERS, WATCHED, settings, tweets
from tests.jobs.classifiers.rows import write_rows


@pytest.fixture(scope="session")
def file(tmp_path_factory):
    """800 texts, and one each without a text, a label and a prediction."""
    path = tmp_path_factory.mktemp("tweets") / "tweets.csv"
    odd = [["", "negative", "negative", 0.5, 0.5, "negative"], ["x", "", "negative", 0.5, 0.5, "negative"]]
    odd.append(["y", "negative", "", 0.5, 0.5, "negative"])
    return write_rows(path, [HEADER, *tweets(800, 0), *odd])


@pytest.fixture(scope="session")
def characterised(run_here, file, tmp_path_factory):
    place = tmp_path_factory.mktemp("errors")
    given = [*settings(file), "data.previous=before", *SMALL]
    return run_here(*given, f"store={place}/store", f"run_dir={place}/run", watched=WATCHED)


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """900 labelled texts and 300 without a label, 60 of these of the same users; 300 new ones, 60 of them without."""
    folder = tmp_path_factory.mktemp("users")
    rng = random.Random(5)
    known = [[*row, f"user {rng.randrange(90)}"] for row in tweets(900, 3)]
    hidden = [[row[0], "", *row[2:], f"new user {rng.randrange(30)}"] for row in tweets(240, 4)]
    hidden += [[row[0], "", *row[2:], f"user {rng.randrange(90)}"] for row in tweets(60, 7)]
    fresh = [[*row, f"later user {rng.randrange(30)}"] for row in tweets(300, 6)]
    fresh = [[row[0], "", *row[2:]] if at % 5 == 0 else row for at, row in enumerate(fresh)]
    for name, rows in (("texts", [*known, *hidden]), ("fresh", fresh)):
        write_rows(folder / f"{name}.csv", [[*HEADER, "user"], *rows])
    return folder


@pytest.fixture(scope="session")
def users(run_here, place):
    given = [*settings(place / "texts.csv"), "data.previous=before", *USERS]
    return run_here(*given, f"store={place}/store", f"run_dir={place}/run", watched=WATCHED)
