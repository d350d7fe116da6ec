"""Several annotators per item: agreement, certification, human level, parity. Pure functions."""

from harness.panel.agreement import AgreementReport, agreement
from harness.panel.alpha import Agreement, category_alphas, krippendorff_alpha
from harness.panel.kappa import cohen_kappa, fleiss_kappa, gwet_ac1, pairwise
from harness.panel.ratings import Panel, panel_of, panel_of_grid

__all__ = [
    "Agreement",
    "AgreementReport",
    "Panel",
    "agreement",
    "category_alphas",
    "cohen_kappa",
    "fleiss_kappa",
    "gwet_ac1",
    "krippendorff_alpha",
    "pairwise",
    "panel_of",
    "panel_of_grid",
]
