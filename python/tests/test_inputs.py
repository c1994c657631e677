"""What a query reads: each kind of input, with the same rows."""

from __future__ import annotations

import datetime as dt
import decimal
import gc
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet
import pytest

import mpga
from mpga import _connection

ROWS = {"k": ["a", "b", "a", None], "v": [1, 2, 3, None]}
TABLE = pa.table(ROWS)
SUMS = [("a", 4), ("b", 2), (None, None)]


def batches() -> Iterator[pa.RecordBatch]:
    yield from TABLE.to_batches()


class Stream:
    """Has an Arrow C stream, and nothing else."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


MEMORY = {
    "table": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: pa.RecordBatchReader.from_batches(TABLE.schema, batches()),
    "dataset": lambda: pa.dataset.dataset(TABLE),
    "scanner": lambda: pa.dataset.dataset(TABLE).scanner(),
    "polars": lambda: pl.DataFrame(ROWS),
    "lazy": lambda: pl.LazyFrame(ROWS),
    "pandas": lambda: pd.DataFrame({"k": ROWS["k"], "v": pd.array(ROWS["v"], "Int64")}),
    "stream": lambda: Stream(),
    "dict": lambda: ROWS,
    "list": lambda: [TABLE.slice(0, 1), TABLE.slice(1)],
    "frames": lambda: [pl.DataFrame(ROWS)[:2], pl.DataFrame(ROWS)[2:]],
    "dicts": lambda: TABLE.to_pylist(),
    "index": lambda: pd.DataFrame({"k": ROWS["k"], "v": pd.array(ROWS["v"], "Int64")}).set_index("k"),
    "result": lambda: mpga.sql("select * from t", t=TABLE),
}


@pytest.mark.parametrize("kind", MEMORY)
def test_memory(kind: str) -> None:
    got = mpga.sql("select k, sum(v) from t group by k order by k", t=MEMORY[kind]()).fetchall()
    assert got == SUMS
    got = mpga.agg(MEMORY[kind](), by="k", agg="sum(v)", order_by="k").fetchall()
    assert got == SUMS


@pytest.fixture
def files(tmp_path: Path) -> Path:
    pa.parquet.write_table(TABLE.slice(0, 2), tmp_path / "1.parquet")
    pa.parquet.write_table(TABLE.slice(2), tmp_path / "2.parquet")
    pa.csv.write_csv(TABLE, tmp_path / "rows.csv")
    with pa.ipc.new_file(tmp_path / "rows.arrow", TABLE.schema) as f:
        f.write_table(TABLE)
    return tmp_path


def test_paths(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "select k, sum(v) from t group by k order by k"
    for path in (
        str(files / "*.parquet"),
        [str(files / "1.parquet"), files / "2.parquet"],
        files / "rows.csv",
        files / "rows.arrow",
    ):
        assert mpga.sql(query, t=path).fetchall() == SUMS, path
    assert mpga.sql(f"select k, sum(v) from '{files}/*.parquet' group by k order by k").fetchall() == SUMS
    assert mpga.agg(files / "rows.csv", by="k", agg="sum(v)", order_by="k").fetchall() == SUMS
    monkeypatch.chdir(files)  # after the server has started elsewhere
    assert mpga.sql("select k, sum(v) from '*.parquet' group by k order by k").fetchall() == SUMS
    assert mpga.sql(query, t="rows.csv").fetchall() == SUMS


def test_names_of_the_caller() -> None:
    df = pl.DataFrame(ROWS)
    assert mpga.sql("select count(*) from df").fetchall() == [(4,)]
    assert mpga.sql("""select count(*) from "TABLE" where k = 'a'""").fetchall() == [(2,)]
    assert mpga.sql('select count(*) from "my table"', **{"my table": df}).fetchall() == [(4,)]
    assert mpga.sql("with x as (select * from df) select count(*) from x").fetchall() == [(4,)]

    def inner() -> list[tuple[object, ...]]:
        df = pl.DataFrame({"n": [1]})
        return mpga.sql("select count(*) from df").fetchall()

    assert inner() == [(1,)]
    count = 7  # not a table, and a word of the statement
    assert mpga.sql("select count(*) from df where v < 2").fetchall() == [(1,)] and count
    with pytest.raises(mpga.QueryError, match="no table is named count"):
        mpga.sql("select 1 from count")


def test_a_variable_that_is_no_table_of_the_statement_is_not_sent() -> None:
    class Trap:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise AssertionError("sent")

    v = Trap()
    df = TABLE
    assert mpga.sql("select sum(v) from df").fetchall() == [(6,)] and v


def test_table_is_sent_once_and_dropped() -> None:
    def tables() -> int:
        return _connection.current()._last_table

    t = pa.table({"v": list(range(1000))})
    before = tables()
    for _ in range(3):
        assert mpga.sql("select sum(v) from t").fetchall() == [(499500,)]
    assert tables() == before + 1
    name = f"python_{before + 1}"
    assert mpga.sql(f"select count(*) from {name}").fetchall() == [(1000,)]
    del t
    gc.collect()
    for _ in range(100):  # it is dropped in the background
        try:
            mpga.sql(f"select count(*) from {name}")
        except mpga.QueryError:
            return
        time.sleep(0.02)
    raise AssertionError("the table is still there")


def test_statements_are_forgotten() -> None:
    """Would catch statements that stay at the server when several are dropped at once."""
    connection = _connection.current()
    results = [mpga.sql(f"select {i}") for i in range(5)]
    handles = [r._statement._handle for r in results]
    assert all(connection.act("Explain", handle) for handle in handles)
    results.clear()
    gc.collect()
    left = set(handles)
    for _ in range(100):  # they are forgotten in the background
        for handle in tuple(left):
            try:
                connection.act("Explain", handle)
            except mpga.Error:
                left.remove(handle)
        if not left:
            return
        time.sleep(0.02)
    raise AssertionError(f"{len(left)} statements are still there")


def test_changed_frames_are_sent_again() -> None:
    df = pd.DataFrame({"v": [1, 2]})
    assert mpga.sql("select sum(v) from df").fetchall() == [(3,)]
    df.loc[0, "v"] = 10
    assert mpga.sql("select sum(v) from df").fetchall() == [(12,)]


def test_large_reader_is_bounded() -> None:
    one = pa.record_batch({"k": np.arange(100_000), "v": np.full(100_000, 1.5)})
    reader = pa.RecordBatchReader.from_batches(one.schema, (one for _ in range(100)))
    assert mpga.sql("select count(*), sum(v) from reader").fetchall() == [(10_000_000, 15_000_000.0)]


def test_reader_that_fails() -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from TABLE.to_batches()
        raise RuntimeError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(TABLE.schema, failing())
    with pytest.raises(RuntimeError, match="the disk is gone"):
        mpga.sql("select count(*) from reader")
    assert mpga.sql("select 1").fetchall() == [(1,)]


def test_wrong_inputs() -> None:
    with pytest.raises(mpga.InputError, match="cannot read a value of type int"):
        mpga.sql("select 1 from t", t=3)
    with pytest.raises(mpga.InputError, match="paths alone, tables alone"):
        mpga.sql("select 1 from t", t=["x.csv", TABLE])
    with pytest.raises(mpga.InputError, match="is empty"):
        mpga.sql("select 1 from t", t=[])
    with pytest.raises(mpga.InputError, match="item 1 has v int64"):
        mpga.sql("select 1 from t", t=[TABLE, TABLE.select(["v"])])


def test_lists() -> None:
    result = mpga.sql("select l, l[1][1] as x from t order by x", t={"l": [[[2]], [[1]]]})
    assert result.fetchall() == [([[1]], 1), ([[2]], 2)]


def test_series_and_arrays() -> None:
    for value, name in (
        (pd.Series([1, 2], name="s"), "s"),
        (pd.Series([1, 2]), "value"),
        (pl.Series("s", [1, 2]), "s"),
        (pa.array([1, 2]), "value"),
        (pa.chunked_array([[1], [2]]), "value"),
        (np.array([1, 2]), "value"),
    ):
        result = mpga.sql("select * from t", t=value)
        assert result.columns == [name] and sorted(result.fetchall()) == [(1,), (2,)]


def test_dicts_of_rows() -> None:
    rows = [{"a": 1, "b": "x"}, {"b": "y", "c": 2.5}]
    assert mpga.sql("select a, b, c from rows", rows=rows).fetchall() == [(1, "x", None), (None, "y", 2.5)]


def test_values_without_a_type() -> None:
    for value, match in (
        (pd.DataFrame({"a": [1, "x"]}), r'column "a" has values of int and str.*astype\(str\)'),
        ({"a": [1, "x"]}, 'column "a": Could not convert'),
        ({"a": [2**70]}, 'column "a": '),
        ({"a": 1}, 'column "a" has the type int'),
        ({"a": "text"}, 'column "a" has the type str'),
        ({"a": [1], "b": [1, 2]}, "a has 1, b has 2"),
        ([{"a": 1}, 2], "several kinds"),
        ([{"a": 1}, {"a": "x"}], 'column "a"'),
    ):
        with pytest.raises(mpga.InputError, match=match):
            mpga.sql("select 1 from t", t=value)


def test_index_of_pandas() -> None:
    frame = pd.DataFrame({"k": ["a", "b", "a"], "year": [1, 1, 2], "v": [1, 2, 3]})
    sums = frame.groupby(["k", "year"]).sum()
    assert mpga.sql("select k, year, v from sums order by 1, 2").fetchall() == [("a", 1, 1), ("a", 2, 3), ("b", 1, 2)]
    assert sums.index.names == ["k", "year"]  # which stays as it is
    unnamed = frame[frame.v > 1]  # an index of numbers alone
    assert mpga.sql("select * from unnamed").columns == ["k", "year", "v"]
    twice = frame.set_index("k", drop=False)
    assert mpga.sql("select * from twice").columns == ["k", "year", "v"]


def test_empty() -> None:
    empty = TABLE.slice(0, 0)
    assert mpga.sql("select k, sum(v) from empty group by k").fetchall() == []
    assert mpga.sql("select count(*) from empty").fetchall() == [(0,)]
    result = mpga.sql("select k, v from empty")
    assert result.arrow().schema.names == ["k", "v"] and result.arrow().num_rows == 0
    assert repr(result).endswith("0 rows")
    nothing = pl.DataFrame({"a": pl.Series([], dtype=pl.Int32)})
    assert mpga.sql("select count(a) from nothing").fetchall() == [(0,)]


ZONE = dt.timezone(dt.timedelta(hours=2))
VALUES = {
    "bool": pa.array([True, False, None]),
    "int8": pa.array([-128, 127, None], pa.int8()),
    "uint64": pa.array([0, 2**64 - 1, None], pa.uint64()),
    "float32": pa.array([1.5, float("inf"), None], pa.float32()),
    "decimal": pa.array([decimal.Decimal("1.23"), decimal.Decimal("-99999.99"), None], pa.decimal128(18, 2)),
    "date": pa.array([dt.date(1970, 1, 1), dt.date(2024, 2, 29), None]),
    "timestamp": pa.array([dt.datetime(2024, 1, 1, 12, 30, 0, 5), dt.datetime(1960, 1, 1), None], pa.timestamp("us")),
    "zoned": pa.array([dt.datetime(2024, 1, 1, 12, tzinfo=ZONE), None, None], pa.timestamp("us", "UTC")),
    "time": pa.array([dt.time(1, 2, 3), None, dt.time(23, 59)], pa.time64("us")),
    "string": pa.array(["", "zwölf and a bit longer", None]),
    "large_string": pa.array(["", "x", None], pa.large_string()),
    "string_view": pa.array(["", "a view of more than twelve bytes", None], pa.string_view()),
    "binary": pa.array([b"", b"\x00\xff", None]),
    "dictionary": pa.array(["u", "v", None]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", VALUES)
def test_values_come_back(kind: str) -> None:
    t = pa.table({"i": [0, 1, 2], "x": VALUES[kind]})
    got = mpga.sql("select x from t order by i").arrow().column("x").to_pylist()
    assert got == VALUES[kind].to_pylist()
    groups = mpga.sql("select x, count(*) as n from t group by x", t=t).arrow()
    assert sorted(map(repr, groups.column("x").to_pylist())) == sorted(set(map(repr, VALUES[kind].to_pylist())))
    assert sum(groups.column("n").to_pylist()) == 3


def test_categoricals() -> None:
    p = pl.DataFrame(
        {"c": pl.Series(["u", "v", "u"], dtype=pl.Categorical), "e": pl.Series(["x", None, "x"], dtype=pl.Enum(["x"]))}
    )
    assert mpga.sql("select c, e, count(*) from p group by all order by c").fetchall() == [
        ("u", "x", 2),
        ("v", None, 1),
    ]
    q = pd.DataFrame({"c": pd.Categorical(["u", "v", "u"])})
    assert mpga.sql("select c, count(*) from q group by c order by c").fetchall() == [("u", 2), ("v", 1)]


def test_large_round_trip() -> None:
    n = 10_000_000
    t = pa.table({"i": np.arange(n)})
    back = mpga.sql("select i from t").arrow()  # in no order, as threads have read the rows
    assert back.num_rows == n
    assert np.array_equal(np.sort(back.column("i").to_numpy()), np.arange(n))


def test_parameters() -> None:
    t = TABLE
    assert mpga.sql("select count(*) from t where v > ? and k = ?", [1, "a"]).fetchall() == [(1,)]
    assert mpga.sql("select $1 + 1", [41]).fetchall() == [(42,)]
    assert mpga.sql("select count(*) from t where v = $1", [None]).fetchall() == [(0,)]
    with pytest.raises(mpga.InputError, match="statement: 1; values that are given: 0"):
        mpga.sql("select count(*) from t where v = $1")
    with pytest.raises(mpga.InputError, match="statement: 0; values that are given: 1"):
        mpga.sql("select count(*) from t", [1])


def test_url() -> None:
    with pytest.raises(mpga.Error, match="127.0.0.1:9"):
        mpga.sql("select 1 from t", t="http://127.0.0.1:9/x.parquet")
