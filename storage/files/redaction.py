"""Texts without credentials: of a URI, neither user and password nor options are shown or written down."""

import re
from typing import Any

_URI = re.compile(r"[A-Za-z][\w+.-]*://[^\s'\"<>]+")
_IS_URI = re.compile(r"[A-Za-z][\w+.-]*://")
_WEB = ("http", "https")
_LONGEST_REASON = 600


def redacted(uri: str) -> str:
    """A path or URI as it may be shown; of one that can't be parsed, rather too little than a part of a credential.

    >>> redacted("s3://key:secret@bucket/dump.xml?region=eu-west-1"), redacted("s3://key:with?mark@bucket")
    ('s3://bucket/dump.xml', 's3://bucket')
    """
    scheme, is_uri, rest = uri.partition("://")
    if not is_uri:
        return uri
    # On the web it is the options that may hold an @; elsewhere a secret may, which somebody wrote as it is.
    public = rest.partition("?")[0].rpartition("@")[2] if scheme in _WEB else rest.rpartition("@")[2].partition("?")[0]
    return f"{scheme}://{public}"


def redacted_text(text: str) -> str:
    """A message or traceback in which every URI is :func:`redacted`.

    >>> redacted_text("cannot open s3://key:secret@bucket/a?region=eu, nor https://me:secret@example.org/b")
    'cannot open s3://bucket/a nor https://example.org/b'
    """
    return _URI.sub(lambda match: redacted(match[0]), text)


def redacted_values(node: Any) -> Any:
    """Nested dictionaries, lists and tuples, in whose texts every URI is :func:`redacted`; a text that begins as one is
    one, whatever it holds.

    >>> redacted_values({"path": "s3://key:se cret@bucket/a", "pages": ["see https://me:secret@example.org/b"]})
    {'path': 's3://bucket/a', 'pages': ['see https://example.org/b']}
    """
    match node:
        case str():
            return redacted(node) if _IS_URI.match(node) else redacted_text(node)
        case dict():
            return {name: redacted_values(value) for name, value in node.items()}
        case list() | tuple():
            return type(node)(map(redacted_values, node))
    return node


def reason(error: Exception) -> str:
    """The beginning of what an error says, in one line, or its kind if it says nothing.

    Libraries quote the URI that they were given, and what they have read.
    """
    shown = "".join(character if character.isprintable() else " " for character in str(error))
    return redacted_text(" ".join(shown.split()))[:_LONGEST_REASON] or type(error).__name__
