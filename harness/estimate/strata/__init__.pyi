from .anytime_accuracy import estimate_anytime as estimate_anytime
from .stratified import (
    Estimates as Estimates, UNIFORM_ASSUMPTIONS as UNIFORM_ASSUMPTIONS, all_estimators as all_estimators,
    estimate_tallies as estimate_tallies,
)
from .stratum import where as where
