"""Rows of CSV files."""

import csv


def write_rows(path, rows):
    """Writes rows, the first of which may be a heading; returns the path."""
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def read_rows(path):
    """All rows, the heading too."""
    with open(path, newline="") as file:
        return list(csv.reader(file))
