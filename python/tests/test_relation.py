"""Statements that are put together by calls, beside the same statements in SQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import mpga

SALES = pa.table({"k": ["a", "b", "a", None, "c"], "v": [1, 2, 3, 4, None]})
NAMES = pd.DataFrame({"k": ["a", "b", "d"], "name": ["Ann", "Bob", "Dan"]})


def test_steps() -> None:
    sales, names = mpga.table(SALES), mpga.table(NAMES)
    totals = sales.filter("v > 0", "v < 4").group_by("k").agg("count(*) AS n", total="sum(v)")
    assert totals.columns == ["k", "n", "total"]
    assert totals.order_by("k").fetchall() == [("a", 2, 4), ("b", 1, 2)]
    assert totals.agg("sum(total)").fetchone() == (6,)
    assert totals.with_columns(half="total / 2").select("k", "half").order_by("k DESC").fetchall() == [
        ("b", 1.0),
        ("a", 2.0),
    ]
    assert sales.order_by("v DESC NULLS LAST").limit(2, 1).select("v").fetchall() == [(3,), (2,)]
    assert sales.limit(0).fetchall() == []
    assert sales.select("v % 2 AS odd").distinct().order_by("odd").fetchall() == [(0,), (1,), (None,)]
    assert totals.join(names, "k").order_by("k").select("name", "total").fetchall() == [("Ann", 4), ("Bob", 2)]
    assert names.join(totals, ["k"], how="anti").fetchall() == [("d", "Dan")]
    left = names.join(totals, on="l.k = r.k", how="left").select("name", "total").order_by("name")
    assert left.fetchall() == [("Ann", 4), ("Bob", 2), ("Dan", None)]
    assert len(sales.join(names, how="cross")) == 15
    assert sales.union(sales).agg("count(*)").fetchone() == (10,)
    assert len(sales.union(sales, distinct=True)) == 5


def test_of_statements(tmp_path: Path) -> None:
    """Names and parameters of two statements stay apart."""

    def over(t: pa.Table, least: int) -> mpga.Relation:
        return mpga.sql("select v from t where v >= ? -- the larger ones", [least])

    one, two = over(SALES, 2), over(pa.table({"v": [10, 20]}), 20)
    assert one.filter("v < 4").order_by("v").fetchall() == [(2,), (3,)]
    assert one.union(two).order_by("v").fetchall() == [(2,), (3,), (4,), (20,)]
    mpga.table(SALES).write(tmp_path / "x.parquet")
    assert mpga.table(tmp_path / "x.parquet").agg("sum(v)").fetchone() == (10,)
    assert mpga.sql("select * from r", r=one).agg("max(v)").fetchone() == (4,)


def test_a_step_runs_nothing() -> None:
    wrong = mpga.table(SALES).filter("nothing > 1").select("v")
    with pytest.raises(mpga.QueryError, match='column "nothing" does not exist'):
        wrong.fetchall()
    reader = pa.RecordBatchReader.from_batches(SALES.schema, SALES.to_batches())
    once = mpga.table(reader)  # whose rows can be read once, and are sent once
    assert once.agg("count(*)").fetchone() == (5,) and once.filter("v > 3").fetchall() == [(None, 4)]


def test_wrong_steps() -> None:
    sales = mpga.table(SALES)
    calls: list[Callable[[], object]] = [
        lambda: sales.filter(),
        lambda: sales.order_by(),
        lambda: sales.select(),
        lambda: sales.select(3),  # type: ignore[arg-type]
        lambda: sales.join(sales),
        lambda: sales.join(sales, "k", how="cross"),
        lambda: sales.join(sales, "k", how="outer"),
        lambda: sales.join(sales, ["k", "l.v = r.v"]),
        lambda: sales.join(NAMES, "k"),
    ]
    for call in calls:
        with pytest.raises(mpga.InputError):
            call()
