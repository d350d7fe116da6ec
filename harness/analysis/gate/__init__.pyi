from .bars import Bars as Bars, GateCheck as GateCheck, GateReport as GateReport
from .gating import gate_study as gate_study
