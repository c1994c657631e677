"""Results: each form, errors, plans and reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
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


def test_repr() -> None:
    assert repr(mpga.sql(QUERY, t=TABLE)) == "\n".join(
        [
            "┌────────┬───────┐",
            "│ k      │     s │",
            "│ string │ int64 │",
            "├────────┼───────┤",
            "│ a      │     4 │",
            "│ b      │     2 │",
            "└────────┴───────┘",
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
    with pytest.raises(ValueError, match="by, agg or both"):
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
    assert isinstance(late.value, mpga.Error)
    assert issubclass(mpga.QueryError, mpga.Error) and issubclass(mpga.ServerError, mpga.Error)


def test_explain_and_report(tmp_path: Path) -> None:
    t = TABLE
    plan = mpga.explain("select k, sum(v) from t group by k")
    assert "key k" in plan and repr(plan) == plan and plan._repr_html_().startswith("<pre>")
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
