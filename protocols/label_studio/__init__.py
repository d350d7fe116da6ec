"""Experts' answers through Label Studio: one project per expert, nothing smuggled in or lost.

`desk` is the whole of it; the other modules are its parts: `page` and `sheet` (what is shown), `queue`
and `push` (out), `pull` and `judge` (back), `accounts` (people), `progress` and `watch` (looking on),
`client` and `transport` (the server; only the latter knows the SDK).
"""

from protocols.label_studio.desk import Difference, LabelStudio
from protocols.label_studio.page import panel_page, verdict_page

__all__ = ["Difference", "LabelStudio", "panel_page", "verdict_page"]
