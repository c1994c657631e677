"""Answers statements of standard input, one JSON string a line, as DuckDB of the installed Python package does.

Each answer is a line: {"rows": [[cell, ...], ...]} or {"error": text}. Cells are null, booleans, or texts that begin with
their kind: "f" a float's digits, "x" a text, "n" an exact number, "t" a time, "s" a span, "l" a list of cells as JSON.
"""

import datetime
import decimal
import json
import sys

import duckdb


def cell(v):
    if v is None or isinstance(v, bool):
        return v
    if isinstance(v, float):
        return "f" + repr(v)
    if isinstance(v, int):
        return "n" + str(v)
    if isinstance(v, decimal.Decimal):
        text = format(v, "f")
        if "." in text:
            text = text.rstrip("0").rstrip(".")
        return "n" + ("0" if text == "-0" else text)
    if isinstance(v, str):
        return "x" + v
    if isinstance(v, datetime.datetime):
        return "t" + v.strftime("%Y-%m-%d %H:%M:%S.%f").rstrip("0").rstrip(".")
    if isinstance(v, datetime.date):
        return "t" + v.strftime("%Y-%m-%d 00:00:00")
    if isinstance(v, datetime.timedelta):
        return "s" + str((v.days * 86400 + v.seconds) * 1000000 + v.microseconds)
    if isinstance(v, list):
        return "l" + json.dumps([cell(x) for x in v])
    return "x" + str(v)


connection = duckdb.connect(config={"threads": 1})
for line in sys.stdin:
    try:
        found = connection.execute(json.loads(line))
        answer = {"rows": [[cell(v) for v in row] for row in found.fetchall()] if found.description else []}
    except Exception as e:
        answer = {"error": str(e)}
    print(json.dumps(answer), flush=True)
