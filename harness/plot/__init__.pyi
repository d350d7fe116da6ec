from .agreement_picture import agreement as agreement, agreement_height as agreement_height
from .certificate_picture import CERTIFICATE_HEIGHT as CERTIFICATE_HEIGHT, certificate as certificate
from .closing_picture import closing as closing, closing_height as closing_height
from .drawing import draw_svg as draw_svg
from .estimates_picture import estimates as estimates, estimates_height as estimates_height
from .parity_picture import parity as parity
