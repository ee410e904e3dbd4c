"""The exchange by Dask's own connections: who gets what, who is not heard, and that nobody waits for ever."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Thread, Timer
from types import SimpleNamespace

import numpy as np
import pytest

from podium.distributed import rpc_exchange
from podium.distributed.rpc_exchange import HANDLER, MAILBOX, PROBE, RpcExchange, receive_messages

TOKEN = bytes(range(32))


@pytest.fixture(scope="module")
def loop():
    """An event loop on a thread of its own, as a worker of Dask has it."""
    made = asyncio.new_event_loop()
    thread = Thread(target=made.run_forever, daemon=True)
    thread.start()
    yield SimpleNamespace(asyncio_loop=made, add_callback=made.call_soon_threadsafe)
    made.call_soon_threadsafe(made.stop)
    thread.join()
    made.close()


class MadeWorker:
    """A worker whose calls go to the handlers of those that it is given."""

    def __init__(self, loop, workers, number):
        self.loop, self.workers, self.handlers, self.address = loop, workers, {}, f"made://{number}"

    def rpc(self, address):
        async def call(**message):
            return self.workers[int(address[-1])].handlers[HANDLER](**message)

        return SimpleNamespace(**{HANDLER: call})


def meet(loop, n_parts, function):
    workers = []
    workers += [MadeWorker(loop, workers, number) for number in range(n_parts)]
    addresses = [receive_messages(worker) for worker in workers]

    def one(rank):
        exchange = RpcExchange(workers[rank], rank, addresses, TOKEN)
        try:
            return function(exchange)
        finally:
            exchange.close()

    with ThreadPoolExecutor(n_parts) as pool:
        return list(pool.map(one, range(n_parts)))


@pytest.mark.parametrize("n_parts", [1, 3])
def test_arrays_of_all_parts_arrive_whole_and_by_rank(loop, n_parts):
    def tell(exchange):
        gathered = exchange.gather(np.full((2, 300), exchange.rank, np.int64))
        wanted = [np.arange(5 * (rank + 1)) + exchange.rank for rank in range(exchange.size)]
        return gathered[:, 1, -1].tolist(), exchange.scatter_sum(wanted), exchange.n_messages, exchange.bytes_sent

    ranks = list(range(n_parts))
    for rank, (gathered, summed, n_messages, n_bytes) in enumerate(meet(loop, n_parts, tell)):
        assert gathered == ranks
        np.testing.assert_array_equal(summed, n_parts * np.arange(5 * (rank + 1)) + sum(ranks))
        assert n_messages == 2
        assert n_bytes == (n_parts - 1) * 4800 + sum(40 * (other + 1) for other in ranks if other != rank)


def test_messages_without_the_token_of_an_open_fit_are_thrown_away():
    assert not MAILBOX.put("another", 0, 1, 1, b"x")
    MAILBOX.open("known", 0)
    assert MAILBOX.put("known", 0, 1, 1, b"x")
    assert not MAILBOX.put("known", 1, 0, 1, b"x")
    assert MAILBOX.take("known", 0, 1, 1, 1.0) == b"x"
    assert MAILBOX.put("known", 0, 1, PROBE, b"")
    assert MAILBOX.take("known", 0, 1, PROBE, 0.0) is None
    MAILBOX.close("known", 0)
    assert not MAILBOX.put("known", 0, 1, 2, b"x")


def test_a_part_that_leaves_makes_the_others_leave(loop, monkeypatch):
    monkeypatch.setattr(rpc_exchange, "PROBE_SECONDS", 0.05)
    entered = Barrier(2)

    def work(exchange):
        if exchange.rank == 1:
            exchange.gather(np.zeros(1))
            entered.wait(30)
            return "left"
        try:
            exchange.gather(np.zeros(1))
            Timer(0.2, entered.wait).start()  # the other leaves while this one waits for it
            return [exchange.gather(np.zeros(1)) for _ in range(2)]
        except ConnectionError as error:
            return str(error)

    found = meet(loop, 2, work)
    assert found == ["another worker of the fit has gone", "left"]


def test_who_waits_for_a_silent_part_gives_up_and_so_does_one_whose_fit_is_dropped(loop, monkeypatch):
    monkeypatch.setattr(rpc_exchange, "ANSWER_LIMIT_SECONDS", 0.2)

    def work(exchange):
        if exchange.rank == 1:
            return time.sleep(0.6)
        with pytest.raises(ConnectionError, match="silent"):
            exchange.gather(np.zeros(1))
        return None

    meet(loop, 2, work)
    MAILBOX.open("dropped", 0)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(MAILBOX.take, "dropped", 0, 1, 1, 60.0)
        MAILBOX.close("dropped", 0)
        with pytest.raises(ConnectionError, match="given up"):
            waiting.result(30)


def test_parts_that_are_out_of_step_notice_it(loop):
    def work(exchange):
        try:
            return exchange.gather(np.zeros(2 if exchange.rank else 1))
        except ConnectionError as error:
            return str(error)

    assert "workers of the fit are out of step" in meet(loop, 2, work)
