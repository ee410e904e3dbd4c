"""How Podium compiles and runs its kernels: each choice here, with its reason.

Kernels stand in the module of the object they compute; this module holds only what all of them share.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

import numpy as np
from numba import config, njit, types
from numba.extending import intrinsic

from podium._linked_parts import joining_options, linking_options, loaded_for_linking
from podium._notice import announce_compiling
from podium._sources import stamped
from podium._types import Array, Int
from podium._validation import PodiumError

if TYPE_CHECKING:
    from llvmlite import ir
    from numba.core.base import BaseContext
    from numba.core.dispatcher import Dispatcher
    from numba.core.typing import Signature
    from numba.core.typing.context import BaseContext as TypingContext

Emit: TypeAlias = "Callable[[BaseContext, ir.IRBuilder, Signature, list[ir.Value]], ir.Value]"
"""What puts instructions into a kernel."""

Result = TypeVar("Result")
Kernel = TypeVar("Kernel", bound=Callable[..., object])

SCORE = np.float64
"""Scores, labels and weights: sums over millions of rows must not drift."""
ROW = np.int64
"""Row numbers and offsets: a pair list may be longer than 2**31."""
INDEX = np.uint64
"""Bounds of inner loops that do not begin at 0: if an index might be negative, they do not take eight at a time."""
CODE = np.uint8
"""Binned feature values: 255 thresholds and a missing code fit in one byte, sixteen rows in one load."""

CELLS_WORTH_THREADS = 2_000_000
"""Cells below which two threads are slower than one: measured 1.5 times slower at 500,000, faster at 4,000,000."""

JIT_DISABLED: bool = bool(config.DISABLE_JIT)
"""True under NUMBA_DISABLE_JIT=1, where kernels run as plain Python."""
if not JIT_DISABLED:
    announce_compiling()


def compiled(kernel: Kernel) -> Kernel:
    """Compile a kernel that Python calls, when it is first called.

    ``nogil`` lets plain threads share out features or queries; ``cache`` keeps the machine code on disk for the
    next process; ``error_model="numpy"`` drops the test for division by zero, without which the loops around a
    division do not vectorise (6 ns a pair against 1.9). ``parallel=True`` is not used: it costs seconds of
    compilation a kernel, and its default threading layer must not be entered from several threads.
    """
    return _jit(kernel, no_cfunc_wrapper=True)


def compiled_side_by_side(kernel: Kernel) -> Kernel:
    """Compile a kernel that Python calls, neighbouring statements done side by side; compiling takes longer."""
    return _jit(kernel, no_cfunc_wrapper=True, **joining_options())


def compiled_part(kernel: Kernel) -> Kernel:
    """Compile a kernel that only other kernels call; ways in that nobody takes are a quarter of all compiling."""
    return _jit(kernel, no_cfunc_wrapper=True, no_cpython_wrapper=True)


def linked_part(kernel: Kernel) -> Kernel:
    """Compile a part for linking alone: quicker, but time its callers. Scoring by such parts took 7 times as long.

    It must neither allocate nor return arrays, and does not count the users of those that it is given: its callers
    hold them. Counting took half the time of λ, and threads that count the users of one array wait for each other.
    """
    return _link(kernel, counts_users=False)


def allocating_part(kernel: Kernel) -> Kernel:
    """Compile a part for linking alone that allocates arrays, or calls one that does."""
    return _link(kernel, counts_users=True)


def _link(kernel: Kernel, counts_users: bool) -> Kernel:
    options = linking_options()
    return loaded_for_linking(
        _jit(kernel, no_cfunc_wrapper=True, no_cpython_wrapper=True, _nrt=counts_users, **options)
    )


def inlined_part(kernel: Kernel) -> Kernel:
    """Copy a kernel of few lines into the kernels that call it: LLVM optimises each level of calls again."""
    made: Kernel = njit(nogil=True, error_model="numpy", inline="always")(kernel)
    return made


def compiled_argument(kernel: Kernel) -> Kernel:
    """Compile a kernel that other kernels take as an argument, and that Python may call."""
    return _jit(kernel)


def compiled_argument_part(kernel: Kernel) -> Kernel:
    """Compile a kernel that other kernels take as an argument, and that only they call: Python would crash."""
    return _jit(kernel, no_cpython_wrapper=True)


def _jit(kernel: Kernel, **wrappers: object) -> Kernel:
    made: Kernel = stamped(njit(nogil=True, cache=True, error_model="numpy", **wrappers)(kernel))
    return made


def compiled_for(signature: Signature, kernel: Kernel) -> Kernel:
    """Compile a kernel now, for one signature: that of first-class functions is not found from arguments.

    Neighbouring statements are done side by side: λ takes a tenth less time.
    """
    made = compiled_side_by_side(kernel)
    if not JIT_DISABLED:
        dispatcher = cast("Dispatcher", made)
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    return made


@lru_cache(maxsize=64)
def as_argument(kernel: Kernel, kind: types.FunctionType) -> Kernel:
    """Return a kernel by its address, which numba looks up at every call else: 30 µs with Python's lock held."""
    return kernel if JIT_DISABLED else cast("Kernel", _Address(cast("Dispatcher", kernel), kind.signature))


