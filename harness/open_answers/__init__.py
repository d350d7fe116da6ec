"""Open answers: draw units of answers with known probabilities, and estimate scores from experts' judgements.

`Frame.table` lists every unit of every answer, `draw_questions` draws the questions to ask, `join_replies`
joins experts' replies to the units, and `estimate_open` estimates scores.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
