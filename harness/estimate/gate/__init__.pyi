from .gate_verdict import (
    ANY_TIME as ANY_TIME, FAIL as FAIL, GateVerdict as GateVerdict,
    PASS as PASS, UNDECIDED as UNDECIDED,
)
from .one_look import gate_at_look as gate_at_look
from .passing import gate_accuracy as gate_accuracy, gate_difference as gate_difference
