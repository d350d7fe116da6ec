"""Experts' answers through Label Studio: one project per expert, nothing smuggled in or lost.

`facade` is for programs, `desk` for the command line; the other modules are their parts: `page` and
`sheet` (what is shown), `queue` and `push` (out), `pull` and `judge` (back), `accounts` (people),
`progress`, `watch` and `hints` (looking on), `client` and `transport` (the server; only the latter
knows the SDK).
"""

from protocols.collect.label_studio.campaign import Campaign, Difference
from protocols.collect.label_studio.facade import LabelStudio
from protocols.collect.label_studio.labelling_page import panel_page, verdict_page

__all__ = ["Campaign", "Difference", "LabelStudio", "panel_page", "verdict_page"]
