"""Studies that the command `hps` makes: sweeps, leaderboards, HPS's profiles, loops, DCPI, shadows, SHIM, the lesson."""

from __future__ import annotations

import html
import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Sequence, Union

from hps import _show
from hps._command import Done, command, machine_words, subject, table
from hps._hps import Frame, Machine, Program

Subject = Union[Program, str, "os.PathLike[str]"]
MachineLike = Union[Machine, str, "os.PathLike[str]", None]

_KINDS = {"method", "call_pair", "data_stream"}


def _text(value: str | os.PathLike[str]) -> str:
    return json.dumps(os.fspath(value), ensure_ascii=False)


def _own(program: Subject) -> str | None:
    """A program of one's own as a sweep definition has it; none for the name of one that comes with the project."""
    if isinstance(program, Program):
        words = program.words
        if "/" not in words[0]:
            return None
        options = program._options
        known = {"--root", "--stdin"}
        others = [word for word in options[::2] if word not in known]
        if others:
            raise ValueError(f"{program}: a sweep cannot give a program {', '.join(others)}")
        root = options[options.index("--root") + 1] if "--root" in options else None
        stdin = program._stdin_file
        if program._stdin_bytes is not None and stdin is None:
            raise ValueError(f"{program}: a sweep takes standard input from a file; give stdin= its path")
        parts = [f"path: {_text(os.path.abspath(words[0]))}", f"called: {_text(words[0])}"]
        parts.append(f"args: [{', '.join(_text(word) for word in words[1:])}]")
        if root is not None:
            parts.append(f"root: {_text(os.path.abspath(root))}")
        if stdin is not None:
            parts.append(f"stdin: {_text(stdin)}")
        return f"({', '.join(parts)})"
    name = os.fspath(program)
    return f"(path: {_text(os.path.abspath(name))}, called: {_text(name)})" if "/" in name else None


def _name(program: Subject) -> str:
    return program.name if isinstance(program, Program) else os.fspath(program)


@dataclass
class Sweep:
    """The results of a sweep: its folder, its rows, its pictures."""

    folder: Path
    text: str = ""

    @property
    def df(self) -> Frame:
        """A row for each point: accuracy, overhead, cycles, in the columns of `results.csv`."""
        return read_results(self.folder)

    @property
    def figures(self) -> list[str]:
        """Names of the pictures."""
        return sorted(file.stem for file in (self.folder / "figures").glob("*.svg"))

    def figure(self, name: str) -> _show.Picture:
        """A picture by its name."""
        file = self.folder / "figures" / f"{name}.svg"
        if not file.is_file():
            raise KeyError(f"{name}: there is no such picture; there are {', '.join(self.figures)}")
        return _show.Picture(file.read_text(encoding="utf-8"))

    @property
    def answers(self) -> list[str]:
        """The answers: for each kind of profile the cheapest point that is accurate enough."""
        kinds = ("hot method: ", "hot call pair: ", "hot data stream: ")
        lines = self.text.splitlines()
        return [line for line in lines if line.startswith(kinds) and "% accurate" in line and " (the " in line]

    def _repr_html_(self) -> str:
        answers = "".join(f"<li>{html.escape(line)}</li>" for line in self.answers)
        first = next((name for name in self.figures if name.endswith("heatmap")), None)
        picture = self.figure(first)._repr_html_() if first else ""
        report = html.escape(str(self.folder / "report.html"))
        return f"<ul>{answers}</ul>{picture}<p>The report: {report}</p>"

    def __repr__(self) -> str:
        return f"<Sweep in {self.folder}: {len(self.df):,} points>"


