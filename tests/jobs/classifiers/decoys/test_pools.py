"""Which test texts are explained together."""

import pytest

from tiltmeter.jobs.classifiers.decoys.models import pools_of_texts


def texts(num, group):
    return [{"row": at, "part": "test", "text": f"text {at}", "label": "good", "group": group(at)} for at in range(num)]


def pools_of(rows, num, size):
    groups = {row["row"]: row["group"] for row in rows}
    pools = [table.column("sentence").to_pylist() for _, table in pools_of_texts(rows, 0, num, size)]
    return pools, [{groups[row] for row in pool} for pool in pools]


def test_no_group_is_in_two_pools():
    pools, who = pools_of(texts(90, lambda at: f"person {at % 18}"), 15, 8)
    assert [len(pool) for pool in pools] == [8] * 9  # two people of five texts fill one, and two texts are left out
    assert len(set().union(*who)) == sum(map(len, who)) == 18


def test_texts_of_nobody_fill_pools_one_after_the_other():
    pools, _ = pools_of(texts(90, lambda _: None), 5, 8)
    assert len({row for pool in pools for row in pool}) == 40
    with pytest.raises(ValueError, match=r"15 test texts: must be at least two times explanations.pool_size=8"):
        pools_of(texts(15, lambda _: None), 5, 8)
    with pytest.raises(ValueError, match="90 test texts of 1 groups, of which none is in two pools"):
        pools_of(texts(90, lambda _: "one person"), 5, 8)
