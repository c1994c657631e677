"""The dialect of SQLAlchemy, for the tools that speak to databases through it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sqlalchemy import exc, pool, types
from sqlalchemy.dialects.postgresql.base import RESERVED_WORDS
from sqlalchemy.engine import default, reflection
from sqlalchemy.sql import compiler

_TYPES: dict[str, type[types.TypeEngine[Any]]] = {
    "BOOLEAN": types.BOOLEAN,
    "TINYINT": types.SMALLINT,
    "SMALLINT": types.SMALLINT,
    "INTEGER": types.INTEGER,
    "BIGINT": types.BIGINT,
    "HUGEINT": types.NUMERIC,
    "UTINYINT": types.SMALLINT,
    "USMALLINT": types.INTEGER,
    "UINTEGER": types.BIGINT,
    "UBIGINT": types.NUMERIC,
    "FLOAT": types.FLOAT,
    "DOUBLE": types.DOUBLE,
    "VARCHAR": types.VARCHAR,
    "BLOB": types.BLOB,
    "DATE": types.DATE,
    "TIME": types.TIME,
    "TIMESTAMP": types.TIMESTAMP,
}


def type_of(name: str) -> types.TypeEngine[Any]:
    """Return the type of SQLAlchemy for a type as DESCRIBE names it: NullType for a struct, a map or an interval."""
    if name.endswith("[]"):
        return types.ARRAY(type_of(name[:-2]))
    if m := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", name):
        return types.DECIMAL(int(m[1]), int(m[2]))
    if name == "TIMESTAMP WITH TIME ZONE":
        return types.TIMESTAMP(timezone=True)
    if name.startswith("TIMESTAMP_"):
        return types.TIMESTAMP()
    return _TYPES.get(name, types.NullType)()


def _read_only(what: str, instead: str) -> exc.CompileError:
    return exc.CompileError(f"mpga reads tables, and has no {what}: {instead}")


_INGEST = "adbc_ingest of the DBAPI's cursor sends rows, and CREATE TABLE name AS SELECT makes a table"


class Compiler(compiler.SQLCompiler):
    """Writes statements in mpga's SQL, which is DuckDB's."""

    def get_select_precolumns(self, select: Any, **kw: Any) -> str:
        """Write DISTINCT, and DISTINCT ON."""
        if not select._distinct_on:
            return super().get_select_precolumns(select, **kw)
        return f"DISTINCT ON ({', '.join(self.process(c, **kw) for c in select._distinct_on)}) "

    def limit_clause(self, select: Any, **kw: Any) -> str:
        """Write LIMIT and OFFSET, of which either may stand alone."""
        text = ""
        if select._limit_clause is not None:
            text += "\n LIMIT " + self.process(select._limit_clause, **kw)
        if select._offset_clause is not None:
            text += "\n OFFSET " + self.process(select._offset_clause, **kw)
        return text

    def for_update_clause(self, select: Any, **kw: Any) -> str:
        """Write nothing: no statement changes a row that another reads."""
        return ""

    def visit_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Write a match of a regular expression."""
        return self._regexp_matches(binary, **kw)

    def visit_not_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Write that a regular expression does not match."""
        return "NOT " + self._regexp_matches(binary, **kw)

    def _regexp_matches(self, binary: Any, **kw: Any) -> str:
        flags = binary.modifiers.get("flags")
        text = f"{self.process(binary.left, **kw)}, {self.process(binary.right, **kw)}"
        return f"regexp_matches({text}{', ' + self.render_literal_value(flags, types.String()) if flags else ''})"

    def visit_regexp_replace_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        """Write the replacement of what a regular expression matches, as SQLAlchemy means it: of all matches."""
        flags = (binary.modifiers.get("flags") or "") + "g"
        text = f"{self.process(binary.left, **kw)}, {self.process(binary.right, **kw)}"
        return f"regexp_replace({text}, {self.render_literal_value(flags, types.String())})"

    def visit_empty_set_expr(self, element_types: Any, **kw: Any) -> str:
        """Write a set without values."""
        return "SELECT " + ", ".join("NULL" for _ in element_types or [None]) + " WHERE false"

    def visit_insert(self, insert_stmt: Any, *args: Any, **kw: Any) -> str:
        """Refuse INSERT."""
        raise _read_only("INSERT", _INGEST)

    def visit_update(self, update_stmt: Any, *args: Any, **kw: Any) -> str:
        """Refuse UPDATE."""
        raise _read_only("UPDATE", "CREATE OR REPLACE TABLE name AS SELECT makes a table anew")

    def visit_delete(self, delete_stmt: Any, *args: Any, **kw: Any) -> str:
        """Refuse DELETE."""
        raise _read_only("DELETE", "CREATE OR REPLACE TABLE name AS SELECT makes a table anew")


class DDLCompiler(compiler.DDLCompiler):
    """Refuses CREATE TABLE with columns; DROP TABLE, CREATE TABLE AS and CREATE VIEW are mpga's."""

    def visit_create_table(self, create: Any, **kw: Any) -> str:
        """Refuse a table without a SELECT."""
        raise _read_only("CREATE TABLE with columns", _INGEST)