class _Address(types.WrapperAddressProtocol):
    """A compiled function for one signature, by its address; numba asks for both by these names."""

    def __init__(self, kernel: Dispatcher, signature: Signature) -> None:
        self._kernel, self._signature = kernel, signature  # the kernel is held, for its code lives as long as it does
        found = kernel.get_compile_result(signature)
        self._address = int(found.library.get_pointer_to_function(found.fndesc.llvm_cfunc_wrapper_name))

    def __wrapper_address__(self) -> int:
        return self._address

    def signature(self) -> Signature:
        """Return the signature."""
        return self._signature


def thread_count(n_jobs: int | None) -> int:
    """Threads meant by `n_jobs`, as scikit-learn counts: None is 1, -1 all processors, -2 all but one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise PodiumError(f"n_jobs must be None or an integer other than 0 (-1 is all processors); got {n_jobs!r}.")
    if n_jobs > 0:
        return int(n_jobs)
    return max(1, processors() + 1 + int(n_jobs))


def threads_for(n_jobs: int | None, cells: int) -> int:
    """Threads to use for work of so many cells: one where handing it over would cost more than it saves."""
    n_threads = thread_count(n_jobs)
    return n_threads if cells >= CELLS_WORTH_THREADS else 1


@lru_cache(maxsize=1)
def processors() -> int:
    """Processors this process may use, which in a container is fewer than the machine has."""
    from joblib import cpu_count

    return int(cpu_count())


@lru_cache(maxsize=8)
def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Keep one pool for each size: starting threads costs more than a small kernel."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="podium")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not live on in a process's copy


def run_threads(function: Callable[..., Result], calls: Iterable[tuple[object, ...]], n_threads: int) -> list[Result]:
    """Call `function(*arguments)` for each tuple of `calls` and return the results in that order.

    Slow line: ``[function(*arguments) for arguments in calls]``. The calls must write to disjoint outputs;
    threads share out whole features or queries, never a floating-point sum, so the answer does not depend
    on their number. Calls are taken in runs, four for each thread: handing over one call costs as much as ten
    thousand cells of a histogram. The caller's thread takes its part: two small calls cost 9 µs more than on one
    thread, where waiting for two others cost 32.
    """
    todo = list(calls)
    if n_threads == 1 or len(todo) <= 1:
        return [function(*arguments) for arguments in todo]
    results: dict[int, Result] = {}
    step = -(-len(todo) // (4 * n_threads))
    starts = range(0, len(todo), step)
    left = iter(starts)

    def take_runs() -> None:
        """Do runs until none is left: one iterator for all threads gives each run to one of them."""
        for start in left:
            for i in range(start, min(start + step, len(todo))):
                results[i] = function(*todo[i])

    def leave_the_rest() -> None:
        """After an error nothing new is begun."""
        for _ in left:
            pass

    run_beside(take_runs, take_runs, min(n_threads, len(starts)) - 1, n_threads, leave_the_rest)
    return [results[i] for i in range(len(todo))]


def run_beside(
    function: Callable[[], bool | None],
    helper: Callable[[], object],
    n_helpers: int,
    n_threads: int,
    at_end: Callable[[], None],
) -> None:
    """Call a function while other threads call its helper; return when all are done.

    Parameters
    ----------
    function : callable
        If it returns True, no helper is at work any more, and none is waited for, which takes 60 to 170 µs.
    helper : callable
    n_helpers : int
        Calls of the helper; those that no thread has begun when the function returns are left out.
    n_threads : int
        Which team of threads is to help: that of n_threads - 1.
    at_end : callable
        Called when the function has returned, or one of them has raised: it must make the others return.
    """

    def help_or_end() -> None:
        """On an error the function must not wait for what this thread has begun."""
        try:
            helper()
        except BaseException:
            at_end()
            raise

    others: list[Future[None]] = []
    all_left = False
    try:
        others += [_pool(n_threads - 1).submit(help_or_end) for _ in range(n_helpers)]
        all_left = function() is True
    finally:
        at_end()
        begun = [other for other in others if not other.cancel() and not all_left]
        wait(begun)
    for other in begun:
        other.result()


def even_chunks(offsets: np.ndarray, n_chunks: int) -> list[tuple[int, int]]:
    """Split queries into at most `n_chunks` runs of about equally many rows: (first query, past the last)."""
    n_queries = len(offsets) - 1
    if n_chunks == 1:
        return [(0, n_queries)] if n_queries else []
    targets = np.linspace(offsets[0], offsets[-1], n_chunks + 1)[1:-1]
    cuts = [0, *np.searchsorted(offsets, targets).tolist(), n_queries]
    return [(start, stop) for start, stop in pairwise(cuts) if start < stop]


def even_ranges(n_items: int, n_ranges: int) -> list[tuple[int, int]]:
    """Split numbers below `n_items` into runs of about equal length: (first, past the last); some may be empty."""
    return list(pairwise(i * n_items // n_ranges for i in range(n_ranges + 1)))


if JIT_DISABLED:

    def prefetch(array: Array, index: Int) -> None:
        """Do nothing: plain Python has no cache lines to ask for."""

    def give_way() -> None:
        """Do nothing: plain kernels do not wait for other threads."""

    def atomic_load(array: Array, index: Int | str) -> int:
        """Return ``array[index]``."""
        return int(array[_not_before(index)])

    def atomic_store(array: Array, index: Int | str, number: Int) -> None:
        """Do ``array[index] = number``."""
        array[_not_before(index)] = number

    def atomic_add(array: Array, index: Int | str, number: Int) -> int:
        """Add to ``array[index]`` and return what it was, before any other thread sees it."""
        with _ONE_AT_A_TIME:
            before = int(array[_not_before(index)])
            array[index] = before + number
        return before

    def _not_before(index: Int | str) -> Int | str:
        """Refuse an index that compiled code would follow to what lies before the array, not count from its end."""
        if not isinstance(index, str) and index < 0:
            raise IndexError(f"index {index} lies before the array")
        return index

    _ONE_AT_A_TIME = threading.Lock()

else:

    @intrinsic
    def prefetch(typing_context: TypingContext, array: types.Type, index: types.Type) -> tuple[Signature, Emit]:
        """Ask for the cache line of ``array[index]`` (flat) to be loaded; no effect on any result."""
        signature = types.void(array, index)
        return signature, _emit_prefetch

    @intrinsic
    def give_way(typing_context: TypingContext) -> tuple[Signature, Emit]:
        """Let another thread or program that waits for this processor have it."""
        return types.void(), _emit_give_way

    @intrinsic(prefer_literal=True)
    def atomic_load(typing_context: TypingContext, array: types.Type, index: types.Type) -> tuple[Signature, Emit]:
        """Return ``array[index]``, an int64, as it is now, and with it all that its writer had written before."""
        return types.int64(array, index), _emit_load

    @intrinsic(prefer_literal=True)
    def atomic_store(
        typing_context: TypingContext, array: types.Type, index: types.Type, number: types.Type
    ) -> tuple[Signature, Emit]:
        """Do ``array[index] = number``, an int64, after all that was written before."""
        return types.void(array, index, types.int64), _emit_store

    @intrinsic(prefer_literal=True)
    def atomic_add(
        typing_context: TypingContext, array: types.Type, index: types.Type, number: types.Type
    ) -> tuple[Signature, Emit]:
        """Add to ``array[index]``, an int64, and return what it was, before any other thread sees it."""
        return types.int64(array, index, types.int64), _emit_add


def _emit_prefetch(
    context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: list[ir.Value]
) -> ir.Value:
    """Emit LLVM's prefetch of ``&array.data[index]`` for reading, to be kept in all cache levels."""
    from llvmlite import ir

    array_type = signature.args[0]
    array = context.make_array(array_type)(context, builder, arguments[0])
    address = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(8).as_pointer())
    integer = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [address.type, integer, integer, integer])
    function = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
    builder.call(function, [address, integer(0), integer(3), integer(1)])
    return context.get_dummy_value()


