from .betting import refuting_wealth as refuting_wealth
from .passing import gate_accuracy as gate_accuracy, gate_difference as gate_difference
from .verdict import (
    FAIL as FAIL, PASS as PASS, UNDECIDED as UNDECIDED, Verdict as Verdict, judge_interval as judge_interval,
)
