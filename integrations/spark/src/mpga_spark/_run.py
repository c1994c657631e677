"""What runs on the driver: plan, a job of Spark for each stage, commit."""

from __future__ import annotations

import json
import logging
import os
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any

from pyspark import InheritableThread, SparkConf, cloudpickle

from . import _task
from ._errors import Error
from ._result import Metrics, Result

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("mpga_spark")

cloudpickle.register_pickle_by_value(_task)  # type: ignore[no-untyped-call]

PROGRESS_SECONDS = 10  # between lines of the log
OVERHEAD_MIN = "384m"  # Spark's own, where spark.executor.minMemoryOverhead is not set


def run(
    spark: SparkSession,
    job: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    work: str | os.PathLike[str] | None = None,
    executors_binary: str | None = None,
    ship: bool = False,
    step: str | None = None,
    set: Mapping[str, str] | None = None,
    splits: int | None = None,
    partitions: int | None = None,
    splits_per_task: int = 1,
    device: str | None = None,
    memory_limit: str | None = None,
    plan_flags: Sequence[str] = (),
) -> Result:
    """Aggregate files with mpga, one child process for each task of Spark, and return where the result is.

    The driver runs ``mpga dist plan`` and, at last, ``mpga dist commit``, which lets the result appear whole.
    Between them each stage of the plan is a job of Spark, whose tasks carry a number and no rows. Tasks that
    ``mpga dist status`` knows as done are not scheduled: a run that was killed goes on where it ended, if
    it is called again with the same arguments and the input is the same.

    job: the text of a SELECT, or the path of a job file, of which ``step`` names the step and ``set`` the
        values of variables.
    output: a file, a directory or a URL; None where the job file says it.
    work: a directory that the driver and all executors see by this path, or a URL (s3://, gs://, az://);
        by default the name of the output and .work. States lie in it until ``mpga dist gc`` removes them.
    executors_binary: the path of mpga on the executors. By default it is the mpga on their PATH, or the
        program inside the Python package mpga where that is installed. With ``ship`` it is a file on the
        driver, which Spark copies to the executors (SparkContext.addFile).
    splits, partitions: how finely the input and the keys are cut; by default mpga chooses.
    splits_per_task: splits that one process does one after the other. With a GPU, which takes a second to
        open, more than one.
    device: auto, cpu or cuda:N of every task. By default a task has the GPUs that Spark has given it
        (spark.task.resource.gpu.amount), or else the CPU.
    memory_limit: of every task, as in 1GiB. By default the tasks that run at once in an executor share its
        memory overhead (spark.executor.memoryOverhead, or what Spark derives without it).
    plan_flags: further flags of ``mpga dist plan``.

    A task has as many threads as spark.task.cpus says. Exit code 1 of mpga fails the attempt, and Spark makes
    another (spark.task.maxFailures). Exit code 2, which no retry helps, cancels the stage and raises Error.
    Cancelled jobs and tasks, Ctrl-C, and the death of a Python worker, of an executor or of the driver end
    the child processes.

    What shows where: in Spark's UI each stage has a description with its numbers of tasks, and the sums of
    the stages before it. PySpark's accumulators have no names, and so Spark's UI does not list them; what
    mpga says of rows, groups, bytes and seconds is in ``Result.metrics`` and, while a stage runs, every
    10 seconds in the log ``mpga_spark`` of the driver. What the processes write to stderr is in the
    stderr of the executors.
    """
    local = executors_binary if ship or (executors_binary and os.access(executors_binary, os.X_OK)) else None
    if ship:
        if not executors_binary:
            raise ValueError("ship=True needs executors_binary, the file to be shipped")
        spark.sparkContext.addFile(executors_binary)

    flags = [_absolute(job) if _is_file(job) else os.fspath(job), "-o", "-"]
    if work is not None:
        flags += ["--work", _absolute(work)]
    if output is not None:
        flags += ["--output", _absolute(output)]
    for flag, value in ("--step", step), ("--splits", splits), ("--partitions", partitions):
        if value is not None:
            flags += [flag, str(value)]
    for name, text in (set or {}).items():
        flags += ["--set", f"{name}={text}"]
    plan: dict[str, Any] = json.loads(_on_driver(local, "plan", [*flags, *plan_flags]))
    path = f"{plan['work']}/plan.json"
    status = json.loads(_on_driver(local, "status", ["--plan", path, "--format", "json"]))

    result = Result(spark, plan, {})
    settings = {
        "plan": path,
        "program": executors_binary,
        "shipped": ship,
        "device": device,
        "memory": memory_limit or overhead(spark.sparkContext.getConf()),
        "slots": slots(spark.sparkContext.getConf()),
    }
    for stage in status["stages"]:
        tasks = ranges(missing(stage), splits_per_task if stage["name"] == "partial" else 1)
        if stage["name"] != "commit" and not status["committed"] and tasks:
            result.metrics[stage["name"]] = _stage(spark, result, stage, tasks, settings)
    result.metrics["commit"] = Metrics.of([json.loads(_on_driver(local, "commit", ["--plan", path]))])
    log.info("%s: %s is there", plan["name"], result.path)
    return result


def run_steps(
    spark: SparkSession, job: str | os.PathLike[str], steps: Sequence[str] | None = None, **options: Any
) -> dict[str, Result]:
    """Run steps of a job file one after the other, by default all, and return their results by name.

    options are those of ``run``. Without ``steps`` their names are read from the file, which needs PyYAML.
    """
    if steps is None:
        import yaml

        with open(job) as f:
            steps = [step["name"] for step in yaml.safe_load(f)["steps"]]
    return {step: run(spark, job, step=step, **options) for step in steps}


