from .budget import (
    FREE as FREE, Budget as Budget, Price as Price, PriceTable as PriceTable, Reservation as Reservation,
    dollars as dollars, read_prices as read_prices, sum_tokens as sum_tokens,
)
from .limiter import LONGEST_PAUSE as LONGEST_PAUSE, Limiter as Limiter
