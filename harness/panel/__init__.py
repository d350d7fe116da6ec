"""Several annotators per item: agreement, certification, human level, parity. Pure functions."""

from harness.panel.agreement.alpha import Agreement, category_alphas, krippendorff_alpha
from harness.panel.agreement.kappa import cohen_kappa, fleiss_kappa, gwet_ac1, pairwise
from harness.panel.agreement.report_agreement import AgreementReport, agreement
from harness.panel.human_level.methodology import human_level_choices, human_level_tagging
from harness.panel.human_level.standing import hlpi, hlpri
from harness.panel.parity.by_certainty import Parity, parity, parity_by_class, parity_by_label
from harness.panel.ratings.certainty_strata import certainty_strata, describe_strata, neyman_allocation
from harness.panel.ratings.dawid_skene import dawid_skene
from harness.panel.ratings.panel import Panel, panel_of, panel_of_grid
from harness.panel.superhuman.betting_test import one_mean_confidence
from harness.panel.superhuman.bounds_by_panel_size import growth
from harness.panel.superhuman.certificate import Evidence, certify
from harness.panel.superhuman.decision import superhuman, superhuman_from_counts
from harness.panel.superhuman.direct_comparison import direct_plan, direct_result
from harness.panel.superhuman.verdict import Superhuman

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
