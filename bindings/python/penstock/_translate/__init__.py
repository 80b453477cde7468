"""Translates image transforms of other libraries into chains."""
