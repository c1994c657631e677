"""What a program of Python asks of a server by ADBC.

Arguments: a JSON object with the URIs of servers that have the table flights of
tests/testdata/flights-2001.parquet: "plain"; "safe", with TLS and the token "token"; and "mutual", which asks
clients for the certificate "cert" with "key". The server's authority is "ca", all of these as paths. It prints a
line for each check, and ends with status 1 if one fails.
"""

import json
import sys
import threading
import traceback
from pathlib import Path

import adbc_driver_flightsql
import adbc_driver_flightsql.dbapi as flightsql
import adbc_driver_manager
import pyarrow as pa

servers = json.loads(sys.argv[1])
OPTIONS = adbc_driver_flightsql.DatabaseOptions


def connect(uri=servers["plain"], **options):
    return flightsql.connect(uri, db_kwargs=options, autocommit=True)


def rows(sql, parameters=None, connection=None):
    if connection is None:
        with connect() as c:
            return rows(sql, parameters, c)
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


def same(want, got, what=""):
    if want != got:
        raise AssertionError(f"{what}: want {want!r}, got {got!r}")


def fails(kind, text, call):
    try:
        got = call()
    except kind as error:
        if text not in str(error):
            raise AssertionError(f"{text!r} is not in {error}") from error
        return
    raise AssertionError(f"there was no error about {text}, but {got!r}")


