"""What a run returns."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class Metrics:
    """Sums over the tasks of a stage that this run has run, each task once, however many attempts it took."""

    tasks: int = 0
    already: int = 0  # tasks that an earlier attempt had done
    rows: int = 0
    groups: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    seconds: float = 0.0  # of the child processes, by their own clocks

    @classmethod
    def of(cls, summaries: Iterable[dict[str, Any]]) -> Metrics:
        """Add up what tasks say."""
        sums = cls()
        for s in summaries:
            sums.tasks += 1
            sums.already += s["state"] == "already"
            sums.rows += s.get("rows", 0)
            sums.groups += s.get("groups", 0)
            sums.bytes_read += s.get("bytes_read", 0)
            sums.bytes_written += s.get("bytes_written", 0)
            sums.seconds += s.get("seconds", 0.0)
        return sums


@dataclass
class Result:
    """A result that is there, whole."""

    spark: SparkSession
    plan: dict[str, Any]  # plan.json
    metrics: dict[str, Metrics]  # by stage; a stage that was done before this run is absent

    @property
    def path(self) -> str:
        """Where the result is, as mpga writes it."""
        path: str = self.plan["output"]["path"]
        return path

    def dataframe(self) -> DataFrame:
        """Return the result as a frame of Spark, which reads s3:// as s3a:// and az:// as abfss://."""
        path = hadoop(self.path)
        output = self.plan["output"]
        kind = output.get("format") or os.path.splitext(path)[1].lstrip(".") or "parquet"
        if kind == "parquet":
            return self.spark.read.parquet(path)
        if kind in ("csv", "tsv"):
            separator = chr(output["delimiter"]) if output.get("delimiter") else "\t" if kind == "tsv" else ","
            return self.spark.read.csv(path, sep=separator, header=not output.get("no_header"), inferSchema=True)
        if kind == "json":
            return self.spark.read.json(path)
        raise ValueError(f"{path}: Spark cannot read the format {kind}")


def hadoop(path: str) -> str:
    """Return a path of mpga as Hadoop's file systems name it."""
    if path.startswith("s3://"):
        return "s3a://" + path.removeprefix("s3://")
    if m := re.match(r"az://([^/]+)", path):
        account = os.environ["AZURE_STORAGE_ACCOUNT"]
        return f"abfss://{m[1]}@{account}.dfs.core.windows.net" + path[m.end() :]
    return path if "://" in path else "file://" + os.path.abspath(path)
