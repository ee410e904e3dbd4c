"""Parameters that are checked against what a class declares of them: rankers, models of items, selectors."""

from __future__ import annotations

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import InvalidParameterError

from podium._compiled import thread_count
from podium._validation import PodiumError


class CheckedParameters(BaseEstimator):
    """Base of what declares its parameters in ``_parameter_constraints``."""

    def _check_parameters(self) -> None:
        """Check parameters against their declared constraints."""
        try:
            self._validate_params()
        except InvalidParameterError as error:
            raise PodiumError(str(error)) from None
        thread_count(getattr(self, "n_jobs", None))