def sweep(
    programs: Sequence[Subject] | Subject = (),
    *,
    kinds: Sequence[str] = (),
    bursts: Sequence[int] = (),
    one_in: Sequence[int] = (),
    machines: Sequence[MachineLike] = (),
    timing: bool | str = True,
    phases: int | None = None,
    core: str | None = None,
    size: str = "small",
    isa: str = "riscv64",
    out: str | os.PathLike[str] = "hps-results",
    jobs: int = 0,
    progress: bool = True,
) -> Sweep:
    """Sweeps burst length against frequency, on all processors or on `jobs` of them, and keeps each point in `out`.

    `kinds` are `method`, `call_pair` and `data_stream`; `timing` is False, True (the points of the HPS paper's Figure 8)
    or `"all"`. What is empty is the paper's. An interrupted sweep goes on where it was when it is called again; its
    exception has the points so far.
    """
    programs = [programs] if isinstance(programs, (Program, str, os.PathLike)) else list(programs)
    wrong = [kind for kind in kinds if kind not in _KINDS]
    if wrong:
        raise ValueError(f"{wrong[0]}: there is no such kind of profile; there are {', '.join(sorted(_KINDS))}")
    definitions = [(program, _own(program)) for program in programs]
    own = [text for _, text in definitions if text is not None]
    named = [_name(program) for program, text in definitions if text is None]
    spec = [f'isas: ["{isa}"]', f"size: {size.capitalize()}"]
    spec.append({False: "timing: Off", True: "timing: PaperPoints", "all": "timing: All"}[timing])
    if programs:
        spec.append(f"programs: [{', '.join(map(_text, named))}]")
    if own:
        spec.append(f"own_programs: [{', '.join(own)}]")
    for key, values in (("profiles", kinds), ("bursts", bursts), ("one_in", one_in)):
        if values:
            spec.append(f"{key}: [{', '.join(map(str, values))}]")
    if phases is not None:
        spec.append(f"phases: {phases}")
    if core is not None:
        spec.append(f"core: {core.capitalize()}")
    folder = Path(out)
    with tempfile.TemporaryDirectory(prefix="hps-sweep-") as work:
        files = [str(_machine_file(machine, Path(work), at)) for at, machine in enumerate(machines)]
        if files:
            spec.append(f"machines: [{', '.join(map(_text, files))}]")
        file = Path(work) / "sweep.ron"
        file.write_text(f"({', '.join(spec)})", encoding="utf-8")
        words = ["sweep", str(file), "--out", str(folder), "--jobs", str(jobs)]
        done = command(*words, progress=progress, on_interrupt=lambda: Sweep(folder))
    return Sweep(folder, done.text)


def _machine_file(machine: MachineLike, folder: Path, at: int) -> str | Path:
    if not isinstance(machine, Machine):
        return os.fspath(machine) if machine is not None else "hps-4wide"
    file = folder / f"machine-{at}.ron"
    file.write_text(machine.to_ron(), encoding="utf-8")
    return file


def read_results(results: str | os.PathLike[str], rows: str | None = None) -> Frame:
    """A table of stored results: of the folder of a sweep, a study or a leaderboard, of an exact profile as JSON, of a
    profile file. `rows` says what a row is, where there are several choices: see `hps results convert --help`."""
    words = ["results", "convert", os.fspath(results), "--to", "json"]
    if rows is not None:
        words += ["--rows", rows]
    return table(command(*words, progress=False).text)


@dataclass
class Board:
    """A leaderboard: profilers by accuracy and cost."""

    json: dict[str, Any]
    folder: Path
    text: str = ""

    @property
    def df(self) -> Frame:
        """A row for each profiler, and for each of its errors a column: mean, and half of its 95% interval."""
        rows = []
        for board in self.json["boards"]:
            for entry in board["entries"]:
                row = {"isa": board["isa"], "machine": board["machine"]}
                row |= {key: entry[key] for key in ("name", "form", "kind", "takes", "counts")}
                for level, mean in entry["mean"]["errors"].items():
                    row |= _mean(f"error_{level}", mean)
                for key in ("overhead", "perturbation", "samples", "memory_bytes"):
                    row |= _mean(key, entry["mean"].get(key))
                rows.append(row)
        return Frame.from_json(json.dumps(rows))

    def plot(self) -> _show.Picture:
        """The picture of the report: error against cost."""
        files = sorted((self.folder / "figures").glob("*.svg"))
        if not files:
            raise FileNotFoundError(f"{self.folder}: the leaderboard has drawn no picture")
        return _show.Picture(files[0].read_text(encoding="utf-8"))

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"

    def __repr__(self) -> str:
        return f"<Board in {self.folder}: {len(self.df)} profilers>"


def _mean(name: str, mean: dict[str, Any] | None) -> dict[str, Any]:
    if not mean:
        return {}
    return {name: mean.get("mean"), f"{name}_half_width": mean.get("half_width")}


