"""The exchange between workers: one TCP connection for each two of them, opened for one fit.

A worker listens on a port that the system chooses; whoever connects says the token of the fit and its rank, and is
turned away without them. Nothing waits for ever: a worker that ends closes its connections, which the others notice at
once, and one from which no byte comes for `ANSWER_LIMIT_SECONDS` is given up. What is sent is not encrypted.
"""

from __future__ import annotations

import contextlib
import hmac
import selectors
import socket
import struct
import time
from collections.abc import Sequence
from threading import Lock

import numpy as np

from podium._validation import Array
from podium.distributed.swap_exchange import ANSWER_LIMIT_SECONDS, Endpoint, SwapExchange

HEADER = struct.Struct("<QQ")
"""Before each message: its number, and its bytes."""
TOKEN_BYTES = 32
GREETING = struct.Struct(f"<{TOKEN_BYTES}sQ")
"""What a worker says when it connects: the token of the fit, and its rank."""


def listen(host: str) -> socket.socket:
    """Return a socket that listens on a port of the system's choice."""
    server = socket.create_server((host, 0), backlog=256)
    server.settimeout(ANSWER_LIMIT_SECONDS)
    return server


class SocketExchange(SwapExchange):
    """The exchange of one worker with all others.

    Parameters
    ----------
    server : socket
        What this worker listens on; closed once all others have connected.
    rank : int
    endpoints : sequence of Endpoint
        Where each worker listens, by rank.
    token : bytes
        Of the fit.
    """

    def __init__(self, server: socket.socket, rank: int, endpoints: Sequence[Endpoint], token: bytes) -> None:
        self.rank, self.size = rank, len(endpoints)
        self._lock, self._busy, self._left = Lock(), False, False
        self._peers: dict[int, socket.socket] = {}
        try:
            self._meet(server, endpoints, token)
        except BaseException:
            self.close()
            raise
        finally:
            server.close()

    def _meet(self, server: socket.socket, endpoints: Sequence[Endpoint], token: bytes) -> None:
        """Connect to the workers of lower rank, and wait for those of higher rank."""
        for rank in range(self.rank):
            peer = socket.create_connection(endpoints[rank], ANSWER_LIMIT_SECONDS)
            peer.sendall(GREETING.pack(token, self.rank))
            self._peers[rank] = peer
        end = time.monotonic() + ANSWER_LIMIT_SECONDS
        while len(self._peers) < self.size - 1:
            if time.monotonic() > end:
                raise ConnectionError("a worker of the fit has not come")
            peer, _ = server.accept()
            self._welcome(peer, token)
        for peer in self._peers.values():
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer.setblocking(False)

    def _welcome(self, peer: socket.socket, token: bytes) -> None:
        """Keep a connection that knows the token, close any other."""
        peer.settimeout(min(5.0, ANSWER_LIMIT_SECONDS))
        try:
            said, rank = GREETING.unpack(_receive_all(peer, GREETING.size))
        except OSError:
            said, rank = b"", 0
        if hmac.compare_digest(said, token) and self.rank < rank < self.size and rank not in self._peers:
            self._peers[rank] = peer
        else:
            peer.close()

    def _swap(self, outgoing: dict[int, Array], incoming: dict[int, Array]) -> None:
        """Send an array to each peer while one of known size comes from each."""
        with self._lock:
            if self._left:
                raise ConnectionError("the fit was given up")
            self._busy = True
        try:
            self._move_all(outgoing, incoming)
        finally:
            with self._lock:
                self._busy = False
                self._close_if_left()

    def _move_all(self, outgoing: dict[int, Array], incoming: dict[int, Array]) -> None:
        """Send and receive until all is done."""
        sending = {rank: self._framed(array) for rank, array in outgoing.items()}
        headers = {rank: bytearray(HEADER.size) for rank in incoming}
        receiving = {
            rank: [memoryview(headers[rank]), *_bytes_of(array)] for rank, array in incoming.items()
        }  # fmt: skip
        with selectors.DefaultSelector() as selector:
            for rank, peer in self._peers.items():
                selector.register(peer, selectors.EVENT_READ | selectors.EVENT_WRITE, rank)
            while selector.get_map():
                events = selector.select(ANSWER_LIMIT_SECONDS)
                if not events:
                    raise ConnectionError("another worker of the fit has fallen silent")
                for key, ready in events:
                    self._move(selector, key.data, ready, sending[key.data], receiving[key.data])
        for rank, header in headers.items():
            if HEADER.unpack(header) != (self.n_messages, incoming[rank].nbytes):
                raise ConnectionError("workers of the fit are out of step")

    def _framed(self, array: Array) -> list[memoryview]:
        """Return a message as pieces of bytes, the header first."""
        return [memoryview(HEADER.pack(self.n_messages, array.nbytes)), *_bytes_of(array)]

    def _move(
        self,
        selector: selectors.BaseSelector,
        rank: int,
        ready: int,
        sending: list[memoryview],
        receiving: list[memoryview],
    ) -> None:
        """Send and receive what a connection is ready for; stop looking at it when both are done."""
        peer = self._peers[rank]
        if ready & selectors.EVENT_WRITE and sending:
            _advance(sending, peer.send(sending[0]))
        if ready & selectors.EVENT_READ and receiving:
            count = peer.recv_into(receiving[0])
            if count == 0:
                raise ConnectionError("another worker of the fit has gone")
            _advance(receiving, count)
        wanted = (selectors.EVENT_READ if receiving else 0) | (selectors.EVENT_WRITE if sending else 0)
        if wanted:
            selector.modify(peer, wanted, rank)
        else:
            selector.unregister(peer)

    def close(self) -> None:
        """Close all connections, which makes the other workers, and a thread that waits here, give up.

        That thread closes them: closed by another one, they would vanish from what it waits for without a word.
        """
        with self._lock:
            self._left = True
            for peer in self._peers.values():
                with contextlib.suppress(OSError):
                    peer.shutdown(socket.SHUT_RDWR)
            self._close_if_left()

    def _close_if_left(self) -> None:
        """Close the connections of a worker that has left, unless they are waited for."""
        for peer in self._peers.values() if self._left and not self._busy else ():
            peer.close()


def hang_up(connection: socket.socket) -> None:
    """Close a socket so that a thread that waits for it notices."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def _bytes_of(array: Array) -> list[memoryview]:
    """Return the bytes of a contiguous array, as one piece or none."""
    return [array.reshape(-1).view(np.uint8).data] if array.nbytes else []


def _advance(pieces: list[memoryview], count: int) -> None:
    """Take bytes from the front of the first piece."""
    pieces[0] = pieces[0][count:]
    if not pieces[0]:
        del pieces[0]


def _receive_all(peer: socket.socket, size: int) -> bytes:
    """Return so many bytes, or raise where the other side ends before."""
    received = b""
    while len(received) < size:
        more = peer.recv(size - len(received))
        if not more:
            raise ConnectionError("closed")
        received += more
    return received
