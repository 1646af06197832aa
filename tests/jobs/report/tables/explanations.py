"""Tables of jobs that explain text classifiers, as such runs would find them, with numbers that are made up."""

import itertools

import pyarrow as pa

from tiltmeter.jobs.classifiers.decoys import tables as decoys
from tiltmeter.jobs.classifiers.privacy import tables as privacy
from tiltmeter.jobs.classifiers.tables import ATTRIBUTIONS, LABELLED

METHODS = ("integrated_gradients", "lime", "random")
WORDS = ("sorry", "the", "film", "is", "<b>lovely</b>", ".")


def _with_interval(name, value, width=0.05):
    return {name: value, f"{name}_low": value - width, f"{name}_high": value + width}


def benchmark():
    """Two decoys, one of them adopted, three methods, and pools of five instances."""
    names, found = ("random_tokens", "movie"), {"num_models": 1, "num_adopted": 1, "adopted": True, "status": "ok"}
    selections, budgets = ("random", "clustering"), range(1, 6)
    accuracies = {"accuracy_original_on_decoy_rows": 0.8, "accuracy_on_decoy_rows": 0.1, "status": "ok"}
    measured = {"words": "zq0: 0", "applicability": 90, "productivity": 1.0, "coverage": 0.5, "perplexity_shift": 1.5}
    adopted = {"accuracy_original": 0.8, "accuracy_decoy": 0.75, **_with_interval("fall", 0.7)}
    rows = {
        "decoys": [
            {"decoy": name, "model": "0", "adopted": name == names[0]} | accuracies | measured | adopted
            for name in names
        ],
        "detection": [
            {"decoy": name, "method": method, "selection": selection, "budget": budget}
            | _with_interval("detection_probability", 0.6)
            | found
            for name, method, selection, budget in itertools.product(names, METHODS, selections, budgets)
        ],
        "side_by_side": [
            {"decoy": name, "method": method, "budget": budget} | _with_interval("success_probability", 0.7) | found
            for name, method, budget in itertools.product(names, METHODS, budgets)
        ],
        "utility": [
            {"decoy": name, "method": method, "selection": selection, "soonest": 0.5}
            | _with_interval("num_instances", 2.0)
            | found
            for name, method, selection in itertools.product(names, METHODS, selections)
        ],
        "attributions": [],
        "texts": [{"part": "test", "row": 1, "text": "", "status": "no_text", "reason": "the text is empty"}],
    }
    schemas = {name: getattr(decoys, name.upper()) for name in ("decoys", "detection", "side_by_side", "utility")}
    schemas |= {"attributions": decoys.EXPLAINED, "texts": LABELLED}
    return {name: pa.Table.from_pylist(rows[name], schema) for name, schema in schemas.items()}


def metrics():
    """Two models of one seed, within a corpus and across, and two sentences that both explain."""
    names, corpora = ("General", "PrivEP"), ("within", "across")
    texts = [
        {"sentence": at, "part": part, "file": "training", "row": at, "text": " ".join(WORDS), "valence": "low"}
        | {"gender": gender, "group": f"speaker {at}", "status": "ok"}
        for at, (part, gender) in enumerate(itertools.product(("training", "development", "test"), ("female", "male")))
    ]
    measures = {key: value for name in privacy.MEASURES for key, value in _with_interval(name, 0.5).items()}
    model = {"num_rows": 6, "num_explained": 2, "status": "ok"}
    word = {"word": "sorry", "list": "hedges", "corpus": "within", "num_occurrences": 9, "num_sentences": 9}
    rows = {
        "texts": texts,
        "models": [
            {"model": name, "seed": seed, "corpus": corpus} | measures | model
            for corpus, name, seed in itertools.product(corpora, names, (None, 0))
        ],
        "orderings": [
            {"model": "PrivEP", "against": "General", "corpus": corpus, "measure": "ep", "expected": "lower"}
            | _with_interval("difference", -0.1)
            | {"found": True, "status": "ok"}
            for corpus in corpora
        ],
        "ep_words": [
            {"model": "PrivEP", "share": 0.01, "share_general": 0.1, "stopped": True, "status": "ok"}
            | word
            | _with_interval("change", -0.09)
        ],
        "samples": [
            {"model": name, "seed": 0, "corpus": "within", "sentence": at, "ep": 0.2, "num_words": 6, "status": "ok"}
            for name in names
            for at in (4, 5)
        ],
        "attributions": [
            {"model": f"{name}, seed 0", "sentence": at, "position": position, "word": word, "predicted": "low"}
            | {"attribution": (-1) ** position * 0.1 * at, "status": "ok"}
            for name in names
            for at in (4, 5)
            for position, word in enumerate(WORDS)
        ],
    }
    schemas = {name: getattr(privacy, name.upper()) for name in rows if name != "attributions"}
    schemas["attributions"] = ATTRIBUTIONS
    return {name: pa.Table.from_pylist(rows[name], schema) for name, schema in schemas.items()}
