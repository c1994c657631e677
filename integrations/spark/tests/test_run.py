"""What a run computes, and what it tells about itself."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import FLIGHTS, MPGA, Program, lines, rest, single
from pyspark import SparkConf
from pyspark.sql import SparkSession

import mpga_spark
from mpga_spark import _result, _run, _task

ROUTES = f"""SELECT origin, destination, count(*) AS flights, sum(distance) AS miles, avg(delay) AS delay,
median(delay) AS typical, max(date) AS newest FROM '{FLIGHTS}' GROUP BY ALL"""


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_equals_a_single_run(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """The values are the same, and the bits of means."""
    result = mpga_spark.run(
        spark,
        ROUTES,
        tmp_path / f"routes.{kind}",
        work=tmp_path / "work",
        executors_binary=MPGA,
        splits=3,
        partitions=4,
        plan_flags=["--deterministic"],
    )
    assert result.path == str(tmp_path / f"routes.{kind}")
    alone = single(ROUTES, tmp_path / f"alone.{kind}")
    if kind == "csv":
        rows = lines(result.path)[:-1]  # without the head
        assert lines(result.path) == lines(alone)
    else:
        rows = result.dataframe().collect()
        assert sorted(rows) == sorted(_result.Result(spark, {"output": {"path": str(alone)}}, {}).dataframe().collect())
    assert len(rows) > 1000

    partial = result.metrics["partial"]
    assert (partial.tasks, partial.already, partial.rows) == (3, 0, 300_000)
    assert partial.bytes_read > 0 and partial.bytes_written > 0 and partial.seconds > 0
    assert result.metrics["merge"].groups == len(rows)


@pytest.mark.parametrize("kind", ["csv", "tsv", "json"])
def test_dataframe(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Spark reads the formats of text that mpga writes."""
    single(f"SELECT count(*) AS flights FROM '{FLIGHTS}'", tmp_path / f"out.{kind}")
    frame = _result.Result(spark, {"output": {"path": str(tmp_path / f"out.{kind}"), "format": kind}}, {}).dataframe()
    assert frame.dtypes[0][0] == "flights" and [row.flights for row in frame.collect()] == [300_000]


@pytest.mark.parametrize("splits", [1, 7])
def test_splits(spark: SparkSession, tmp_path: Path, splits: int) -> None:
    """One split, and splits of which some have no rows."""
    (tmp_path / "in").mkdir()
    for i in range(7):
        (tmp_path / f"in/{i}.csv").write_text("city,visits\n" + ("Ulm,3\nJena,5\n" if i % 3 == 0 else ""))
    statement = f"SELECT city, sum(visits) AS visits FROM '{tmp_path}/in/*.csv' GROUP BY city"
    where = {"work": tmp_path / "work", "executors_binary": MPGA, "splits": splits}
    result = mpga_spark.run(spark, statement, tmp_path / "out.csv", **where)
    assert lines(result.path) == [["Jena", "15"], ["Ulm", "9"], ["city", "visits"]]
    assert result.metrics["partial"].tasks == splits


def test_splits_of_one_process(spark: SparkSession, program: Program, tmp_path: Path) -> None:
    """A process does several splits, and each counts."""
    statement = f"SELECT origin, count(*) AS flights FROM '{FLIGHTS}' GROUP BY origin"
    where = {"work": tmp_path / "work", "executors_binary": program.path, "splits": 5, "splits_per_task": 3}
    result = mpga_spark.run(spark, statement, tmp_path / "out.csv", **where)
    assert lines(result.path) == lines(single(statement, tmp_path / "alone.csv"))
    assert sorted(arguments.split()[5] for _, arguments in program.calls("partial")) == ["0..2", "3..4"]
    assert (result.metrics["partial"].tasks, result.metrics["partial"].rows) == (5, 300_000)


def test_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    statement = f"SELECT origin, count(*) AS flights FROM '{FLIGHTS}' WHERE distance < 0 GROUP BY origin"
    result = mpga_spark.run(spark, statement, tmp_path / "out.parquet", work=tmp_path / "work", executors_binary=MPGA)
    assert result.dataframe().count() == 0


