"""The colors and dashes of all pictures, which readers who are color-blind can tell apart (Okabe and Ito 2008)."""

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"

YELLOW, BLUE, RED, PINK = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"

PURPLE = "#5D3A9B"

CYCLE = (BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK)

DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))

GRAY = "#5a5a5a"

DPI = 150
