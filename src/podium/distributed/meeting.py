"""Where the workers of a fit meet: on sockets of their own, or by Dask's connections."""

from __future__ import annotations

from collections.abc import Sequence
from socket import socket
from typing import Any

from podium.distributed.rpc_exchange import RpcExchange, receive_messages
from podium.distributed.socket_exchange import SocketExchange, hang_up, listen
from podium.distributed.swap_exchange import Endpoint, SwapExchange


class Meeting:
    """A worker that waits for the others.

    Parameters
    ----------
    host : str or None
        What it listens on; None to talk by Dask's connections.

    Attributes
    ----------
    endpoint : Endpoint
        Where others find it.
    """

    def __init__(self, host: str | None) -> None:
        self._server: socket | None = None
        if host is None:
            self.endpoint = Endpoint(receive_messages(_worker()), 0)
        else:
            self._server = listen(host)
            self.endpoint = Endpoint(host, self._server.getsockname()[1])

    def meet(self, rank: int, endpoints: Sequence[Endpoint], token: bytes) -> SwapExchange:
        """Return the exchange with all workers, this one among them, by their ranks."""
        if self._server is None:
            return RpcExchange(_worker(), rank, [one.host for one in endpoints], token)
        return SocketExchange(self._server, rank, endpoints, token)

    def close(self) -> None:
        """Wait no longer."""
        if self._server is not None:
            hang_up(self._server)


def _worker() -> Any:
    """Return the worker of Dask that runs this task."""
    from distributed import get_worker

    return get_worker()
