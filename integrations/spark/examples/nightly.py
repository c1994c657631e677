"""The steps of a job, one after the other, on the executors of Spark.

spark-submit --conf spark.executor.cores=8 --conf spark.task.cpus=8 --conf spark.executor.memoryOverhead=16g \\
    nightly.py nightly.yaml --work s3://bucket/work --date 2026-11-26
"""

from __future__ import annotations

import argparse
import logging

from pyspark.sql import SparkSession

import mpga_spark


def main() -> None:
    parser = argparse.ArgumentParser(description="run the steps of a job file of mpga on Spark")
    parser.add_argument("job", help="the file, on the driver")
    parser.add_argument("--work", help="a directory that all machines see, or a URL")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a variable of the job")
    parser.add_argument("--date", help="of the run, as mpga run --date has it")
    parser.add_argument("--step", action="append", help="one step; all without it")
    parser.add_argument("--mpga", help="the program on the executors; without it the one on their PATH")
    parser.add_argument("--ship", action="store_true", help="copy the program from the driver to the executors")
    args = parser.parse_args()

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    spark = SparkSession.builder.appName("nightly").getOrCreate()
    try:
        results = mpga_spark.run_steps(
            spark,
            args.job,
            args.step,
            work=args.work,
            set=dict(pair.split("=", 1) for pair in args.set),
            executors_binary=args.mpga,
            ship=args.ship,
            plan_flags=["--date", args.date] if args.date else [],
        )
        for name, result in results.items():
            read = result.metrics.get("partial", mpga_spark.Metrics())
            groups = result.metrics["commit"].rows
            print(f"{name}: {read.rows:,} rows read, {groups:,} groups in {result.path}")
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
