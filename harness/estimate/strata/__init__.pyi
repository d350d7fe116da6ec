from .anytime_accuracy import estimate_anytime as estimate_anytime
from .every_estimator import Estimates as Estimates, all_estimators as all_estimators
from .stratified import UNIFORM_ASSUMPTIONS as UNIFORM_ASSUMPTIONS, estimate_tallies as estimate_tallies
