"""Several annotators per item: agreement, certification, human level, parity. Pure functions."""

from harness.panel.agreement import AgreementReport, agreement
from harness.panel.alpha import Agreement, category_alphas, krippendorff_alpha
from harness.panel.certificate import Evidence, certify
from harness.panel.dawid_skene import dawid_skene
from harness.panel.direct import direct_plan, direct_result
from harness.panel.growth import growth
from harness.panel.human_level import hlpi, hlpri
from harness.panel.kappa import cohen_kappa, fleiss_kappa, gwet_ac1, pairwise
from harness.panel.methodology import human_level_choices, human_level_tagging
from harness.panel.one_mean import one_mean_confidence
from harness.panel.parity import Parity, parity, parity_by_class, parity_by_label
from harness.panel.ratings import Panel, panel_of, panel_of_grid
from harness.panel.strata import certainty_strata, describe_strata, neyman_allocation
from harness.panel.superhuman import superhuman, superhuman_from_counts
from harness.panel.verdict import Superhuman

__all__ = [
    "Agreement",
    "AgreementReport",
    "Evidence",
    "Panel",
    "Parity",
    "Superhuman",
    "agreement",
    "category_alphas",
    "certainty_strata",
    "certify",
    "cohen_kappa",
    "dawid_skene",
    "describe_strata",
    "direct_plan",
    "direct_result",
    "fleiss_kappa",
    "growth",
    "gwet_ac1",
    "hlpi",
    "hlpri",
    "human_level_choices",
    "human_level_tagging",
    "krippendorff_alpha",
    "neyman_allocation",
    "one_mean_confidence",
    "pairwise",
    "panel_of",
    "panel_of_grid",
    "parity",
    "parity_by_class",
    "parity_by_label",
    "superhuman",
    "superhuman_from_counts",
]
