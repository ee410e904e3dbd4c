"""Two network namespaces joined by a line of set rate and delay, and what two processes in them exchange.

For Linux, as root. A relay listens in each namespace on the address of the other, and hands on what comes when it is
due: bytes leave when those before them have gone by at the line's rate, and arrive after the delay. They stay in the
kernel meanwhile, in pipes, since two cores cannot copy 10 Gbit/s each way twice more. Connections end at the relay, so
that TCP does not have to find out the rate of the line: what is emulated is a line that TCP fills. Addresses are of
these namespaces alone: nothing outside of them sees a byte.
"""

import ctypes
import fcntl
import os
import select
import signal
import socket
import subprocess
import time
from collections import deque
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from podium.distributed.socket_exchange import TOKEN_BYTES, Endpoint, SocketExchange

NAMES, HOSTS, PORT = ("podium0", "podium1"), ("10.231.77.1", "10.231.77.2"), 40771
CLONE_NEWNET, PR_SET_PDEATHSIG, PR_SET_TIMERSLACK, F_SETPIPE_SZ = 0x40000000, 1, 29, 1031
CHUNK_BYTES, PIPE_BYTES = 2**17, 2**19
"""Bytes that are handed on together, and room of a pipe, which counts by pages that may be half empty."""


def enter(name):
    """Move this thread into a network namespace."""
    with Path(f"/var/run/netns/{name}").open() as space:
        if ctypes.CDLL(None).setns(space.fileno(), CLONE_NEWNET):
            raise OSError("a process must be root to enter a network namespace")


def run(commands):
    """Run commands, each of which must succeed."""
    for command in commands:
        subprocess.run(command.split(), check=True)


@contextmanager
def namespaces():
    """Make the namespaces, with both addresses in each; they are taken down at the end, with what is in them."""
    try:
        for name in NAMES:
            subprocess.run(
                ["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL
            )  # of a run that was ended
            run([f"ip netns add {name}", f"ip netns exec {name} ip link set lo up"])
            run(f"ip netns exec {name} ip addr add {host}/32 dev lo" for host in HOSTS)
        yield
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "del", name], check=False)


@contextmanager
def line(gigabits, delay):
    """Join the namespaces by a line of such a rate and of so many seconds of delay each way."""
    context = get_context("fork")
    with namespaces():
        listening = context.Event()
        process = context.Process(target=relay, args=(gigabits * 1.25e8, delay, listening))
        process.start()
        try:
            if not listening.wait(10):
                raise OSError("the relay could not listen")
            yield
        finally:
            process.kill()
            process.join()


class Wire:
    """One direction of a line: bytes a second, seconds of delay, and when all that was sent has left."""

    def __init__(self, bytes_per_second, delay):
        self.bytes_per_second, self.delay, self.free = bytes_per_second, delay, 0.0

    def due(self, n_bytes):
        """Return when bytes that come now arrive."""
        self.free = max(self.free, time.perf_counter()) + n_bytes / self.bytes_per_second
        return self.free + self.delay


class Flow:
    """What is under way from one socket to another.

    Parameters
    ----------
    source, target : socket
    wire : Wire
    pipes : list
        Empty ones, of all flows: a new pipe takes as long to open as a chunk to hand on.
    """

    def __init__(self, source, target, wire, pipes):
        self.source, self.target, self.wire, self.pipes = source, target, wire, pipes
        self.under_way, self.ended = deque(), False

    def take(self):
        """Take what has come, or note that there is no more."""
        pipe = self.pipes.pop() if self.pipes else _open_pipe()
        try:
            count = os.splice(self.source.fileno(), pipe[1], CHUNK_BYTES, flags=os.SPLICE_F_NONBLOCK)
        except OSError:
            count = 0
        if count:
            self.under_way.append([self.wire.due(count), count, pipe])
        else:
            self.ended = True
            self.pipes.append(pipe)

    def give(self):
        """Hand on what is due, as far as the target takes it; say whether there is more to come."""
        while self.under_way and self.under_way[0][0] <= time.perf_counter():
            _, count, pipe = self.under_way[0]
            try:
                self.under_way[0][1] -= os.splice(pipe[0], self.target.fileno(), count, flags=os.SPLICE_F_NONBLOCK)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not self.under_way[0][1]:
                self.pipes.append(self.under_way.popleft()[2])
        return bool(self.under_way) or not self.ended


def _open_pipe():
    """Return a pipe with room for a chunk."""
    pipe = os.pipe()
    fcntl.fcntl(pipe[1], F_SETPIPE_SZ, PIPE_BYTES)
    return pipe


def relay(bytes_per_second, delay, listening):
    """Hand on all connections from either namespace to the other, for ever."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1)  # sleeps end some microseconds late, not fifty more
    servers, wires, flows, pipes = {}, [Wire(bytes_per_second, delay) for _ in NAMES], {}, []
    for here, there in ((0, 1), (1, 0)):
        enter(NAMES[here])
        server = socket.create_server((HOSTS[there], PORT))
        servers[server.fileno()] = server, here, there
    listening.set()
    while True:
        due = min((flow.under_way[0][0] for flow in flows.values() if flow.under_way), default=np.inf)
        pause = max(0.0, min(due - time.perf_counter(), 1.0))
        open_flows = [number for number, flow in flows.items() if not flow.ended]
        for number in select.select([*servers, *open_flows], [], [], pause)[0]:
            if number in flows:
                flows[number].take()
            else:
                server, here, there = servers[number]
                near, far = joined(server, there)
                flows[near.fileno()] = Flow(near, far, wires[here], pipes)
                flows[far.fileno()] = Flow(far, near, wires[there], pipes)
        for number in [number for number, flow in flows.items() if not flow.give()]:
            with suppress(OSError):
                flows.pop(number).target.shutdown(socket.SHUT_WR)


def joined(server, there):
    """Return the socket of a new connection, and one to where it leads, as soon as somebody listens there."""
    near, _ = server.accept()
    enter(NAMES[there])
    while not (far := _connected(HOSTS[there], PORT)):
        time.sleep(0.05)
    for one in (near, far):
        one.setblocking(False)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return near, far


def _connected(host, port):
    """Return a connection, None where nobody listens."""
    try:
        return socket.create_connection((host, port), 1.0)
    except OSError:
        return None


def exchange_arrays(rank, sizes, n_times):
    """Return the seconds, of several turns the fewest, in which a process in its namespace exchanges such arrays."""
    enter(NAMES[rank])
    server = socket.create_server((HOSTS[rank], PORT))
    server.settimeout(20)
    exchange = SocketExchange(server, rank, [Endpoint(host, PORT) for host in HOSTS], b"0" * TOKEN_BYTES)
    arrays = [np.zeros(int(size), np.uint8) for size in sizes]
    took = []
    for _ in range(n_times):
        start = time.perf_counter()
        for array in arrays:
            exchange.gather(array)
        took.append(time.perf_counter() - start)
    exchange.close()
    return min(took)
