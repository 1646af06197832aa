"""CoNLL-U with the trees of sentences."""

import pytest

from tiltmeter.storage.errors import InputError
from tiltmeter.storage.relations.trees import read_trees

SENTENCES = """# sent_id = 1
1\tAda\tAda\tPROPN\tNNP\t_\t2\tnsubj\t_\t_
2-3\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdid\tdo\tAUX\tVBD\t_\t0\troot\t_\t_
2.1\tgo\t_\t_\t_\t_\t_\t_\t_\t_
3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_

1\tKings\t_\tNOUN\t_\t_\t_\t_\t_\t_
"""


@pytest.fixture
def file(tmp_path):
    def write(content):
        (tmp_path / "trees.conllu").write_text(content, encoding="utf-8")
        return str(tmp_path / "trees.conllu")

    return write


def test_annotations_are_told_by_the_tokens(file):
    again = SENTENCES.partition("\n\n")[0].replace("root", "ROOT")
    trees = read_trees(file(f"{SENTENCES}\n{again}\n"))
    assert trees["Ada", "did", "n't"] == {
        "lemma": ["Ada", "do", "not"],
        "pos": ["NNP", "VBD", "RB"],
        "head": [2, 0, 2],
        "deprel": ["nsubj", "root", "advmod"],
    }
    assert trees["Kings",] == {"lemma": None, "pos": ["NOUN"], "head": None, "deprel": None}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1\tAda\tAda\n", "line 1: has 3 columns"),
        ("2\ta\t_\t_\t_\t_\t0\troot\t_\t_\n", "before line 2 are not numbered from 1"),
        ("1\ta\t_\t_\t_\t_\t7\tdep\t_\t_\n", "head '7' before line 2 is no token of its sentence, 0 to 1"),
        ("# nothing\n", "has no sentences"),
    ],
)
def test_refusals(file, content, message):
    with pytest.raises(InputError, match=message):
        read_trees(file(content))