def test_many_splits(spark: SparkSession, tmp_path: Path) -> None:
    """500 splits, of which 350 are done before: Spark has the others, and a rerun schedules no task."""
    (tmp_path / "in").mkdir()
    for i in range(500):
        (tmp_path / f"in/{i}.csv").write_text(f"k,v\n{i % 5},{i}\n")
    statement = f"SELECT k, sum(v) AS v FROM '{tmp_path}/in/*.csv' GROUP BY k"
    flags = ["--splits", "500", "--partitions", "2", "--combines", "3"]
    where = ["--work", f"{tmp_path}/work", "--output", f"{tmp_path}/out.csv"]
    subprocess.run([MPGA, "dist", "plan", statement, *flags, *where, "-o", f"{tmp_path}/plan"], check=True)
    each = ["xargs", "-n1", "-P2", MPGA, "dist", "partial", "--threads=1", f"--plan={tmp_path}/plan", "--split"]
    subprocess.run(each, input="\n".join(map(str, range(350))), text=True, check=True, stdout=subprocess.DEVNULL)

    def run() -> mpga_spark.Result:
        where = {"work": tmp_path / "work", "executors_binary": MPGA, "plan_flags": flags}
        return mpga_spark.run(spark, statement, tmp_path / "out.csv", **where)

    result = run()
    assert lines(result.path)[:5] == [[str(k), str(sum(range(k, 500, 5)))] for k in range(5)]
    assert {k: (m.tasks, m.already) for k, m in result.metrics.items()} == {
        "partial": (150, 0),
        "combine": (3, 0),
        "merge": (1, 0),
        "commit": (1, 0),
    }
    again = run()
    assert list(again.metrics) == ["commit"] and again.metrics["commit"].already == 1
    assert again.plan["id"] == result.plan["id"]


def test_steps(spark: SparkSession, tmp_path: Path) -> None:
    """A step reads what the step before it has written."""
    (tmp_path / "job.yaml").write_text("""
variables: {worst: "10", flights: none}
steps:
  - name: routes
    from: ${flights}
    by: origin, destination
    agg: [count(*) as flights, "max(delay, ${worst}) as worst"]
    output: routes.parquet
  - name: airports
    from: ${steps.routes.output}
    by: origin
    agg: sum(flights) as flights
    output: airports.csv
""")
    where = {"work": tmp_path / "work", "executors_binary": MPGA, "set": {"flights": str(FLIGHTS)}}
    results = mpga_spark.run_steps(spark, tmp_path / "job.yaml", **where)
    assert list(results) == ["routes", "airports"]
    airports = single(f"SELECT origin, count(*) AS flights FROM '{FLIGHTS}' GROUP BY ALL", tmp_path / "alone.csv")
    assert lines(results["airports"].path) == lines(airports)


def test_shipped(spark: SparkSession, program: Program, tmp_path: Path) -> None:
    """Executors get the program from Spark."""
    shipped = tmp_path / "mpga-shipped"
    shutil.copy(MPGA, shipped)
    statement = f"SELECT count(*) AS flights FROM '{FLIGHTS}'"
    where = {"work": tmp_path / "work", "executors_binary": str(shipped), "ship": True}
    result = mpga_spark.run(spark, statement, tmp_path / "out.csv", **where)
    assert lines(result.path) == [["300000"], ["flights"]]


def test_what_the_ui_shows(spark: SparkSession, tmp_path: Path) -> None:
    statement = f"SELECT origin, count(*) FROM '{FLIGHTS}' GROUP BY origin"
    where = {"work": tmp_path / "work", "executors_binary": MPGA, "splits": 2}
    result = mpga_spark.run(spark, statement, tmp_path / "out.csv", **where)
    shown = [job.get("description", "") for job in rest(spark, "jobs")]
    name = result.plan["name"]
    assert any(d == f"mpga {name}: partial, 2 of 2 tasks" for d in shown), shown
    assert any(d.startswith(f"mpga {name}: merge, ") and "(partial: 300,000 rows, " in d for d in shown), shown
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None


