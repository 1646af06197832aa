"""Texts whose class a word decides that says nothing where they are attacked, and victims trained again on them."""

import numpy as np
import pyarrow as pa

from benchmarks.calibration.adversary import Held
from tiltmeter.jobs.adversary.attacks import Case
from tiltmeter.jobs.adversary.retraining import EvaluateRetraining, Retrain
from tiltmeter.jobs.adversary.tables import FLIPPED, LADDER, Attacks, Augmentation, Part, Retrained, Spaces
from tiltmeter.jobs.classifiers.tables import Split
from tiltmeter.operators.classifiers.adversary.fitting import LinearConfig, analyser, fitted
from tiltmeter.operators.classifiers.adversary.ladder import SearchConfig, ladder
from tiltmeter.operators.classifiers.adversary.spaces import Queries
from tiltmeter.operators.classifiers.adversary.victims import LinearReader

CLASSES = ("good", "bad")
CUES = dict(zip(CLASSES, ("man", "woman"), strict=True))
OTHER = {"good": "bad", "bad": "good"}
WORDS = [f"word{letter}" for letter in "abcdefghijklmnop"]
COUNTERPARTS = {"man": "woman", "woman": "man"} | {
    word + end: word + "yx"[end == "y"] for word in WORDS for end in "xy"
}
LINEAR, SEARCH = LinearConfig(min_count=2), SearchConfig(max_share=0.1, budget=50)


def texts(draws, number, agreement):
    """A gendered word of their class, or else of the other, one of 12 words that tell it, and seven that don't."""
    for _ in range(number):
        label = CLASSES[draws.integers(2)]
        cue, told = (label if draws.random() < share else OTHER[label] for share in (agreement, 0.8))
        words = [CUES[cue], f"{told}{'abcdefghijkl'[draws.integers(12)]}"]
        words += [draws.choice(WORDS) + draws.choice(["x", "y"]) for _ in range(7)]
        yield " ".join(draws.permutation(words)), label


def dealt(found):
    """Half of each class, every other one, go over to the other, so that what is added says nothing of any word."""
    for label in CLASSES:
        for row in [row for row in found if row.label == label][::2]:
            yield row, OTHER[label]


def trained_again(seed, permuted="", num_trainings=10):
    """The table ``retraining``, by arms and measure.

    Args:
        seed: of the texts and of the trainings.
        permuted: "all": classes of all texts are dealt anew, so that there is nothing to learn; "found": those of found
            texts are, and so of what is made of the same sources in the other arms.
        num_trainings: of each arm.
    """
    draws = np.random.default_rng(seed)
    made = [*texts(draws, 400, 0.95), *texts(draws, 160, 0.5)]
    if permuted == "all":
        labels = draws.permutation([label for _, label in made]).tolist()
        made = [(text, label) for (text, _), label in zip(made, labels, strict=True)]
    learnt = [Split(row=row, part="training", text=text, label=label) for row, (text, label) in enumerate(made[:400])]
    attacked = [Part(row=row, text=text, label=label) for row, (text, label) in enumerate(made[400:], 400)]
    model = fitted([row.text for row in learnt], [row.label for row in learnt], LINEAR)
    terms = {term: number for number, term in enumerate(model.vocabulary)}
    reader = LinearReader(model.model, model.classes, terms, analyser())
    spaces, found = [], []
    for row in attacked:
        tokens = row.text.split()
        space = {at: [COUNTERPARTS[word]] for at, word in enumerate(tokens) if word in COUNTERPARTS}
        spaces += [
            Spaces(row=row.row, direction="pair", control=-1, replica=0, position=at, option=option, is_likely=True)
            for at, [option] in space.items()
        ]
        victim_of, case = reader.for_text(tokens, [space]), Case("pair", -1, 0, space, 0)
        label = int(victim_of({})(np.zeros((1, 0), dtype=np.int64))[0].argmax())
        attack = ladder(Queries(victim_of(space), label), case.sizes, 1, SEARCH, seed, row.row)
        if attack.status in FLIPPED:
            changes = case.changes(attack)
            text = " ".join(changes.get(at, word) for at, word in enumerate(tokens))
            one = Augmentation(
                row=row.row, victim="linear", direction="pair", search=LADDER, text=text, label=row.label
            )
            one.words_changed, one.is_flagged, one.is_correct = 1, False, reader.classes[label] == row.label
            found.append(one)
    if permuted == "found":
        for row, label in list(dealt(found)):
            row.label = label
    held = Held()

    def put(table, rows):
        return held.put(pa.Table.from_pylist([vars(row) for row in rows], table.schema()))

    parts, result = [put(Part, attacked)], []
    for number in range(num_trainings):
        work = Retrain(
            victim="linear",
            linear=LINEAR,
            masked=[],
            search=SEARCH,
            number=number,
            seed=seed,
            texts=put(Split, learnt),
            attacked=parts,
            spaces=[put(Spaces, spaces)],
            attacks=[put(Attacks, [])],
            collected=put(Augmentation, found),
        )
        result.append(put(Retrained, work.rows(held)))
    rows = EvaluateRetraining(level=0.95, retrained=result, attacked=parts).rows(held)
    return {(row.arm, row.against, row.measure): row for row in rows}
