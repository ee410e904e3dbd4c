"""Compile parts of kernels for linking alone.

Numba optimises each function together with all that it calls, and translates it to machine code, also where nobody but
another kernel ever calls it: what stands three calls deep is optimised and translated four times. A part of a kernel is
only ever linked into the kernels that call it, so here it is left as it was lowered, and what calls it optimises all of
it once. This saves about a fifth of the first LambdaMART fit in a fresh install, and LambdaMART trains as fast.

It rests on classes that Numba does not promise to keep. Where they are not as expected, parts are compiled as other
functions are.
"""

from __future__ import annotations

from typing import Self

try:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase, DefaultPassBuilder, StateDict
    from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
    from numba.core.typed_passes import NoPythonSupportedFeatureValidation

    _HOOKS = (
        "_optimize_final_module",
        "_finalize_final_module",
        "_finalize_dynamic_globals",
        "serialize_using_bitcode",
    )
    _AS_EXPECTED = all(hasattr(JITCodeLibrary, name) for name in _HOOKS)
except ImportError:  # another Numba
    _AS_EXPECTED = False


def linking_options() -> dict[str, object]:
    """Return the options of ``njit`` for a function that only kernels call."""
    return {"pipeline_class": _PartCompiler} if _AS_EXPECTED else {}


if _AS_EXPECTED:

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

        def __init__(self) -> None:
            super().__init__()

        def run_pass(self, state: StateDict) -> bool:
            """Set the library, which lowering otherwise makes."""
            state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
            return False

    class _PartCompiler(CompilerBase):
        """Numba's own pipeline with that library."""

        def define_pipelines(self) -> list[PassManager]:
            """Return the passes."""
            passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
            passes.add_pass_after(_UsePartLibrary, NoPythonSupportedFeatureValidation)
            passes.finalize()
            return [passes]
