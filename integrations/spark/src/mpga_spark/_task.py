"""What runs on an executor: one child process of mpga for each task.

The driver pickles this module by value, so that executors need Python and mpga, and not this package.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pyspark import AccumulatorParam, SparkFiles, TaskContext

MEMORY_MIN = 128 << 20  # bytes; mpga refuses less
STDERR_LINES = 20  # of a failure, which travel to the driver

# The flag of a stage that has the number of a task, or of splits the numbers A..B.
NUMBER = {"partial": "--split", "combine": "--node", "merge": "--task"}


class Summaries(AccumulatorParam[list[dict[str, Any]]]):
    """An accumulator of what tasks say. The tasks of an action count once each, whatever the attempts."""

    def zero(self, value: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return []

    def addInPlace(self, value1: list[dict[str, Any]], value2: list[dict[str, Any]]) -> list[dict[str, Any]]:
        value1 += value2
        return value1


def binary(name: str | None) -> str:
    """Return the path of mpga on this machine: the one that is named, the one on PATH, or the wheel's."""
    if name:
        return name
    if found := shutil.which("mpga"):
        return found
    wheel = importlib.util.find_spec("mpga")
    if wheel and wheel.origin:
        inside = Path(wheel.origin).with_name("bin") / "mpga"
        if os.access(inside, os.X_OK):
            return str(inside)
    raise FileNotFoundError("mpga is not on PATH and its wheel is not installed; executors_binary= names the program")


def dying_with_its_parent() -> Callable[[], None]:
    """Return what a child does before it becomes mpga: ask the kernel to kill it when this thread ends.

    Spark kills a Python worker by SIGKILL, which leaves the worker no time to kill its child. For executors
    only: in the driver a fork that runs Python closes the connections of PySpark's threads to the JVM.
    """
    parent = os.getpid()
    prctl = ctypes.CDLL(None).prctl  # looked up before the fork: the child calls and loads nothing else

    def before_exec() -> None:
        prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # the parent ended before the request
            os._exit(1)

    return before_exec


def run(
    command: Sequence[str], say: Callable[[str], None], before_exec: Callable[[], None] | None = None
) -> tuple[int, str, str]:
    """Run a command. Return its exit code, its stdout, and the end of its stderr, whose lines went to say."""
    tail: deque[str] = deque(maxlen=STDERR_LINES)
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            preexec_fn=before_exec,
        )
        assert child.stderr is not None
        try:
            for line in child.stderr:
                tail.append(line)
                say(line.rstrip("\n"))
            child.wait()
        finally:  # Ctrl-C, for one
            child.kill()
            child.wait()
            child.stderr.close()
        out.seek(0)
        return child.returncode, out.read(), "".join(tail)


def attempt(
    stage: str,
    task: str,
    plan: str,
    program: str | None,
    shipped: bool,
    device: str | None,
    memory: int | str,
    slots: int | None,
) -> list[dict[str, Any]]:
    """Run one task of a stage, or splits A..B. Return what mpga says, or what is to be an Error under ``failure``.

    Raise what another attempt may cure, so that Spark makes one. memory is a limit as mpga reads it, or
    the bytes that the tasks of this executor share, of which slots run at once (None: one per processor).
    """
    context = TaskContext.get()
    assert context is not None
    cpus = context.cpus()
    command = ["mpga", "dist", stage, "--plan", plan, NUMBER[stage], task, "--threads", str(cpus)]

    def failure(code: int | None, stderr: str) -> list[dict[str, Any]]:
        return [{"failure": {"stage": stage, "task": task, "command": command, "code": code, "stderr": stderr}}]

    if isinstance(memory, int):
        slots = slots or max(1, (os.cpu_count() or 1) // cpus)
        memory //= slots
        if memory < MEMORY_MIN:
            short = f"each of the {slots} tasks of an executor would have {memory >> 20} MiB of its memory overhead, "
            short += f"and mpga needs {MEMORY_MIN >> 20}: raise spark.executor.memoryOverhead to "
            short += f"{slots * MEMORY_MIN >> 20}m or more, better to what the aggregation is to have"
            return failure(None, short)
    command += ["--memory-limit", str(memory)]

    gpus = context.resources().get("gpu")
    command += ["--device", device or ("cuda:" + ",".join(gpus.addresses) if gpus else "cpu")]
    if scratch := os.environ.get("SPARK_LOCAL_DIRS"):
        folders = scratch.split(",")
        command += ["--temp-dir", folders[context.partitionId() % len(folders)]]

    def say(line: str) -> None:
        print(f"mpga {stage} {task}: {line}", file=sys.stderr, flush=True)

    try:
        command[0] = SparkFiles.get(os.path.basename(program)) if shipped and program else binary(program)
        code, out, tail = run(command, say, dying_with_its_parent())
    except OSError as e:  # no such program here, or one for another processor
        return failure(None, str(e))
    if code == 2:
        return failure(code, tail)
    if code != 0:
        raise RuntimeError(f"mpga {stage} {task}: exit code {code} of {' '.join(command)}\n{tail}")
    return [json.loads(line) for line in out.splitlines()]
