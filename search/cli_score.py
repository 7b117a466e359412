"""Commands that score one network: ours, any torch network, or a file of features. Registered by `cli.py`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from search.cli_options import Convention, SetOption, say
from search.errors import UsageError
from search.progress import shown_progress

app = typer.Typer()

SIZE, HUMAN_IT = "224x224", "human_it"

ReferenceOption = Annotated[
    str, typer.Option(help="human_it, monkey_it, a brain of `hms data brain`, or a file or folder of RDMs")
]
Labels = Annotated[
    Path | None, typer.Option(help="text file with one label a line, where the reference's own file has none")
]
Out = Annotated[Path | None, typer.Option(help="folder for hms.json, tables (CSV), the RDM and figures (PNG, PDF)")]
Json = Annotated[bool, typer.Option("--json", help="print JSON")]


@app.command()
def hms(
    features: Annotated[Path, typer.Argument(help=".npz: `labels` (n,), and `features` (n, d) or an array a layer")],
    reference: ReferenceOption = HUMAN_IT,
    labels: Labels = None,
    as_json: Json = False,
    out: Out = None,
) -> None:
    """HMS in full of any network's features: intervals, noise ceilings, layers, categories, baselines."""
    from search.full_hms import HmsOptions, score_features_file

    with shown_progress(Console(stderr=True)) as progress:
        text = score_features_file(features, HmsOptions(reference, labels, as_json, out), progress)
    say(text)


@app.command()
def score(
    weights: Annotated[
        str,
        typer.Argument(
            metavar="WEIGHTS|MODULE:FUNCTION",
            help="network.pt of a trial, original Keras weights (.hdf5), or a function that makes a torch network",
        ),
    ],
    config: Annotated[Path | None, typer.Option(help="configuration whose data and metrics are used")] = None,
    overrides: SetOption = None,
    convention: Convention = None,
    as_json: Json = False,
    full: Annotated[bool, typer.Option("--full", help="of WEIGHTS: HMS in full as well, by layer and step")] = False,
    size: Annotated[str, typer.Option(help="HEIGHTxWIDTH of images for a function's network")] = SIZE,
    mapping: Annotated[
        Literal["stretch", "pad", "crop"], typer.Option(help="how square images become that size")
    ] = "stretch",
    reference: ReferenceOption = HUMAN_IT,
    labels: Labels = None,
    out: Out = None,
) -> None:
    """The three metrics of one of our networks; or HMS in full of any torch network, without a search.

    MODULE:FUNCTION is imported from the current folder, or as installed, and called. It returns a torch network that
    takes float32 images (n, 3, height, width), RGB in [0, 1], and returns features: a tensor, or a dict by layer.
    """
    from search.full_hms import HmsOptions, score_weights_fully
    from search.score import score_weights

    options = HmsOptions(reference, labels, as_json, out)
    path = Path(weights)
    function = ":" in weights and not path.exists()
    in_full = function or full or out is not None
    prednet = {"--config": config, "--set": overrides, "--convention": convention, "--full": full}
    _refuse(prednet if function else {}, "is for WEIGHTS, not for MODULE:FUNCTION")
    _refuse(
        {} if function else {"--size": size != SIZE, "--mapping": mapping != "stretch"},
        "is for MODULE:FUNCTION; of WEIGHTS the configuration says it: --config FILE --set data.height=H",
    )
    _refuse(
        {} if in_full else {"--reference": reference != HUMAN_IT, "--labels": labels},
        "is for HMS in full: add --full. Further references beside it: metrics.hms.references in --config",
    )
    with shown_progress(Console(stderr=True)) as progress:
        if function:
            from search.score_features import score_function

            text = score_function(weights, size, mapping, options, progress)
        elif in_full:
            text = score_weights_fully(path, config, overrides, convention, options, progress)
        else:
            text = score_weights(path, config, overrides, convention, as_json=as_json, progress=progress)
    say(text)


def _refuse(options: Mapping[str, object], why: str) -> None:
    """An option that would mean nothing here is an error, not silence."""
    for option, given in options.items():
        if given:
            raise UsageError(f"{option} {why}")
