"""What goes wrong, as exceptions."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Error(Exception):
    """The base of all errors of mpga. Its text is the server's message."""

    def _render_traceback_(self) -> list[str]:
        """Return what notebooks show: the lines of the caller, without lines of this package."""
        from IPython.core.getipython import get_ipython

        shell: Any = get_ipython()
        lines: list[str] = shell.InteractiveTB.structured_traceback(
            type(self), self, trimmed(self.__traceback__), tb_offset=1
        )
        return lines


class QueryError(Error):
    """A statement that cannot be run. Where a place in its text is to blame, a caret points there."""


class InputError(Error, TypeError, ValueError):
    """An argument that cannot be used: a table of a kind that is not known, a setting that is out of bounds."""


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
_HEAD = re.compile(
    r"^(?:Unknown: )?(?:Flight returned (?P<code>[a-z ]+?) error,|gRPC returned (?P<other>[a-z ]+?) error,|"
    r"Flight RPC failed) with message: "
)
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
    of = _CLASSES.get(head["code"] or head["other"] or "", Error) if head else Error
    if head:
        text = text[head.end() :]
    return of(_TAIL.sub("", text))


def lacks(package: str, pip: str | None = None) -> Error:
    """Return the error of a call that wants a package that is not installed."""
    return InputError(f"{package} is not installed: pip install {pip or package}")


def public(function: Callable[P, T]) -> Callable[P, T]:
    """Have errors of a function of the package begin at the call, and be errors of mpga."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True  # pytest and IPython look for it
        try:
            return function(*args, **kwargs)
        except Error as e:
            error = e
        except Exception as e:
            if type(e).__module__ != "pyarrow.lib":
                raise
            error = InputError(str(e))
        error.__cause__ = error.__context__ = None
        raise error.with_traceback(None)

    return call


_PACKAGE = os.path.dirname(__file__) + os.sep


def trimmed(trace: TracebackType | None) -> TracebackType | None:
    """Cut the frames of this package off the end of a traceback, which begins elsewhere."""
    at = trace
    while at is not None and at.tb_next is not None:
        if at.tb_next.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            at.tb_next = None
        at = at.tb_next
    return trace


def trim_uncaught() -> None:
    """Have Python print errors of mpga that nobody catches with the lines of the caller alone."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
        return before(kind, error, trimmed(trace) if isinstance(error, Error) else trace)

    sys.excepthook = hook
