"""What simple strategies answer to the same query pairs: pure functions of the base image and the patches' places.

A strategy weighs what a patch covers; it expects the unit to favour the image whose patch covers less.
"""

from psychophysics.baselines.strategies import STRATEGIES, Patch, Strategy, expected_correct, predictions

__all__ = ["STRATEGIES", "Patch", "Strategy", "expected_correct", "predictions"]