def example():
    with flightsql.connect(servers["plain"], autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT origin, avg(delay) AS mean FROM flights WHERE distance > ? GROUP BY origin", (1000,))
        table = cursor.fetch_arrow_table()
        same(["origin", "mean"], table.column_names)
        same(True, table.num_rows > 10)


def parameters():
    with connect() as c:
        for value, type_ in (
            (5, pa.int64()), ("a", pa.string()), (None, pa.int32()), (2.5, pa.float64()), (True, pa.bool_()), (b"ab", pa.binary()),
        ):
            with c.cursor() as cursor:
                cursor.execute("SELECT ? AS x", (value,))
                table = cursor.fetch_arrow_table()
                same([{"x": value}], table.to_pylist(), "a parameter")
                same(type_, table.schema.field("x").type, "its type")
        n = rows("SELECT count(*) FROM flights WHERE origin = 'ORD' AND delay > 10", None, c)
        for sql in "origin = ? AND delay > ?", "origin = $1 AND delay > $2":
            same(n, rows("SELECT count(*) FROM main.flights WHERE " + sql, ("ORD", 10), c), sql)
        same(7, len(rows("SELECT * FROM flights LIMIT ?", (7,), c)), "a limit")
        with c.cursor() as cursor:
            types = [str(f.type) for f in cursor.adbc_prepare("SELECT count(*) FROM flights WHERE origin = ? AND delay > ?")]
            same(["string", "int64"], types, "types of parameters")
            cursor.execute("SELECT ?::INTEGER AS x", pa.record_batch({"x": [1, 2, None]}))  # a run for each row
            same([(1,), (2,), (None,)], cursor.fetchall(), "three rows of values")
            fails(adbc_driver_manager.ProgrammingError, "execute, not executemany", lambda: cursor.executemany("SELECT ?", [(1,), (2,)]))
        fails(adbc_driver_manager.Error, "parameter", lambda: rows("SELECT ?::INTEGER", None, c))
        fails(adbc_driver_manager.ProgrammingError, "parameters of the statement: 1", lambda: rows("SELECT ?::INTEGER", (1, 2), c))


def metadata():
    with connect() as c:
        same("mpga", c.adbc_get_info()["vendor_name"])
        same(["TABLE", "LOCAL TEMPORARY"], c.adbc_get_table_types())
        same("delay", c.adbc_get_table_schema("flights").field(1).name)
        catalogs = c.adbc_get_objects(depth="columns").read_all().to_pylist()
        same(["mpga"], [x["catalog_name"] for x in catalogs])
        schemas = {s["db_schema_name"]: s["db_schema_tables"] for s in catalogs[0]["catalog_db_schemas"]}
        same(["main", "temp"], sorted(schemas))
        same(["flights"], [t["table_name"] for t in schemas["main"]])
        same(5, len(schemas["main"][0]["table_columns"]), "columns")
        found = c.adbc_get_objects(depth="tables", table_name_filter="fl%", table_types_filter=["TABLE"]).read_all().to_pylist()
        same(1, sum(len(s["db_schema_tables"]) for s in found[0]["catalog_db_schemas"]), "tables by a pattern")
        fails(adbc_driver_manager.Error, "NOT_FOUND", lambda: c.adbc_get_table_schema("nope"))
        fails(adbc_driver_manager.NotSupportedError, "", lambda: c.adbc_get_statistics().read_all())
        same("mpga", c.adbc_get_info()["vendor_name"], "after errors")


def errors():
    programming = adbc_driver_manager.ProgrammingError
    with connect() as c:
        for kind, text, sql in (
            (programming, "syntax error", "selec"),
            (programming, 'column "nope" does not exist', "SELECT nope FROM flights"),
            (programming, "no table is named nope", "SELECT count(*) FROM nope"),
            (programming, "--allow-files", "SELECT * FROM '/etc/passwd'"),
            (programming, "--allow-files", "SELECT * FROM read_csv('x.csv')"),
            (programming, "--allow-files", "SELECT count(*) FROM 's3://a/b.parquet'"),
            (programming, "standard input", "SELECT count(*) FROM '-'"),
            (adbc_driver_manager.Error, "TINYINT", "SELECT delay::TINYINT FROM flights"),
        ):
            fails(kind, text, lambda sql=sql: rows(sql, None, c))
            same([(1,)], rows("SELECT 1", None, c), "after an error")
        fails(adbc_driver_manager.Error, "", lambda: rows("SELECT 1", None, connect("grpc://localhost:1")))


def together():
    """Several results at once, one of them left, and cancelling."""
    with connect() as c, c.cursor() as a, c.cursor() as b:
        a.execute("SELECT * FROM flights ORDER BY ALL")
        b.execute("SELECT * FROM flights ORDER BY ALL")
        for _ in range(3000):
            same(a.fetchone(), b.fetchone(), "rows of both")
        same([(1,)], rows("SELECT 1", None, c), "a third")
    with connect() as c, c.cursor() as a:
        a.execute("SELECT x.* FROM flights x")
        a.fetchone()
        canceller = threading.Thread(target=a.adbc_cancel)
        canceller.start()
        canceller.join()
        fails(adbc_driver_manager.Error, "", a.fetchall)
        same([(1,)], rows("SELECT 1", None, c), "after cancelling")
    with connect() as c, c.cursor() as a:
        partitions, schema = a.adbc_execute_partitions("SELECT origin FROM flights")
        same(1, len(partitions), "partitions")
        same(["origin"], schema.names)
        for _ in range(2):  # a ticket serves any number of times
            a.adbc_read_partition(partitions[0])
            same(300000, a.fetch_arrow_table().num_rows, "rows of a partition")
        with connect() as other, other.cursor() as stranger:
            fails(adbc_driver_manager.Error, "unknown", lambda: stranger.adbc_read_partition(partitions[0]))


def ingest():
    table = pa.table({"k": [1, 2, 2, None], "v": [1.5, 2, 3, 4], "d": pa.array(["x", "y", "x", None]).dictionary_encode()})
    with connect() as c, c.cursor() as cursor:

        def count(name="mine"):
            return rows(f"SELECT count(*) FROM {name}", None, c)[0][0]

        same(4, cursor.adbc_ingest("mine", table, mode="create"))
        same([("x", 4.5), ("y", 2.0), (None, 4.0)], rows("SELECT d, sum(v) FROM mine GROUP BY d ORDER BY d", None, c), "sums")
        fails(adbc_driver_manager.ProgrammingError, "mine", lambda: cursor.adbc_ingest("mine", table, mode="create"))
        cursor.adbc_ingest("mine", table, mode="append")
        same(8, count("temp.mine"))
        cursor.adbc_ingest("mine", table, mode="replace")
        same(4, count())
        cursor.adbc_ingest("mine", table, mode="create_append")
        same(8, count("mpga.temp.mine"))
        fails(adbc_driver_manager.Error, "other columns", lambda: cursor.adbc_ingest("mine", table.select(["k"]), mode="append"))
        fails(adbc_driver_manager.Error, "no table", lambda: cursor.adbc_ingest("yours", table, mode="append"))
        fails(adbc_driver_manager.Error, "flights", lambda: cursor.adbc_ingest("flights", table, mode="replace"))
        with c.cursor() as elsewhere:
            fails(adbc_driver_manager.Error, "main", lambda: elsewhere.adbc_ingest("x", table, mode="create", db_schema_name="main"))
        same(8, count())
        batches = pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(max_chunksize=1)))
        cursor.adbc_ingest("read", batches, mode="create")
        same(4, count("read"))
        empty = pa.RecordBatch.from_pylist([], schema=pa.schema({"k": pa.int64()}))
        cursor.adbc_ingest("empty", empty, mode="create")
        same(0, count("empty"))
        none = pa.RecordBatchReader.from_batches(empty.schema, iter([]))  # of which the driver sends nothing
        fails(adbc_driver_manager.ProgrammingError, "has sent nothing", lambda: cursor.adbc_ingest("none", none, mode="create"))
        same(["empty", "mine", "read"], sorted(
            t["table_name"] for s in c.adbc_get_objects(depth="tables").read_all().to_pylist()[0]["catalog_db_schemas"]
            for t in s["db_schema_tables"] if t["table_type"] == "LOCAL TEMPORARY"), "temporary tables")
        cursor.execute("DROP TABLE mine")
        fails(adbc_driver_manager.Error, "mine", count)
        fails(adbc_driver_manager.Error, "mine", lambda: cursor.execute("DROP TABLE mine"))
        cursor.execute("DROP TABLE IF EXISTS mine")
        with connect() as other:
            fails(adbc_driver_manager.Error, "read", lambda: rows("SELECT * FROM read", None, other))


