"""The tables of comparisons: what differs between two runs, and every number with an interval that does."""

from tiltmeter.jobs.runtime.table import Table, doc, key


class Changes(Table, name="changes", has_status=False):
    """A row for each change, or for many of one kind: it shows the row that moved the most, or else the first one."""

    kind: str = key(
        "'setting', 'input', 'version'; 'table' (it differs, came or is gone), 'column', 'row' (came or is gone), "
        "'status', 'number', or 'text', which is any other value"
    )
    table: str | None = key("table that differs; null for settings, inputs and versions", default=None)
    column: str | None = key("column that differs; null where it is not about one", default=None)
    item: str | None = key("key of the setting, name of the input or of the package; null for tables", default=None)
    row: str = doc("the row's key columns in words, without those that are the same in all rows of the table")
    key: str | None = key("all its key columns as a JSON object; null where it is not about rows", default=None)
    before: float | None = doc("number in the earlier run; of a table, its rows")
    before_low: float = doc("lower end of its interval")
    before_high: float = doc("upper end of its interval")
    after: float | None = doc("number in the later run; of a table, its rows")
    after_low: float = doc("lower end of its interval")
    after_high: float = doc("upper end of its interval")
    difference: float = doc("after less before; of lists of numbers, the largest distance of two items")
    difference_low: float = doc("lower end of the interval of the difference")
    difference_high: float = doc("upper end of the interval of the difference")
    half_widths: float = doc(
        "distance of before and after in units of half the earlier interval; infinite if that was exact", "half-widths"
    )
    beyond: bool | None = doc(
        "whether it moved: by the interval of the difference, or where there is none, beyond the earlier interval; "
        "null for what has neither"
    )
    p: float = doc("p-value of the difference; null where it is judged by the earlier interval")
    paired_by: str = doc("what both runs share: 'replicas' or 'items'; 'unpaired', or null without draws")
    num_changed: int | None = doc(
        "rows that this row stands for; of a table whose rows were compared, its numbers beyond"
    )
    num_compared: int | None = doc(
        "of so many rows; of a table whose rows were compared, of so many numbers with an interval"
    )
    median_difference: float = doc("median distance of before and after over these rows, where they are several")
    text_before: str | None = doc("value in the earlier run as text; null if there was none")
    text_after: str | None = doc("value in the later run as text; null if there is none")
    sentence: str = doc("the same in words")


class Differences(Table, name="differences", has_status=False):
    """Every number with an interval in a table that differs, and those that came or went with their row."""

    table: str = key("table of the number")
    column: str = key("its column")
    row: str = doc("its row's key columns in words, without those that are the same in all rows of the table")
    key: str = key("all its key columns as a JSON object")
    before: float = doc("number in the earlier run")
    after: float = doc("number in the later run")
    difference: float = doc("after less before")
    low: float = doc("lower end of the interval of the difference; null without draws")
    high: float = doc("upper end of the interval of the difference")
    p: float = doc("p-value of no difference but by chance; null without draws")
    q: float = doc("the same adjusted for all numbers of the table, by Benjamini and Hochberg")
    p_texts: float = doc(
        "p-value of no difference of the mean over replicas of these very texts; null unless both runs draw and train "
        "alike what they share (embedding.keyed_by=word, and as many blocks of words)"
    )
    q_texts: float = doc("the same adjusted for all numbers of the table")
    num_draws: int = doc("replicas or resamples that the interval rests on, of both runs", "draws")
    paired_by: str = doc(
        "what both runs share, draw by draw: 'replicas' (their lines are drawn alike), or 'items' (texts, records: the "
        "same ones, drawn alike); 'unpaired': each has draws of its own; 'none': there are no draws"
    )
    verdict: str | None = doc(
        "'moved' (q is at most 0.05; without draws, beyond the earlier interval); 'moved in these texts' (q_texts is, "
        "so that these texts have another number, and others of their kind might have the same); 'stayed'; or 'came' "
        "or 'gone' with its row"
    )
