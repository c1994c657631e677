from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

import mpga_spark

MPGA = os.environ["MPGA_BINARY"]
FLIGHTS = Path(__file__).parents[3] / "tests/testdata/flights-2001.parquet"

# Programs that tests start find the package where the tests do. Executors do not: Spark starts them with
# another path.
SOURCES = str(Path(mpga_spark.__file__).parents[1])

# The folders of executors, by application: their files and logs.
EXECUTORS = Path(pyspark.__file__).parent / "work"


def session(**conf: str) -> SparkSession:
    """Start Spark with two executors of one core."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,512]").config("spark.driver.host", "127.0.0.1")
    quick = {
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.memory": "512m",
        "spark.driver.memory": "512m",
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.port": "0",
        "spark.python.task.killTimeout": "200ms",
        "spark.sql.shuffle.partitions": "1",
        "spark.log.level": "ERROR",
    }
    return builder.config(map={**quick, **conf}).getOrCreate()


def rest(spark: SparkSession, what: str) -> Any:
    """Return what Spark's UI shows."""
    sc = spark.sparkContext
    with urllib.request.urlopen(f"{sc.uiWebUrl}/api/v1/applications/{sc.applicationId}/{what}") as answer:
        return json.load(answer)


class Program:
    """mpga with hooks, in a folder of its own, and the calls that it has had."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = str(folder / "mpga")
        folder.mkdir()
        shutil.copy(Path(__file__).with_name("hooked"), self.path)
        (folder / "real").symlink_to(MPGA)
        (folder / "calls").touch()

    def hook(self, name: str, shell: str, *, once: bool = False) -> None:
        """Have shell run before a stage or a task, for each attempt or for the first one only."""
        if once:  # of two attempts at the same moment one moves the file
            shell = f'if mv "$here/{name}" "$here/was-{name}"; then {shell}\nfi'
        (self.folder / name).write_text(shell + "\n")

    def unhook(self, name: str) -> None:
        """Remove a hook."""
        (self.folder / name).unlink()

    def calls(self, stage: str, task: int | None = None) -> list[tuple[int, str]]:
        """Return the processes of a stage or task, and their arguments."""
        out = []
        for line in (self.folder / "calls").read_text().splitlines():
            pid, _, arguments = line.partition(" ")
            words = arguments.split()
            if words[1] == stage and (task is None or words[5] == str(task)):
                out.append((int(pid), arguments))
        return out

    def called(self, stage: str, task: int | None = None, times: int = 1) -> list[int]:
        """Wait until a stage or task has so many processes, and return their numbers."""
        wait_for(lambda: len(self.calls(stage, task)) >= times)
        return [pid for pid, _ in self.calls(stage, task)]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The executors of nearly all tests."""
    spark = session()
    yield spark
    spark.stop()
    shutil.rmtree(EXECUTORS, ignore_errors=True)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """mpga with hooks."""
    return Program(tmp_path / "bin")


def wait_for(condition: Callable[[], Any], seconds: float = 60) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Say whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pid: int, seconds: float = 15) -> None:
    """Wait until a process has ended."""
    wait_for(lambda: not alive(pid), seconds)


def ancestors(pid: int) -> Iterator[tuple[int, str]]:
    """Yield the processes above one, the nearest first, with their names."""
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        yield pid, Path(f"/proc/{pid}/comm").read_text().strip()


def single(statement: str, path: Path) -> Path:
    """Write the result of one process."""
    command = [MPGA, "sql", statement, "--deterministic", "--device", "cpu", "-o", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path


def lines(path: str | Path) -> list[list[str]]:
    """Return the rows of a CSV file or a folder of them, sorted."""
    files = sorted(Path(path).glob("**/*.csv")) if Path(path).is_dir() else [Path(path)]
    rows = []
    for file in files:
        head, *rest = csv.reader(file.open(newline=""))
        rows += [head, *rest] if file == files[0] else rest
    return sorted(rows)