def _stage(
    spark: SparkSession,
    result: Result,
    stage: Mapping[str, Any],
    tasks: Sequence[str],
    settings: Mapping[str, Any],
) -> Metrics:
    """Run tasks of a stage as a job of Spark."""
    sc = spark.sparkContext
    name = stage["name"]
    what = f"mpga {result.plan['name']}: {name}, {stage['tasks'] - stage['done']} of {stage['tasks']} tasks"
    before = "; ".join(f"{k}: {m.rows:,} rows, {m.bytes_written:,} B written" for k, m in result.metrics.items())
    tag = f"mpga-{uuid.uuid4()}"
    summaries = sc.accumulator([], _task.Summaries())
    attempt = _task.attempt
    ended: Future[None] = Future()

    def each(numbers: Any) -> None:
        for number in numbers:
            summaries.add(attempt(name, number, **settings))

    def job() -> None:
        try:
            sc.setJobDescription(f"{what} ({before})" if before else what)
            sc.addJobTag(tag)
            sc.parallelize(tasks, len(tasks)).foreachPartition(each)
            ended.set_result(None)
        except BaseException as e:
            ended.set_exception(e)

    # A thread of its own waits for Spark, so that this one can cancel the job. The properties of this thread
    # hold in it, too: the pool of the scheduler, and the group by which a program cancels jobs.
    InheritableThread(job, session=spark).start()
    said = time.monotonic()
    try:
        while not wait([ended], timeout=0.5).done:
            sums = _sums(summaries.value)
            if time.monotonic() > said + PROGRESS_SECONDS:
                said = time.monotonic()
                log.info("%s: %s", what, sums)
    except BaseException:
        while not ended.done():
            sc.cancelJobsWithTag(tag)  # again where the job had not begun
            wait([ended], timeout=0.5)
        raise
    sums = _sums(summaries.value)
    ended.result()
    log.info("%s: %s", what, sums)
    return sums


def _sums(summaries: Sequence[dict[str, Any]]) -> Metrics:
    """Add up what tasks have said so far, or raise what one of them has found."""
    said = list(summaries)  # which grows
    for summary in said:
        if failure := summary.get("failure"):
            raise Error(**failure)
    return Metrics.of(said)


def _on_driver(program: str | None, command: str, flags: Sequence[str]) -> str:
    """Run a command of mpga dist here, and return its stdout."""
    line = ["mpga", "dist", command, *flags]
    try:
        line[0] = _task.binary(program)
        code, out, tail = _task.run(line, log.info)
    except OSError as e:
        raise Error(command, None, line, None, str(e)) from e
    if code != 0:
        raise Error(command, None, line, code, tail)
    return out


def missing(stage: Mapping[str, Any]) -> Sequence[int]:
    """Return the tasks that a stage lacks, as mpga dist status tells.

    It lists 10,000. Behind the last of these any task may be missing; one that is done ends at once.
    """
    listed: list[int] = stage["missing"]
    if len(listed) < stage["tasks"] - stage["done"]:
        listed = listed + list(range(listed[-1] + 1, stage["tasks"]))
    return listed


def ranges(tasks: Sequence[int], most: int) -> list[str]:
    """Return tasks as 4..7, or 8, with at most so many in one."""
    out: list[list[int]] = []
    for task in tasks:
        if out and task == out[-1][-1] + 1 and len(out[-1]) < most:
            out[-1].append(task)
        else:
            out.append([task])
    return [str(r[0]) if len(r) == 1 else f"{r[0]}..{r[-1]}" for r in out]


def overhead(conf: SparkConf) -> int:
    """Return the bytes of an executor's memory that Spark leaves to others than the JVM's heap."""
    if explicit := conf.get("spark.executor.memoryOverhead"):
        return _bytes(explicit)
    # The second is what Spark sets for Python on Kubernetes: 0.4.
    factor = conf.get("spark.executor.memoryOverheadFactor") or conf.get("spark.kubernetes.memoryOverheadFactor", "0.1")
    derived = int(_bytes(conf.get("spark.executor.memory", "1g")) * float(factor or 0))
    return max(derived, _bytes(conf.get("spark.executor.minMemoryOverhead", OVERHEAD_MIN)))


def slots(conf: SparkConf) -> int | None:
    """Return how many tasks run at once in an executor; None if it has all the processors of its machine."""
    master = conf.get("spark.master", "")
    if m := re.match(r"local\[(\d+)|local-cluster\[\s*\d+\s*,\s*(\d+)|(local)$", master):
        cores = int(m[1] or m[2] or 1)
    elif explicit := conf.get("spark.executor.cores"):
        cores = int(explicit)
    elif re.match("yarn|k8s:", master):
        cores = 1
    else:
        return None
    tasks = cores // int(conf.get("spark.task.cpus", "1"))
    if share := conf.get("spark.task.resource.gpu.amount"):
        tasks = min(tasks, int(float(conf.get("spark.executor.resource.gpu.amount", "0")) / float(share)))
    return max(tasks, 1)


def _bytes(text: str) -> int:
    """Return a size as Spark reads it: 4g, 512m, or 512, which is MiB."""
    m = re.fullmatch(r"(\d+)\s*([kmgtp]?)i?b?", text.strip().lower())
    if not m:
        raise ValueError(f"{text}: not a size of Spark")
    return int(m[1]) << {"k": 10, "m": 20, "": 20, "g": 30, "t": 40, "p": 50}[m[2]]


def _is_file(job: str | os.PathLike[str]) -> bool:
    return isinstance(job, os.PathLike) or job.endswith((".yaml", ".yml")) and "://" not in job


def _absolute(path: str | os.PathLike[str]) -> str:
    """Return a path that means the same in every process."""
    text = os.fspath(path)
    return text if "://" in text else os.path.abspath(text)
