"""The exchange between workers by Dask's own connections: encrypted where the cluster is, and open wherever Dask works.

Slower than `SocketExchange`: some milliseconds a message in place of tenths of one. Each worker gets a handler that
puts what others send into the mailbox of the process, from which the thread that grows trees takes it. Messages without
the token of a fit under way are thrown away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from threading import Condition
from typing import Any

import numpy as np

from podium._validation import Array
from podium.distributed.swap_exchange import SILENCE_SECONDS, SwapExchange

HANDLER = "podium_deliver"
"""What the handler of a worker is called."""


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
            self._messages[token, rank, sender, number] = content
            self.arrived.notify_all()
            return True

    def take(self, token: str, rank: int, sender: int, number: int) -> bytes:
        """Return a message when it is there; raise where the mailbox is closed, or nothing comes for long."""
        key = token, rank, sender, number
        with self.arrived:
            there = self.arrived.wait_for(
                lambda: key in self._messages or (token, rank) not in self._open, SILENCE_SECONDS
            )
            if key in self._messages:
                return self._messages.pop(key)
        raise ConnectionError("the fit was given up" if there else "another worker of the fit has fallen silent")


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
        self._in_loop(outgoing)
        for rank, array in incoming.items():
            content = MAILBOX.take(self.token, self.rank, rank, self.n_messages)
            if len(content) != array.nbytes:
                raise ConnectionError("workers of the fit are out of step")
            array.reshape(-1).view(np.uint8)[:] = np.frombuffer(content, np.uint8)

    def _in_loop(self, outgoing: dict[int, Array]) -> None:
        """Send arrays, and wait until all have been taken; one may not have begun to listen yet."""
        from distributed.utils import sync

        try:
            sync(self.worker.loop, self._send_all, outgoing, callback_timeout=SILENCE_SECONDS)
        except TimeoutError as error:
            raise ConnectionError("another worker of the fit has fallen silent") from error

    async def _send_all(self, outgoing: dict[int, Array]) -> None:
        """Send an array to each other worker."""
        await asyncio.gather(*(self._send(rank, array) for rank, array in outgoing.items()))

    async def _send(self, rank: int, array: Array) -> None:
        """Send one array, again and again while the other worker makes ready for the first message."""
        message = {"token": self.token, "rank": rank, "sender": self.rank, "number": self.n_messages}
        deliver = getattr(self.worker.rpc(self.addresses[rank]), HANDLER)
        for attempt in range(int(SILENCE_SECONDS / 0.05)):
            if await deliver(**message, content=array.tobytes()):
                return
            if self.n_messages > 1:
                break
            await asyncio.sleep(0.05 if attempt else 0.0)
        raise ConnectionError("another worker of the fit has gone")

    def close(self) -> None:
        """Take no more messages."""
        MAILBOX.close(self.token, self.rank)
