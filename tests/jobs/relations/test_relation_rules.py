"""The job `relation_rules` on sentences that are made up, and on files."""

import json
from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest
from scipy.stats import t

from tests.jobs.relations.conftest import NETWORK, SMALL
from tests.jobs.test_layouts import survive
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.draws import without_number
from tiltmeter.operators.relations.rules.matching import matches
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.synthetic import synthetic_instances
from tiltmeter.operators.statistics.intervals import LOGIT
from tiltmeter.operators.statistics.text_intervals import score_interval

ISSUE = {
    "instances": "split instance relation predicted probability rules status",
    "explanations": "instance decoder rule rule_id parses matches log_probability implied_relation",
    "rules": "rule_id relation text source support precision precision_low precision_high recall",
    "measures": "model split relation measure value low high floor",
    "learning_curve": "share measure value low high",
    "training": "model seed epoch relation_loss rule_loss",
}


def test_tables_have_what_was_asked_for(ruled):
    assert ruled.published == {*ISSUE, "draws"}
    for name, columns in ISSUE.items():
        assert set(columns.split()) <= set(ruled.table(name).column_names)


def test_constrained_rules_parse_and_match_their_own_sentence(ruled):
    """By the matcher itself, on the sentences from which they were written."""
    instances = synthetic_instances(50, part=2, seed=0)
    rows = ruled.rows("explanations", decoder="constrained")
    written = [row for row in rows if row["rule"] is not None]
    assert written
    assert all(matches(parsed(row["rule"]), instances[row["instance"]]) for row in written)
    assert all(row["parses"] and row["matches"] for row in written)
    assert all(row["reason"] for row in rows if row["rule"] is None)


def test_known_rules_are_picked_where_they_match(ruled):
    known = {row["text"]: row for row in ruled.rows("rules", split="test") if row["source"] == "made_up"}
    rows = [row for row in ruled.rows("explanations", decoder="retrieval") if row["rule"] is not None]
    assert rows
    assert all(row["matches"] and row["rule_id"] == known[row["rule"]]["rule_id"] for row in rows)
    assert all(row["implied_relation"] == known[row["rule"]]["relation"] for row in rows)


def test_new_rules_are_run_over_both_parts(ruled):
    known = {row["text"] for row in ruled.rows("rules", split="test") if row["source"] == "made_up"}
    new = {row["rule"] for row in ruled.rows("explanations") if row["matches"]} - known
    rows = [row for row in ruled.rows("rules") if row["source"] == "decoded"]
    assert {row["text"] for row in rows if row["support"]} >= {
        row["text"] for row in rows if row["text"] in new and row["split"] == "test"
    }
    for row in rows:
        assert row["precision_low"] is None or row["precision_low"] <= row["precision"] <= row["precision_high"]
        assert (row["precision_low"] is None) == (row["support"] < 2), "two sentences at least"


def test_rules_alone_are_as_good_as_their_matches_say(ruled):
    """Every known wording is right, so that precision is 1 and recall the share of known wordings."""
    test = [row for row in ruled.rows("instances", split="test") if row["relation"] != "no_relation"]
    hit = sum(bool(row["rules"]) for row in test)
    [precision] = ruled.rows("measures", model="rules", split="test", relation="all", measure="precision")
    [recall] = ruled.rows("measures", model="rules", split="test", relation="all", measure="recall")
    assert precision["value"] == 1.0
    assert recall["value"] == pytest.approx(hit / len(test))
    assert recall["low"] < recall["value"] < recall["high"]


def test_ablations_lack_what_they_are_without(ruled):
    assert not ruled.rows("explanations", model="no_decoder")
    assert {row["rule_loss"] for row in ruled.rows("training", model="no_decoder")} == {0.0}
    assert {row["relation_loss"] for row in ruled.rows("training", model="no_classifier")} == {0.0}
    rows = ruled.rows("measures", measure="f1", split="test", relation="all")
    assert {row["model"] for row in rows} == {"rules", "joint", "no_decoder", "joint - no_decoder", "joint - rules"}
    differences = [row for row in rows if " - " in row["model"]]
    assert all(0.0 < row["p_value"] <= row["p_adjusted"] <= 1.0 for row in differences)
    assert {row["p_adjusted"] for row in differences} >= {min(1.0, 2 * min(row["p_value"] for row in differences))}


