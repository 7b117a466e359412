"""The exceptions of a psychophysics study; the `hms` command turns each into one message and exit code 2.

StudyError
├── StimuliError       a network, unit, image pool or stimulus that is missing, unfit or changed
├── PageError          the page of participants is not built, or cannot be
├── ResponsesError     tables of responses that are missing or do not hold what their columns promise
├── DesignError        an analysis that does not fit the design of the data
└── NotEstimable       a model or a quantity that these data do not determine
"""

from search.errors import UsageError


class StudyError(UsageError):
    """Base of the errors of a study that reach a person as one message without a traceback."""


class StimuliError(StudyError):
    """A network, unit, image pool or stimulus is missing, unfit or changed; the message names it."""


class PageError(StudyError):
    """The page of participants is not built, or cannot be; the message says what to install or type."""


class ResponsesError(StudyError):
    """A table of responses is missing or damaged; the message names file, column and row."""


class DesignError(StudyError):
    """The analysis asked for does not fit the design of the data; the message says which one does."""


class NotEstimable(StudyError):
    """The data do not determine what was asked for: a single condition, a constant answer, no convergence."""
