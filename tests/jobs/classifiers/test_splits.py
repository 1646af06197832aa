"""Parts of labelled texts: whose texts are in which, and what is drawn independently."""

import pyarrow as pa
import pytest

from tiltmeter.jobs.classifiers.splits import DivideTexts
from tiltmeter.jobs.classifiers.tables import GROUPED, LABELLED, SPLIT
from tiltmeter.storage.store.ledger import Store, Unit


@pytest.fixture
def divided(tmp_path):
    """The table of parts of labelled rows."""
    store = Store(str(tmp_path / "store"))

    def divide(rows, seed=0):
        labelled = pa.Table.from_pylist([{"status": "ok"} | row for row in rows], LABELLED)
        ref = store.commit(Unit("made/1", "rows", {"rows": str(rows)}), [("rows", labelled)]).tables["rows"]
        [(_, table)] = DivideTexts(texts=ref, seed=seed).tables(store)
        return table

    return divide


def labelled_rows(num, group, part="training"):
    return [
        {
            "part": part,
            "row": at,
            "text": f"text {at}",
            "label": "good" if at * 7 % 5 < 3 else "bad",
            "group": group(at),
        }
        for at in range(num)
    ]


def test_whoever_speaks_is_in_one_part_and_texts_of_nobody_go_by_what_they_say(divided):
    table = divided(labelled_rows(300, lambda at: None if at < 100 else f"speaker {at % 40}"))
    assert table.schema.equals(GROUPED)
    rows = table.to_pylist()
    parts = {row["group"]: {other["part"] for other in rows if other["group"] == row["group"]} for row in rows}
    assert {len(of) for group, of in parts.items() if group} == {1}
    assert {part for of in parts.values() for part in of} == parts[None] == {"training", "development", "test"}
    alone = divided(labelled_rows(300, lambda _: None))
    assert alone.schema.equals(SPLIT)
    assert [row["part"] for row in alone.to_pylist()[:100]] == [row["part"] for row in rows[:100]]


def test_parts_are_others_with_another_seed(divided):
    one, other = (divided(labelled_rows(300, lambda _: None), seed).to_pylist() for seed in (0, 1))
    same = sum(a["part"] == b["part"] for a, b in zip(one, other, strict=True))
    assert same < 240  # by chance, 0.7 ** 2 + 0.2 ** 2 + 0.1 ** 2 of them
    for rows in (one, other):
        assert sum(row["part"] == "test" for row in rows) == pytest.approx(60, abs=20)
        assert sum(row["part"] == "development" for row in rows) == pytest.approx(30, abs=15)


def test_a_group_in_files_of_two_parts_is_refused(divided):
    rows = [*labelled_rows(60, lambda at: f"speaker {at % 9}"), *labelled_rows(20, lambda _: "speaker 3", "test")]
    with pytest.raises(
        ValueError, match=r"the group 'speaker 3' is in the parts .* and test: must be in one; leave out"
    ):
        divided(rows)
