"""The command `hps`, which comes with the package: its results as JSON, its progress where it is called."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

from hps._hps import Frame, Interrupted, LabError, Machine, Program

_PROGRESS = re.compile(r"^hps: (?P<what>[^:]+): (?P<done>\d+) of (?P<all>\d+) done in ")


class CommandError(LabError):
    """The command has refused or failed: its message, and its exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@functools.cache
def schemas() -> dict[str, dict[str, tuple[str, str]]]:
    """Units and meanings of the columns of each table that the command writes."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="hps-schemas-") as folder:
        command("dev", "schemas", folder, progress=False)
        for file in Path(folder).glob("*.schema.json"):
            keys = json.loads(file.read_text()).get("properties", {})
            # Other documents than tables have no rows.
            if "rows" in keys:
                columns = keys["rows"]["items"]["properties"].items()
                found[keys["format"]["const"]] = {name: (c.get("unit", ""), c["description"]) for name, c in columns}
    return found


def table(text: str) -> Frame:
    """A table of results that the command has written as JSON, with the units and meanings of its columns."""
    return Frame.from_table(text, schemas())


@dataclass
class Done:
    """What a command has said: its words, its text, and its results as JSON if it was asked for them."""

    words: list[str]
    code: int
    text: str
    json_text: str | None = None
    notes: list[str] = field(default_factory=list)

    @functools.cached_property
    def json(self) -> Any:
        """The results as JSON, if the command was asked for them."""
        return None if self.json_text is None else json.loads(self.json_text)

    @property
    def df(self) -> Frame:
        """The results as a table, of a command whose JSON is one."""
        if self.json_text is None or '"rows"' not in self.json_text:
            raise LabError(f"hps {self.words[0]} has not been asked for a table; json_result=True asks for JSON")
        return table(self.json_text)

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self.text)}</pre>"

    def __str__(self) -> str:
        return self.text


def executable() -> str:
    """The command `hps`: that of `HPS_COMMAND`, the one that was installed with this package, or the first on `PATH`."""
    named = os.environ.get("HPS_COMMAND")
    folders = [sysconfig.get_path("scripts"), os.path.join(os.path.dirname(sys.executable))]
    beside = (Path(folder) / "hps" for folder in folders if folder)
    found = named or next((str(file) for file in beside if file.is_file()), None) or shutil.which("hps")
    if found is None:
        raise LabError("the command hps is missing; install the package again, or name the command in HPS_COMMAND")
    return found


class _Progress:
    """Lines of progress: one that changes in a notebook, lines in a terminal."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown
        self.notes: list[str] = []
        self.handle: Any = None

    def say(self, line: str) -> None:
        if not _PROGRESS.match(line) and "first rows" not in line:
            self.notes.append(line)
        if not self.shown or not line.strip():
            return
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        if shell is not None and shell.__class__.__name__ == "ZMQInteractiveShell":
            from IPython.display import DisplayHandle  # type: ignore[import-not-found, unused-ignore]

            if self.handle is None:
                self.handle = DisplayHandle()  # type: ignore[no-untyped-call, unused-ignore]
                self.handle.display({"text/plain": line}, raw=True)
            else:
                self.handle.update({"text/plain": line}, raw=True)
            return
        print(line, file=sys.stderr, flush=True)


def command(
    *words: str | os.PathLike[str],
    input: bytes | None = None,
    json_result: bool = False,
    progress: bool = True,
    on_interrupt: Callable[[], Any] | None = None,
) -> Done:
    """Runs the command with these words, such as `command("machine", "show")`, and gives what it prints.

    `json_result` asks for its results as JSON. An interrupt of the interpreter goes to the command, which keeps what it
    has; `Interrupted` then carries what `on_interrupt` gives.
    """
    said = [os.fspath(word) for word in words]
    with tempfile.TemporaryDirectory(prefix="hps-") as folder:
        file = Path(folder) / "result.json"
        call = [executable(), *said]
        if json_result:
            # Behind the names of the command and before its program.
            call.insert(2 if len(said) < 2 or said[0] not in _GROUPS else 3, f"--json={file}")
        lines = _Progress(progress)
        process = subprocess.Popen(
            call,
            stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        parts: list[bytes] = []

        def read_output() -> None:
            assert process.stdout is not None
            parts.append(process.stdout.read())

        def read_messages() -> None:
            assert process.stderr is not None
            for line in process.stderr:
                lines.say(line.decode(errors="replace").rstrip("\n"))

        def write() -> None:
            assert process.stdin is not None
            try:
                process.stdin.write(input or b"")
                process.stdin.close()
            except BrokenPipeError:
                pass

        def finish() -> None:
            process.wait()
            for reader in readers:
                reader.join()
            for stream in (process.stdout, process.stderr):
                assert stream is not None
                stream.close()

        readers = [threading.Thread(target=read_output), threading.Thread(target=read_messages)]
        if input is not None:
            readers.append(threading.Thread(target=write))
        for reader in readers:
            reader.start()
        try:
            # Another thread may get the signal of an interrupt, and this one sees it only between two looks.
            while True:
                try:
                    code = process.wait(timeout=0.2)
                    break
                except subprocess.TimeoutExpired:
                    pass
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
            finish()
            interrupted = Interrupted(
                f"hps {said[0]} was interrupted; `result` of this exception has what there is of it"
            )
            interrupted.result = on_interrupt() if on_interrupt is not None else None
            raise interrupted from None
        except BaseException:
            process.kill()
            finish()
            raise
        finish()
        text = b"".join(parts).decode(errors="replace")
        if code != 0:
            errors = [line for line in lines.notes if line.startswith("hps: error: ")]
            message = "\n".join(errors or lines.notes[-5:]) or f"exit code {code}"
            raise CommandError(message.removeprefix("hps: error: "), code)
        result = file.read_text() if json_result else None
        return Done(said, code, text, result, lines.notes)


# Commands that have commands of their own.
_GROUPS = {"cluster", "dcpi", "dise", "machine", "programs", "root", "shadow", "shim", "dev"}


def subject(program: Program | str | os.PathLike[str]) -> tuple[list[str], list[str], bytes | None]:
    """Options that give a program its surroundings, its words, and its standard input."""
    if not isinstance(program, Program):
        return [], [os.fspath(program)], None
    options = list(program._options)
    # A program of the project has an image for each instruction set.
    if "/" not in program.words[0]:
        options += ["--isa", program.isa]
    if program._stdin_file is not None:
        options += ["--stdin", str(program._stdin_file)]
    return options, program.words, program._stdin_bytes


class machine_words:
    """The option for a machine: the name of a preset, or a file that holds a machine of one's own meanwhile."""

    def __init__(self, machine: Machine | str | os.PathLike[str] | None) -> None:
        self.machine = machine
        self.folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> list[str]:
        if self.machine is None:
            return []
        if not isinstance(self.machine, Machine):
            return ["--machine", os.fspath(self.machine)]
        if self.machine.name in Machine.presets() and Machine(self.machine.name) == self.machine:
            return ["--machine", self.machine.name]
        self.folder = tempfile.TemporaryDirectory(prefix="hps-machine-")
        file = Path(self.folder.name) / "machine.ron"
        file.write_text(self.machine.to_ron())
        return ["--machine", str(file)]

    def __exit__(self, *ended: object) -> None:
        if self.folder is not None:
            self.folder.cleanup()
