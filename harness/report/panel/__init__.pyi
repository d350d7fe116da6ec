from .pictures import alphas_svg as alphas_svg, bounds_svg as bounds_svg, parity_svg as parity_svg