def test_epochs_are_told_by_the_development_part(ruled):
    """F1 of the epochs that are kept, mean over seeds, is that which is measured on development sentences."""
    for model in ("joint", "no_decoder"):
        best = [row["f1"] for row in ruled.rows("training", model=model, share=1.0) if row["is_best"]]
        keys = {"model": model, "split": "development", "relation": "all", "measure": "f1", "decoder": ""}
        [measured] = ruled.rows("measures", **keys)
        assert measured["value"] == pytest.approx(np.mean(best))
        assert measured["sd_training"] == pytest.approx(np.std(best, ddof=1))


def test_curve_has_a_point_for_each_share(ruled):
    points = {row["share"]: row["num_rules"] for row in ruled.rows("learning_curve", measure="f1")}
    assert set(points) == {0.5, 1.0}
    assert points[0.5] < points[1.0] <= 8


EASY = (["Ada", "Bob", "Cleo", "Dan", "Eve", "Finn"], ["Acme", "Brit", "Corp", "Dyne", "Enco", "Fuji"])


def easy_sentences(num, seed):
    """Three phrases, of which each says what holds: relations are told right after an epoch or two, rules are not."""
    draws = np.random.default_rng(seed)
    phrases = {"works_for": ["works", "for"], "founder_of": ["founded"], "no_relation": ["dislikes"]}
    for _ in range(num):
        person, organization = (str(draws.choice(names)) for names in EASY)
        relation = str(draws.choice([*phrases]))
        tokens = [person, *phrases[relation], organization, "."]
        places = {"subject_start": 0, "subject_end": 1, "object_start": len(tokens) - 2, "object_end": len(tokens) - 1}
        yield {"tokens": tokens, **places, "subject_type": "PERSON", "relation": relation}


