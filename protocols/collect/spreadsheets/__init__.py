"""Write questions to spreadsheets, one file per person, and read answers back without a server.

For yes/no questions, the columns are ``question_id, expert, text, options, question, answer, comment``. The
expert fills in `answer` with yes, no or unsure (empty means not answered yet) and may write a `comment`. For
a panel, the columns are ``assignment_id, item, annotator, text, options, label``; the annotator enters one of
the options in `label`. The options are in the item's shuffled order. No file contains the truth, a
prediction, or another person's answer.
"""
