from .control_draw import (
    InsertedControls as InsertedControls, insert_controls as insert_controls,
    insert_overlap as insert_overlap,
)
from .item_draw import draw_items as draw_items
from .panel_draw import BalancedPanel as BalancedPanel, RandomPanel as RandomPanel
from .partitioned import Partitioned as Partitioned
from .roster import (
    ANY_CLASS as ANY_CLASS, Expert as Expert, Roster as Roster, one_expert_per_class as one_expert_per_class,
    read_roster as read_roster,
)
from .routing_protocol import RoutingProtocol as RoutingProtocol
from .sealed_ids import plain_id as plain_id, seal_questions as seal_questions
from .second_draw import (
    DrawSummary as DrawSummary,
    SecondDraw as SecondDraw, draw_second_questions as draw_second_questions,
    refuse_first_after_second as refuse_first_after_second,
)
from .predicted_options import Sequential as Sequential
from .study_protocol import (
    Pending as Pending, check_drawn as check_drawn, draw_questions as draw_questions,
    next_assignments as next_assignments, next_questions as next_questions, order_queue as order_queue,
    panel_rule_of as panel_rule_of, read_pending as read_pending, read_present as read_present,
)
from .predicted_options import Disagreement as Disagreement, Targeted as Targeted
