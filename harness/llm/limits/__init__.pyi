from .budget import Budget as Budget, Reservation as Reservation
from .limiter import LONGEST_PAUSE as LONGEST_PAUSE, Limiter as Limiter
from .prices import (
    FREE as FREE, Price as Price, PriceTable as PriceTable, dollars as dollars, read_prices as read_prices,
    sum_tokens as sum_tokens,
)
