"""The tables of `word_influence`."""

from functools import cached_property

from tiltmeter.jobs.classifiers.influence.config import CHECKPOINT
from tiltmeter.jobs.classifiers.tables import Tagged
from tiltmeter.jobs.runtime.table import Estimate, Float32, Table, doc, key, schemas
from tiltmeter.operators.classifiers.influence.records import Spaced


def teacher_name(name: str) -> str:
    """Of a trained one, or of a checkpoint.

    >>> teacher_name("0"), teacher_name("checkpoint"), teacher_name("before")
    ('teacher 0', 'the checkpoint', 'before')
    """
    if name == CHECKPOINT:
        return "the checkpoint"
    return f"teacher {name}" if name.isdigit() else name


class OfTeacher(Table):
    model: str = key(
        "the teacher: the number of a trained one, or the name of a checkpoint", heading="teacher", show=teacher_name
    )


class OfStudent(OfTeacher):
    seed: int = key("number of the student, from 0", heading="student")


class OfPlace(OfTeacher):
    row: int = key("number of the text among all that were read")
    place: int = key("of the word in its text, from 0")
    word: str = doc("that stands in the place")
    part_of_speech: str = doc("of the universal tags")
    label: str = doc("the teacher's class of the text as it is")


class Prepared(Table, name="prepared", public=False, has_status=False):
    """Texts with a class, as words."""

    row: int = key("number of the text among all that were read")
    part: str = doc("'training', 'development' or 'test'")
    label: str = doc("its class")
    text: str = doc("as it stands, up to its last word")
    words: list[str] = doc("of the text, as they are written there")
    tags: list[str] = doc("the part of speech of each")
    cluster: int = doc("number of the text that it is a part of, or of who speaks")

    @cached_property
    def spaced(self) -> Spaced:
        """The words, which know how they stand."""
        return Spaced.of(self.words, self.text)


class Students(OfStudent, name="students"):
    split: str = key("'development' or 'test', and, behind a colon, a length in words or a part of speech")
    measure: str = key(
        "'all_correct' and 'per_word': share of texts, or places, where the student has the teacher's class; with "
        "'_context_only', by the text without the word; with '_gold', of the class of the data; 'teacher_accuracy' and "
        "'teacher_accuracy_masked'; 'calibration_error', how far the student's sureness is from its share of right "
        "places; with '_published', the same of p''"
    )
    value: Estimate = doc(
        "the share",
        heading="share",
        show="percent",
        interval=("its interval, over sentences or groups by data.group", "its interval"),
        ends=("low", "high"),
    )
    num: int = doc("texts, or places", "rows", heading="of")


class Influences(OfPlace, name="influences", has_status=False):
    score: float = doc("2 softmax(C r) - 1 of the second of two classes; of more, the log odds of the text's class")
    support: float = doc("the score in support of the text's class")


class UnlikeRatios(OfPlace, name="unlike_ratios"):
    ratio: float = doc(
        "share of other words that change the class, by the student", heading="by the student", show="percent"
    )
    teacher_ratio: Estimate = doc(
        "the same by the teacher, or what a sample says of it",
        heading="by the teacher",
        show="percent",
        interval=(
            (
                "its interval for these very words, by the hypergeometric distribution of the sample; where the "
                "teacher judged all, itself"
            ),
            "its interval",
        ),
        ends=("teacher_low", "teacher_high"),
    )
    num_words: int = doc("words of the part of speech", "words")
    num_checked: int = doc("words that the teacher judged", "words", heading="words judged")
    agreement: float = doc("share of the words that the teacher judged for which both have one class")


class Counterfactuals(OfPlace, name="counterfactuals"):
    words: list[str] = doc(
        "the student's surest counterfactuals, the surest first",
        heading="instead",
        show=lambda words: ", ".join(words[:5]),
    )
    num: int = doc("words that the student calls counterfactuals", "words", heading="in all")
    num_sure: int = doc("of these, that it is sure of, by ratios.confidence", "words")
    accuracy: float = doc("share of the surest ones that the teacher confirms", show="percent")
    accuracy_published: float = doc(
        "the same if all are taken for sure; null where the teacher does not judge all",
        heading="published rule",
        show="percent",
    )
    accuracy_all: float = doc(
        "share of all of them that it confirms; null where it does not judge all", heading="of all", show="percent"
    )
    chance: float = doc(
        "share of the words that change the class, whatever the student says: the teacher's ratio", show="percent"
    )


