"""Statements that are put together by calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ._errors import InputError, public
from ._result import Result
from ._statement import Statement

_NAME = re.compile(r"[^\W\d]\w*")
_JOINS = ("inner", "left", "right", "full", "semi", "anti", "cross")


class Relation(Result):
    """Rows, and steps that make other rows of them.

    A step runs nothing and changes nothing: it returns the rows as they will be. They are computed when they are asked
    for, as those of a ``Result`` are. Columns, conditions and aggregates are expressions of SQL.
    """

    def __init__(
        self, query: str, params: Sequence[Any] | None, tables: dict[str, Any], prepare: Callable[..., Statement]
    ) -> None:
        super().__init__(lambda **further: prepare({"sql": query}, params, tables, **further))
        self._query = query
        self._params = params
        self._tables = tables
        self._how = prepare
        self._ordered = False  # the statement ends in ORDER BY

    @classmethod
    def of(cls, data: Any, prepare: Callable[..., Statement]) -> Relation:
        """Return the rows of a table."""
        name = f"table_{id(data):x}"
        return cls(f"SELECT * FROM {name}", None, {name: data}, prepare)

    @property
    def sql(self) -> str:
        """The statement."""
        return self._query

    def _step(self, head: str, tail: str = "") -> Relation:
        """Return the rows of a statement around this one."""
        query = f"{head} FROM ({_bare(self._query)}){tail}"
        return Relation(query, self._params, self._tables, self._how)

    @public
    def select(self, *columns: str, **named: str) -> Relation:
        """Return columns: ``select("k", "v * 2 AS w", half="v / 2")``."""
        return self._step("SELECT " + _list("select", columns, named))

    @public
    def with_columns(self, *columns: str, **named: str) -> Relation:
        """Return all columns, and further ones: ``with_columns(half="v / 2")``."""
        return self._step("SELECT *, " + _list("with_columns", columns, named))

    @public
    def filter(self, *conditions: str) -> Relation:
        """Return the rows for which all conditions are true."""
        if not conditions:
            raise InputError("filter: give a condition")
        return self._step("SELECT *", " WHERE " + " AND ".join(f"({_bare(c)})" for c in conditions))

    @public
    def group_by(self, *keys: str, **named: str) -> Groups:
        """Return groups of rows with the same keys, whose ``agg`` has a row for each."""
        return Groups(self, _list("group_by", keys, named))

    @public
    def agg(self, *aggregates: str, **named: str) -> Relation:
        """Return one row of all rows: ``agg("count(*)", total="sum(v)")``."""
        return self._step("SELECT " + _list("agg", aggregates, named))

    @public
    def join(self, other: Relation, on: str | Sequence[str] = (), how: str = "inner") -> Relation:
        """Return pairs of rows of two relations.

        Args:
            other: The rows of the right side.
            on: A column that both sides have, or a list of these; or a condition, in which the left side is ``l`` and
                the right one ``r``: ``"l.id = r.customer"``.
            how: ``"inner"``, ``"left"``, ``"right"``, ``"full"``, ``"semi"``, ``"anti"`` or ``"cross"``.
        """
        if how not in _JOINS:
            raise InputError(f"join: how={how!r}: want one of {', '.join(_JOINS)}")
        if bool(on) == (how == "cross"):
            raise InputError("join: give on, but for how='cross'")
        left, (right, tables) = _bare(self._query), self._beside(other)
        query = f"SELECT * FROM ({left}) AS l {how.upper()} JOIN ({right}) AS r"
        names = [on] if isinstance(on, str) else list(on)
        if all(map(_NAME.fullmatch, names)):
            query += f" USING ({', '.join(names)})" if names else ""
        elif isinstance(on, str):
            query += f" ON {_bare(on)}"
        else:
            raise InputError(f"join: on={names!r}: want names of columns, or one text that is a condition")
        return Relation(query, self._params or other._params, tables, self._how)

    @public
    def union(self, other: Relation, distinct: bool = False) -> Relation:
        """Return the rows of both, whose columns have the same names."""
        right, tables = self._beside(other)
        kind = "UNION" if distinct else "UNION ALL"
        query = f"SELECT * FROM ({_bare(self._query)}) {kind} BY NAME SELECT * FROM ({right})"
        return Relation(query, self._params or other._params, tables, self._how)

    def _beside(self, other: Relation) -> tuple[str, dict[str, Any]]:
        """Return the text of another relation for a statement beside this one's, and what all names stand for."""
        if not isinstance(other, Relation):
            raise InputError(
                f"the right side is of type {type(other).__qualname__}: want a relation, as mpga.table(...) is"
            )
        differ = any(name in self._tables and self._tables[name] is not v for name, v in other._tables.items())
        if not differ and not (self._params and other._params):
            return _bare(other._query), {**self._tables, **other._tables}
        name = f"rows_{id(other):x}"  # names or parameters mean other things there: its rows are computed apart
        return f"SELECT * FROM {name}", {**self._tables, name: other}

    @public
    def distinct(self) -> Relation:
        """Return each row once."""
        return self._step("SELECT DISTINCT *")

    @public
    def order_by(self, *keys: str) -> Relation:
        """Return the rows in an order: ``order_by("total DESC", "k")``. Steps behind it but ``limit`` may lose it."""
        if not keys:
            raise InputError("order_by: give a key")
        ordered = self._step("SELECT *", " ORDER BY " + ", ".join(map(_bare, keys)))
        ordered._ordered = True
        return ordered

    @public
    def limit(self, rows: int, offset: int = 0) -> Relation:
        """Return the first rows behind so many others."""
        tail = f" LIMIT {rows:d}" + (f" OFFSET {offset:d}" if offset else "")
        if self._ordered:  # the first rows in this order are found without an order of all
            return Relation(self._query + tail, self._params, self._tables, self._how)
        return self._step("SELECT *", tail)


class Groups:
    """Groups of the rows of a relation."""

    def __init__(self, of: Relation, keys: str) -> None:
        self._of = of
        self._keys = keys

    @public
    def agg(self, *aggregates: str, **named: str) -> Relation:
        """Return the keys and aggregates of each group: ``agg("count(*)", total="sum(v)")``."""
        items = _list("agg", aggregates, named)
        return self._of._step(f"SELECT {self._keys}, {items}", " GROUP BY ALL")


def _bare(text: str) -> str:
    """Return a text that others may stand around: without a semicolon at its end, and with a comment there ended."""
    text = text.strip().removesuffix(";").rstrip()
    return text + "\n" if "--" in text.rpartition("\n")[2] else text


def _list(step: str, texts: Sequence[str], named: dict[str, str]) -> str:
    """Return expressions, and expressions with names, as a list of SQL."""
    for text in (*texts, *named.values()):
        if not isinstance(text, str):
            raise InputError(
                f"{step}: {text!r} is of type {type(text).__qualname__}: want an expression of SQL, as a text"
            )
    items = [_bare(t) for t in texts]
    items += [f"{_bare(t)} AS {_quoted(name)}" for name, t in named.items()]
    if not items:
        raise InputError(f"{step}: give an expression")
    return ", ".join(items)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
