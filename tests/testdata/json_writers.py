"""Writes one table with nested columns by each writer of JSON that is installed, and as Parquet, to a folder."""

import sys

import duckdb

folder = sys.argv[1]
rows = []
for i in range(500):
    user = {"nick": f"n{i % 7}", "geo": {"lat": i / 8, "lon": None if i % 3 == 0 else -i / 4}}
    rows.append((i, None if i % 11 == 0 else user, None if i % 13 == 0 else [f"t{j}" for j in range(i % 4)],
                 [{"sku": j, "ok": j % 2 == 0} for j in range(i % 3)]))
db = duckdb.connect()
db.execute("CREATE TABLE t (id BIGINT, u STRUCT(nick VARCHAR, geo STRUCT(lat DOUBLE, lon DOUBLE)), tags VARCHAR[], "
           "items STRUCT(sku BIGINT, ok BOOLEAN)[])")
db.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
db.execute(f"COPY t TO '{folder}/t.parquet'")
db.execute(f"COPY t TO '{folder}/duckdb.ndjson' (FORMAT json)")
db.execute(f"COPY t TO '{folder}/duckdb.json' (FORMAT json, ARRAY true)")
db.execute(f"COPY t TO '{folder}/duckdb.ndjson.gz' (FORMAT json, COMPRESSION gzip)")
try:
    import polars

    frame = polars.read_parquet(f"{folder}/t.parquet")
    frame.write_ndjson(f"{folder}/polars.ndjson")
    frame.write_json(f"{folder}/polars.json")
except ImportError:
    pass
try:
    import pandas

    frame = pandas.read_parquet(f"{folder}/t.parquet")
    frame.to_json(f"{folder}/pandas.ndjson", orient="records", lines=True)
    frame.to_json(f"{folder}/pandas.json", orient="records")
except ImportError:
    pass
