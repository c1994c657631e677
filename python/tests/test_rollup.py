"""Roll-ups: the answer of a full run after every change, and errors that say what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

import mpga

QUERY = "SELECT city, count(DISTINCT guest) AS guests, median(ms) AS ms FROM days GROUP BY city ORDER BY city"


def day(folder: Path, number: int) -> None:
    rows = [f"{'Ulm' if i % 3 else 'Jena'},{i * number % 7},{i}" for i in range(20)]
    (folder / f"{number}.csv").write_text("\n".join(["city,guest,ms", *rows]) + "\n")


def test_rollup(tmp_path: Path) -> None:
    days = tmp_path / "days"
    days.mkdir()
    output = tmp_path / "out.parquet"
    for number in range(1, 4):
        day(days, number)
        did = mpga.rollup(QUERY, state=tmp_path / "state", output=output, days=[days / "*.csv"])
        assert (did["files"], did["files_read"], did["rows"], did["rows_read"]) == (number, 1, 2, 20)
        assert mpga.table(output).fetchall() == mpga.sql(QUERY, days=days).fetchall()
    full = mpga.sql("SELECT count(DISTINCT guest), median(ms) FROM days WHERE city = 'Ulm'", days=days).fetchall()
    read = f"SELECT guests, ms FROM rollup('{tmp_path}/state', by = [], filter = 'city = ''Ulm''')"
    assert mpga.sql(read).fetchall() == full


def test_errors(tmp_path: Path) -> None:
    days = tmp_path / "days"
    days.mkdir()
    day(days, 1)
    state, output = tmp_path / "state", tmp_path / "out.csv"
    mpga.rollup(QUERY, state=state, output=output, days=days)
    good = output.read_text()
    with pytest.raises(mpga.QueryError, match="mpga rollup rebuild"):
        mpga.rollup(QUERY.replace("median", "max"), state=state, output=output, days=days)
    with pytest.raises(mpga.QueryError, match="gost"):
        mpga.rollup("SELECT count(gost) FROM days", state=tmp_path / "other", output=output, days=days)
    with pytest.raises(mpga.QueryError, match="rebuild or fail"):
        mpga.rollup(QUERY, state=state, output=output, days=days, on_change="never")
    with pytest.raises(mpga.InputError, match="days is of dict"):
        mpga.rollup(QUERY, state=state, output=output, days={"city": ["Ulm"]})  # type: ignore[arg-type]
    with pytest.raises(mpga.Error, match="nowhere"):
        mpga.sql("SELECT * FROM rollup('nowhere')").fetchall()
    assert output.read_text() == good
