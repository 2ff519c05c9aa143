"""Jobs done by a Dask cluster, whose machines see the same folders: `pip install "backedge[cluster]"`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any

from ...passes.errors import InvalidModel
from ...passes.libraries import needed
from ...passes.limits import memory as memory_limit
from .jobs import Job
from .pool import Worker
from .results import Row, failed, row

_RETRIES = 5  # so many machines may be lost while they do one job
_PATIENCE = 10  # seconds for a scheduler to answer
_local = threading.local()


def do(job: dict[str, Any], limit: float, memory: int) -> tuple[dict[str, Any], float, str]:
    """Do a job in a process of this thread, which outlives it: a model that ends the process ends no machine."""
    from distributed import get_worker

    worker: Worker | None = getattr(_local, "worker", None)
    if worker is not None and worker.limits != (limit, memory):  # of an earlier sweep
        worker.close()
        worker = None
    if worker is None:
        worker = _local.worker = Worker(limit, memory)
    start = time.monotonic()
    found = worker.do(Job(**job))
    return found, time.monotonic() - start, str(get_worker().name)


def on_cluster(
    jobs: Sequence[Job], scheduler: str, limit: float, began: Callable[[Job], None] = lambda job: None
) -> Generator[Row]:
    """The jobs' results in the order in which they are done.

    A job whose machine is lost is done by another: what it writes is renamed when it is complete, so that doing it
    twice leaves one file, and its result is taken once.

    Raises:
        InvalidModel: Dask isn't installed, or there is no scheduler.
    """
    with needed("distributed", "a cluster"):
        from distributed import Client, as_completed
    try:
        client = Client(scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidModel(f"{scheduler}: no Dask scheduler answers ({str(error) or type(error).__name__})") from None
    with client:
        futures = {
            client.submit(
                do, job.to_json(), limit, memory_limit(), key=f"backedge-{job.key}", retries=_RETRIES, pure=False
            ): job
            for job in jobs
        }
        for future in as_completed(list(futures), loop=client.loop):
            job = futures[future]
            began(job)
            error = future.exception()
            if error is not None:
                yield row(job, failed(f"the cluster gave no result: {type(error).__name__}: {error}"), 0.0, "")
                continue
            found, seconds, name = future.result()
            yield row(job, found, seconds, name)
            future.release()
