"""The exchange between workers by TCP: what arrives, who is turned away, and that nobody waits for ever."""

import socket
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from podium.distributed import socket_exchange
from podium.distributed.socket_exchange import GREETING, SocketExchange, listen
from podium.distributed.swap_exchange import Endpoint

TOKEN = bytes(range(32))


def meet(n_parts, function, token=TOKEN, before=None):
    """Return ``function(exchange)`` of parts that have met over TCP."""
    servers = [listen("127.0.0.1") for _ in range(n_parts)]
    endpoints = [Endpoint("127.0.0.1", server.getsockname()[1]) for server in servers]
    if before is not None:
        before(endpoints)

    def one(rank):
        exchange = SocketExchange(servers[rank], rank, endpoints, token)
        try:
            return function(exchange)
        finally:
            exchange.close()

    with ThreadPoolExecutor(n_parts) as pool:
        return list(pool.map(one, range(n_parts)))


def failure(work):
    """Return the message of the lost connection that some work ends with."""
    try:
        work()
    except OSError as error:
        return str(error)
    return None


@pytest.mark.parametrize("n_parts", [1, 2, 4])
@pytest.mark.parametrize("size", [1, 300_000])
def test_arrays_of_all_parts_arrive_whole_and_by_rank(n_parts, size):
    def tell(exchange):
        gathered = exchange.gather(np.full((2, size), exchange.rank, np.int64))
        wanted = [np.arange(size * (rank + 1)) + exchange.rank for rank in range(exchange.size)]
        rows = exchange.gather_rows(np.full((exchange.rank, 3), float(exchange.rank), np.float32))
        return gathered[:, 1, -1].tolist(), exchange.scatter_sum(wanted), rows[:, 1].tolist(), exchange.n_messages

    ranks = list(range(n_parts))
    for rank, (gathered, summed, rows, n_messages) in enumerate(meet(n_parts, tell)):
        assert gathered == ranks
        np.testing.assert_array_equal(summed, n_parts * np.arange(size * (rank + 1)) + sum(ranks))
        assert rows == [one for one in ranks for _ in range(one)]
        assert n_messages == 4


def test_whoever_does_not_know_the_token_is_turned_away():
    strangers = []

    def knock(endpoints):
        for greeting in (GREETING.pack(bytes(32), 1), GREETING.pack(TOKEN, 7), b""):
            stranger = socket.create_connection(endpoints[0], 5)
            stranger.sendall(greeting)
            stranger.shutdown(socket.SHUT_WR)
            strangers.append(stranger)

    found = meet(2, lambda exchange: exchange.count(exchange.rank + 1), before=knock)
    assert found == [3, 3]
    for stranger in strangers:
        assert stranger.recv(1) == b""
        stranger.close()


def test_a_part_that_leaves_makes_the_others_leave():
    def work(exchange):
        if exchange.rank == 1:
            return "left"
        return failure(lambda: [exchange.gather(np.zeros(10)) for _ in range(3)])

    found = meet(3, work)
    assert found[1] == "left"
    assert found[0]
    assert found[2]


def test_a_part_that_falls_silent_is_given_up(monkeypatch):
    monkeypatch.setattr(socket_exchange, "ANSWER_LIMIT_SECONDS", 0.3)
    ended = []

    def work(exchange):
        if exchange.rank == 1:
            exchange._peers[0].setblocking(True)
            exchange._peers[0].settimeout(30)
            while exchange._peers[0].recv(100):
                pass
            return ended.append(1)
        with pytest.raises(ConnectionError, match="silent"):
            exchange.gather(np.zeros(1))
        return None

    meet(2, work)
    assert ended


def test_a_part_that_never_comes_is_given_up(monkeypatch):
    monkeypatch.setattr(socket_exchange, "ANSWER_LIMIT_SECONDS", 0.2)
    server = listen("127.0.0.1")
    endpoints = [Endpoint("127.0.0.1", server.getsockname()[1])] * 2
    assert failure(lambda: SocketExchange(server, 0, endpoints, TOKEN))
    assert server.fileno() == -1


def test_parts_that_are_out_of_step_notice_it():
    def work(exchange):
        sizes = [2 if exchange.rank else 1, 1]
        return failure(lambda: [exchange.gather(np.zeros(size)) for size in sizes])

    assert "workers of the fit are out of step" in meet(2, work)
