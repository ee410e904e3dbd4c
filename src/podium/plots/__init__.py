"""Charts by Altair, with the numbers of the tables; `save_chart` writes files that need no network."""

from podium.plots.altair_charts import save_chart
from podium.plots.effect_charts import plot_effects, plot_permutation_importance
from podium.plots.feature_charts import plot_contributions, plot_importance, plot_steps
from podium.plots.grade_charts import plot_confusion
from podium.plots.quality_charts import (
    plot_measure_at_k,
    plot_pair_margins,
    plot_query_differences,
    plot_scores_by_grade,
)
from podium.plots.rank_charts import critical_difference
from podium.plots.regions import plot_decision_regions
from podium.plots.roc_charts import plot_cells, plot_roc, plot_roc_surface
from podium.plots.round_curves import learning_curves, plot_learning_curves, plot_losses

__all__ = [
    "critical_difference",
    "learning_curves",
    "plot_cells",
    "plot_confusion",
    "plot_contributions",
    "plot_decision_regions",
    "plot_effects",
    "plot_importance",
    "plot_learning_curves",
    "plot_losses",
    "plot_measure_at_k",
    "plot_pair_margins",
    "plot_permutation_importance",
    "plot_query_differences",
    "plot_roc",
    "plot_roc_surface",
    "plot_scores_by_grade",
    "plot_steps",
    "save_chart",
]
