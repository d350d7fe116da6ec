from .model_policies import AFlow as AFlow, Adas as Adas, Reflect as Reflect
from .optimizer import Optimizer as Optimizer
from .optimizer import write_guide as write_guide
from .proposal import (
    JudgedAnswer as JudgedAnswer, Policy as Policy, PolicyView as PolicyView, Proposal as Proposal,
)
from .recombine import Recombine as Recombine, Wordings as Wordings
