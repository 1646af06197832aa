"""From the record of a document, as JSON, Parquet and Arrow have it, to its page."""

import re
from collections.abc import Iterable
from itertools import islice

from tiltmeter.storage.corpora.decoding import REPLACEMENT
from tiltmeter.storage.corpora.pages import Page, Repairs

_NUM_LOOKED_AT = 1000
_HALF_PAIR = re.compile("[\ud800-\udfff]")


def page_of(record: object, repairs: Repairs, place: str, page_id: str, field: str | None = None) -> Page | None:
    """The page of a record; None where it has no text, or is bad, both of which are counted.

    Half a surrogate pair becomes U+FFFD. A null or empty id or title is none.

    Args:
        record: its values by their names: text, a number, a boolean, None, or a list or dictionary of these; anything
            else is bad.
        repairs: keeps count.
        place: of the record in the file, for people.
        page_id: what it is called without an id of its own.
        field: whose value the page comes with.
    """
    if not isinstance(record, dict):
        repairs.leave_out("no JSON object", place)
        return None
    text, title = record.get("text"), record.get("title")
    given = record.get("id", record.get("pageid"))
    for name, value in (("id", given), ("title", title)):
        if not (value is None or isinstance(value, str) or _is_number(value)):
            repairs.leave_out(f"its {name} is neither text nor a whole number", f"{place}, column {name!r}")
            return None
        if value is None and name in record:
            repairs.leave_out(f"no {name}", place, "kept")
    if "text" not in record or not (text is None or isinstance(text, str)):
        problem = "its text is not text" if "text" in record else "no key 'text'"
        repairs.leave_out(problem, f"{place}, whose keys are {sorted(record)[:8]}")
        return None
    if not text or text.isspace():
        repairs.leave_out("no text", place, "empty")
        repairs.bad.read(repairs.file, 1)
        return None
    value = None if field is None else _clean(record.get(field), repairs)
    return Page(_name(given, repairs) or page_id, _name(title, repairs), _whole(text, repairs), "article", value)


def keys_of(records: Iterable[object]) -> list[str]:
    """The keys of the first thousand records, but for their texts."""
    first = islice(records, _NUM_LOOKED_AT)
    return sorted({key for record in first if isinstance(record, dict) for key in record} - {"text"})


def _is_number(value: object) -> bool:
    """Whether it is a whole number; pandas writes these as floats where some are missing, and those as NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and (value != value or value % 1 == 0)


def _name(value: object, repairs: Repairs) -> str:
    if isinstance(value, float):
        return "" if value != value else str(int(value))
    return "" if value is None else _whole(str(value), repairs)


def _whole(text: str, repairs: Repairs) -> str:
    if text.isascii() or not _HALF_PAIR.search(text):
        return text
    text, num_replaced = _HALF_PAIR.subn(REPLACEMENT, text)
    repairs.num_replaced += num_replaced
    return text


def _clean(value: object, repairs: Repairs) -> object:
    if isinstance(value, list):
        return [_clean(item, repairs) for item in value]
    return _whole(value, repairs) if isinstance(value, str) else value
