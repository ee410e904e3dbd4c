"""The exchange between workers by Dask's own connections: encrypted where the cluster is, and open wherever Dask works.

Slower than `SocketExchange`: some milliseconds a message in place of tenths of one. Each worker gets a handler that
puts what others send into the mailbox of the process, from which the thread that grows trees takes it. Messages without
the token of a fit under way are thrown away.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from threading import Condition
from typing import Any, TypeVar

import numpy as np

from podium._validation import Array
from podium.distributed.swap_exchange import ANSWER_LIMIT_SECONDS, SwapExchange

AnyResult = TypeVar("AnyResult")

HANDLER = "podium_deliver"
"""What the handler of a worker is called."""
PROBE = 0
"""Number of a message that only asks whether somebody waits for others; they count from 1."""
PROBE_SECONDS = 2.0
"""How often a worker asks whether the one that it waits for is still there."""


class Mailbox:
    """Messages that have come, by token, ranks of the receiver and the sender, and number."""

    def __init__(self) -> None:
        self.arrived = Condition()
        self._open: set[tuple[str, int]] = set()
        self._messages: dict[tuple[str, int, int, int], bytes] = {}

    def open(self, token: str, rank: int) -> None:
        """Take messages for a rank from now on."""
        with self.arrived:
            self._open.add((token, rank))

    def close(self, token: str, rank: int) -> None:
        """Throw away the messages for a rank; a thread that waits for one gives up."""
        with self.arrived:
            self._open.discard((token, rank))
            self._messages = {key: one for key, one in self._messages.items() if key[:2] != (token, rank)}
            self.arrived.notify_all()

    def put(self, token: str, rank: int, sender: int, number: int, content: bytes) -> bool:
        """Keep a message, unless nobody waits for it; say whether somebody does."""
        with self.arrived:
            if (token, rank) not in self._open:
                return False
            if number == PROBE:
                return True
            self._messages[token, rank, sender, number] = content
            self.arrived.notify_all()
            return True

    def take(self, token: str, rank: int, sender: int, number: int, seconds: float) -> bytes | None:
        """Return a message when it is there, None where it does not come in time; raise where the mailbox is closed."""
        key = token, rank, sender, number
        with self.arrived:
            self.arrived.wait_for(lambda: key in self._messages or key[:2] not in self._open, seconds)
            if key in self._messages:
                return self._messages.pop(key)
            if key[:2] not in self._open:
                raise ConnectionError("the fit was given up")
        return None


MAILBOX = Mailbox()
"""That of this process."""


def receive_messages(worker: Any) -> str:
    """Let a worker of Dask take messages; return its address."""
    worker.handlers.setdefault(HANDLER, _deliver)
    return str(worker.address)


def _deliver(token: str, rank: int, sender: int, number: int, content: bytes) -> bool:
    """Put what another worker has sent into the mailbox."""
    return MAILBOX.put(token, rank, sender, number, bytes(content))


class RpcExchange(SwapExchange):
    """The exchange of one worker with all others, by Dask's connections.

    Parameters
    ----------
    worker : distributed.Worker
    rank : int
    addresses : sequence of str
        Of all workers, by rank.
    token : bytes
        Of the fit.
    """

    def __init__(self, worker: Any, rank: int, addresses: Sequence[str], token: bytes) -> None:
        self.worker, self.rank, self.size = worker, rank, len(addresses)
        self.addresses, self.token = list(addresses), token.hex()
        MAILBOX.open(self.token, rank)

    def _swap(self, outgoing: dict[int, Array], incoming: dict[int, Array]) -> None:
        """Send from the worker's event loop, and wait here for what comes."""
        if not outgoing:
            return
        self._in_loop(self._send_all, outgoing)
        for rank, array in incoming.items():
            content = self._receive(rank)
            if len(content) != array.nbytes:
                raise ConnectionError("workers of the fit are out of step")
            array.reshape(-1).view(np.uint8)[:] = np.frombuffer(content, np.uint8)

    def _receive(self, rank: int) -> bytes:
        """Return what another worker sends; raise where it has gone, or is silent for long."""
        end = time.monotonic() + ANSWER_LIMIT_SECONDS
        while time.monotonic() < end:
            content = MAILBOX.take(
                self.token, self.rank, rank, self.n_messages, min(PROBE_SECONDS, ANSWER_LIMIT_SECONDS)
            )
            if content is not None:
                return content
            if self.n_messages > 1 and not self._in_loop(self._deliver, rank, PROBE, b""):
                raise ConnectionError("another worker of the fit has gone")
        raise ConnectionError("another worker of the fit has fallen silent")

    def _in_loop(self, function: Callable[..., Awaitable[AnyResult]], *arguments: object) -> AnyResult:
        """Do something in the worker's event loop, and wait until it is done."""
        from distributed.utils import sync

        try:
            done: AnyResult = sync(self.worker.loop, function, *arguments, callback_timeout=ANSWER_LIMIT_SECONDS)
        except TimeoutError as error:
            raise ConnectionError("another worker of the fit has fallen silent") from error
        return done

    async def _deliver(self, rank: int, number: int, content: bytes) -> bool:
        """Send a message; say whether somebody waits for it."""
        deliver = getattr(self.worker.rpc(self.addresses[rank]), HANDLER)
        return bool(await deliver(token=self.token, rank=rank, sender=self.rank, number=number, content=content))

    async def _send_all(self, outgoing: dict[int, Array]) -> None:
        """Send an array to each other worker."""
        await asyncio.gather(*(self._send(rank, array) for rank, array in outgoing.items()))

    async def _send(self, rank: int, array: Array) -> None:
        """Send one array, again and again while the other worker makes ready for the first message."""
        for attempt in range(int(ANSWER_LIMIT_SECONDS / 0.05)):
            if await self._deliver(rank, self.n_messages, array.tobytes()):
                return
            if self.n_messages > 1:
                break
            await asyncio.sleep(0.05 if attempt else 0.0)
        raise ConnectionError("another worker of the fit has gone")

    def close(self) -> None:
        """Take no more messages."""
        MAILBOX.close(self.token, self.rank)
