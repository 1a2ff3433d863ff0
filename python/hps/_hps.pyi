"""The native part: programs, machines, runs, profiles, probes and tables."""

import os
from typing import Any, Callable, Mapping, Sequence, Unpack

from hps._machine_keys import MachineKeys
from hps._show import Picture

VERSION: str
CLASSES: list[str]
"""Names of the classes of instructions, by the numbers of the column `class`."""
EVENTS: list[str]
"""Names of the events of instructions, by the bits of the column `events`, the lowest first."""

class LabError(Exception):
    """What the laboratory could not do, and the remedy."""

class Interrupted(KeyboardInterrupt):
    """An interrupt has ended a run or a command."""

    result: Any
    """What there is of it so far."""

class Values:
    """The values of a column. Numbers lend their memory: `numpy.asarray(values)` copies nothing."""

    @property
    def is_numeric(self) -> bool: ...
    @property
    def is_boolean(self) -> bool: ...
    def tolist(self) -> list[Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, at: int) -> Any: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Frame:
    """A table of results: columns with names, units and descriptions."""

    @staticmethod
    def from_json(text: str, notes: Mapping[str, tuple[str, str]] | None = None) -> Frame:
        """The table that JSON makes: a list of objects, or one object a line. Keys inside of objects are joined by dots.

        `notes` are units and meanings of columns by their names.
        """
    @staticmethod
    def from_table(text: str, notes: Mapping[str, Mapping[str, tuple[str, str]]]) -> Frame:
        """The table of a JSON document that the command has written.

        `notes` are units and meanings of columns by format and name.
        """
    @property
    def columns(self) -> list[str]: ...
    @property
    def units(self) -> dict[str, str]: ...
    @property
    def descriptions(self) -> dict[str, str]: ...
    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The rows as dictionaries, at most `most` of them."""
    def to_pandas(self) -> Any:
        """The table as a `pandas.DataFrame`. Numbers are not copied."""
    def to_polars(self) -> Any:
        """The table as a `polars.DataFrame`, without a copy."""
    def to_arrow(self) -> Any:
        """The table as a `pyarrow.Table`, without a copy."""
    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> Values: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def _repr_html_(self) -> str: ...

class Machine:
    """A machine: a preset or a file, with keys that differ."""

    def __init__(self, preset_or_file: str = "hps-4wide", /, **keys: Unpack[MachineKeys]) -> None: ...
    def with_(self, **keys: Unpack[MachineKeys]) -> Machine:
        """This machine with these keys."""
    @staticmethod
    def presets() -> list[str]: ...
    @staticmethod
    def keys() -> Frame:
        """Every key with its unit, default and meaning."""
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    def to_ron(self) -> str:
        """The whole description as a machine file."""
    def __getitem__(self, key: str) -> Any:
        """The value of a key, such as `machine["window.rob_entries"]`."""
    def __getattr__(self, name: str) -> Any: ...

class Program:
    """A program with its arguments and surroundings."""

    def __init__(
        self,
        name: str | os.PathLike[str],
        *args: str,
        isa: str | None = None,
        stdin: bytes | str | os.PathLike[str] | None = None,
        root: str | os.PathLike[str] | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        seed: int = 0,
        address_seed: int | None = None,
        memory_limit_mib: int = 2048,
        time_limit: float | None = None,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def words(self) -> list[str]: ...
    @property
    def isa(self) -> str: ...
    @property
    def hash(self) -> str: ...
    def functions(self) -> Frame:
        """The functions that its symbols name."""
    @property
    def _options(self) -> list[str]: ...
    @property
    def _stdin_file(self) -> str | None: ...
    @property
    def _stdin_bytes(self) -> bytes | None: ...

class Run:
    """The result of a run."""

    @property
    def program(self) -> str: ...
    @property
    def machine(self) -> str | None: ...
    @property
    def instructions(self) -> int: ...
    @property
    def cycles(self) -> int | None: ...
    @property
    def ipc(self) -> float | None: ...
    @property
    def exit_code(self) -> int: ...
    @property
    def end(self) -> str: ...
    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> bytes: ...
    @property
    def host_seconds(self) -> float: ...
    @property
    def counters(self) -> dict[str, int]:
        """Counters of the core, its caches, TLBs and buses, by name."""
    def cpi_stack(self) -> Frame:
        """Cycles by cause."""

class Profile:
    """Where each cycle of a run has gone, exactly, and what profilers have said of the same run."""

    @property
    def run(self) -> Run: ...
    @property
    def cycles(self) -> int: ...
    def instructions(self) -> Frame: ...
    def functions(self) -> Frame: ...
    def lines(self) -> Frame: ...
    def errors(self) -> Frame:
        """The profilers that have watched, and the share of time that each gives to the wrong member."""
    def samples(self, profiler: str) -> Frame:
        """Samples of a profiler by instruction."""
    def error(self, profile: str | Mapping[int, float], level: str = "instruction") -> float:
        """The error of a profiler that has watched, or of a profile of one's own: weights by address."""
    def export(self, file: str | os.PathLike[str], format: str | None = None) -> None:
        """Writes the profile for another tool."""
    def flame(self) -> Picture:
        """The flame graph."""
    def _repr_html_(self) -> str: ...

def run(
    program: Program | str | os.PathLike[str],
    machine: Machine | str | None = None,
    *,
    core: str = "cycle",
    limit: int | None = None,
) -> Run:
    """Runs a program: timed on a machine, or functionally without one."""

def profile(
    program: Program | str | os.PathLike[str],
    machine: Machine | str | None = None,
    *,
    with_: str | Sequence[str] = (),
    period: int = 997,
    core: str = "cycle",
    limit: int | None = None,
) -> Profile:
    """Says where each cycle goes; `with_` names profilers that watch the same run."""

def profilers() -> Frame:
    """The profilers that `profile` takes."""

def watch(
    program: Program | str | os.PathLike[str],
    probe: Callable[[Frame], object],
    machine: Machine | str | None = None,
    *,
    columns: Sequence[str] | None = None,
    batch: int = 65536,
    core: str = "cycle",
    limit: int | None = None,
) -> Run:
    """Hands the commits of a run to a function, `batch` at a time, as a table."""

def assemble(text: str, isa: str | None = None) -> bytes:
    """The executable that assembly text makes."""
