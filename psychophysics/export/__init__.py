"""What a study hands on: its data as a folder to publish, in the layout of Psych-DS; its preregistration.

Psych-DS: https://psych-ds.github.io, schema 1.5.1.
"""

from psychophysics.export.dataset import write_dataset
from psychophysics.export.study import export_study

__all__ = ["export_study", "write_dataset"]
