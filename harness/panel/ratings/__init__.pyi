from .aggregate import (
    AGGREGATES as AGGREGATES, aggregate_votes as aggregate_votes, agreement_with as agreement_with,
    plurality as plurality,
)
from .certainty import (
    EDGES as EDGES, Judgements as Judgements, leave_rater_out as leave_rater_out,
    split_by_certainty as split_by_certainty,
)
from .certainty_strata import (
    describe_strata as describe_strata, neyman_allocation as neyman_allocation,
    stratify_by_certainty as stratify_by_certainty,
)
from .dawid_skene import fit_dawid_skene as fit_dawid_skene
from .panel import (
    Panel as Panel, check_votes as check_votes, make_panel as make_panel,
    make_panel_from_grid as make_panel_from_grid,
)
from .weighted_units import (
    CLUSTERS_ARE_DRAWS as CLUSTERS_ARE_DRAWS, Score as Score, WeightedUnits as WeightedUnits,
    draw_unit_more as draw_unit_more, explain_few_clusters as explain_few_clusters, find_ends as find_ends,
)
