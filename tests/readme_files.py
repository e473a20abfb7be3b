"""Files that the commands of the README read."""

from pathlib import Path


def write_systems() -> None:
    """Write outputs of three systems into tune/ and test/, and references that are those of the first one."""
    sentences = [
        "The cat {} on the mat.",
        "The dog {} on the mat.",
        "A bird {} in the tree.",
        "He waits for the train.",
    ]
    for folder in ("tune", "test"):
        Path(folder).mkdir()
        for name, verb in {"A": "sat", "B": "sits", "C": "sat"}.items():
            Path(folder, f"{name}.en").write_text("".join(f"{line.format(verb)}\n" for line in sentences))
        Path(f"{folder}.en").write_text(Path(folder, "A.en").read_text())
