from .agreement import (
    draw_in_proportion as draw_in_proportion, guess_right as guess_right,
    split_by_agreement as split_by_agreement,
)
from .unequal_draw import (
    chances_by_deviation as chances_by_deviation, draw_with_chances as draw_with_chances,
)