def leaderboard(
    programs: Sequence[Subject] | Subject = (),
    *,
    kind: str | Sequence[str] = "time",
    with_: Sequence[str] = (),
    machine: MachineLike = None,
    core: str = "cycle",
    isa: str = "riscv64",
    samples: int = 10_000,
    phases: int = 8,
    budget: float | None = None,
    out: str | os.PathLike[str] = "hps-leaderboard",
    jobs: int = 0,
    progress: bool = True,
) -> Board:
    """Profilers by accuracy and cost. `kind` is time, collected, method, call_pair or data_stream; `budget` a share."""
    programs = [programs] if isinstance(programs, (Program, str, os.PathLike)) else list(programs)
    kinds = [kind] if isinstance(kind, str) else list(kind)
    folder = Path(out)
    words = ["leaderboard"]
    for one in kinds:
        words += ["--kind", one.replace("_", "-")]
    if with_:
        words += ["--with", ",".join(with_)]
    if budget is not None:
        words += ["--budget", f"{100 * budget}%"]
    words += ["--core", core, "--isa", isa, "--samples", str(samples), "--phases", str(phases)]
    words += ["--out", str(folder), "--jobs", str(jobs)]
    arguments: list[str] = []
    for program in programs:
        if isinstance(program, Program) and "/" in program.words[0]:
            if len(programs) > 1 and len(program.words) > 1:
                raise ValueError(f"{program}: a program with arguments has a leaderboard of its own")
            arguments = program.words[1:]
            known = {"--root"}
            words += [w for pair in zip(program._options[::2], program._options[1::2]) if pair[0] in known for w in pair]
            if program._stdin_file is not None:
                words += ["--stdin", str(program._stdin_file)]
    with machine_words(machine) as chosen:
        words += chosen + [p.words[0] if isinstance(p, Program) else os.fspath(p) for p in programs]
        if arguments:
            words += ["--", *arguments]
        done = command(*words, json_result=True, progress=progress)
    return Board(done.json, folder, done.text)


@dataclass
class Collected:
    """A profile that HPS has collected, beside the exhaustive one."""

    json: dict[str, Any]
    text: str = ""
    names: dict[str, str] = field(default_factory=dict)

    @property
    def accuracy(self) -> float:
        """Overlap with the exhaustive profile, of the members that make up 90% of each."""
        return float(self.json["accuracy"]["renormalized"])

    @property
    def overhead(self) -> float | None:
        """Cycles that it costs, of those without it; none of a functional run."""
        cycles, baseline = self.json.get("cycles"), self.json.get("baseline_cycles")
        return None if cycles is None or not baseline else cycles / baseline - 1

    @property
    def df(self) -> Frame:
        """Members with their shares in both profiles, the hottest first."""
        shares: dict[str, dict[str, float]] = {}
        for which in ("exhaustive", "sampled"):
            members = _members(self.json[which])
            total = sum(members.values()) or 1
            for name, weight in members.items():
                shares.setdefault(name, {})[which] = weight / total
        rows: list[dict[str, Any]] = [
            {
                "member": member,
                "name": self.names.get(member),
                "exhaustive_share": of.get("exhaustive", 0.0),
                "sampled_share": of.get("sampled", 0.0),
            }
            for member, of in shares.items()
        ]
        rows.sort(key=lambda row: -row["exhaustive_share"])
        return Frame.from_json(json.dumps(rows))

    def _repr_html_(self) -> str:
        return _show.table_html(self.df, f"accuracy {100 * self.accuracy:.1f}%")

    def __repr__(self) -> str:
        cost = "" if self.overhead is None else f", overhead {100 * self.overhead:.2f}%"
        return f"<Collected: accuracy {100 * self.accuracy:.1f}%{cost}>"


def _members(document: dict[str, Any]) -> dict[str, float]:
    members: dict[str, float] = {}
    for entry in document["members"]:
        key = entry["member"]
        name = key if isinstance(key, str) else json.dumps(key, sort_keys=True)
        members[name] = members.get(name, 0) + entry["weight"]
    return members


def collect(
    program: Subject,
    machine: MachineLike = None,
    *,
    kind: str = "method",
    burst: int | None = None,
    one_in: int = 100,
    core: str = "cycle",
    progress: bool = True,
) -> Collected:
    """Collects a profile with HPS, in bursts; on a machine with its cost. `kind` is method, call_pair or data_stream."""
    options, words, stdin = subject(program)
    asked = ["collect", "--kind", kind.replace("_", "-"), "--one-in", str(one_in)]
    if burst is not None:
        asked += ["--burst", str(burst)]
    with machine_words(machine) as chosen:
        if chosen:
            asked += [*chosen, "--core", core]
        done = command(*asked, *options, *words, input=stdin, json_result=True, progress=progress)
    known = program if isinstance(program, Program) else Program(os.fspath(program))
    names = {f"{row['address']:#x}": row["name"] for row in known.functions().rows()}
    return Collected(done.json, done.text, names)


