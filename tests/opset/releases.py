"""Recorded node tests of onnx releases: wheels fetched whatever Python runs here, the newest release's generated."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import onnx
from corpus.wheel import CACHE, Recorded, recorded

# release -> the Python that its wheel was built for
BUILDS = {
    **dict.fromkeys(("1.1.2", "1.2.2", "1.2.3", "1.3.0", "1.4.1", "1.5.0", "1.6.0"), "36"),
    **dict.fromkeys(("1.7.0", "1.8.0"), "38"),
    **dict.fromkeys(("1.9.0", "1.10.2", "1.11.0", "1.12.0"), "39"),
    **dict.fromkeys(("1.13.1", "1.14.1", "1.15.0", "1.16.2", "1.17.0", "1.18.0", "1.19.1"), "311"),
    **dict.fromkeys(("1.20.0", "1.21.0", "1.22.0"), "311"),
}
_PLATFORMS = ("1", "2010", "2014", "_2_12", "_2_17", "_2_27", "_2_28")

GENERATED = "1.23.2"
"""No wheel carries this release's node tests; onnx makes them."""


def cases(release: str) -> list[Recorded]:
    """The node tests of a release, fetched or made on first use."""
    folder = CACHE / f"onnx-{release}"
    data = folder / "onnx" / "backend" / "test" / "data" / "node"
    if release == GENERATED:
        if not (folder / "complete").exists():
            data.mkdir(parents=True, exist_ok=True)
            command = [sys.executable, str(Path(__file__).with_name("generate.py")), str(data)]
            subprocess.run(command, check=True, capture_output=True, timeout=900)
            (folder / "complete").write_text(onnx.__version__)
    elif not data.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        python = BUILDS[release]
        abi = f"cp{python}m" if python == "36" else f"cp{python}"
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", str(folder)]
        command += ["--implementation", "cp", "--python-version", python, "--abi", abi]
        command += [f"--platform=manylinux{platform}_x86_64" for platform in _PLATFORMS]
        subprocess.run([*command, f"onnx=={release}"], check=True, capture_output=True, timeout=600)
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if "/backend/test/data/node/" in name])
    return recorded(release)


def unique(releases: list[str]) -> Iterator[tuple[str, Recorded]]:
    """("release/name", case) of every test whose model and data no earlier release has."""
    seen: set[bytes] = set()
    for release in releases:
        for case in cases(release):
            digest = hashlib.sha256()
            for path in (*sorted(case.path.parent.rglob("*.pb")), case.path):
                digest.update(path.read_bytes())
            if digest.digest() not in seen:
                seen.add(digest.digest())
                yield f"{release}/{case.name}", case


def folder_of(where: str) -> Path:
    """The folder of a test named "release/name"."""
    release, name = where.split("/")
    return CACHE / f"onnx-{release}" / "onnx" / "backend" / "test" / "data" / "node" / name
