"""Reports: what a data set holds, what a fit came to, and a page on a model and the rows that it ranked."""

import sys
from types import ModuleType

from podium.report.data_report import MAX_LISTED, DataReport, describe
from podium.report.export_changes import export_report
from podium.report.fit_report import (
    INTERRUPTED,
    TrainingReport,
    evaluated,
    shown_name,
    stopped_early,
    training_report,
    watched,
)
from podium.report.page import Report, report

__all__ = [
    "INTERRUPTED",
    "MAX_LISTED",
    "DataReport",
    "Report",
    "TrainingReport",
    "describe",
    "evaluated",
    "export_report",
    "report",
    "shown_name",
    "stopped_early",
    "training_report",
    "watched",
]


class _ReportModule(ModuleType):
    """The package, callable: ``podium.report(…)`` is the function of its name, whichever import came first."""

    __call__ = staticmethod(report)


sys.modules[__name__].__class__ = _ReportModule