class _Bytes(types.LargeBinary):
    """Bytes, which the DBAPI takes as they are."""

    def bind_processor(self, dialect: Any) -> None:
        """Return nothing: no value is changed."""


class TypeCompiler(compiler.GenericTypeCompiler):
    """Writes types by mpga's names, which are DuckDB's."""

    def visit_BLOB(self, type_: Any, **kw: Any) -> str:
        """Write the type of bytes."""
        return "BLOB"

    visit_BINARY = visit_VARBINARY = visit_large_binary = visit_BLOB

    def visit_VARCHAR(self, type_: Any, **kw: Any) -> str:
        """Write the type of text, which has no length."""
        return "VARCHAR"

    visit_CHAR = visit_NCHAR = visit_NVARCHAR = visit_CLOB = visit_TEXT = visit_string = visit_VARCHAR
    visit_unicode = visit_text = visit_unicode_text = visit_enum = visit_VARCHAR

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:
        """Write the type of Python's floats."""
        return "FLOAT" if type_.precision is not None and type_.precision <= 24 else "DOUBLE"

    visit_REAL = visit_FLOAT

    def visit_NUMERIC(self, type_: Any, **kw: Any) -> str:
        """Write a decimal: without a precision one as wide as DuckDB's."""
        precision = 18 if type_.precision is None else type_.precision
        return f"DECIMAL({precision}, {3 if type_.scale is None else type_.scale})"

    visit_DECIMAL = visit_NUMERIC

    def visit_TIMESTAMP(self, type_: Any, **kw: Any) -> str:
        """Write the type of a time with its date."""
        return "TIMESTAMP WITH TIME ZONE" if type_.timezone else "TIMESTAMP"

    visit_DATETIME = visit_datetime = visit_TIMESTAMP

    def visit_TIME(self, type_: Any, **kw: Any) -> str:
        """Write the type of a time of the day."""
        return "TIME"

    def visit_ARRAY(self, type_: Any, **kw: Any) -> str:
        """Write the type of lists."""
        return self.process(type_.item_type, **kw) + "[]" * (type_.dimensions or 1)


class IdentifierPreparer(compiler.IdentifierPreparer):
    """Quotes the words that the parser, PostgreSQL's, has for itself."""

    reserved_words = RESERVED_WORDS