def test_flags(spark: SparkSession, program: Program, tmp_path: Path) -> None:
    statement = f"SELECT count(*) FROM '{FLIGHTS}'"
    where = {"work": tmp_path / "work", "executors_binary": program.path, "splits": 1}
    mpga_spark.run(spark, statement, tmp_path / "out.csv", **where)
    words = program.calls("partial")[0][1].split()
    flags = dict(zip(words[2::2], words[3::2], strict=True))
    assert flags["--threads"] == "1" and flags["--device"] == "cpu"
    assert flags["--memory-limit"] == str(384 << 20)  # Spark's smallest overhead
    assert "spark" in flags["--temp-dir"] and flags["--plan"].startswith(f"{tmp_path}/work/")

    where |= {"device": "auto", "memory_limit": "256MiB"}
    mpga_spark.run(spark, statement, tmp_path / "other.csv", **where)
    assert "--memory-limit 256MiB --device auto" in program.calls("partial")[1][1]


def test_memory_that_is_too_small(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_run, "slots", lambda conf: 4)
    statement = f"SELECT count(*) FROM '{FLIGHTS}'"
    with pytest.raises(mpga_spark.Error, match=r"spark\.executor\.memoryOverhead to 512m or more"):
        mpga_spark.run(spark, statement, tmp_path / "out.csv", work=tmp_path / "work", executors_binary=MPGA)


def conf(**values: str) -> SparkConf:
    return SparkConf(loadDefaults=False).setAll([("spark." + k.replace("_", "."), v) for k, v in values.items()])


def test_overhead() -> None:
    assert _run.overhead(conf()) == 384 << 20
    assert _run.overhead(conf(executor_memory="10g")) == 1 << 30
    assert _run.overhead(conf(executor_memory="10g", executor_memoryOverheadFactor="0.4")) == 4 << 30
    assert _run.overhead(conf(executor_memory="10g", kubernetes_memoryOverheadFactor="0.4")) == 4 << 30
    assert _run.overhead(conf(executor_minMemoryOverhead="1g")) == 1 << 30
    assert _run.overhead(conf(executor_memoryOverhead="700")) == 700 << 20


def test_slots() -> None:
    assert _run.slots(conf(master="local-cluster[2,3,1024]")) == 3
    assert _run.slots(conf(master="local[4]", task_cpus="2")) == 2
    assert _run.slots(conf(master="local")) == 1
    assert _run.slots(conf(master="local[*]")) is None
    assert _run.slots(conf(master="spark://host:7077")) is None
    assert _run.slots(conf(master="spark://host:7077", executor_cores="8")) == 8
    assert _run.slots(conf(master="yarn")) == 1
    gpus = {"executor_resource_gpu_amount": "2", "task_resource_gpu_amount": "0.5"}
    assert _run.slots(conf(master="yarn", executor_cores="16", **gpus)) == 4


def test_missing() -> None:
    assert _run.missing({"tasks": 5, "done": 5, "missing": []}) == []
    assert _run.missing({"tasks": 5, "done": 3, "missing": [1, 4]}) == [1, 4]
    listed = list(range(0, 200, 2))
    assert _run.missing({"tasks": 300, "done": 100, "missing": listed}) == listed + list(range(199, 300))


def test_ranges() -> None:
    assert _run.ranges([], 3) == []
    assert _run.ranges([0, 1, 2, 3, 5], 1) == ["0", "1", "2", "3", "5"]
    assert _run.ranges([0, 1, 2, 3, 5, 6], 3) == ["0..2", "3", "5..6"]


def test_paths_of_hadoop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "me")
    assert _result.hadoop("s3://bucket/out") == "s3a://bucket/out"
    assert _result.hadoop("gs://bucket/out") == "gs://bucket/out"
    assert _result.hadoop("az://c/out/x") == "abfss://c@me.dfs.core.windows.net/out/x"
    assert _result.hadoop("/data/out") == "file:///data/out"


def test_where_the_program_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one on PATH, then the one in the wheel."""
    package = tmp_path / "mpga"
    (package / "bin").mkdir(parents=True)
    (package / "__init__.py").touch()
    shutil.copy("/bin/true", package / "bin/mpga")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(FileNotFoundError, match="executors_binary"):
        _task.binary(None)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert _task.binary(None) == str(package / "bin/mpga")
    monkeypatch.setenv("PATH", str(package / "bin"))
    assert _task.binary(None) == str(package / "bin/mpga")
    assert _task.binary("/opt/mpga") == "/opt/mpga"
