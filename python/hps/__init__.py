"""HPS Lab: programs on a simulated processor whose every cycle is known, and profilers held against that truth.

    import hps
    program = hps.compile("wc.c", "text.txt")
    machine = hps.Machine("hps-4wide", window__rob_entries=256)
    run = hps.run(program, machine)
    profile = hps.profile(program, machine, with_=["tip", "pebs"])
    profile.functions().to_pandas()

Long studies are those of the command `hps`, which comes with the package: `hps.sweep`, `hps.leaderboard`,
`hps.collect`, `hps.analyze`, `hps.dcpi`, `hps.shadow`, `hps.shim` and `hps.teach` call it. What an interrupt ends keeps
its results.
"""

from hps._command import CommandError, Done, command
from hps._hps import (
    CLASSES,
    EVENTS,
    VERSION as __version__,
    Frame,
    Interrupted,
    LabError,
    Machine,
    Profile,
    Program,
    Run,
    Values,
    profile,
    profilers,
    run,
    watch,
)
from hps._programs import assemble, compile
from hps._studies import (
    Analysis,
    Board,
    Collected,
    Page,
    Sweep,
    analyze,
    collect,
    dcpi,
    leaderboard,
    read_results,
    shadow,
    shim,
    sweep,
    teach,
)

__all__ = [
    "CLASSES",
    "EVENTS",
    "Analysis",
    "Board",
    "Collected",
    "CommandError",
    "Done",
    "Frame",
    "Interrupted",
    "LabError",
    "Machine",
    "Page",
    "Profile",
    "Program",
    "Run",
    "Sweep",
    "Values",
    "__version__",
    "analyze",
    "assemble",
    "collect",
    "command",
    "compile",
    "dcpi",
    "leaderboard",
    "profile",
    "profilers",
    "read_results",
    "run",
    "shadow",
    "shim",
    "sweep",
    "teach",
    "watch",
]