def frames():
    sql = "SELECT origin, count(*) AS n FROM flights GROUP BY origin"
    for name in "polars", "pandas":
        try:
            module = __import__(name)
        except ImportError:
            print(f"without {name}")
            continue
        with connect() as c:
            frame = module.read_database(sql, c) if name == "polars" else module.read_sql(sql, c)
            same(300000, int(frame["n"].sum()), name)
            with c.cursor() as cursor:
                cursor.adbc_ingest("frame", pa.table(frame) if name == "polars" else pa.Table.from_pandas(frame), mode="create")
                same([(300000,)], rows("SELECT sum(n)::BIGINT FROM frame", None, c), name)


def security():
    ca, unknown = Path(servers["ca"]).read_text(), Path(servers["cert"]).read_text()
    root, header, token = OPTIONS.TLS_ROOT_CERTS.value, OPTIONS.AUTHORIZATION_HEADER.value, servers["token"]
    one = lambda uri, **options: rows("SELECT 1", None, connect(uri, **options))
    same([(1,)], one(servers["safe"], **{root: ca, header: "Bearer " + token}), "a token")
    same([(1,)], one(servers["safe"], **{OPTIONS.TLS_SKIP_VERIFY.value: "true", header: "Bearer " + token}), "no authority")
    same([(1,)], one(servers["safe"], **{root: ca, "username": "anna", "password": token}), "a password")
    rpc = {OPTIONS.RPC_CALL_HEADER_PREFIX.value + "authorization": "Bearer " + token}
    same([(1,)], one(servers["safe"], **{root: ca}, **rpc), "a header")
    for text, options in (
        ("token", {root: ca}),
        ("token", {root: ca, header: "Bearer 0123456789abcdef0124"}),
        ("token", {root: ca, "username": "anna", "password": "wrong"}),
        ("", {root: unknown, header: "Bearer " + token}),
        ("", {header: "Bearer " + token}),
    ):
        fails(adbc_driver_manager.Error, text, lambda options=options: one(servers["safe"], **options))
    fails(adbc_driver_manager.Error, "", lambda: one(servers["safe"].replace("+tls", ""), **{header: "Bearer " + token}))
    key, cert = Path(servers["key"]).read_text(), Path(servers["cert"]).read_text()
    mutual = {root: ca, OPTIONS.MTLS_CERT_CHAIN.value: cert, OPTIONS.MTLS_PRIVATE_KEY.value: key}
    same([(1,)], one(servers["mutual"], **mutual), "a certificate")
    fails(adbc_driver_manager.Error, "", lambda: one(servers["mutual"], **{root: ca}))


def cookies():
    """With the cookie a session goes on over other connections."""
    option = {OPTIONS.WITH_COOKIE_MIDDLEWARE.value: "true"}
    with connect(**option) as c, c.cursor() as cursor:
        cursor.adbc_ingest("kept", pa.table({"x": [1]}), mode="create")
        same([(1,)], rows("SELECT x FROM kept", None, c))


failed = 0
for check in example, parameters, metadata, errors, together, ingest, frames, security, cookies:
    try:
        check()
        print("ok", check.__name__)
    except Exception:  # also of the driver
        failed += 1
        print("FAILED", check.__name__)
        traceback.print_exc(file=sys.stdout)
sys.exit(failed > 0)
