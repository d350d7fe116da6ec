from .absence import end_absence as end_absence, note_absence as note_absence
from .reassignment import Reassigned as Reassigned, reassign as reassign
from .reminders import write_reminders as write_reminders
