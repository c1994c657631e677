"""What the package offers."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from . import _connection
from ._errors import InputError, lacks, public
from ._inputs import Kept, TemporaryTable, described
from ._names import of_caller
from ._relation import Relation
from ._result import Plan, Report, Result
from ._statement import Statement

if TYPE_CHECKING:
    from adbc_driver_flightsql import dbapi

DATA = "data"  # the name of the table in expressions of agg


@public
def sql(query: str, /, params: Sequence[Any] | None = None, **tables: Any) -> Relation:
    """Return the result of a SELECT, of which further steps may be taken, as of a ``table``.

    ``COPY (SELECT ...) TO 'file'`` writes files. It, ``CREATE [TEMP] TABLE name AS SELECT ...``,
    ``CREATE VIEW name AS SELECT ...`` and ``DROP`` run at once. Tables and views are there for later statements until
    ``close`` or the end of the process.

    Args:
        query: The statement. Behind FROM stands the name of one of ``tables`` or of a variable of the
            caller, a path or URL in single quotes, or ``read_csv(...)`` or ``read_parquet(...)``.
        params: The values of ``?`` or ``$1``, ``$2``, ...
        tables: What names in the statement stand for: paths, patterns and URLs; Arrow tables, batches,
            readers and data sets; frames of pandas and Polars; whatever has an Arrow C stream; lists
            of one kind. A reader is read once, and now.

    Raises:
        QueryError: the statement cannot be run, and its text says why and where.
        Error: something else went wrong.
    """
    return _result(query, params, tables, sys._getframe(2))


@public
def table(data: Any) -> Relation:
    """Return the rows of a table, for further steps: ``table(t).filter("v > 3").group_by("k").agg("sum(v)")``.

    Args:
        data: A table, as ``sql`` takes it, or a path, a URL or a list of these. A table in memory is sent once,
            when rows are asked for first.
    """
    return Relation.of(Kept(data), _prepared)


@public
def explain(query: str, /, params: Sequence[Any] | None = None, **tables: Any) -> Plan:
    """Return how a statement would be answered. Arguments are those of ``sql``."""
    return _result(query, params, tables, sys._getframe(2)).explain()


@public
def report(query: str, /, params: Sequence[Any] | None = None, **tables: Any) -> Report:
    """Run a statement, and return a page about what it did. Arguments are those of ``sql``."""
    return _result(query, params, tables, sys._getframe(2)).report()


@public
def agg(
    data: Any,
    *,
    by: str | Sequence[str] = (),
    agg: str | Sequence[str] = (),
    where: str = "",
    having: str = "",
    order_by: str | Sequence[str] = "",
    limit: int | None = None,
) -> Result:
    """Return the aggregates of groups of rows.

    Args:
        data: A table, as ``sql`` takes it, or a path or URL or a list of them.
        by: The keys, as expressions of SQL, with ``AS`` and a name or without.
        agg: The aggregates, as expressions of SQL: ``"sum(v) as total, count(*)"``.
        where: Only rows for which this condition is true.
        having: Only groups for which this condition is true.
        order_by: The order of the groups, as in ``"total desc, k"``.
        limit: Only so many groups.
    """
    clauses = {
        "by": [by] if isinstance(by, str) and by else list(by),
        "agg": [agg] if isinstance(agg, str) and agg else list(agg),
        "where": where,
        "having": having,
        "order_by": order_by if isinstance(order_by, str) else ", ".join(order_by),
        "limit": limit,
    }
    if not clauses["by"] and not clauses["agg"]:
        raise InputError("agg: give by, agg or both")
    result = Result(functools.partial(_prepared, {"clauses": clauses}, None, {DATA: data}))
    result._begin()
    return result


def _result(query: str, params: Sequence[Any] | None, tables: dict[str, Any], frame: FrameType) -> Relation:
    found = of_caller(query, tables, frame, _connection.current())
    relation = Relation(query, params, {**tables, **found}, _prepared)
    relation._begin()
    return relation


def _prepared(
    request: dict[str, Any], params: Sequence[Any] | None, tables: dict[str, Any], **further: Any
) -> Statement:
    """Send the tables that a statement reads, and prepare it."""
    connection = _connection.current()
    held: list[TemporaryTable] = []

    stop = threading.Event()

    def send() -> dict[str, Any]:
        return {name: described(value, connection, held, stop) for name, value in tables.items()}

    names = _connection.interruptibly(send, stop.set) if tables else {}
    return Statement(connection, {**request, **further, "tables": names, "dir": os.getcwd()}, params, held)


@public
def configure(
    *,
    memory_limit: str | int | None = None,
    threads: int | None = None,
    device: str | None = None,
    temp_dir: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    max_recursion: int | None = None,
    max_pairs: int | None = None,
    overflow: str | None = None,
    timezone: str | None = None,
) -> None:
    """Set how queries of this process are answered. None is the default of each setting.

    A change of any setting but ``progress`` starts another server, which checks the settings at once: results
    whose rows have not been read yet are lost.

    Args:
        memory_limit: The resident memory of the server, as in ``"8GiB"``; 80% of the machine's.
        threads: How many threads compute; as many as processors.
        device: ``"auto"``, ``"cpu"``, ``"cuda"``, ``"cuda:0,1"``.
        temp_dir: Where what does not fit the memory goes.
        progress: Whether queries show how far they are; where somebody looks: in a terminal or notebook.
        max_recursion: How many iterations a ``WITH RECURSIVE`` may have; 1,000,000.
        max_pairs: How many pairs of rows a join without a key may compare; 1,000,000,000,000.
        overflow: What a sum beyond BIGINT is: ``"error"``, ``"widen"`` for a DECIMAL, ``"wrap"``; error.
        timezone: Whose clocks show timestamps with time zone, as ``"Europe/Berlin"``; the machine's. ``SET TimeZone``
            changes it for a session.

    Raises:
        InputError: a setting is wrong; the settings before hold.
    """
    _connection.configure(
        memory_limit=memory_limit,
        threads=threads,
        device=device,
        temp_dir=temp_dir,
        progress=progress,
        max_recursion=max_recursion,
        max_pairs=max_pairs,
        overflow=overflow,
        timezone=timezone,
    )


@public
def connect(uri: str | None = None, **options: Any) -> dbapi.Connection:
    """Return a connection of Python's DBAPI, by ADBC: ``pip install mpga[adbc]``.

    Args:
        uri: A server, as in ``"grpc://localhost:8815"``; the private server of this process.
        options: Further arguments of ``adbc_driver_flightsql.dbapi.connect``.
    """
    try:
        from adbc_driver_flightsql import dbapi
    except ImportError:
        raise lacks("adbc-driver-flightsql", "mpga[adbc]") from None

    if uri is not None:
        return dbapi.connect(uri, **{"autocommit": True, **options})
    uri = _connection.current().server.address.replace("unix:", "grpc+unix://", 1)
    connection = dbapi.connect(uri, **{"autocommit": True, **options})
    _connection.opened(connection)
    return connection
