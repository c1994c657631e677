"""What goes wrong, as exceptions."""

from __future__ import annotations

import re


class Error(Exception):
    """The base of all errors of mpga. Its text is the server's message."""


class QueryError(Error):
    """A statement that cannot be run. Where a place in its text is to blame, a caret points there."""


class NotFoundError(Error):
    """A file, a table or a statement that is not there."""


class ForbiddenError(Error):
    """Something that this client may not have."""


class LimitError(Error):
    """A limit of memory, disk or queries was met. The message names the setting that moves it."""


class CancelledError(Error):
    """A query that was ended before its end."""


class ServerError(Error):
    """The server has ended, or could not be started, or has a bug."""


# The beginning of a message of Arrow Flight and what follows the server's own words.
_HEAD = re.compile(r"^(?:Unknown: )?Flight (?:returned (?P<code>[a-z ]+?) error,|RPC failed) with message: ")
_TAIL = re.compile(r"\. (gRPC client debug context|Client context): .*\Z", re.DOTALL)

_CLASSES = {
    "invalid argument": QueryError,
    "already exists": QueryError,
    "not found": NotFoundError,
    "forbidden": ForbiddenError,
    "permission denied": ForbiddenError,
    "unauthorized": ForbiddenError,
    "unauthenticated": ForbiddenError,
    "resource exhausted": LimitError,
    "cancelled": CancelledError,
    "timed out": LimitError,
    "deadline exceeded": LimitError,
    "unavailable": ServerError,
    "internal": ServerError,
}


def translated(error: Exception) -> Error:
    """Return an exception of Arrow Flight as an exception of mpga."""
    text = str(error)
    head = _HEAD.search(text)
    of = _CLASSES.get(head["code"] or "", Error) if head else Error
    if head:
        text = text[head.end() :]
    return of(_TAIL.sub("", text))