def _emit_give_way(
    context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: list[ir.Value]
) -> ir.Value:
    """Emit a call of POSIX's sched_yield; nothing on Windows, which has it by another name."""
    from llvmlite import ir
    from numba.core import cgutils

    if os.name == "posix":
        kind = ir.FunctionType(ir.IntType(32), [])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
    return context.get_dummy_value()


def _address(context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: list[ir.Value]) -> ir.Value:
    """Emit the address of an item of an array, or of a field of a record."""
    from llvmlite import ir
    from numba.core import cgutils

    whole, part = signature.args[:2]
    if isinstance(whole, types.Record):
        return cgutils.get_record_member(builder, arguments[0], whole.offset(part.literal_value), ir.IntType(64))
    array = context.make_array(whole)(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]])


def _emit_load(
    context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: list[ir.Value]
) -> ir.Value:
    """Emit an atomic load."""
    return builder.load_atomic(_address(context, builder, signature, arguments), "seq_cst", 8)


def _emit_store(
    context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: list[ir.Value]
) -> ir.Value:
    """Emit an atomic store."""
    builder.store_atomic(arguments[2], _address(context, builder, signature, arguments), "seq_cst", 8)
    return context.get_dummy_value()


def _emit_add(context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: list[ir.Value]) -> ir.Value:
    """Emit an atomic addition."""
    return builder.atomic_rmw("add", _address(context, builder, signature, arguments), arguments[2], "seq_cst")