class Dialect(default.DefaultDialect):
    """mpga, by ADBC.

    ``mpga://`` is the private server of this process, and ``mpga://host:8815`` one that runs; ``mpga://:TOKEN@host:8815``
    has its token, and ``?tls=true`` encrypts, with the authorities in ``&tls_root_certs=FILE``. A connection has
    a session of the server, to which temporary tables belong.
    """

    name = "mpga"
    driver = "adbc"
    default_paramstyle = "qmark"
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_alter = False
    supports_comments = False
    supports_sane_rowcount = False
    supports_sane_multi_rowcount = False
    supports_default_values = False
    supports_sequences = False
    supports_schemas = True
    default_schema_name = "main"
    div_is_floordiv = False
    postfetch_lastrowid = False
    max_identifier_length = 1 << 16
    statement_compiler = Compiler
    ddl_compiler = DDLCompiler
    type_compiler_cls = TypeCompiler
    preparer = IdentifierPreparer
    colspecs = {types.LargeBinary: _Bytes}

    @classmethod
    def import_dbapi(cls) -> Any:
        """Return the module of the DBAPI."""
        from adbc_driver_flightsql import dbapi

        return dbapi

    @classmethod
    def get_pool_class(cls, url: Any) -> type[pool.Pool]:
        """Return the pool of connections, which threads share."""
        return pool.QueuePool

    def create_connect_args(self, url: Any) -> Any:
        """Return the arguments of mpga.connect for a URL."""
        query = dict(url.query)
        tls = query.pop("tls", "false")
        options: dict[str, str] = {}
        if tls not in ("true", "false"):
            raise exc.ArgumentError(f"tls={tls}: want true or false")
        if roots := query.pop("tls_root_certs", None):
            options["adbc.flight.sql.client_option.tls_root_certs"] = Path(roots).read_text()
        if query:
            raise exc.ArgumentError(f"mpga has no option {', '.join(query)}: want tls, tls_root_certs")
        if url.host is None:
            if url.port or url.password or url.database or options or tls == "true":
                raise exc.ArgumentError("mpga:// is the private server of this process, and takes no options")
            return [], {}
        if url.database:
            raise exc.ArgumentError(f"mpga has no database {url.database}: want mpga://host:port")
        if url.password:
            options["adbc.flight.sql.authorization_header"] = f"Bearer {url.password}"
        host = f"[{url.host}]" if ":" in url.host else url.host
        return [f"grpc{'+tls' if tls == 'true' else ''}://{host}:{url.port or 8815}"], {"db_kwargs": options}

    def connect(self, *args: Any, **kw: Any) -> Any:
        """Return a connection of the DBAPI."""
        import mpga

        return mpga.connect(*args, **kw)

    def initialize(self, connection: Any) -> None:
        """Ask nothing: what the dialect says holds for every server."""

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Do nothing: there are no transactions."""

    def do_commit(self, dbapi_connection: Any) -> None:
        """Do nothing: there are no transactions."""

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Ask for a sign of life."""
        with dbapi_connection.cursor() as cursor:
            cursor.execute(self._dialect_specific_select_one)
            cursor.fetchall()
        return True

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        """Say whether an error means that the server is gone."""
        return "UNAVAILABLE" in str(e)

    def _tables(self, connection: Any, schema: str | None) -> dict[str, list[str]]:
        """Return the kinds of the tables of a schema, of the session's own and the server's without one, by name."""
        driver = connection.connection.dbapi_connection
        with driver.adbc_get_objects(depth="tables") as found:
            catalogs = found.read_all().to_pylist()
        kinds: dict[str, list[str]] = {}
        for catalog in catalogs:
            for of in catalog["catalog_db_schemas"] or ():
                if schema is None or of["db_schema_name"] == schema:
                    for t in of["db_schema_tables"] or ():
                        kinds.setdefault(t["table_name"], []).append(t["table_type"])
        return kinds

    @reflection.cache
    def get_schema_names(self, connection: Any, **kw: Any) -> list[str]:
        """Return the schemas: of the server's tables, and of the session's."""
        return ["main", "temp"]

    @reflection.cache
    def get_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        """Return the names of tables and views, which a client need not tell apart."""
        return sorted(self._tables(connection, schema))

    @reflection.cache
    def get_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        """Return nothing: views are among the tables."""
        return []

    @reflection.cache
    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        """Say whether there is a table or a view of a name."""
        self._ensure_has_table_connection(connection)
        return table_name.lower() in {name.lower() for name in self._tables(connection, schema)}

    @reflection.cache
    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Return the columns of a table, a view, or a file by its name."""
        quote = self.identifier_preparer.quote_identifier
        name = quote(table_name) if schema is None else f"{quote(schema)}.{quote(table_name)}"
        try:
            rows = connection.exec_driver_sql(f"DESCRIBE {name}").fetchall()
        except exc.DBAPIError as e:
            raise exc.NoSuchTableError(table_name) from e
        return [
            {"name": row[0], "type": type_of(row[1]), "nullable": row[2] == "YES", "default": None, "comment": None}
            for row in rows
        ]

    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Return that a table has no primary key."""
        return {"constrained_columns": [], "name": None}

    def get_foreign_keys(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Return that a table has no foreign keys."""
        return []

    def get_indexes(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        """Return that a table has no indexes."""
        return []
