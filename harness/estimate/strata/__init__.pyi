from .anytime_accuracy import estimate_anytime as estimate_anytime
from .stratified import (
    Estimates as Estimates, all_estimators as all_estimators, estimate_tallies as estimate_tallies,
)
from .stratum import where as where