def test_rules_of_easy_sentences_are_written_and_not_padding(run_job, tmp_path):
    """Where F1 is 1 from an early epoch on, the first epoch of these was kept once, which writes padding."""
    parts = {"path": 300, "development": 60, "test": 60}
    for seed, (name, num) in enumerate(parts.items()):
        rows = "\n".join(json.dumps(row) for row in easy_sentences(num, seed))
        (tmp_path / f"{name}.jsonl").write_text(rows)
    texts = {"works_for": 'SUBJ "works" "for" OBJ', "founder_of": 'SUBJ "founded" OBJ'}
    rules = [{"id": name, "relation": name, "pattern": text} for name, text in texts.items()]
    (tmp_path / "rules.json").write_text(json.dumps(rules))
    files = [f"data.{name}={tmp_path}/{name}.jsonl" for name in parts] + [f"rules.path={tmp_path}/rules.json"]
    settings = ["job=relation_rules", "seeds=1", "job.num_resamples=50", *NETWORK, "training.max_epochs=25"]
    run = run_job(*settings, *files, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    epochs = run.rows("training")
    [best] = (row for row in epochs if row["is_best"])
    first = next(row["epoch"] for row in epochs if row["f1"] == 1.0)
    assert first < best["epoch"] == max(row["epoch"] for row in epochs if row["score"] == best["score"])
    assert best["score"] == max(row["score"] for row in epochs)
    rows = run.rows("explanations", decoder="published")
    assert not any("<" in row["rule"] for row in rows)
    assert np.mean([row["is_exact"] for row in rows]) >= 0.85


def test_the_best_epoch_being_the_last_or_the_first_is_said(ruled):
    for row in ruled.rows("training"):
        epochs = ruled.rows("training", model=row["model"], share=row["share"], seed=row["seed"])
        [best] = (one["epoch"] for one in epochs if one["is_best"])
        said = {4: "is the last of 4", 1: "is the first of"}.get(best, "")
        assert said in row["warning"]
        assert bool(said) == bool(row["warning"])
    assert any("the best epoch is the last" in row["warning"] for row in ruled.rows("training"))


# --- draws ----------------------------------------------------------------------------------------------------------


def draws_of(run, table):
    """Of its numbers, by their key columns."""
    return {draw["key"]: draw for draw in run.rows("draws", table=table, column="value")}


def key_of(row, *names):
    return json.dumps({name: row[name] for name in names})


MEASURE_KEYS = ("model", "decoder", "split", "relation", "measure")


def test_numbers_over_sentences_leave_their_draws(ruled):
    for table, keys in {"measures": MEASURE_KEYS, "learning_curve": ("share", "measure")}.items():
        rows = [row for row in ruled.rows(table) if row["low"] is not None]
        known, over_all = ({key_of(row, *keys) for row in part} for part in (rows, rows_over_all(rows)))
        assert over_all
        assert over_all <= draws_of(ruled, table).keys() <= known
    draws = {key: json.loads(draw["scheme"]) for key, draw in draws_of(ruled, "measures").items()}
    told = [row for row in ruled.rows("measures", decoder="", relation="all") if row["low"]]
    read = [without_number(json.dumps(draws[key_of(row, *MEASURE_KEYS)]))[0] for row in told]
    assert len({*read}) == 2, "one for each part, whatever the model"
    assert all('"paired_by": "items"' in scheme for scheme in read)


def rows_over_all(rows):
    return [row for row in rows if row.get("relation", "all") == "all"]


def test_draws_tell_how_many_sentences_a_number_rests_on(ruled):
    """Instances of one sentence are drawn together; precision counts those that are given a relation."""
    instances = ruled.rows("instances", split="test")
    draws = {key: json.loads(draw["scheme"])["num_items"] for key, draw in draws_of(ruled, "measures").items()}
    for row in ruled.rows("measures", model="rules", split="test", measure="recall"):
        relations = {one["relation"] for one in instances} - {"no_relation"}
        chosen = relations if row["relation"] == "all" else {row["relation"]}
        having = {one["sentence"] for one in instances if one["relation"] in chosen}
        assert draws.get(key_of(row, *MEASURE_KEYS), len(having)) == len(having)
    [precision] = ruled.rows("measures", model="rules", split="test", measure="precision", relation="all")
    [f1] = ruled.rows("measures", model="rules", split="test", measure="f1", relation="all")
    assert 2 <= draws[key_of(precision, *MEASURE_KEYS)] <= draws[key_of(f1, *MEASURE_KEYS)]


def test_recall_of_rules_alone_is_inferred_over_sentences(ruled):
    """By hand, from the table of instances; the draws, of 50 resamples, spread as much."""
    hits, golds = Counter(), Counter()
    for row in ruled.rows("instances", split="test"):
        golds[row["sentence"]] += row["relation"] != "no_relation"
        hits[row["sentence"]] += row["relation"] == row["rule_relation"] != "no_relation"
    gold, hit = (np.array([counts[name] for name in golds], dtype=float) for counts in (golds, hits))
    value, units = hit.sum() / gold.sum(), gold.sum() ** 2 / np.square(gold).sum()
    variance = (np.square(hit - value * gold) / (1.0 - gold / gold.sum())).sum() / gold.sum() ** 2
    ends = score_interval(value, variance, units, 0.95, LOGIT, units - 1)
    [recall] = ruled.rows("measures", model="rules", split="test", relation="all", measure="recall")
    assert [recall["value"], recall["low"], recall["high"]] == pytest.approx([value, *ends])
    assert (recall["unit"], recall["num_units"]) == ("sentence", np.count_nonzero(gold))
    assert recall["sd_training"] is None
    draws = draws_of(ruled, "measures")[key_of(recall, *MEASURE_KEYS)]["values"]
    assert np.std(draws, ddof=1) == pytest.approx(np.sqrt(variance), rel=0.35)


def test_a_later_run_on_the_same_sentences_is_judged_sentence_by_sentence(ruled, run_job, tmp_path):
    store = f"store={ruled.path.parent}/store"
    settings = [*SMALL, "seeds=1", "ablations=[]", "shares=[]", "training.max_epochs=10"]
    later = run_job(*settings, store, f"run_dir={tmp_path}/later")
    found = run_job("job=compare", f"runs=[{ruled.path},{later.path}]", store, f"run_dir={tmp_path}/compared")
    rows = {row["key"]: row for row in found.rows("differences", table="measures") if row["verdict"] != "gone"}
    keys = ("joint", "", "test", "all", "f1"), ("rules", "", "test", "all", "f1")
    joint, rules = (rows[json.dumps(dict(zip(MEASURE_KEYS, key, strict=True)))] for key in keys)
    assert {joint["paired_by"], rules["paired_by"]} == {"items"}
    assert (joint["num_draws"], rules["p"]) == (50, 1.0)
    assert joint["difference"] > 0.0
    # Around the difference itself, as wide as the draws of the difference spread.
    assert (joint["low"] + joint["high"]) / 2 == pytest.approx(joint["difference"])
    before, after = (np.array(draws_of(run, "measures")[joint["key"]]["values"]) for run in (ruled, later))
    assert joint["high"] - joint["difference"] >= t.ppf(0.975, 49) * np.std(after - before, ddof=1) * (1 - 1e-9)
    # Which instances rules are written of depends on what the model predicts.
    writes = dict(zip(MEASURE_KEYS, ("joint", "constrained", "test", "all", "writes"), strict=True))
    assert rows[json.dumps(writes)]["paired_by"] == "unpaired"


# --- layouts --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_one_worker_gives_the_tables_of_two(ruled, run_job, tmp_path):
    run = run_job(*SMALL, f"store={tmp_path}/store", f"run_dir={tmp_path}/run", "cluster.num_cpus=1")
    assert run.digests == ruled.digests


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_four_workers_and_other_units_give_the_same_tables(ruled, run_job, tmp_path):
    layout = ["cluster.num_cpus=4", "job.unit_instances=7"]
    run = run_job(*SMALL, *layout, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    assert run.digests == ruled.digests


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_tables_survive_a_kill(tiltmeter, outcome_of, tmp_path, ruled, victim):
    survive(tiltmeter, outcome_of, tmp_path, SMALL, victim, ruled)


# --- files ----------------------------------------------------------------------------------------------------------


def sentence(**changes):
    row = {"token": ["Ada", "married", "King", "."], "subj_start": 0, "subj_end": 0, "obj_start": 2, "obj_end": 2}
    return row | {"relation": "per:spouse", "subj_type": "PERSON", "obj_type": "PERSON"} | changes


@pytest.fixture
def files(tmp_path):
    """A part with a span outside of its sentence and arguments that overlap, and rules of which some are none."""
    slow = "b" * 61 + "xc"
    good = [sentence(), sentence(relation="no_relation", token=["Ada", "met", "King", "."])] * 9
    good += [sentence(), sentence(relation="no_relation", token=["Ada", slow, "King", "."])]
    bad = [sentence(obj_end=9), sentence(obj_start=0, obj_end=1)]
    (tmp_path / "part.json").write_text(json.dumps([*good, *bad]))
    rules = [
        {"id": "a", "relation": "per:spouse", "pattern": 'SUBJ "married" OBJ'},
        {"id": "b", "relation": "per:title", "pattern": 'SUBJ "chairs" OBJ'},
        {"id": "c", "relation": "per:spouse", "pattern": "SUBJ /(a+)+/ OBJ"},
        {"id": "d", "relation": "per:spouse", "pattern": "SUBJ ("},
        {"id": "e", "relation": "per:spouse", "pattern": "SUBJ /(?:[ab]|[ab][ab])+c/ OBJ"},
    ]
    (tmp_path / "rules.json").write_text(json.dumps(rules))
    path = f"{tmp_path}/part.json"
    parts = [f"data.path={path}", f"data.development={path}", f"data.test={path}"]
    return [*SMALL[3:5], "job=relation_rules", "seeds=1", *parts, f"rules.path={tmp_path}/rules.json", *SMALL[7:]]


def test_what_can_not_be_is_listed_with_its_reason(files, run_job, tmp_path):
    run = run_job(*files, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    rows = {row["instance"]: row for row in run.rows("instances", split="test")}
    assert "inside of 0 to 3" in rows[20]["reason"]
    assert "overlap" in rows[21]["reason"]
    reasons = {row["rule_id"]: row["reason"] for row in run.rows("rules", split="test")}
    assert reasons["a"] == ""
    assert "per:title" in reasons["b"]
    assert "/(a+)+/" in reasons["c"]
    assert reasons["d"]
    assert "takes more than 0.5 seconds with 'bbbb" in reasons["e"]
    assert {row["status"] for row in run.rows("rules", rule_id="e")} == {"timeout"}
    assert {row["support"] for row in run.rows("rules", rule_id="e")} == {None}


@pytest.mark.slow
def test_rules_are_mined_from_the_training_part(run_job, tmp_path):
    run = run_job(*SMALL, "rules.source=induced", "ablations=[]", "data.sentences=300", "seeds=1", f"store={tmp_path}")
    rules = [row for row in run.rows("rules", split="training") if row["source"] == "induced"]
    assert {row["relation"] for row in rules} <= {"born_in", "works_for", "married_to", "based_in"}
    assert len({row["relation"] for row in rules}) >= 2
    assert all(row["precision"] > 0.7 for row in rules)


RULE = 'OBJ[ner="PERSON"] "leads" SUBJ'


@pytest.fixture
def mapped(tmp_path):
    """A part as TACRED has it, rules without relations, lines of what they match, and trees."""
    tokens = ["King", "leads", "Acme", "."]
    good = {"token": tokens, "relation": "org:top_members/employees", "subj_type": "ORGANIZATION", "obj_type": "PERSON"}
    good |= {"subj_start": 2, "subj_end": 2, "obj_start": 0, "obj_end": 0}
    turned = {"token": tokens, "relation": "no_relation", "subj_start": 0, "subj_end": 0, "obj_start": 2, "obj_end": 2}
    rows = [row | {"docid": str(number)} for row in (good, turned) for number in range(20)]
    (tmp_path / "part.json").write_text(json.dumps(rows))
    (tmp_path / "rules.json").write_text(json.dumps({"t_1": RULE, "s_2": RULE}))
    lines = ["[('org:top_membersemployees', 't_1')]"] * 20 + ["no_rule"] * 20
    (tmp_path / "mappings.txt").write_text("\n".join(lines))
    heads = zip(tokens, (2, 0, 2, 2), ("nsubj", "root", "dobj", "punct"), strict=True)
    trees = [f"{place}\t{word}\t_\t_\tNN\t_\t{head}\t{name}\t_\t_" for place, (word, head, name) in enumerate(heads, 1)]
    (tmp_path / "trees.conllu").write_text("\n".join(trees) + "\n")
    settings = [f"{name}={tmp_path}/part.json" for name in ("data.path", "data.development", "data.test")]
    for split in ("training", "development", "test"):
        settings += [f"rules.mappings.{split}={tmp_path}/mappings.txt", f"data.trees.{split}={tmp_path}/trees.conllu"]
    return [*settings, "rules.source=mappings", f"rules.path={tmp_path}/rules.json", "data.mode=rules"]


@pytest.mark.slow
def test_rules_and_what_they_match_are_read_as_released(run_job, tmp_path, mapped):
    """Relations of rules come from the lines that say which rules match, and have their slashes back."""
    run = run_job(*SMALL, *mapped, "shares=[]", "+inverses=tacred", f"store={tmp_path}/store")
    rules = {row["rule_id"]: row for row in run.rows("rules", split="training") if row["source"] != "decoded"}
    assert rules["t_1"]["relation"] == "org:top_members/employees"
    assert (rules["t_1"]["support"], rules["t_1"]["precision"]) == (20, 1.0)
    assert rules["s_2"]["reason"] == "it matches no training instance, so that nothing says its relation"
    assert {row["encoder"] for row in run.rows("instances")} == {"tree"}
    told = {row["num_instances"] for row in run.rows("training")}
    assert told == {40}, "the relation is none that may hold the other way too, so that the other direction teaches"


@pytest.mark.slow
def test_a_share_of_tagged_rules_tells_of_fewer_instances(run_job, tmp_path):
    """What rules say that are left out is not learnt from."""
    rows = [
        {"tokens": ["Booth", verb, "Lincoln", "."], "tags": ["U-Peop", "O", "U-Peop", "O"]}
        | {"relations": [{"type": "Kill", "head": 0, "tail": 1}], "orig_id": f"{verb}{number}"}
        for verb, num in (("shot", 6), ("killed", 3))
        for number in range(num)
    ]
    (tmp_path / "part.json").write_text(json.dumps(rows))
    (tmp_path / "tags.txt").write_text("\n".join(["Kill\t[1]", "no_relation\t[]"] * len(rows)))
    parts = [f"{name}={tmp_path}/part.json" for name in ("data.path", "data.development", "data.test")]
    parts += [f"rules.tags.{split}={tmp_path}/tags.txt" for split in ("training", "development", "test")]
    run = run_job(*SMALL, *parts, "rules.source=tags", "data.mode=rules", "seeds=1", f"store={tmp_path}/store")
    told = {(row["share"], row["num_instances"]) for row in run.rows("training", model="joint")}
    assert told == {(1.0, 9), (0.5, 6)}


@pytest.mark.slow
def test_a_transformer_reads_in_place_of_the_bilstm(run_job, tmp_path, write_bert):
    letters = [chr(ord("a") + place) for place in range(26)]
    words = [*letters, *(f"##{letter}" for letter in letters)]
    folder = write_bert(tmp_path / "bert", words, max_position_embeddings=128)
    settings = [
        f"encoder.checkpoint={folder}",
        "training.transformer_rate=0.001",
        "seeds=1",
        "ablations=[]",
        "shares=[]",
    ]
    run = run_job(*SMALL, *settings, f"store={tmp_path}/store")
    losses = [row["relation_loss"] for row in run.rows("training")]
    assert losses[-1] < losses[0]
    written = run.rows("explanations", decoder="constrained", status="ok")
    assert written
    assert all(row["matches"] for row in written)


@pytest.mark.slow
def test_words_start_from_vectors(run_job, tmp_path):
    words = ["born", "in", "native", "of", "works", "for", "engineer", "at", "married", "and", "wife", "based"]
    vectors = {word: [(7 * place + number) % 5 for number in range(6)] for place, word in enumerate(words)}
    rows = [" ".join(map(str, (word, *vector))) for word, vector in vectors.items()]
    (tmp_path / "vectors.txt").write_text("\n".join(rows) + "\n")
    settings = [f"encoder.vectors={tmp_path}/vectors.txt", "seeds=1", "ablations=[]", "shares=[]", "texts.path=null"]
    run = run_job(*SMALL, *settings, f"store={tmp_path}/store")
    assert run.record["inputs"]["vectors"]["name"].endswith("vectors.txt")
    drawn = run_job(*SMALL, *settings[1:], f"store={tmp_path}/store", f"run_dir={tmp_path}/drawn")
    assert run.rows("training")[0]["relation_loss"] != drawn.rows("training")[0]["relation_loss"]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (["encoder.vectors=a.txt", "encoder.checkpoint=b"], r"encoder\.vectors: a transformer has its own vectors"),
        (["data.path=a.json"], r"data\.development: must name the file"),
        (["data.path=a", "data.development=b", "data.test=c"], r"rules\.path: must name a file of rules"),
        (["rules.source=tags"], r"rules\.tags: must name a file"),
        (["rules.source=induced", "rules.path=a"], r"rules\.path: no file is read"),
        (["decoder.hidden=7"], r"decoder\.hidden=7: .*set it to 100"),
        (["rules.share=0"], r"rules\.share=0: "),
        (["ablations=[no_decoder, no_decoder]"], "named more than once"),
        (["decoding.kinds=[]"], r"decoding\.kinds"),
    ],
)
def test_settings_that_can_not_be_are_refused(configured, setting, message):
    with pytest.raises(ConfigError, match=message):
        configured("job=relation_rules", *setting)


@pytest.mark.slow
def test_rules_that_were_run_elsewhere_are_taken_from_their_tags(run_job, tmp_path):
    """Sentences of three names, as CoNLL04 has them: six pairs, of which rules speak of one."""
    tags = ["U-Peop", "O", "U-Peop", "O", "U-Loc", "O"]
    names = [("Ada", "Ann", "Rome"), ("Bob", "Ben", "Bonn")] * 8
    sentences = [
        {"tokens": [one, "shot", two, "in", place, "."], "tags": tags, "orig_id": number}
        | {"relations": [{"type": "Kill", "head": 0, "tail": 1}, {"type": "Live_In", "head": 1, "tail": 2}]}
        for number, (one, two, place) in enumerate(names)
    ]
    (tmp_path / "part.json").write_text(json.dumps(sentences))
    lines = ["Kill\t[1]", *["no_relation\t[]"] * 5]
    (tmp_path / "tags.txt").write_text("\n".join(lines * len(sentences)))
    parts = [f"{name}={tmp_path}/part.json" for name in ("data.path", "data.development", "data.test")]
    parts += [f"rules.tags.{split}={tmp_path}/tags.txt" for split in ("training", "development", "test")]
    run = run_job(*SMALL, *parts, "rules.source=tags", "data.mode=rules", "shares=[]", f"store={tmp_path}/store")
    [rule] = run.rows("rules", source="tags", split="test")
    assert rule["text"] == 'SUBJ[ner="Peop"] "shot" OBJ[ner="Peop"]'
    assert (rule["support"], rule["precision"], rule["recall"]) == (16, 1.0, 1.0)
    assert {row["num_instances"] for row in run.rows("training")} == {16 * 5}, "not the other direction"
    [recall] = run.rows("measures", model="rules", split="test", relation="all", measure="recall")
    assert recall["value"] == 0.5


def test_preset_is_the_recipe_of_the_paper(configured):
    """Table 4 and appendix A of the paper; what is said beside it wins."""
    files = [f"{name}=x.json" for name in ("data.path", "data.development", "data.test", "rules.path")]
    files += [f"rules.mappings.{split}=x.txt" for split in ("training", "development", "test")]
    config = configured("job=relation_rules", "preset=published", *files, "training.batch=20")
    sizes = asdict(config.encoder.network)
    assert {sizes[name] for name in ("lstm", "gcn", "ffn")} == {200}
    assert {sizes[f"{name}_layers"] for name in ("lstm", "gcn", "ffn")} == {2}
    assert (sizes["words"], sizes["pos"], sizes["ner"], sizes["prune"]) == (300, 30, 30, 1)
    decoder, training = config.decoder, config.training
    assert (decoder.layers, decoder.hidden, decoder.embedding, decoder.ffn, decoder.max_length) == (
        2,
        200,
        100,
        200,
        100,
    )
    assert decoder.output == "context"
    assert (training.optimizer, training.rate, training.decay, training.decay_from) == ("adagrad", 0.3, 0.9, 1)
    assert (training.dropout, training.max_epochs, training.patience, training.batch) == (0.5, 100, None, 20)
    assert (config.rules.source, config.ablations) == ("mappings", ("no_decoder", "no_classifier"))
    assert config.data.inverses["org:parents"] == "org:subsidiaries"
    with pytest.raises(ConfigError, match=r"rules\.mappings: must name a file"):
        configured("job=relation_rules", "preset=published", *files[:4])
