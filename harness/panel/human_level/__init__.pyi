from .methodology import (
    human_level_choices as human_level_choices, human_level_tagging as human_level_tagging,
)
from .standing import HumanLevel as HumanLevel, hlpi as hlpi, hlpri as hlpri
