"""The job `relation_rules` on sentences that are made up, and on files; what it computes is in :mod:`.test_by_hand`."""

import json
from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest

from tests.jobs.relations.conftest import SMALL
from tests.jobs.test_layouts import survive
from tiltmeter.jobs.relations.config import find_pretrained
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.units import units_of

MEASURE_KEYS = ("model", "decoder", "split", "relation", "measure")


@pytest.mark.slow
def test_a_later_run_on_the_same_sentences_is_judged_sentence_by_sentence(ruled, run_here, texts, tmp_path):
    store = f"store={ruled.path.parent}/store"
    settings = [*SMALL, *texts, "seeds=1", "ablations=[]", "shares=[]", "training.max_epochs=10"]
    later = run_here(*settings, store, f"run_dir={tmp_path}/later")
    found = run_here("job=compare", f"runs=[{ruled.path},{later.path}]", store, f"run_dir={tmp_path}/compared")
    rows = {row["key"]: row for row in found.rows("differences", table="measures") if row["verdict"] != "gone"}
    keys = ("joint", "", "test", "all", "f1"), ("rules", "", "test", "all", "f1")
    joint, rules = (rows[json.dumps(dict(zip(MEASURE_KEYS, key, strict=True)))] for key in keys)
    assert {joint["paired_by"], rules["paired_by"]} == {"items"}
    assert (joint["num_draws"], rules["p"]) == (20, 1.0)
    assert (joint["low"] + joint["high"]) / 2 == pytest.approx(joint["difference"]), "around the difference itself"
    # Which instances rules are written of depends on what the model predicts.
    writes = dict(zip(MEASURE_KEYS, ("joint", "published", "test", "all", "writes"), strict=True))
    assert rows[json.dumps(writes)]["paired_by"] == "unpaired"


# --- layouts --------------------------------------------------------------------------------------------------------


ODD = ["cluster.num_cpus=2", "job.unit_instances=33", "texts.reading.shard_megabytes=0.001"]


