"""SQLAlchemy's own tests of dialects.

They make tables by CREATE TABLE, INSERT and DELETE, which the dialect refuses. Here these are CREATE TABLE AS, so that
everything that reads is tested as it is.
"""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import pool
from sqlalchemy.dialects import registry
from sqlalchemy.sql import compiler

from mpga._dialect import Compiler, DDLCompiler, Dialect

registry.register("mpga", "mpga._dialect", "Dialect")
registry.register("mpga.filled", "conftest", "Filled")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403 - as SQLAlchemy asks for it


def type_of(dialect: Dialect, column: Any) -> str:
    """Return the type of a column, as statements write it."""
    return dialect.type_compiler_instance.process(column.type)


class FilledCompiler(Compiler):
    """Writes the rows of a table anew."""

    def visit_insert(self, insert_stmt: Any, *args: Any, **kw: Any) -> str:
        """Write the rows that there are, and then those of VALUES."""
        text = compiler.SQLCompiler.visit_insert(self, insert_stmt, *args, **kw)
        m = re.fullmatch(r"INSERT INTO (.*?) \((.*?)\) VALUES (.*)", text, re.DOTALL)
        assert m, text
        name, columns, values = m.groups()
        types = {self.preparer.format_column(c): type_of(self.dialect, c) for c in insert_stmt.table.columns}
        # NULL of VALUES is an INTEGER, which has no cast to dates and times.
        cast = ", ".join(
            f"CAST({f'CAST({c} AS VARCHAR)' if types[c].startswith(('DATE', 'TIME')) else c} AS {types[c]}) AS {c}"
            for c in columns.split(", ")
        )
        rows = f"SELECT {cast} FROM (VALUES {values}) AS rows({columns})"
        return f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM {name} UNION ALL BY NAME {rows}"

    def visit_delete(self, delete_stmt: Any, *args: Any, **kw: Any) -> str:
        """Write a table without rows, in place of one that is emptied after a test."""
        name = self.preparer.format_table(delete_stmt.table)
        assert delete_stmt.whereclause is None
        return f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM {name} WHERE false"


class FilledDDLCompiler(DDLCompiler):
    """Makes tables without rows."""

    def visit_create_table(self, create: Any, **kw: Any) -> str:
        """Write CREATE TABLE AS of typed NULLs."""
        columns = ", ".join(
            f"CAST(NULL AS {type_of(self.dialect, c)}) AS {self.preparer.format_column(c)}"
            for c in create.element.columns
        )
        return f"CREATE TABLE {self.preparer.quote(create.element.name)} AS SELECT {columns} WHERE false"

    def visit_create_index(self, create: Any, **kw: Any) -> str:
        """Ask something in place of making an index."""
        return "SELECT 1"


class Filled(Dialect):
    """The dialect over one session, whose tables all connections see."""

    statement_compiler = FilledCompiler
    ddl_compiler = FilledDDLCompiler
    supports_statement_cache = True

    @classmethod
    def get_pool_class(cls, url: Any) -> type[pool.Pool]:
        """Return a pool of one connection."""
        return pool.StaticPool

    def do_executemany(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        """Run a statement once for each row of parameters."""
        for row in parameters:
            cursor.execute(statement, row)
