from .person import (
    end_absence as end_absence, erase_person as erase_person, export_person as export_person,
    forget_texts as forget_texts, note_absence as note_absence,
)
from .reassignment import Reassigned as Reassigned, reassign as reassign
from .reminders import write_reminders as write_reminders
