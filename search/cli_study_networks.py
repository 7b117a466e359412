"""`hms study from-search`: from the networks of a search to a study. Registered by `cli_study.py`."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from search.cli_options import Name, say
from search.paths import results_root

app = typer.Typer()


@app.command("from-search")
def from_search(
    name: Name,
    networks: Annotated[int, typer.Option(min=2, help="networks to compare; fewer than 6 cannot answer")] = 6,
    spread: Annotated[Literal["hms"], typer.Option(help="what the networks are spread over, from lowest to highest")]
    = "hms",
    units: Annotated[int, typer.Option(min=1, help="units of each network, drawn by layer")] = 6,
    images: Annotated[str, typer.Option(help="folder of photographs; `photographs`: those of installed packages")]
    = "photographs",
    out: Annotated[Path | None, typer.Option(help="file; default: study-NAME.yaml")] = None,
) -> None:  # fmt: skip
    """Write the configuration of a study of networks of a search: is a more brain-like one easier to understand?

    Networks are spread evenly over HMS; of those near a step the one is taken whose MSE is nearest to the median. Says
    how many networks there are, and how likely such a study is to find a relation, before it writes.
    """
    from psychophysics.from_search import study_from_search, write_study
    from psychophysics.network_power import NetworkDesign
    from psychophysics.power_table import network_power_table, simulated_for

    file = out or Path(f"study-{name}.yaml")
    made = study_from_search(results_root(), name, networks, units, images, file.stem)
    say("\n".join(made.selection))
    if made.unanswerable:
        say(made.unanswerable)
    else:
        design = NetworkDesign(units, made.participants, made.config.design.sets)
        Console().print(network_power_table(simulated_for(made.hms, design), design))
    write_study(made, file)
    say(f"{file}: {len(made.hms)} networks, {len(made.hms) * units} main trials, {made.participants} participants")
    say(f"next: look it over, then hms study stimuli {file}")
