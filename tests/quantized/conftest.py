from __future__ import annotations

from collections.abc import Iterator

import pytest
from openvino_lowering.runner import Runner
from openvino_lowering.worker import Worker

from .runtimes import quantize, run_onnx


@pytest.fixture(scope="session")
def openvino() -> Iterator[Runner]:
    runner = Runner()
    yield runner
    runner.close()


@pytest.fixture(scope="session")
def onnxruntime() -> Iterator[Worker]:
    worker = Worker(run_onnx)
    yield worker
    worker.stop()


@pytest.fixture(scope="session")
def quantizer() -> Iterator[Worker]:
    worker = Worker(quantize)
    yield worker
    worker.stop()
