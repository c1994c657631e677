"""What Spark adds to the work of mpga, with one executor and with two, of one core each.

    python bench/scaling.py DIR "SELECT k, sum(v) FROM input GROUP BY k" --mpga bin/mpga

By hand is the same plan without Spark: as many processes of one thread at once as there are executors.
Both read the files from the page cache, which a run before the first one fills. Spark's start is of
the first row also the JVM's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import mpga_spark

NUMBER = {"partial": "--split", "combine": "--node", "merge": "--task"}


def session(executors: int, memory_mib: int) -> SparkSession:
    """Start Spark and its executors' Python."""
    builder = SparkSession.builder.master(f"local-cluster[{executors},1,512]").config("spark.executor.memory", "512m")
    conf: dict[str, bool | float | int | str | None] = {
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memoryOverhead": f"{memory_mib}m",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    spark = builder.config(map=conf).getOrCreate()
    spark.sparkContext.parallelize(range(executors * 2), executors * 2).count()
    return spark


def by_hand(mpga: str, processes: int, memory_mib: int, flags: list[str]) -> None:
    """Run a plan with so many processes at once."""

    def dist(*arguments: str) -> str:
        return subprocess.run([mpga, "dist", *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout

    plan: dict[str, Any] = json.loads(dist("plan", *flags, "-o", "-"))
    path = plan["work"] + "/plan.json"
    limits = ("--threads", "1", "--memory-limit", f"{memory_mib}MiB", "--device", "cpu")
    with ThreadPoolExecutor(processes) as pool:
        for stage in plan["stages"]:
            if number := NUMBER.get(stage["name"]):
                tasks = range(stage["tasks"])
                list(pool.map(lambda n: dist(stage["name"], "--plan", path, number, str(n), *limits), tasks))  # noqa: B023
    dist("commit", "--plan", path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="of Parquet files")
    parser.add_argument("sql", help="a SELECT from the table input")
    parser.add_argument("--mpga", default=os.environ.get("MPGA_BINARY", "mpga"), help="the program")
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--memory", type=int, default=1024, metavar="MIB", help="of each task")
    parser.add_argument("--times", type=int, default=3, help="runs, of which the fastest counts")
    args = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    table = ["--table", f"input={args.directory.resolve()}"]

    with tempfile.TemporaryDirectory() as folder:
        runs = 0

        def fastest(do: Any) -> float:
            nonlocal runs
            seconds = []
            for _ in range(args.times):
                runs += 1
                began = time.perf_counter()
                do(f"{folder}/{runs}.parquet", f"{folder}/{runs}.work")
                seconds.append(time.perf_counter() - began)
            return min(seconds)

        def hand(processes: int, out: str, work: str) -> None:
            flags = [args.sql, *table, "--splits", str(args.splits), "--output", out, "--work", work]
            by_hand(args.mpga, processes, args.memory, flags)

        def on_spark(spark: SparkSession, out: str, work: str) -> None:
            settings = {"executors_binary": args.mpga, "splits": args.splits, "plan_flags": table}
            mpga_spark.run(spark, args.sql, out, work=work, **settings)

        hand(1, f"{folder}/0.parquet", f"{folder}/0.work")
        print("| executors | Spark's start | on Spark | by hand | overhead |\n|--:|--:|--:|--:|--:|")
        for executors in 1, 2:
            plain = fastest(lambda *where: hand(executors, *where))  # noqa: B023
            began = time.perf_counter()
            spark = session(executors, args.memory)
            start = time.perf_counter() - began
            total = fastest(lambda *where: on_spark(spark, *where))  # noqa: B023
            spark.stop()
            print(
                f"| {executors} | {start:.1f} s | {total:.2f} s | {plain:.2f} s | {total - plain:.2f} s |", flush=True
            )


if __name__ == "__main__":
    main()