@dataclass
class Analysis:
    """The steady state of a loop: cycles of an iteration, and what limits it."""

    json: dict[str, Any]
    text: str = ""

    @property
    def cycles(self) -> float:
        """Cycles of an iteration."""
        return float(self.json["cycles"])

    @property
    def limited_by(self) -> list[str]:
        """The largest bounds, or what most other cycles were lost to."""
        return list(self.json["limited_by"])

    @property
    def bounds(self) -> Frame:
        """The least cycles of an iteration that each resource allows."""
        return Frame.from_json(json.dumps(self.json["bounds"]))

    @property
    def lines(self) -> Frame:
        """The instructions of the loop."""
        return Frame.from_json(json.dumps(self.json["lines"]))

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"

    def __repr__(self) -> str:
        return f"<Analysis: {self.cycles:.2f} cycles an iteration, limited by {' and '.join(self.limited_by)}>"


def analyze(program: Subject, machine: MachineLike = None, *, limit: int = 100_000) -> Analysis:
    """Analyzes the loop in which a program, or a file of assembly text, spends its time."""
    words = program.words if isinstance(program, Program) else [os.fspath(program)]
    isa = ["--isa", program.isa] if isinstance(program, Program) and "/" not in words[0] else []
    with machine_words(machine) as chosen:
        asked = ["analyze", *isa, *chosen, "--max-instructions", str(limit)]
        done = command(*asked, *words, json_result=True)
    return Analysis(done.json, done.text)


def dcpi(
    program: Subject, machine: MachineLike = "ev5", *, db: str | os.PathLike[str] | None = None, progress: bool = True
) -> Done:
    """Samples a program as DCPI does, and gives its report; `df` has the samples by procedure."""
    options, words, stdin = subject(program)
    with tempfile.TemporaryDirectory(prefix="hps-dcpi-") as work, machine_words(machine) as chosen:
        folder = os.fspath(db) if db is not None else os.path.join(work, "db")
        command("dcpi", "collect", "--db", folder, *chosen, *options, *words, input=stdin, progress=progress)
        return command("dcpi", "report", "--db", folder, json_result=True, progress=progress)


def shadow(program: Subject, *, machine: MachineLike = None, progress: bool = True, **options: Any) -> Done:
    """Profiles a program by shadows, simulated: `hps shadow simulate`, whose options are keyword arguments."""
    return _simulated("shadow", program, machine, options, progress)


def shim(program: Subject, *, machine: MachineLike = None, progress: bool = True, **options: Any) -> Done:
    """Observes a program from another hardware context, simulated: `hps shim simulate`, whose options are keywords."""
    return _simulated("shim", program, machine, options, progress)


def _simulated(name: str, program: Subject, machine: MachineLike, options: dict[str, Any], progress: bool) -> Done:
    given, words, stdin = subject(program)
    asked: list[str] = []
    for key, value in options.items():
        option = f"--{key.replace('_', '-')}"
        asked += [option] if value is True else [option, str(value)] if value is not False else []
    with machine_words(machine) as chosen:
        with_json = "calls" not in options
        line = [name, "simulate", *chosen, *asked, *given, *words]
        return command(*line, input=stdin, json_result=with_json, progress=progress)


@dataclass
class Page:
    """The page of `hps teach`, which notebooks show in a frame."""

    file: Path
    cycle: int | None = None
    height: int = 720

    def _repr_html_(self) -> str:
        try:
            source = os.path.relpath(self.file)
        except ValueError:
            source = str(self.file)
        place = f"?cycle={self.cycle}" if self.cycle is not None else ""
        source = html.escape(source.replace(os.sep, "/") + place)
        return (
            f'<iframe src="{source}" style="width:100%;height:{self.height}px;border:1px solid #8888" '
            f'title="The processor, cycle by cycle"></iframe><p><a href="{source}">open the page</a></p>'
        )

    def __repr__(self) -> str:
        return f"<Page {self.file}>"


def teach(
    program: Subject | None = None,
    machine: str | None = None,
    *,
    cycle: int | None = None,
    out: str | os.PathLike[str] = "hps-lesson.html",
    height: int = 720,
) -> Page:
    """Writes the page in which a program can be stepped through the processor, with lessons, and shows it."""
    words = ["teach", "--no-open", "--out", os.fspath(out)]
    if machine is not None:
        words += ["--machine", machine]
    if program is not None:
        words += program.words if isinstance(program, Program) else [os.fspath(program)]
    command(*words)
    return Page(Path(out), cycle, height)
