"""Results: each form, errors, plans and reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mpga

TABLE = pa.table({"k": ["a", "b", "a"], "v": [1, 2, 3]})
QUERY = "select k, sum(v) as s from t group by k order by k"


def test_forms() -> None:
    result = mpga.sql(QUERY, t=TABLE)
    want = [("a", 4), ("b", 2)]
    assert result.columns == ["k", "s"]
    assert result.schema.field("s").type == pa.int64()
    assert isinstance(result.reader(), pa.RecordBatchReader)
    assert result.reader().read_all().to_pydict() == {"k": ["a", "b"], "s": [4, 2]}
    assert pa.table(result).num_rows == 2
    assert pl.DataFrame(result).rows() == want
    assert list(result) == want
    assert result.arrow().to_pydict() == {"k": ["a", "b"], "s": [4, 2]}
    assert result.arrow() is result.arrow()
    assert result.to_polars().rows() == want
    assert isinstance(result.to_pandas(), pd.DataFrame) and result.to_pandas()["s"].tolist() == [4, 2]
    assert result.fetchall() == want
    assert result.df().equals(result.to_pandas()) and result.pl().equals(result.to_polars())
    assert result.types == ["VARCHAR", "BIGINT"] and result.shape == (2, 2) and len(result) == 2
    assert result.description[1][:2] == ("s", "BIGINT")


def test_rows_one_after_the_other() -> None:
    result = mpga.sql("select i from t order by i", t={"i": range(10)})
    assert result.fetchone() == (0,) and result.fetchmany() == [(1,)] and result.fetchmany(3) == [(2,), (3,), (4,)]
    assert result.fetchmany(0) == [] and len(result.fetchall()) == 5
    assert result.fetchone() is None and result.fetchall() == []
    assert [row[0] for row in result] == list(range(10))
    empty = mpga.sql("select i from t", t={"i": pa.array([], pa.int64())})
    assert empty.fetchone() is None and len(empty) == 0 and empty


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    result = mpga.sql("select i from t order by i", t={"i": range(100)})
    result.show(3)
    shown = capsys.readouterr().out
    assert "│      2 │" in shown and "│      3 │" not in shown and shown.endswith("3 of 100 rows\n")
    wide = mpga.sql("select " + ", ".join(f"{i} as column_{i}" for i in range(60)))
    lines = repr(wide).splitlines()
    assert all(len(line) <= 120 for line in lines) and "column_0 " in lines[1] and "column_59 │" in lines[1]
    assert "│ … │" in lines[1] and lines[-1] == "1 row; 10 of 60 columns"


def test_write(tmp_path: Path) -> None:
    rows = sorted(TABLE.to_pylist(), key=str)
    result = mpga.sql("select k, v from t", t=TABLE)
    assert result.write(tmp_path / "x.parquet") == 3
    assert sorted(pq.read_table(tmp_path / "x.parquet").to_pylist(), key=str) == rows
    assert mpga.agg(TABLE, agg="sum(v)").write(tmp_path / "x.csv", header=False) == 1
    assert (tmp_path / "x.csv").read_text() == "6\n"
    assert result.filter("v = 2").write(tmp_path / "x.json") == 1
    assert (tmp_path / "x.json").read_text() == '{"k":"b","v":2}\n'
    assert mpga.sql("select k from t where v = $1", [3], t=TABLE).write(tmp_path / "a", format="csv") == 1
    assert (tmp_path / "a").read_text() == "k\na\n"
    assert result.write(tmp_path / "by", partition_by="k", compression="zstd") == 3
    assert sorted(p.name for p in (tmp_path / "by").iterdir() if p.is_dir()) == ["k=a", "k=b"]
    with pytest.raises(mpga.Error, match="already exists"):
        result.write(tmp_path / "by", partition_by=["k"])
    assert result.write(tmp_path / "by", partition_by=["k"], overwrite=True) == 3
    got = mpga.sql(f"copy (select * from t) to '{tmp_path}/copied.parquet'", t=TABLE)
    assert got.fetchall() == [(3,)] and pq.read_table(tmp_path / "copied.parquet").num_rows == 3


def test_write_is_whole_or_not_at_all(tmp_path: Path) -> None:
    for options, error in (
        ({"format": "xls"}, mpga.QueryError),
        ({"nosuch": 1}, mpga.QueryError),
        ({"compression": object()}, mpga.InputError),
        ({"delimiter": "ab"}, mpga.QueryError),
    ):
        with pytest.raises(error):
            mpga.table(TABLE).write(tmp_path / "x.csv", **options)  # type: ignore[arg-type]
    with pytest.raises(mpga.QueryError, match="overflow"):
        mpga.sql("select v * 9223372036854775807 as v from t", t=TABLE).write(tmp_path / "x.csv")
    with pytest.raises(mpga.Error, match="does not exist"):
        mpga.table(TABLE).write(tmp_path / "nosuch" / "x.csv")
    with pytest.raises(mpga.QueryError, match="have no rows"):
        mpga.sql("create or replace temp table made as select 1 as one").write(tmp_path / "x.csv")
    mpga.sql("drop table made")
    assert list(tmp_path.iterdir()) == []


def test_repr() -> None:
    assert repr(mpga.sql(QUERY, t=TABLE)) == "\n".join(
        [
            "┌─────────┬────────┐",
            "│ k       │      s │",
            "│ VARCHAR │ BIGINT │",
            "├─────────┼────────┤",
            "│ a       │      4 │",
            "│ b       │      2 │",
            "└─────────┴────────┘",
            "2 rows",
        ]
    )
    many = mpga.sql("select i from t order by i", t={"i": range(1000)})
    assert repr(many).endswith("20 of 1,000 rows")
    html = mpga.sql("select '<b>' as x")._repr_html_()
    assert "&lt;b&gt;" in html and "<b>" not in html


def test_columns_of_the_same_name() -> None:
    assert mpga.sql("select 1 as x, 2 as x").fetchall() == [(1, 2)]


def test_reader_that_is_left_early() -> None:
    t = {"i": np.arange(1_000_000)}
    reader = mpga.sql("select i from t", t=t).reader()
    assert reader.read_next_batch().num_rows > 0
    del reader
    assert mpga.sql("select 1").fetchall() == [(1,)]


def test_agg() -> None:
    got = mpga.agg(
        TABLE,
        by=["k as key"],
        agg=["sum(v) as s", "count(*) as n"],
        where="v < 3",
        having="n > 0",
        order_by=["s desc"],
        limit=1,
    )
    assert got.columns == ["key", "s", "n"] and got.fetchall() == [("b", 2, 1)]
    assert mpga.agg(TABLE, agg="max(v)").fetchall() == [(3,)]
    with pytest.raises(mpga.InputError, match="by, agg or both"):
        mpga.agg(TABLE)
    with pytest.raises(mpga.QueryError, match=r"^order_by: "):
        mpga.agg(TABLE, by="k", order_by="k k k")


def test_errors() -> None:
    with pytest.raises(mpga.QueryError) as e:
        mpga.sql("select k, sum(nope) from t group by k", t=TABLE)
    message, text, caret = str(e.value).split("\n")
    assert message.startswith('column "nope" does not exist')
    assert text[caret.index("^") :].startswith("nope")
    with pytest.raises(mpga.QueryError, match="no such file"):
        mpga.sql("select 1 from 'nothing.parquet'")
    with pytest.raises(mpga.Error, match=r"overflow|out of range|too large") as late:
        mpga.sql("select sum(v) from t", t={"v": [2**63 - 1, 1]}).fetchall()
    assert isinstance(late.value, mpga.Error) and "overflow=widen" in str(late.value)
    assert issubclass(mpga.QueryError, mpga.Error) and issubclass(mpga.ServerError, mpga.Error)


def test_explain_and_report(tmp_path: Path) -> None:
    t = TABLE
    plan = mpga.explain("select k, sum(v) from t group by k")
    assert "key k" in plan and repr(plan) == plan and plan._repr_html_().startswith("<pre style=")
    report = mpga.report("select k, sum(v) from t group by k")
    report.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and "select k, sum(v) from t group by k" in page and "<svg" in page
    assert "srcdoc" in report._repr_html_()


def test_dbapi() -> None:
    with mpga.connect() as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("mine", TABLE)
        cursor.execute("select k, sum(v) from mine group by k order by k")
        assert cursor.fetchall() == [("a", 4), ("b", 2)]


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    from mpga._progress import Progress

    how_far = {
        "seconds": 1.0,
        "fraction": 0.5,
        "phase": "partition",
        "state": "running",
        "rows_read": 1234,
        "left_seconds": 3.0,
    }
    with Progress(True) as progress:
        progress.show(how_far)
    shown = capsys.readouterr().err
    assert "partition:  50%" in shown and "1,234 rows, about 3 s left" in shown
    with Progress(True) as progress:
        progress.fetched = 5678
        progress.show({**how_far, "fraction": 1.0, "left_seconds": 0.0})
    shown = capsys.readouterr().err
    assert "fetching" in shown and "5,678 rows of the result have come" in shown
    assert "100%" not in shown and "left" not in shown
    with Progress(None) as progress:
        progress.show(how_far)
    assert capsys.readouterr().err == ""


def test_tables_and_views() -> None:
    frame = pd.DataFrame({"k": ["a", "b", "a"], "v": [1, 2, 3]})
    made = mpga.sql("create temp table kept as select k, sum(v) as s from frame group by k")
    assert made.fetchall() == [(2,)]
    assert made.columns == ["Count"]
    assert mpga.sql("create view most(m) as select max(s) from kept").fetchall() == []
    kept = pa.table({"s": [100]})  # a table of the session comes before a variable
    assert mpga.sql("select m from most").fetchall() == [(4,)]
    assert mpga.sql("select sum(s) from kept").fetchall() == [(6,)]
    assert mpga.sql("select sum(s) from kept", kept=kept).fetchall() == [(100,)]
    with pytest.raises(mpga.QueryError, match="a table is named kept"):
        mpga.sql("create table kept as select 1 as s")
    with pytest.raises(mpga.QueryError, match="frame is there for this statement alone"):
        mpga.sql("create view of_frame as select k from frame")
    mpga.sql("drop table kept")
    with pytest.raises(mpga.QueryError, match="view most"):
        mpga.sql("select m from most")
    mpga.sql("drop view most")
