"""Learn, measure and repeat: policies whose only memory is a discrete code, judged against what `certify` proves."""

__version__ = "0.1.0"
