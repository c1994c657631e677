"""Time SELECT key, sum(value) GROUP BY key in DuckDB over the rows of a Parquet file, which are in memory.

Arguments: the file, the threads. Prints JSON: version, median seconds of three runs after one, groups, sum.
The groups are kept in a table, so that no row is converted for Python.
"""

import json
import statistics
import sys
import time

import duckdb

path, threads = sys.argv[1], int(sys.argv[2])
db = duckdb.connect(config={"threads": threads})
db.execute("SET enable_progress_bar = false")
db.execute("CREATE TABLE pairs AS SELECT key, value FROM read_parquet(?)", [path])
seconds = []
for _ in range(4):
    db.execute("DROP TABLE IF EXISTS answer")
    start = time.perf_counter()
    db.execute("CREATE TEMP TABLE answer AS SELECT key, sum(value) AS total FROM pairs GROUP BY key")
    seconds.append(time.perf_counter() - start)
groups, total = db.execute("SELECT count(*), CAST(sum(total) AS UBIGINT) FROM answer").fetchone()
print(json.dumps({"Version": duckdb.__version__, "Seconds": statistics.median(seconds[1:]), "Groups": groups, "Sum": total}))
