"""What `metrics` raises when its input is wrong."""


class MetricError(ValueError):
    """A metric was given arrays that do not fit together; the message gives shapes, labels or values."""


class StimuliError(MetricError):
    """Stimuli or reference data are missing, broken or of the wrong checksum."""
