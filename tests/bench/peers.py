"""Asks ClickHouse (as chdb) or Polars one query, several times.

Reads a request and writes a reply as JSON; peers.go says what is in them. As with the other engines,
the result is read to its end by a second aggregation, of all its columns, which is also the answer.
"""

import importlib
import json
import os
import resource
import sys
import time


def versions():
    found = {}
    for engine, module in (("ClickHouse", "chdb"), ("Polars", "polars")):
        try:
            imported = importlib.import_module(module)
        except ImportError:
            continue
        found[engine] = getattr(imported, "engine_version", None) or imported.__version__
    return found


def clickhouse(request):
    from chdb import session

    db = session.Session()
    kind = "Parquet" if request["file"].endswith(".parquet") else "CSVWithNames"
    table = f"file('{request['file']}', {kind})"
    if request["in_memory"]:
        db.query(f"CREATE TABLE t ENGINE = Memory AS SELECT * FROM {table}")
        table = "t"
    columns = list(request["keys"])
    for aggregate in request["aggregates"]:
        args = ", ".join(aggregate["args"])
        columns.append({
            "count_star": "count()",
            "median": f"quantileExactInclusive(0.5)({args})",
            "stddev_samp": f"stddevSampStable({args})",
            "corr": f"corrStable({args})",
            "max": f"max({args})" if not aggregate["length"]
            else f"arrayMap(x -> -x, groupArraySorted({aggregate['length']})(-{args}))",
        }.get(aggregate["func"], f"{aggregate['func']}({args})"))
    inner = ", ".join(f"{column} AS c{i}" for i, column in enumerate(columns))
    totals = ", ".join(
        {"int": "sum(c{})", "text": "sum(length(c{}))", "float": "sumIf(c{0}, isFinite(c{0}))", "list": "sum(arraySum(c{}))"}[kind].format(i)
        for i, kind in enumerate(request["kinds"]))
    keys = ", ".join(request["keys"])
    query = (f"SELECT count(), {totals} FROM (SELECT {inner} FROM {table} GROUP BY {keys}) "
             f"SETTINGS max_threads = {request['threads']}")

    def ask():
        reply = db.query(query, "JSONCompact")
        return [0 if cell is None else cell for cell in json.loads(str(reply))["data"][0]]

    return ask


def polars(request):
    import polars as pl

    parquet = request["file"].endswith(".parquet")
    rows = pl.scan_parquet(request["file"]) if parquet else pl.scan_csv(request["file"])
    if request["in_memory"]:
        rows = rows.collect().lazy()
    calls = {
        "count_star": lambda: pl.len(),
        "sum": lambda x: pl.col(x).sum(),
        "avg": lambda x: pl.col(x).mean(),
        "min": lambda x: pl.col(x).min(),
        "max": lambda x: pl.col(x).max(),
        "median": lambda x: pl.col(x).median(),
        "stddev_samp": lambda x: pl.col(x).std(),
        "corr": lambda y, x: pl.corr(y, x),
    }
    columns = []
    for i, aggregate in enumerate(request["aggregates"]):
        column = calls[aggregate["func"]](*aggregate["args"])
        if aggregate["length"]:
            column = pl.col(aggregate["args"][0]).top_k(aggregate["length"])
        columns.append(column.alias(f"c{i}"))
    grouped = rows.group_by(request["keys"]).agg(columns)
    names = list(request["keys"]) + [f"c{i}" for i in range(len(columns))]
    totals = [pl.len().alias("rows")]
    for name, kind in zip(names, request["kinds"]):
        column = pl.col(name)
        if kind == "int":
            column = column.cast(pl.Int64)
        elif kind == "text":
            column = column.str.len_bytes().cast(pl.Int64)
        elif kind == "list":
            column = column.list.sum()
        else:
            column = pl.when(column.is_finite()).then(column)
        totals.append(column.sum().alias("total of " + name))
    query = grouped.select(totals)
    return lambda: query.collect(engine="streaming").row(0)


def cpu_nanos():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return int((usage.ru_utime + usage.ru_stime) * 1e9)


def main():
    request = json.load(sys.stdin)
    if request["engine"] == "versions":
        reply = versions()
    else:
        ask = {"ClickHouse": clickhouse, "Polars": polars}[request["engine"]](request)
        ask()
        reply = {"wall_nanos": [], "cpu_nanos": []}
        for _ in range(request["times"]):
            cpu, start = cpu_nanos(), time.perf_counter_ns()
            rows, *totals = ask()
            reply["wall_nanos"].append(time.perf_counter_ns() - start)
            reply["cpu_nanos"].append(cpu_nanos() - cpu)
        whole = [kind in ("int", "text") for kind in request["kinds"]]
        reply["rows"] = int(rows)
        reply["ints"] = [int(total) for total, is_int in zip(totals, whole) if is_int]
        reply["floats"] = [float(total) for total, is_int in zip(totals, whole) if not is_int]
    json.dump(reply, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # chdb's threads need not be waited for


main()
