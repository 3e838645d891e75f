"""The one model thread: requests wait in a bounded queue, start together in batches, and batches take turns.

A batch is what the model computes in one pass. Requests that wait when there is room form the next batch; batches under
way are stepped in turn, so that a long answer holds nobody up. A request that fails, is cancelled or runs out of time
ends at the next step. A batch half of whose rows are over is packed anew (its prompts and outputs are computed once
more), so that rows that are over hold no room. A model that raises ends the requests of that batch only.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.models.base import Model
from engine.server.errors import ApiError, busy, internal
from engine.server.generation import Item, Output, Plan
from engine.server.limits import Limits

log = logging.getLogger("maskproof.server")
FILLER = 0


class Job:
    """One request in the model thread; `send` takes what comes out of it, from that thread."""

    def __init__(self, plan: Plan, send: Callable[[Item | ApiError], None], seconds: float) -> None:
        """It has `seconds` from now on."""
        self.plan = plan
        self.deadline = time.monotonic() + seconds
        self.cancelled = False
        self._send = send

    def cancel(self) -> None:
        """Nobody waits for it any more: its rows are free at the next step."""
        self.cancelled = True

    def send(self, item: Item | ApiError) -> None:
        """Pass on one item; a receiver that is gone cancels the job."""
        if self.cancelled:
            return
        try:
            self._send(item)
        except RuntimeError:
            self.cancel()

    def fail(self, error: ApiError) -> None:
        """The last item is an error."""
        self.send(error)
        self.cancel()

    @property
    def is_late(self) -> bool:
        """Its time is over."""
        return time.monotonic() > self.deadline


class Batch:
    """Outputs that the model steps in one pass."""

    def __init__(self, model: Model, jobs: Sequence[Job]) -> None:
        """All choices of all jobs, one row each."""
        self._model = model
        self.jobs = list(jobs)
        self.outputs = [(job, Output(job.plan, choice)) for job in jobs for choice in range(job.plan.choices)]
        self._rows = model.rows([job.plan.prompt for job, _ in self.outputs])

    def __len__(self) -> int:
        """Rows that the model computes: less than twice those that are wanted, or none."""
        return len(self.outputs)

    def pack(self) -> None:
        """Drop the rows that are over when they are half of all or more."""
        wanted = [(job, output) for job, output in self.outputs if not (job.cancelled or output.is_finished)]
        if 2 * len(wanted) > len(self.outputs):
            return
        self.outputs = wanted
        if wanted:
            self._rows = self._model.rows([(*job.plan.prompt, *output.tokens) for job, output in wanted])

    def step(self) -> None:
        """One token for every output that is under way."""
        logits = as_array(self._rows.logits())
        fed = [self._take(job, output, row) for (job, output), row in zip(self.outputs, logits, strict=True)]
        self._rows.feed([[token] for token in fed])

    def _take(self, job: Job, output: Output, row: Any) -> int:
        if job.cancelled or output.is_finished:
            return FILLER
        try:
            items = output.close() if job.is_late else output.take(row)
        except Exception:
            log.exception("request %s failed", job.plan.request_id)
            job.fail(internal("the answer could not be decoded"))
            return FILLER
        for item in items:
            job.send(item)
        return output.tokens[-1] if output.tokens else FILLER

    def fail(self) -> None:
        """Every job of it ends with an error."""
        for job in self.jobs:
            job.fail(internal("the model failed"))
        self.outputs = []


def as_array(logits: Any) -> Any:
    """Rows of float32 on this machine's memory, of a tensor on any device or an array."""
    on_host = logits.detach().cpu().numpy() if hasattr(logits, "detach") else logits
    return np.asarray(on_host, dtype=np.float32)


class Scheduler:
    """The model thread and its queue."""

    def __init__(self, model: Model, limits: Limits) -> None:
        """Start the thread."""
        self._model, self._limits = model, limits
        self._waiting: deque[Job] = deque()
        self._batches: list[Batch] = []
        self._condition = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="model", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Queue a job; 429 when the queue is full."""
        with self._condition:
            self._waiting = deque(waiting for waiting in self._waiting if not waiting.cancelled)
            if self._closed or len(self._waiting) >= self._limits.waiting:
                raise busy(f"{len(self._waiting)} requests wait already; try again later")
            self._waiting.append(job)
            self._condition.notify()

    def load(self) -> dict[str, int]:
        """How many requests wait and how many rows are under way."""
        return {"waiting": len(self._waiting), "rows": sum(map(len, self._batches))}

    def close(self) -> None:
        """Stop after the step under way; what waits or runs is told so."""
        with self._condition:
            self._closed = True
            self._condition.notify()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed:
            self._admit()
            for batch in list(self._batches):
                self._step(batch)
        stopping = busy("the server is stopping")
        for job in [*self._waiting, *(job for batch in self._batches for job in batch.jobs)]:
            job.fail(stopping)

    def _step(self, batch: Batch) -> None:
        try:
            batch.pack()
            if len(batch):
                batch.step()
                batch.pack()
        except Exception:
            log.exception("the model failed")
            batch.fail()
        if not len(batch):
            self._batches.remove(batch)

    def _admit(self) -> None:
        """Start a batch of what waits and fits; sleep while there is nothing to do."""
        with self._condition:
            while not (self._closed or self._waiting or self._batches):
                self._condition.wait()
            jobs = self._fitting()
        if not jobs:
            return
        try:
            self._batches.append(Batch(self._model, jobs))
        except Exception:
            log.exception("the model took no prompt")
            for job in jobs:
                job.fail(internal("the model failed"))

    def _fitting(self) -> list[Job]:
        room = self._limits.rows - sum(map(len, self._batches))
        jobs: list[Job] = []
        while self._waiting and self._waiting[0].plan.choices <= room:
            job = self._waiting.popleft()
            if job.is_late:
                job.fail(busy("the request waited too long; try again later"))
            elif not job.cancelled:
                jobs.append(job)
                room -= job.plan.choices
        return jobs
