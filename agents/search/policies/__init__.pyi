from .adas import Adas as Adas
from .aflow import AFlow as AFlow
from .optimizer import Optimizer as Optimizer
from .proposal import (
    JudgedAnswer as JudgedAnswer, Policy as Policy, PolicyView as PolicyView, Proposal as Proposal,
)
from .recombine import Recombine as Recombine, Wordings as Wordings
from .reflect import Reflect as Reflect
