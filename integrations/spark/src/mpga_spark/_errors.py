"""What goes wrong, as an exception."""

from __future__ import annotations

import shlex
from collections.abc import Sequence


class Error(Exception):
    """A command of mpga that failed, and that Spark has not tried again or must not.

    Its text has the stage, the task, the command and the end of what the command wrote to stderr.
    """

    stage: str  # plan, status, partial, combine, merge or commit
    task: str | None  # its number, or of splits as in 4..7; None where a stage has no tasks
    command: Sequence[str]
    code: int | None  # of the process; negative for a signal, None where the process did not start
    stderr: str  # its last lines

    def __init__(self, stage: str, task: str | None, command: Sequence[str], code: int | None, stderr: str) -> None:
        self.stage, self.task, self.command, self.code, self.stderr = stage, task, command, code, stderr
        what = f"mpga {stage}" + ("" if task is None else f", {'split' if stage == 'partial' else 'task'} {task}")
        how = "did not start" if code is None else f"was killed by signal {-code}" if code < 0 else f"exit code {code}"
        super().__init__(f"{what}: {how}\n  {shlex.join(command)}\n{stderr.rstrip()}")
