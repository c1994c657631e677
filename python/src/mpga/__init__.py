"""SELECT keys, aggregates ... GROUP BY keys over files and tables in memory.

>>> import mpga
>>> cities = {"city": ["Ulm", "Jena", "Ulm"], "visits": [3, 5, 4]}
>>> mpga.agg(cities, by="city", agg="sum(visits) as total", order_by="city").fetchall()
[('Jena', 5), ('Ulm', 7)]
"""

from ._connection import close
from ._errors import (
    CancelledError,
    Error,
    ForbiddenError,
    LimitError,
    NotFoundError,
    QueryError,
    ServerError,
)
from ._query import agg, configure, connect, explain, report, sql
from ._result import Plan, Report, Result

__all__ = [
    "CancelledError",
    "Error",
    "ForbiddenError",
    "LimitError",
    "NotFoundError",
    "Plan",
    "QueryError",
    "Report",
    "Result",
    "ServerError",
    "agg",
    "close",
    "configure",
    "connect",
    "explain",
    "report",
    "sql",
]

for _class in (
    CancelledError,
    Error,
    ForbiddenError,
    LimitError,
    NotFoundError,
    QueryError,
    ServerError,
    Plan,
    Report,
    Result,
):
    _class.__module__ = __name__  # as programs write it
del _class
