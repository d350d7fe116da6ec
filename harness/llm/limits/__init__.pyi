from .batches import Batches as Batches
from .budget import Budget as Budget
from .limited_model import CallCounts as CallCounts, LimitedModel as LimitedModel, TokenGuess as TokenGuess
from .limiter import Limiter as Limiter
from .prices import (
    FREE as FREE, Price as Price, PriceTable as PriceTable, dollars as dollars, read_prices as read_prices,
)
