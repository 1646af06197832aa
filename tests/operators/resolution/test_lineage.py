"""Ids that clusters keep, and what became of those that they do not."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.problems import ledger
from tiltmeter.operators.resolution.lineage import NOWHERE, flows, inherited_ids
from tiltmeter.operators.resolution.problem import canonical


@st.composite
def partitions_in_turn(draw):
    """Earlier ids and later clusters of records, some of which are in one of them only."""
    record = st.tuples(st.integers(-1, 6), st.integers(-1, 6)).filter(lambda sides: max(sides) >= 0)
    records = draw(st.lists(record, min_size=1, max_size=24))
    before, after = np.array(records, dtype=np.int64).T
    return np.where(before < 0, NOWHERE, 10 * before + 3), numbered(after)


def numbered(labels):
    """Clusters in the order of their first records; -1 stays."""
    numbers = labels.copy()
    numbers[labels >= 0] = canonical(labels[labels >= 0])
    return numbers


@given(partitions_in_turn(), st.randoms(use_true_random=False))
def test_ids_and_what_became_of_those_before_are_as_by_loops_in_any_order(turn, random):
    before, after = turn
    known = ({record: one for record, one in enumerate(side.tolist()) if one != NOWHERE} for side in turn)
    expected, events = ledger(*known, 1000)
    ids = inherited_ids(before, after, 1000)
    assert ids.tolist() == [expected[number] for number in sorted(expected)]
    moved = flows(before, np.where(after == NOWHERE, NOWHERE, np.append(ids, NOWHERE)[after]))
    rows = [tuple(NOWHERE if value is None else value for value in row) for row in events]
    assert sorted(zip(*(column.tolist() for column in moved), strict=True)) == sorted(rows)
    order = np.array(random.sample(range(before.size), before.size))
    # Records keep their clusters, whose numbers go by their first records; of clusters without an id that alone counts.
    assert inherited_ids(before[order], after[order], 1000).tolist() == ids.tolist()
