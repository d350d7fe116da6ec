from .absence import end_absence as end_absence, note_absence as note_absence
from .person import (
    erase_person as erase_person, export_person as export_person, forget_texts as forget_texts,
)
from .reassignment import Reassigned as Reassigned, reassign as reassign
from .reminders import write_reminders as write_reminders
