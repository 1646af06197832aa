"""CoNLL-U with the trees of sentences."""

from tiltmeter.storage.relations.trees import read_trees

SENTENCES = """# sent_id = 1
1\tAda\tAda\tPROPN\tNNP\t_\t2\tnsubj\t_\t_
2-3\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdid\tdo\tAUX\tVBD\t_\t0\troot\t_\t_
2.1\tgo\t_\t_\t_\t_\t_\t_\t_\t_
3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_

1\tKings\t_\tNOUN\t_\t_\t_\t_\t_\t_
"""


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
