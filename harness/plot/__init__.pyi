from .drawing import draw_svg as draw_svg
from .pictures import (
    agreement as agreement, certificate as certificate, closing as closing, differences as differences,
    estimates as estimates, gate as gate, parity as parity, plan as plan, search as search,
)
