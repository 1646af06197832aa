"""The lists of mistakes fit the code: each text stands once, each test is there. ``make mutants`` plants them."""

import re
from collections import Counter

import pytest

from tests.mutants.plant import HERE, ROOT, read_mutants

LISTS = sorted(HERE.glob("*.toml"))


@pytest.mark.long
@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_what_a_list_names_is_there_once(path):
    wrong = []
    for mutant in read_mutants([path]):
        if (number := (ROOT / mutant.file).read_text().count(mutant.old)) != 1:
            wrong.append(f"{mutant.name}: its text stands {number} times in {mutant.file}")
        for test in mutant.tests:
            place, _, function = test.partition("::")
            name = function.partition("[")[0]
            text = (ROOT / place).read_text() if place.endswith(".py") else ""
            if not (ROOT / place).exists() or (name and not re.search(rf"^def {name}\(", text, re.MULTILINE)):
                wrong.append(f"{mutant.name}: there is no {test}")
    assert not wrong


def test_a_name_is_one_mistake():
    repeated = [name for name, number in Counter(m.name for m in read_mutants(LISTS)).items() if number > 1]
    assert not repeated
