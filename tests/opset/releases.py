"""Old onnx releases: their wheels fetched whatever Python runs here, their node tests as `corpus.wheel` finds them."""

from __future__ import annotations

import subprocess
import sys
import zipfile

from corpus.wheel import CACHE, Recorded, recorded

# release -> Python and platforms that it was built for
BUILDS = {
    "1.1.2": ("36", ("manylinux1_x86_64",)),
    "1.2.2": ("36", ("manylinux1_x86_64",)),
    "1.3.0": ("36", ("manylinux1_x86_64",)),
    "1.5.0": ("36", ("manylinux1_x86_64",)),
    "1.6.0": ("36", ("manylinux1_x86_64",)),
    "1.8.0": ("38", ("manylinux2010_x86_64",)),
    "1.10.2": ("38", ("manylinux_2_12_x86_64",)),
    "1.14.1": ("311", ("manylinux_2_17_x86_64",)),
    "1.17.0": ("311", ("manylinux_2_17_x86_64",)),
    "1.20.0": ("311", ("manylinux_2_27_x86_64", "manylinux_2_28_x86_64", "manylinux_2_17_x86_64")),
    "1.22.0": ("311", ("manylinux_2_27_x86_64", "manylinux_2_28_x86_64", "manylinux_2_17_x86_64")),
}


def cases(release: str) -> list[Recorded]:
    """The recorded node tests of a release, fetched on first use."""
    folder = CACHE / f"onnx-{release}"
    if not (folder / "onnx").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        python, platforms = BUILDS[release]
        abi = f"cp{python}m" if python == "36" else f"cp{python}"
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", str(folder)]
        command += ["--implementation", "cp", "--python-version", python, "--abi", abi]
        command += [option for platform in platforms for option in ("--platform", platform)]
        subprocess.run([*command, f"onnx=={release}"], check=True, capture_output=True, timeout=600)
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if "/backend/test/data/node/" in name])
    return recorded(release)
