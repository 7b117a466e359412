"""Arguments and options that several commands share."""

from typing import Annotated, Literal

import typer

from search.printable import printable

Name = Annotated[str, typer.Argument(help="name of the search (HyperOpt's exp_key)")]
Mongo = Annotated[
    str | None,
    typer.Option(
        "--mongo", help="file with a MongoDB URI, or one without password; default: HMS_MONGO, else the embedded server"
    ),
]
SetOption = Annotated[list[str] | None, typer.Option("--set", help="override one value: a.b=c (repeatable)")]
Convention = Annotated[
    Literal["tensorflow", "theano"] | None,
    typer.Option(help="of Keras weights: tensorflow or theano; default: as the file says"),
]
EpochRuleOption = Annotated[
    str,
    typer.Option(
        "--epoch-rule",
        metavar="last|final|stopped|EPOCH",
        help="whose values statistics use: the last evaluation of each network; final: the same, only of networks that "
        "trained all their planned epochs; stopped: the evaluation at which the stopping rule stops it (where the "
        "search stopped none: the stability rule with its window and tolerance), the last where it never does; EPOCH: "
        "the evaluation at that epoch, only of networks that have one",
    ),
]


def say(text: str) -> None:
    """A line for the person at the terminal, at once."""
    print(printable(text), flush=True)
