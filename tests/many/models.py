"""Folders of models for the tests of many: some that convert, one that doesn't, one that can't be read."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx.parser import parse_model

HEAD = '<ir_version: 8, opset_import: ["" : 16]> '
LOOP = """g (int64 m, float[2] x) => (float[2] y) {{
    y = Loop (m, , x) <body = b (int64 i, bool c, float[2] v) => (bool co, float[2] vo) {{
        co = Identity (c)  vo = {} (v, x) }}> }}"""
SEQUENCE = "g (seq(float[2]) x) => (float[n] y) { y = ConcatFromSequence <axis = 0> (x) }"


def save(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(parse_model(HEAD + text), path)
    return path


def folder_of_models(folder: Path) -> Path:
    """Three that go to OpenVINO, one whose input OpenVINO doesn't take, one cut off, and files that are no models."""
    save(folder / "add.onnx", LOOP.format("Add"))
    save(folder / "deep" / "add.onnx", LOOP.format("Mul"))
    save(folder / "deep" / "SUB.ONNX", LOOP.format("Sub"))
    save(folder / "sequence.onnx", SEQUENCE)
    (folder / "cut.onnx").write_bytes((folder / "add.onnx").read_bytes()[:-5])
    (folder / "config.json").write_text('{"a": 1}')
    (folder / "pom.xml").write_text("<project/>")
    (folder / "notes.txt").write_text("no model")
    return folder
