import json

import polars as pl

from tiltmeter.storage.relations.sentences import read_relations

SPANS = ("subject_start", "subject_end", "object_start", "object_end")
OURS = {"tokens": ["Ada", "met", "King"], "subject_start": 0, "subject_end": 1, "object_start": 2, "object_end": 3}
TACRED = {
    "id": "1",
    "docid": "d1",
    "relation": "per:spouse",
    "token": ["Ada", "Lovelace", "married", "King"],
    "subj_start": 0,
    "subj_end": 1,
    "obj_start": 3,
    "obj_end": 3,
    "subj_type": "PERSON",
    "obj_type": "PERSON",
    "stanford_pos": ["NNP", "NNP", "VBD", "NNP"],
    "stanford_ner": ["PERSON", "PERSON", "O", "PERSON"],
    "stanford_head": [2, 3, 0, 3],
    "stanford_deprel": ["compound", "nsubj", "ROOT", "dobj"],
}
TAGGED = {
    "tokens": ["Ada", "Lovelace", "of", "London", "met", "King"],
    "tags": ["B-Peop", "L-Peop", "O", "U-Loc", "O", "U-Peop"],
    "relations": [{"head": 0, "tail": 1, "type": "Live_In"}],
    "orig_id": 12,
}
SEMEVAL = """1\t"The <e1>wine cellar</e1> of the <e2>house</e2>, it's cold."
Component-Whole(e1,e2)
Comment: none

2\t"A <e1>cat</e1> and a <e2>well-kept</e2> dog"
Other
Comment:
"""


def spans(row):
    return [row[name] for name in SPANS]


def test_tacred_has_spans_whose_end_belongs_to_them(file):
    [row] = read_relations(file([TACRED]))
    assert spans(row) == [0, 2, 3, 4]
    assert (row["relation"], row["document"], row["object_type"]) == ("per:spouse", "d1", "PERSON")
    assert (row["head"], row["deprel"][1], row["lemma"]) == ([2, 3, 0, 3], "nsubj", None)


def test_each_ordered_pair_of_entities_is_a_row_the_first_outside(file):
    rows = read_relations(file([TAGGED]))
    entities = [[0, 2], [3, 4], [5, 6]]
    assert [spans(row) for row in rows] == [one + other for one in entities for other in entities if one != other]
    assert [row["relation"] for row in rows] == ["Live_In", *["no_relation"] * 5]
    assert [row["row"] for row in rows] == list(range(6))
    assert {row["document"] for row in rows} == {"12"}
    assert rows[0]["ner"] == ["Peop", "Peop", "O", "Loc", "O", "Peop"]


def test_entities_may_be_listed(file):
    entities = [{"type": "Peop", "start": 0, "end": 2}, {"type": "Loc", "start": 3, "end": 4}]
    listed = {"tokens": TAGGED["tokens"], "entities": entities, "relations": TAGGED["relations"]}
    rows = read_relations(file([listed]))
    assert [spans(row) for row in rows] == [[0, 2, 3, 4], [3, 4, 0, 2]]
    assert rows[0]["subject_type"] == "Peop"


def test_of_fewrel_the_first_mention_counts(file):
    sentence = {"tokens": ["a", "b", "c", "d"], "h": ["b", "Q1", [[1, 2], [3]]], "t": ["d", "Q2", [[3]]]}
    [row] = read_relations(file({"P26": [sentence]}))
    assert (spans(row), row["relation"], row["document"]) == ([1, 3, 3, 4], "P26", "Q1")


def test_semeval_marks_its_arguments(file):
    first, second = read_relations(file(SEMEVAL, "train.txt"))
    assert first["tokens"] == ["The", "wine", "cellar", "of", "the", "house", ",", "it's", "cold", "."]
    assert (spans(first), first["relation"]) == ([1, 3, 5, 6], "Component-Whole(e1,e2)")
    assert (second["tokens"][4], second["relation"], second["document"]) == ("well-kept", "no_relation", "2")


def test_our_columns_come_as_lines_as_a_list_or_as_parquet(file, tmp_path):
    """Spans that can't be are read as they are."""
    full = OURS | {"relation": "met", "document": "d", "pos": ["A", "B", "C"], "head": [2, 0, 2], "object_end": 9}
    full["deprel"] = ["a", "b", "c"]
    lines = read_relations(file("\n".join([json.dumps(full), "", json.dumps(OURS)]), "rows.jsonl"))
    assert [(row["relation"], row["object_end"]) for row in lines] == [("met", 9), (None, 3)]
    assert read_relations(file([full, OURS])) == lines
    pl.DataFrame([full, OURS]).write_parquet(tmp_path / "rows.parquet")
    assert read_relations(str(tmp_path / "rows.parquet")) == lines
