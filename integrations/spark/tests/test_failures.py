"""Children, workers, executors and drivers that are killed, and tasks that fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import EXECUTORS, FLIGHTS, SOURCES, Program, ancestors, gone, lines, rest, single, wait_for
from pyspark import InheritableThread
from pyspark.sql import SparkSession

import mpga_spark

STATEMENT = f"SELECT origin, count(*) AS flights, sum(distance) AS miles FROM '{FLIGHTS}' GROUP BY origin"
TASKS = {"splits": 4, "partitions": 2, "plan_flags": ["--merges", "2"]}
SLEEP = "exec sleep 1000"


class Run:
    """A run in a thread of its own."""

    def __init__(self, spark: SparkSession, program: Program, folder: Path, **options: object) -> None:
        self.error: BaseException | None = None
        self.result: mpga_spark.Result | None = None
        self.folder = folder

        def run() -> None:
            try:
                self.result = aggregate(spark, program, folder, **options)
            except BaseException as e:
                self.error = e

        self.thread = InheritableThread(run, session=spark)
        self.thread.start()

    def succeeds(self) -> mpga_spark.Result:
        """Wait, and compare the result with that of one process."""
        self.thread.join(60)
        assert self.error is None and self.result is not None, self.error
        assert lines(self.result.path) == lines(single(STATEMENT, self.folder / "alone.csv"))
        return self.result


def aggregate(spark: SparkSession, program: Program, folder: Path, **options: object) -> mpga_spark.Result:
    where = {"work": folder / "work", "executors_binary": program.path}
    return mpga_spark.run(spark, STATEMENT, folder / "out.csv", **where, **{**TASKS, **options})


def running(spark: SparkSession) -> list[int]:
    """Return the attempts of tasks that run."""
    tasks = [t for stage in rest(spark, "stages?status=active&details=true") for t in stage["tasks"].values()]
    return [t["taskId"] for t in tasks if t["status"] == "RUNNING"]


def test_child_that_is_killed(spark: SparkSession, program: Program, tmp_path: Path) -> None:
    program.hook("partial-1", "kill -9 $$", once=True)
    result = Run(spark, program, tmp_path).succeeds()
    assert len(program.calls("partial", 1)) == 2
    assert result.metrics["partial"].rows == 300_000  # each task counts once


def test_exit_code_1_is_retried(spark: SparkSession, program: Program, tmp_path: Path) -> None:
    program.hook("merge-0", "echo 'mpga: the store is away' >&2; exit 1", once=True)
    Run(spark, program, tmp_path).succeeds()
    assert len(program.calls("merge", 0)) == 2 and len(program.calls("merge", 1)) == 1
    logs = (EXECUTORS / spark.sparkContext.applicationId).glob("*/stderr")
    assert any("mpga merge 0: mpga: the store is away\n" in log.read_text() for log in logs)


def test_exit_code_2_is_not_retried(spark: SparkSession, program: Program, tmp_path: Path) -> None:
    """The stage ends at once, and the tasks that run with it."""
    program.hook("partial", SLEEP)
    program.hook("partial-0", "sleep 1; echo 'mpga: the input changed' >&2; exit 2")
    began = time.monotonic()
    with pytest.raises(mpga_spark.Error) as caught:
        aggregate(spark, program, tmp_path)
    assert time.monotonic() < began + 15
    e = caught.value
    assert (e.stage, e.task, e.code) == ("partial", "0", 2)
    assert e.command[0] == program.path and "--split" in e.command
    assert e.stderr == "mpga: the input changed\n"
    assert str(e).startswith("mpga partial, split 0: exit code 2\n") and "the input changed" in str(e)
    assert len(program.calls("partial", 0)) == 1
    for pid in program.called("partial"):
        gone(pid)


def test_input_that_has_changed(spark: SparkSession, program: Program, tmp_path: Path) -> None:
    """mpga itself refuses a plan that does not suit."""
    rows = tmp_path / "rows.csv"
    rows.write_text("k,v\na,1\n")
    program.hook("status", f'"$real" "$@"; echo b,2 >>{rows}; exit 0')
    where = {"work": tmp_path / "work", "executors_binary": program.path}
    with pytest.raises(mpga_spark.Error, match="partial, split 0: exit code 2") as caught:
        mpga_spark.run(spark, f"SELECT k, sum(v) FROM '{rows}' GROUP BY k", tmp_path / "out.csv", **where)
    assert str(rows) in caught.value.stderr
    assert len(program.calls("partial")) == 1


def test_statement_that_is_wrong(spark: SparkSession, program: Program, tmp_path: Path) -> None:
    with pytest.raises(mpga_spark.Error, match="mpga plan: exit code") as caught:
        mpga_spark.run(spark, "SELECT", tmp_path / "out.csv", work=tmp_path / "work", executors_binary=program.path)
    assert caught.value.stage == "plan" and caught.value.task is None and "SELECT" in caught.value.command


def test_program_that_is_not_there(spark: SparkSession, program: Program, tmp_path: Path) -> None:
    program.hook("status", '"$real" "$@"; mv "$0" "$0.away"; exit 0')
    with pytest.raises(mpga_spark.Error, match=r"partial, split \d: did not start"):
        aggregate(spark, program, tmp_path)


@pytest.mark.parametrize("who", ["worker", "executor"])
def test_parent_that_is_killed(spark: SparkSession, program: Program, tmp_path: Path, who: str) -> None:
    """kill -9 of a Python worker or of the JVM of an executor ends the child, too, and the task runs again."""
    program.hook("partial-2", SLEEP, once=True)
    run = Run(spark, program, tmp_path)
    (child,) = program.called("partial", 2)
    above = list(ancestors(child))
    assert above[0][1].startswith("python")
    victim = above[0][0] if who == "worker" else next(pid for pid, name in above if name == "java")
    os.kill(victim, signal.SIGKILL)
    gone(child, 5)
    run.succeeds()
    assert len(program.calls("partial", 2)) == 2


def test_attempt_that_is_killed(spark: SparkSession, program: Program, tmp_path: Path) -> None:
    """As Spark kills the twin of a task that is done. Twins by speculation need executors on several hosts."""
    program.hook("partial-3", SLEEP, once=True)
    run = Run(spark, program, tmp_path)
    (child,) = program.called("partial", 3)
    wait_for(lambda: len(running(spark)) == 1)
    spark.sparkContext._jsc.sc().killTaskAttempt(running(spark)[0], True, "its twin is done")
    gone(child)
    run.succeeds()
    assert len(program.calls("partial", 3)) == 2


def test_twins_that_both_end(spark: SparkSession, program: Program, tmp_path: Path) -> None:
    """Two runs of the same plan at the same time do each other no harm."""
    program.hook("partial", "sleep 0.2")
    runs = [Run(spark, program, tmp_path) for _ in range(2)]
    for run in runs:
        run.succeeds()


def test_cancelled(spark: SparkSession, program: Program, tmp_path: Path) -> None:
    """The group of the caller's jobs holds for a run, and its children end."""
    program.hook("partial", SLEEP)
    spark.sparkContext.setJobGroup("nightly", "of the test")
    try:
        run = Run(spark, program, tmp_path)
        pids = program.called("partial", times=2)
        spark.sparkContext.cancelJobGroup("nightly")
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        spark.sparkContext.setLocalProperty("spark.job.description", None)
    run.thread.join(20)
    assert run.error is not None and "cancel" in str(run.error)
    for pid in pids:
        gone(pid)
    program.unhook("partial")
    Run(spark, program, tmp_path).succeeds()


