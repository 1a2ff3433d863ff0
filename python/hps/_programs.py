"""Programs from sources: C by the host's cross compilers, assembly text by the laboratory's own assemblers."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hps import _hps
from hps._hps import LabError, Program

_COMPILERS = {
    ("riscv64", ".c"): "riscv64-linux-gnu-gcc",
    ("riscv64", ".cc"): "riscv64-linux-gnu-g++",
    ("alpha", ".c"): "alpha-linux-gnu-gcc",
    ("alpha", ".cc"): "alpha-linux-gnu-g++",
}


def _folder() -> Path:
    """A folder of this user's for what is compiled; names in it are hashes of what they were made of."""
    base = os.environ.get("XDG_CACHE_HOME")
    folder = Path(base) if base else Path(tempfile.gettempdir()) / f"hps-lab-{os.getuid()}"
    folder = folder / "python"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _kept(name: str, *made_of: bytes) -> Path:
    digest = hashlib.sha256()
    for part in made_of:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    folder = _folder() / digest.hexdigest()[:16]
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / name


def compile(
    source: str | os.PathLike[str],
    *args: str,
    isa: str = "riscv64",
    flags: tuple[str, ...] | list[str] = ("-O2", "-g"),
    name: str | None = None,
    compiler: str | None = None,
    **surroundings: Any,
) -> Program:
    """Compiles C or C++ for RISC-V or Alpha, statically, by a cross compiler of the host, and gives the program.

    `source` is the path of a file, or the text of a C program (any text with a line break). `surroundings` are the
    keyword arguments of `Program`. A program that was compiled before from the same bytes by the same flags is not
    compiled again.
    """
    text = os.fspath(source)
    is_text = "\n" in text
    content = text.encode() if is_text else Path(text).read_bytes()
    file = Path("program.c" if is_text else text)
    kind = ".c" if file.suffix in ("", ".c") else ".cc"
    found = compiler or _COMPILERS.get((isa, kind))
    if found is None:
        raise LabError(f"{isa}: there is no compiler for this instruction set; there are riscv64 and alpha")
    path = shutil.which(found)
    if path is None:
        package = f"install Debian's {found.rsplit('-', 1)[-1]}-{isa}-linux-gnu, or " if compiler is None else ""
        raise LabError(f"{found} is missing; {package}name another one with compiler=")
    words = [*flags]
    kept = _kept(name or file.stem, content, found.encode(), "\0".join(words).encode(), str(file.absolute()).encode())
    if not kept.exists():
        if is_text:
            file = kept.with_suffix(".c")
            file.write_bytes(content)
        unfinished = kept.with_suffix(".unfinished")
        command = [path, "-static", *words, "-o", str(unfinished), str(file), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise LabError(f"{found} refuses {file}:\n{done.stderr.strip()}")
        unfinished.rename(kept)
    return Program(str(kept), *args, isa=isa, **surroundings)


def assemble(
    text: str | os.PathLike[str], *args: str, isa: str = "riscv64", name: str = "program", **surroundings: Any
) -> Program:
    """Assembles a program: a text, or the file of that path. `surroundings` are the keyword arguments of `Program`."""
    words = os.fspath(text)
    if "\n" not in words and Path(words).is_file():
        name = Path(words).stem
        words = Path(words).read_text()
    image = _hps.assemble(words, isa)
    kept = _kept(name, image)
    if not kept.exists():
        unfinished = kept.with_suffix(".unfinished")
        unfinished.write_bytes(image)
        unfinished.chmod(0o700)
        unfinished.rename(kept)
    return Program(str(kept), *args, isa=isa, **surroundings)