class Masked(OfStudent, name="masking"):
    method: str = key("'influence', 'unlike_ratios', 'hybrid', 'hybrid_sum', 'hybrid_of_texts', 'lime' or 'random'")
    budget: int = key("words that may be left out", "words")
    coverage: Estimate = doc(
        "share of the texts that the teacher gets wrong whose class changes",
        interval="the interval, over sentences or groups by data.group",
    )
    mean_masked: float = doc("words left out in these", "words", heading="words on average", digits=2)
    less_lime: Estimate = doc(
        "coverage less that of LIME on the same texts",
        heading="less LIME's",
        interval="the interval of the paired differences",
    )
    num_texts: int = doc("that the teacher gets wrong", "texts")


class Probed(OfTeacher, name="probes"):
    control: str = key("the control word")
    probe: str = key("the probe")
    part_of_speech: str = doc("of the words that they replace")
    num_contexts: int = doc("contexts after the filter", "contexts")
    num_clusters: int = doc("sentences that they are from, or groups by data.group", "sentences")
    num_checked: int = doc("contexts that the teacher judged", "contexts", heading="judged")
    rate: Estimate = doc(
        "share that is positive with the control and not with the probe, of the teacher",
        show="percent",
        interval=("its interval, for other sentences of this kind", "its interval"),
        ends=("low", "high"),
    )
    rate_reversed: float = doc(
        "share that is positive with the probe and not with the control, of the teacher",
        heading="reversed",
        show="percent",
        digits=2,
    )
    difference: Estimate = doc(
        "rate less rate_reversed", digits=4, interval="the interval of the difference, for other sentences of this kind"
    )
    student_rate: float = doc("as rate, of the student in all contexts")
    student_rate_reversed: float = doc("as rate_reversed, of the student")
    num_differing: int = doc(
        "of the sentences judged, those in which the two words are not level",
        "sentences",
        heading="sentences that differ",
    )
    p_value: float = doc(
        "of the two words being interchangeable in each sentence: by signs of sentences where all were judged, by "
        "Student's t in two phases of a sample; null where fewer than six sentences differ",
        show="p_value",
    )
    p_holm: float = doc("the same for all pairs of the teacher, by Holm", heading="p (Holm)", show="p_value")
    num_random: int = doc(
        "random words of the part of speech that the teacher judged in the same contexts",
        "words",
        heading="random words",
    )
    p_random: float = doc(
        "chance that two of these differ as much, by the teacher; null with fewer than 50", show="p_value"
    )
    p_random_holm: float = doc(
        "the same for all pairs of the teacher, by Holm", heading="p among them (Holm)", show="p_value"
    )
    num_claims: int = doc("the student's surest contexts that are positive with the control and not the probe")
    accuracy_control: float = doc(
        "share of these that is positive with the control, by the teacher",
        heading="positive with the control",
        show="percent",
    )
    accuracy_probe: float = doc("share that is not with the probe", heading="not with the probe", show="percent")
    accuracy_joint: Estimate = doc(
        "share of which both are true: the claim itself",
        heading="both",
        show="percent",
        interval="the interval over their sentences, by Korn and Graubard",
    )
    count_control: int = doc("training texts' places with the control", "places", heading="texts with the control")
    count_probe: int = doc("training texts' places with the probe", "places", heading="texts with the probe")


class ProbeContexts(OfTeacher, name="probe_contexts", has_status=False):
    part_of_speech: str = key("of the words that are replaced")
    step: str = key("of the filter, after which they are counted")
    num_contexts: int = doc("that are left", "contexts")


class Words(OfTeacher, name="vocabularies"):
    part_of_speech: str = key("of the universal tags")
    word: str = key("in lower case")
    written: str = doc("as training texts mostly write it, and as it is put into others")
    count: int = doc("places of training texts that have it as this part of speech", "places")


class Flags(Table, name="flags", public=False, has_status=False):
    """What a shard of contexts gives, for the probes."""

    context: int = key("number of the context")
    cluster: int = doc("its sentence")
    step: str = doc("the last step of the filter that it passed")
    student: list[bool] = doc("whether it is positive with each word, by the student")
    teacher: list[bool] | None = doc("the same by the teacher; null where it was not asked")
    odds: list[Float32] = doc("log odds of positive with each word, by the student, or of the teacher having it")
    random: list[bool] = doc("whether it is positive with each random word")


TABLES = schemas(Tagged, Students, Influences, UnlikeRatios, Counterfactuals, Masked, Probed, ProbeContexts, Words)
