"""Open answers: units of answers, drawn with recorded chances, and estimates from their judgements.

Pure functions, arrays in and results out. `cross_units` lists which unit of which answer can be asked about,
`draw_questions` says what to ask, `join_replies` puts experts' replies beside it, `estimate_open` estimates.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
