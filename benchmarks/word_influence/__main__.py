"""How well students follow teachers on SST-2, what they find there, and how fast they are.

    python -m benchmarks.word_influence [--parts agreement ratios claims masking planted speed] [--folder DIR]

Teachers are small encoders that the 67,349 phrases of GLUE train, with the settings of ``job=word_influence``; their
students are asked about the 1,821 test sentences. ``ratios`` puts up to 3,000 words into 1,000 contexts, for student
and teacher. ``claims`` compares two words in 6,000 contexts of adjectives, and asks the teacher about what the student
is surest of. ``masking`` leaves words out of
all development and test texts that the teacher gets wrong, with three students. ``planted`` ties a neutral adjective to
negative sentences, 20 times, and looks for it and for three adjectives that are tied to nothing. ``speed`` times the
folded student beside the direct one, and beside a teacher of the size of RoBERTa base with random weights. Seconds are
those of the processor, one thread, so that they can be read on a busy machine; what was trained lies in the folder and
is not trained again.
"""

import argparse
from pathlib import Path

import torch

from benchmarks.word_influence.claims import claims
from benchmarks.word_influence.planted import planted
from benchmarks.word_influence.speed import speed
from benchmarks.word_influence.students import agreement, drawn_contexts, judged, masking, ratios
from benchmarks.word_influence.training import sst2, student_of, teacher_of
from tiltmeter.operators.classifiers.influence.nested_texts import containment_clusters

PARTS = ("agreement", "ratios", "claims", "masking", "planted", "speed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--folder", type=Path, default=Path("word_influence"), help="for what is trained")
    parser.add_argument("--students", type=int, default=3, help="for masking")
    parser.add_argument("--seeds", type=int, default=20, help="of planted bias")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    folder, parts = arguments.folder, set(arguments.parts)
    folder.mkdir(parents=True, exist_ok=True)
    if parts - {"planted", "speed"}:
        of_phrases(parts, folder, arguments.students)
    if "planted" in parts:
        planted(folder, arguments.seeds)
    if "speed" in parts:
        speed()


def of_phrases(parts: set[str], folder: Path, num_students: int) -> None:
    """What is asked of the teacher that the phrases train, and of its students."""
    data = sst2()
    num_sentences = len(set(containment_clusters(data["training"].words).tolist()))
    print(f"{len(data['training'].words):,} phrases of {num_sentences:,} sentences that hold all others")
    trained = teacher_of(data["training"], data["development"], folder / "teacher.pickle")
    num = num_students if "masking" in parts else 1
    students = [
        student_of(trained, data["training"], data["development"], folder / f"student_{seed}.pickle", seed)
        for seed in range(num)
    ]
    if "agreement" in parts:
        agreement(trained, students[0], data["test"])
    if "ratios" in parts:
        ratios(judged(trained, students[0], drawn_contexts(data["test"])), students[0])
    if "claims" in parts:
        claims(trained, students[0], data["training"])
    if "masking" in parts:
        for name in ("development", "test"):
            masking(trained, students, data[name], name)


if __name__ == "__main__":
    main()