def test_interrupted(spark: SparkSession, program: Program, tmp_path: Path) -> None:
    """Ctrl-C in the driver ends the children."""
    program.hook("partial", SLEEP)
    pids: list[int] = []

    def interrupt() -> None:
        pids.extend(program.called("partial", times=2))
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        aggregate(spark, program, tmp_path)
    for pid in pids:
        gone(pid)


DRIVER = """
import sys
sys.path[:0] = sys.argv[1:3]
import conftest, mpga_spark
mpga_spark.run(conftest.session(**eval(sys.argv[3])), **eval(sys.argv[4]))
"""


@dataclass
class Killed:
    """A driver that was killed between two stages."""

    program: Program
    folder: Path
    children: list[int]  # of the stage that had begun


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Killed:
    """Have a driver whose executors have GPUs, as Spark believes, and kill it while partitions are merged."""
    folder = tmp_path_factory.mktemp("killed")
    gpus = folder / "gpus"
    gpus.write_text("""#!/bin/sh\necho '{"name": "gpu", "addresses": ["4", "7"]}'\n""")
    gpus.chmod(0o755)
    conf = {
        "spark.worker.resource.gpu.amount": "2",
        "spark.worker.resource.gpu.discoveryScript": str(gpus),
        "spark.executor.resource.gpu.amount": "1",
        "spark.task.resource.gpu.amount": "1",
    }
    program = Program(folder / "bin")
    program.hook("partial", 'set -- $(echo "$*" | sed "s/cuda:[0-9]*/cpu/")')  # there are none
    program.hook("merge", SLEEP)
    options = {"job": STATEMENT, "output": str(folder / "out.csv"), "work": str(folder / "work"), **TASKS}
    options["executors_binary"] = program.path
    arguments = [SOURCES, str(Path(__file__).parent), repr(conf), repr(options)]
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, *arguments])
    try:
        children = program.called("merge")
    finally:
        driver.kill()
        driver.wait()
    program.unhook("partial")
    program.unhook("merge")
    return Killed(program, folder, children)


def test_gpus(killed: Killed) -> None:
    """A task has the GPU that Spark has given it."""
    calls = [arguments.split() for _, arguments in killed.program.calls("partial")]
    assert len(calls) == 4
    assert {words[words.index("--device") + 1] for words in calls} <= {"cuda:4", "cuda:7"}


def test_driver_that_is_killed(spark: SparkSession, killed: Killed) -> None:
    """The children of its executors end, and a second run schedules what is missing."""
    for pid in killed.children:
        gone(pid)
    result = Run(spark, killed.program, killed.folder).succeeds()
    assert len(killed.program.calls("partial")) == 4
    assert list(result.metrics) == ["merge", "commit"]
