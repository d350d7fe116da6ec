from .budget import (
    Budget as Budget, FREE as FREE, Price as Price, PriceTable as PriceTable, dollars as dollars,
    price_of as price_of, read_prices as read_prices,
)
from .limiter import Limiter as Limiter
from .retry import ask_with_retries as ask_with_retries
from .throttle import ask_within as ask_within, hold_budget as hold_budget
from .tokens import TokenGuess as TokenGuess
