"""The exceptions of a search and the exit codes of `hms`.

    HmsError                     1
    ├── UsageError               2   wrong option, unknown name, wrong file
    │   ├── ConfigError          2   YAML or `--set` that does not describe a search
    │   ├── SearchChanged        2   the stored search has another space or training configuration
    │   ├── UnknownSearch        2   no search of that name in the store
    │   ├── EpochNotReached      2   a report of an epoch at which no network was evaluated
    │   └── DriverRunning        2   another driver holds the lock of this search
    ├── ServerMissing            2   no `mongod` binary found
    ├── StoreError               3
    │   ├── StoreUnreachable     3
    │   ├── StoreRefused         3   authentication failed, standalone server, unsupported version
    │   └── StoreFull            3   the server's disk is full
    ├── MachineFailed            5   a worker's machine could not run any of several trials in a row
    ├── FileDamaged              1   a file in the store is not what was put there
    ├── LeaseLost                1   a trial was taken over; its first worker writes nothing more
    └── DocumentRefused          1   a value that MongoDB cannot hold

Errors of `prednet` and `metrics` about data, models and stimuli exit with 2 as well; a search that ends with
trials in ERROR exits with 4; an interrupted one with 130.
"""

EXIT_TRIALS_FAILED = 4
EXIT_INTERRUPTED = 130


class HmsError(Exception):
    """Base of all errors that reach a person as one message without a traceback."""

    exit_code = 1


class UsageError(HmsError):
    """The command line or a file named on it is wrong."""

    exit_code = 2


class ConfigError(UsageError):
    """The configuration does not describe a search; the message names the key and the nearest valid one."""


class SearchChanged(UsageError):
    """The stored search of this name was made with another space or training configuration."""


class UnknownSearch(UsageError):
    """The store holds no search of this name; the message lists those that it holds."""


class EpochNotReached(UsageError):
    """No network was evaluated at the epoch that a report is of; the message names the nearest evaluated ones."""


class DriverRunning(UsageError):
    """Another driver holds this search's lock; the message names its host and pid."""


class ServerMissing(UsageError):
    """No `mongod` was found; the message names the extra that brings one."""


class StoreError(HmsError):
    """The trials store cannot be used."""

    exit_code = 3


class StoreUnreachable(StoreError):
    """No server answers; the message gives host, port, what was tried and the next command."""


class StoreRefused(StoreError):
    """The server answers but will not do: authentication, a standalone server, an unsupported version."""


class StoreFull(StoreError):
    """The server could not write because its disk is full."""


class MachineFailed(HmsError):
    """Attempts in a row failed by errors of the operating system, whatever the trial; the trials were given back."""

    exit_code = 5


class LeaseLost(HmsError):
    """A fenced write missed: the trial was taken over, cancelled or finished by another worker."""


class FileDamaged(HmsError):
    """Pieces of a stored file are missing or altered."""


class DocumentRefused(HmsError):
    """A value cannot be stored: not JSON, an integer beyond 64 bits, or a document beyond 16 MB."""
