"""Writes the types of machines' keys, `hps/_machine_keys.py`, from the keys themselves."""

from pathlib import Path

import hps


def kind(default: str) -> str:
    """The type of a key, from its default as a machine file has it."""
    if default in ("true", "false"):
        return "bool"
    if default.startswith('"'):
        return "str"
    try:
        int(default)
        return "int"
    except ValueError:
        pass
    try:
        float(default)
        return "float"
    except ValueError:
        return "Any"


def module() -> str:
    """The module."""
    lines = [
        '"""Keyword arguments of machines: the keys of a machine description, two underscores for each dot."""',
        "",
        "from typing import Any, TypedDict",
        "",
        "",
        "class MachineKeys(TypedDict, total=False):",
        '    """Keys of a machine; `hps.Machine.keys()` has their units and meanings."""',
        "",
    ]
    for row in hps.Machine.keys().rows():
        name = row["key"].replace(".", "__")
        # Keys of a variant of an enumeration are part of its text.
        if name.isidentifier() and name == name.lower():
            lines.append(f"    {name}: {kind(row['default'])}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (Path(__file__).resolve().parent.parent / "hps" / "_machine_keys.py").write_text(module())
