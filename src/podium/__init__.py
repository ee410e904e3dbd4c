"""Podium: learning to rank by boosting, from preferences to a scoring function.

The public names stand in ``__init__.pyi`` and load on first use, so that ``import podium`` costs next to
nothing.
"""

import lazy_loader

from podium._version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
