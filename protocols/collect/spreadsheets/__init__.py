"""Questions to spreadsheets, one file per person, and answers back: no server needed.

For yes/no questions the columns are ``question_id, expert, text, options, question, answer, comment``. The
expert fills in `answer` with yes, no or unsure (or leaves it empty: not answered yet) and may write a
`comment`. For a panel they are ``assignment_id, item, annotator, text, options, label``; the annotator
writes one of the options, in the item's shuffled order, into `label`. Nothing in a file tells the truth, a
prediction, or what another person said.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