def test_two_workers_and_odd_units_give_the_same_tables(ruled, run_job, texts, tmp_path):
    run = run_job(*SMALL, *texts, *ODD, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    assert run.stage("run rules over texts")["num_done"] > 1
    assert run.digests == ruled.digests


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_tables_survive_a_kill(tiltmeter, outcome_of, tmp_path, ruled, texts, victim):
    survive(tiltmeter, outcome_of, tmp_path, [*SMALL, *texts], victim, ruled)


# --- files ----------------------------------------------------------------------------------------------------------


def parts_of(path):
    return [f"{name}={path}" for name in ("data.path", "data.development", "data.test")]


def beside(kind, path):
    return [f"{kind}.{split}={path}" for split in ("training", "development", "test")]


def sentence(*tokens, relation="per:spouse", **changes):
    row = {"token": tokens, "subj_start": 0, "subj_end": 0, "obj_start": 2, "obj_end": 2, "relation": relation}
    return row | {"subj_type": "PERSON", "obj_type": "PERSON"} | changes


def test_what_can_not_be_is_listed_with_its_reason(staged, tmp_path):
    """A span outside of its sentence, arguments that overlap, and rules of which some are none."""
    good = [sentence("Ada", "married", "King", "."), sentence("Ada", "met", "King", ".", relation="no_relation")] * 9
    slow = sentence("Ada", "b" * 61 + "xc", "King", ".", relation="no_relation")
    bad = [sentence("Ada", "met", "King", ".", obj_end=9), sentence("Ada", "met", "King", ".", obj_start=0, obj_end=1)]
    (tmp_path / "part.json").write_text(json.dumps([*good, good[1], *bad]))
    (tmp_path / "slow.json").write_text(json.dumps([*good, slow, *bad]))
    patterns = {
        "a": ("per:spouse", 'SUBJ "married" OBJ', ""),
        "b": ("per:title", 'SUBJ "chairs" OBJ', "no training instance has the relation 'per:title'"),
        "c": ("per:spouse", "SUBJ /(a+)+/ OBJ", "/(a+)+/"),
        "d": ("per:spouse", "SUBJ (", "("),
        "e": ("per:spouse", "SUBJ /(?:[ab]|[ab][ab])+c/ OBJ", "takes more than 0.5 seconds with 'bbbb"),
    }
    rules = [{"id": name, "relation": relation, "pattern": text} for name, (relation, text, _) in patterns.items()]
    (tmp_path / "rules.json").write_text(json.dumps(rules))
    files = [*parts_of(tmp_path / "part.json"), f"data.test={tmp_path}/slow.json"]
    made = staged(*files, f"rules.path={tmp_path}/rules.json")
    reasons = [row["reason"] for row in made.rows["test"]]
    assert [bool(reason) for reason in reasons] == [False] * 19 + [True] * 2
    assert "inside of 0 to 3" in reasons[19]
    assert "overlap" in reasons[20]
    assert len(made.rules) == 15
    for row in made.rules:
        reason = patterns[row["rule_id"]][2]
        assert reason in row["reason"]
        assert (row["support"], row["reason"] == "") == ((9, True) if row["rule_id"] == "a" else (None, False))
    assert {row["status"] for row in made.rules if row["rule_id"] == "e"} == {"timeout"}


def test_rules_are_counted_over_documents_that_hold_several_sentences(staged, tmp_path):
    rows = [
        sentence(f"A{number}", "met", "King", relation="x" if number % 7 else "y", docid=f"d{number // 4}")
        for number in range(24)
    ]
    (tmp_path / "part.json").write_text(json.dumps(rows))
    (tmp_path / "rules.json").write_text(json.dumps([{"id": "a", "relation": "x", "pattern": 'SUBJ "met" OBJ'}]))
    made = staged(*parts_of(tmp_path / "part.json"), f"rules.path={tmp_path}/rules.json", "job.level=0.8")
    right = np.array([row["relation"] == "x" for row in rows])
    expected = share(right, units_of(np.arange(24) // 4, "document"), level=0.8)
    for row in made.rules:
        ends = [row[f"precision{end}"] for end in ("", "_low", "_high")]
        assert ends == pytest.approx([expected.value, expected.low, expected.high])


def test_a_new_rule_stands_for_what_most_training_instances_that_it_matches_have(staged, tmp_path):
    """In the test part most have another relation; what matches nothing in training stands for none."""
    settings = [f"rules.path={tmp_path}/rules.json"]
    verbs = {"training": "xxy", "development": "yyz", "test": "zyyyyx"}
    for split, relations in verbs.items():
        rows = [sentence(f"A{number}", "met", "King", relation=name) for number, name in enumerate(relations)]
        rows += [sentence("Ada", "knew" if split == "training" else "saw", "King", relation="y")]
        rows += [
            sentence("Ada", word, "King", relation="z") for word in ("abc", "b" * 61 + "xc") if split == "training"
        ]
        (tmp_path / f"{split}.json").write_text(json.dumps(rows))
        settings.append(f"data.{'path' if split == 'training' else split}={tmp_path}/{split}.json")
    (tmp_path / "rules.json").write_text(json.dumps([{"id": "a", "relation": "y", "pattern": 'SUBJ "knew" OBJ'}]))
    slow = "SUBJ /(?:[ab]|[ab][ab])+c/ OBJ"
    written = {'SUBJ "met" OBJ': "x", 'SUBJ "saw" OBJ': None, 'SUBJ "knew" OBJ': "y", slow: "z"}
    explained = [{"rule": text, "parses": True, "predicted": name} for text in written for name in "xy"]
    made = staged(*settings).judged(explained)
    for row in made["explanations"]:
        implied = written[row["rule"]]
        assert row["implied_relation"] == implied
        assert row["is_faithful"] == (None if implied is None else implied == row["predicted"])
        assert row["rule_id"] == ("a" if "knew" in row["rule"] else None)
    counted = [tuple(row[name] for name in ("split", "text", "relation", "support", "recall")) for row in made["rules"]]
    met = [("training", 'SUBJ "met" OBJ', "x", 3, 1.0), ("test", 'SUBJ "met" OBJ', "x", 6, 1.0)]
    assert counted == [*met, ("training", slow, "z", None, None), ("test", slow, "z", None, None)]
    assert [row["status"] for row in made["rules"]] == ["ok", "ok", "timeout", "timeout"]
    assert "takes more than 0.5 seconds" in made["rules"][-1]["reason"]


def test_rules_and_what_they_match_are_read_as_released(staged, tmp_path):
    """Relations of rules come from the lines that say which rules match, and have their slashes back."""
    rule = 'OBJ[ner="PERSON"] "leads" SUBJ'
    spans = {"subj_start": 2, "subj_end": 2, "obj_start": 0, "obj_end": 0}
    tokens, name = ("King", "leads", "Acme", "."), "org:top_members/employees"
    good = sentence(*tokens, relation=name, subj_type="ORGANIZATION", **spans)
    turned = sentence(*tokens, relation="no_relation", subj_type=None, obj_type=None)
    rows = [row | {"docid": str(number)} for row in (good, turned) for number in range(20)]
    (tmp_path / "part.json").write_text(json.dumps(rows))
    (tmp_path / "rules.json").write_text(json.dumps(dict.fromkeys(("t_1", "s_2"), rule)))
    lines = ["[('org:top_membersemployees', 't_1')]"] * 19 + ["[('per:title', 't_1')]"] + ["no_rule"] * 20
    (tmp_path / "mappings.txt").write_text("\n".join(lines))
    heads = zip(tokens, (2, 0, 2, 2), ("nsubj", "root", "dobj", "punct"), strict=True)
    trees = [f"{place}\t{word}\t_\t_\tNN\t_\t{head}\t{name}\t_\t_" for place, (word, head, name) in enumerate(heads, 1)]
    (tmp_path / "trees.conllu").write_text("\n".join(trees) + "\n")
    files = [*beside("rules.mappings", tmp_path / "mappings.txt"), *beside("data.trees", tmp_path / "trees.conllu")]
    settings = ["rules.source=mappings", f"rules.path={tmp_path}/rules.json", "data.mode=rules"]
    settings += [*parts_of(tmp_path / "part.json"), *files]
    made = staged(*settings, "+inverses=tacred", "job.unit_instances=7")
    rules = {row["rule_id"]: row for row in made.rules if row["split"] == "test"}
    assert rules["t_1"]["relation"] == "org:top_members/employees"
    assert (rules["t_1"]["support"], rules["t_1"]["precision"], rules["t_1"]["recall"]) == (20, 1.0, 1.0)
    assert rules["s_2"]["reason"] == "it matches no training instance, so that nothing says its relation"
    arcs = {(*row["head"], *row["deprel"]) for row in made.rows["training"]}
    assert arcs == {(2, 0, 2, 2, "nsubj", "root", "dobj", "punct")}
    assert [row["sentence"] for row in made.rows["test"]] == [*range(20)] * 2, "one sentence in two documents is two"
    told = made.supervised()["training"]
    assert len(told.instances) == 40, "the relation may not hold the other way too: the other direction teaches"
    assert len(staged(*settings).supervised()["training"].instances) == 20, "any relation may"
    assert told.labels == ["org:top_members/employees"] * 20 + ["no_relation"] * 20


def test_a_share_of_tagged_rules_tells_of_fewer_instances(staged, tmp_path):
    """As CoNLL04 has them: what rules say that are left out is not learnt from; other parts keep what holds. A file of
    rules is not read beside."""
    rows = [
        {"tokens": ["Booth", verb, "Lincoln", "."], "tags": ["U-Peop", "O", "U-Peop", "O"]}
        | {"relations": [{"type": "Kill", "head": 0, "tail": 1}], "orig_id": f"{verb}{number}"}
        for verb, num in (("shot", 6), ("killed", 3))
        for number in range(num)
    ]
    (tmp_path / "tags.txt").write_text("\n".join(["Kill\t[1]", "no_relation\t[]"] * len(rows)))
    (tmp_path / "part.json").write_text(json.dumps(rows))
    files = [*parts_of(tmp_path / "part.json"), *beside("rules.tags", tmp_path / "tags.txt")]
    (tmp_path / "rules.json").write_text('{"a": "SUBJ [] OBJ"}')
    made = staged(*files, "rules.source=tags", f"rules.path={tmp_path}/rules.json", "data.mode=rules")
    assert {row["source"] for row in made.rules} == {"tags"}
    for share_of_rules, num in ((1.0, 9), (0.5, 6)):
        told = made.supervised(share_of_rules)
        assert told["training"].labels == ["Kill"] * num
        assert Counter(told["development"].labels) == {"Kill": 9, "no_relation": 9}
        assert [len(rules) for rules in told["training"].rules] == [1] * num
        assert sum(map(len, told["development"].rules)) == num


def test_a_checkpoint_is_of_the_revision_that_is_named(configured, hub, write_bert):
    for tag, num_layers in (("main", 1), ("second", 2)):
        write_bert(hub("bert", tag), ["a"], num_hidden_layers=num_layers)
    encoder = configured("job=relation_rules", "encoder.checkpoint=we/bert", "encoder.revision=second").encoder
    made = find_pretrained(encoder)
    assert made.identity == {"checkpoint": ["we/bert", hub("bert", "second").name]}
    assert made.transformer()[0].config.num_hidden_layers == 2


@pytest.mark.slow
def test_a_transformer_reads_in_place_of_the_bilstm(run_here, tmp_path, hub, write_bert):
    """That of the revision which is named."""
    letters = [chr(ord("a") + place) for place in range(26)]
    words = [*letters, *(f"##{letter}" for letter in letters)]
    for tag, spread in (("main", 0.02), ("second", 0.2)):
        write_bert(hub("bert", tag), words, max_position_embeddings=128, initializer_range=spread)
    settings = ["encoder.checkpoint=we/bert", "training.transformer_rate=0.001", "seeds=1", "ablations=[]", "shares=[]"]
    settings += [*SMALL, f"store={tmp_path}/store"]
    run = run_here(*settings, "encoder.revision=second", f"run_dir={tmp_path}/second")
    assert run.record["inputs"]["checkpoint"] == hub("bert", "second").name
    losses = [row["relation_loss"] for row in run.rows("training")]
    assert losses[-1] < losses[0]
    written = run.rows("explanations", decoder="constrained", status="ok")
    assert written
    assert all(row["matches"] for row in written)
    other = run_here(*settings, f"run_dir={tmp_path}/main")
    assert other.rows("training")[0]["relation_loss"] != pytest.approx(losses[0], rel=1e-3)


def test_preset_is_the_recipe_of_the_paper(configured):
    """Table 4 and appendix A of the paper; what is said beside it wins."""
    files = [f"{name}=x.json" for name in ("data.path", "data.development", "data.test", "rules.path")]
    files += [f"rules.mappings.{split}=x.txt" for split in ("training", "development", "test")]
    config = configured("job=relation_rules", "preset=published", *files, "training.batch=20")
    encoder = dict.fromkeys(("lstm", "gcn", "ffn"), 200) | dict.fromkeys(("lstm_layers", "gcn_layers", "ffn_layers"), 2)
    published = {
        "encoder": encoder | {"words": 300, "pos": 30, "ner": 30, "prune": 1},
        "decoder": {"layers": 2, "hidden": 200, "embedding": 100, "ffn": 200, "max_length": 100, "output": "context"},
        "training": {"optimizer": "adagrad", "rate": 0.3, "decay": 0.9, "decay_from": 1, "dropout": 0.5}
        | {"max_epochs": 100, "patience": None, "batch": 20},
    }
    for part, settings in published.items():
        assert settings.items() <= asdict(getattr(config, part)).items()
    assert (config.rules.source, config.ablations) == ("mappings", ("no_decoder", "no_classifier"))
    assert config.data.inverses["org:parents"] == "org:subsidiaries"
