"""Compile parts of kernels for linking alone, and kernels whose neighbouring statements are done side by side.

Numba optimises each function together with all that it calls, and translates it to machine code, also where nobody but
another kernel ever calls it: what stands three calls deep is optimised and translated four times. A part of a kernel is
only ever linked into the kernels that call it, so here it is left as it was lowered, and what calls it optimises all of
it once. This saves about a fifth of the first LambdaMART fit in a fresh install, and LambdaMART trains as fast.

Numba also leaves it to loops to be done several steps at a time. A kernel that writes four nodes of a quadrature as
four statements is twice as fast where LLVM joins such statements ("superword-level parallelism"): the same results.

It rests on classes that Numba does not promise to keep. Where they are not as expected, parts are compiled as other
functions are.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from numba.core.base import BaseContext
    from numba.core.compiler import CompileResult

try:
    from numba.core import config
    from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
    from numba.core.compiler import CompilerBase, DefaultPassBuilder, StateDict
    from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
    from numba.core.typed_passes import NoPythonSupportedFeatureValidation

    _HOOKS = (
        "_optimize_final_module",
        "_finalize_final_module",
        "_finalize_dynamic_globals",
        "serialize_using_bitcode",
    )
    _AS_EXPECTED = all(hasattr(JITCodeLibrary, name) for name in _HOOKS) and hasattr(JITCPUCodegen, "_library_class")
except ImportError:  # another Numba
    _AS_EXPECTED = False

Part = TypeVar("Part")


def linking_options() -> dict[str, object]:
    """Return the options of ``njit`` for a function that only kernels call."""
    return {"pipeline_class": _PartCompiler} if _AS_EXPECTED else {}


def joining_options() -> dict[str, object]:
    """Return the options of ``njit`` for a function whose neighbouring statements are done side by side."""
    return {"pipeline_class": _JoiningCompiler} if _AS_EXPECTED else {}


def loaded_for_linking(part: Part) -> Part:
    """Let a part that comes from disk be for linking alone, too.

    Numba would translate it as it was lowered, and what is compiled later in that process would call this slow code in
    place of its own: LambdaMART took 3.5 times as long.
    """
    try:
        stored = attrgetter("_cache._impl")(part)
        stored.rebuild = partial(_rebuilt, stored.rebuild) if _AS_EXPECTED else stored.rebuild
    except AttributeError:
        pass  # parts as plain Python, or another Numba
    return part


def _rebuilt(
    rebuild: Callable[[BaseContext, object], CompileResult], context: BaseContext, payload: object
) -> CompileResult:
    """Read a part; Numba's lock on compiling keeps others from seeing the setting."""
    codegen = context.codegen()
    before, codegen._library_class = codegen._library_class, _PartLibrary
    try:
        return rebuild(context, payload)
    finally:
        codegen._library_class = before


if _AS_EXPECTED:

    class _JoiningLibrary(JITCodeLibrary):
        """Code whose neighbouring statements are done side by side."""

        def _optimize_final_module(self) -> None:
            """Optimise; Numba's lock on compiling keeps others from seeing the setting."""
            before, config.SLP_VECTORIZE = config.SLP_VECTORIZE, 1
            try:
                super()._optimize_final_module()
            finally:
                config.SLP_VECTORIZE = before

    class _PartLibrary(JITCodeLibrary):
        """Code that is linked into that of its callers, and neither optimised nor translated by itself."""

        @property
        def codegen(self) -> Self:
            """Stand in for what sets environments, which machine code has and parts do not use."""
            return self

        def set_env(self, env_name: str, env: object) -> None:
            """Do nothing."""

        def get_pointer_to_function(self, name: str) -> int:
            """Return 0: there is no machine code."""
            self._ensure_finalized()
            return 0

        def serialize_using_object_code(self) -> object:
            """Return what the cache keeps."""
            return self.serialize_using_bitcode()

        def _optimize_final_module(self) -> None:
            """Leave it to the callers."""

        def _finalize_final_module(self) -> None:
            """Be ready for linking."""
            self._finalize_dynamic_globals()
            self._finalized = True

    @register_pass(mutates_CFG=False, analysis_only=True)
    class _UsePartLibrary(FunctionPass):
        """Lower into a library for linking alone."""

        _name = "podium_use_part_library"
        _library: type[JITCodeLibrary] = _PartLibrary

        def __init__(self) -> None:
            super().__init__()

        def run_pass(self, state: StateDict) -> bool:
            """Set the library, which lowering otherwise makes."""
            state.library = self._library(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
            return False

    @register_pass(mutates_CFG=False, analysis_only=True)
    class _UseJoiningLibrary(_UsePartLibrary):
        """Lower into a library of joined statements."""

        _name, _library = "podium_use_joining_library", _JoiningLibrary

    class _PartCompiler(CompilerBase):
        """Numba's own pipeline with that library."""

        _pass: type[FunctionPass] = _UsePartLibrary

        def define_pipelines(self) -> list[PassManager]:
            """Return the passes."""
            passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
            passes.add_pass_after(self._pass, NoPythonSupportedFeatureValidation)
            passes.finalize()
            return [passes]

    class _JoiningCompiler(_PartCompiler):
        """The same with a library of joined statements."""

        _pass = _UseJoiningLibrary
