"""Two network namespaces joined by a line of set rate and delay, and what two processes in them exchange.

For Linux, as root. `line` joins them by a veth pair with a token bucket, which the kernel keeps to any rate, without
delay. `slow_line` joins them by two TUN interfaces and a process for each direction, which hands packets on when they
are due: a packet leaves when those before it have left and its bytes have gone by at the line's rate, and arrives after
the delay. Packets are of 64 KB, so that a process in Python keeps up with some Gbit/s; `dask_model.py network` prints
how many. Addresses are of these namespaces alone: nothing outside of them sees a packet.
"""

import ctypes
import fcntl
import os
import select
import socket
import struct
import subprocess
import time
from collections import deque
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from podium.distributed.socket_exchange import TOKEN_BYTES, Endpoint, SocketExchange

NAMES, HOSTS, PORT = ("podium0", "podium1"), ("10.231.77.1", "10.231.77.2"), 40771
CLONE_NEWNET, TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x40000000, 0x400454CA, 1, 0x1000
MTU = 65_000
SPIN_SECONDS = 1e-4
"""How long before a packet is due the process that hands it on polls: to sleep takes some tens of microseconds more."""


def enter(name):
    """Move this process into a network namespace."""
    with Path(f"/var/run/netns/{name}").open() as space:
        if ctypes.CDLL(None).setns(space.fileno(), CLONE_NEWNET):
            raise OSError("a process must be root to enter a network namespace")


def run(commands):
    """Run commands, each of which must succeed."""
    for command in commands:
        subprocess.run(command.split(), check=True)


@contextmanager
def namespaces():
    """Make the namespaces; they are taken down at the end, with what is in them."""
    try:
        run(f"ip netns add {name}" for name in NAMES)
        yield
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "del", name], check=False)


def started(name, host, options=""):
    """Return the commands that give an interface its address and start it."""
    inside = f"ip netns exec {name}"
    return [f"{inside} ip addr add {host}/24 dev {name}", f"{inside} ip link set {name} {options} up"]


@contextmanager
def line(gigabits):
    """Join the namespaces by a line of such a rate, without delay."""
    limit = f"rate {gigabits}gbit burst 256kb latency 50ms"
    with namespaces():
        run([f"ip link add {NAMES[0]} type veth peer name {NAMES[1]}"])
        for name, host in zip(NAMES, HOSTS, strict=True):
            run([f"ip link set {name} netns {name}", *started(name, host)])
            run([f"ip netns exec {name} tc qdisc add dev {name} root tbf {limit}"])
        yield


@contextmanager
def slow_line(gigabits, delay):
    """Join the namespaces by a line of such a rate and of so many seconds of delay each way."""
    context = get_context("fork")
    with namespaces():
        opened, up = context.Event(), context.Event()
        forwarder = context.Process(target=forward_both, args=(gigabits * 1.25e8, delay, opened, up))
        forwarder.start()
        try:
            if not opened.wait(10):
                raise OSError("the interfaces could not be opened: is there a /dev/net/tun?")
            for name, host in zip(NAMES, HOSTS, strict=True):
                run(started(name, host, f"mtu {MTU} txqueuelen 10000"))
            up.set()
            yield
        finally:
            forwarder.kill()
            forwarder.join()


def forward_both(bytes_per_second, delay, opened, up):
    """Open both interfaces and hand packets on: one way in this process, the other in a child that ends with it."""
    ends = []
    for name in NAMES:
        enter(name)
        ends.append(os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK))
        fcntl.ioctl(ends[-1], TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    opened.set()
    up.wait()
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG: SIGKILL
        ends.reverse()
    forward(*ends, bytes_per_second, delay)


def forward(source, target, bytes_per_second, delay):
    """Hand packets on, each when it is due, for ever."""
    waiting, free = deque(), 0.0
    while True:
        pause = waiting[0][0] - time.perf_counter() - SPIN_SECONDS if waiting else 1.0
        if select.select([source], [], [], max(pause, 0.0))[0]:
            packet = os.read(source, MTU)
            free = max(free, time.perf_counter()) + len(packet) / bytes_per_second
            waiting.append((free + delay, packet))
        while waiting and waiting[0][0] <= time.perf_counter():
            os.write(target, waiting.popleft()[1])


def exchange_arrays(rank, sizes, n_times):
    """Return the seconds, of several turns the fewest, in which a process in its namespace exchanges such arrays."""
    enter(NAMES[rank])
    server = socket.create_server((HOSTS[rank], PORT))
    server.settimeout(20)
    while rank != 0 and not _answers(HOSTS[0], PORT):
        time.sleep(0.05)
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


def _answers(host, port):
    """Say whether somebody listens; whoever does not know the token is turned away."""
    try:
        socket.create_connection((host, port), 1.0).close()
    except OSError:
        return False
    return True
