"""Files that are never half written, and logs that survive a kill."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from stratagem.core.errors import DamagedFile


@contextmanager
def atomic_write(path: Path | str, mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a file that appears under its name only when it is complete and on disk."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with temporary.open(mode.replace("w", "x"), encoding=None if "b" in mode else "utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path | str, content: Any) -> None:
    """Write one JSON document, atomically."""
    with atomic_write(path, "w") as file:
        json.dump(content, file, indent=1)
        file.write("\n")


def read_json(path: Path | str) -> Any:
    """Read one JSON document; DamagedFile if there is none."""
    path = Path(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DamagedFile(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DamagedFile(f"{path}: not readable as JSON ({error})") from error


def append_json(path: Path | str, rows: list[Any]) -> None:
    """Append one line a row and wait until they are on disk."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
        file.flush()
        os.fsync(file.fileno())


def recover_lines(path: Path | str) -> list[Any]:
    """The rows of a JSON-lines log. A last line that a kill cut short is dropped from the file;
    a bad line anywhere else is DamagedFile, and the file is left alone.
    """
    path = Path(path)
    if not path.exists():
        return []
    data = path.read_bytes()
    whole, cut = data[: data.rfind(b"\n") + 1], data[data.rfind(b"\n") + 1 :]
    rows = []
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            rows.append(json.loads(line))
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise DamagedFile(f"{path}: line {number} is not JSON ({error}); mend or remove it") from error
    if cut:
        with path.open("r+b") as file:
            file.truncate(len(whole))
    return rows


def cache_folder() -> Path:
    """Where solved tables and compiled programs are kept for this user. STRATAGEM_CACHE moves it."""
    chosen = os.environ.get("STRATAGEM_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "stratagem"
