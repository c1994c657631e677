"""SELECT keys, aggregates ... GROUP BY keys over files and tables in memory.

>>> import mpga
>>> cities = {"city": ["Ulm", "Jena", "Ulm"], "visits": [3, 5, 4]}
>>> mpga.agg(cities, by="city", agg="sum(visits) as total", order_by="city").fetchall()
[('Jena', 5), ('Ulm', 7)]
"""

from typing import TYPE_CHECKING

from ._connection import close
from ._errors import (
    CancelledError,
    Error,
    ForbiddenError,
    InputError,
    LimitError,
    NotFoundError,
    QueryError,
    ServerError,
    trim_uncaught,
)
from ._query import agg, configure, connect, explain, report, sql, table
from ._relation import Groups, Relation
from ._result import Plan, Report, Result
from ._rollup import rollup

__all__ = [
    "CancelledError",
    "Error",
    "ForbiddenError",
    "Groups",
    "InputError",
    "LimitError",
    "NotFoundError",
    "Plan",
    "QueryError",
    "Relation",
    "Report",
    "Result",
    "ServerError",
    "agg",
    "close",
    "configure",
    "connect",
    "explain",
    "report",
    "rollup",
    "sql",
    "table",
]

for _class in (
    CancelledError,
    Error,
    ForbiddenError,
    InputError,
    LimitError,
    NotFoundError,
    QueryError,
    ServerError,
    Groups,
    Plan,
    Relation,
    Report,
    Result,
):
    _class.__module__ = __name__  # as programs write it
del _class
trim_uncaught()


def load_ipython_extension(ipython: object) -> None:
    """Add the magic ``%%mpga``: for ``%load_ext mpga``."""
    from ._magic import load_ipython_extension

    load_ipython_extension(ipython)


if TYPE_CHECKING:
    __version__: str


def __getattr__(name: str) -> str:
    if name == "__version__":  # to look it up takes as long as the import
        from ._settings import version

        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
