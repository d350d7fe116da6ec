from .verdicts import (
    ANY_TIME as ANY_TIME, FAIL as FAIL, GateVerdict as GateVerdict, PASS as PASS, UNDECIDED as UNDECIDED,
    gate_accuracy as gate_accuracy, gate_at_look as gate_at_look, gate_difference as gate_difference,
)
