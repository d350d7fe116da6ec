from .decision_pictures import (
    differences as differences, gate as gate, plan as plan, search as search,
)
from .drawing import (
    LEAST_HEIGHT as LEAST_HEIGHT, draw_svg as draw_svg,
)
from .estimates_picture import (
    closing as closing, estimates as estimates,
)
from .panel_pictures import (
    agreement as agreement, agreement_height as agreement_height,
    CERTIFICATE_HEIGHT as CERTIFICATE_HEIGHT, certificate as certificate, parity as parity,
)
