"""Commands of `hms study` that make its stimuli. Registered by `cli_study.py`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from search.cli_options import say
from search.paths import results_root
from search.progress import shown_progress

app = typer.Typer()

Study = Annotated[Path, typer.Argument(metavar="CONFIG", help="YAML file of the study, e.g. configs/study-demo.yaml")]


@app.command()
def stimuli(config: Study) -> None:
    """Make the stimuli of a study: query pairs, references of all conditions, manifest, contact sheets. Resumable."""
    from psychophysics.config_reader import load_study
    from psychophysics.stimuli.build import build_stimuli
    from psychophysics.stimuli.summary import summary
    from psychophysics.study_folder import StudyFolder

    study = load_study(config)
    folder = StudyFolder.of(results_root(), study.study.name)
    with shown_progress(Console(stderr=True)) as progress:
        manifest = build_stimuli(study, folder, progress)
    say(summary(manifest, folder, str(config)))


@app.command()
def curate(
    config: Study,
    sign: Annotated[
        str | None, typer.Option("--sign", metavar="NAME", help="accept the roles in curation.yaml, by this name")
    ] = None,
) -> None:
    """Show the candidates for instruction, practice and catch trials; keep and sign what the experimenter accepts."""
    from psychophysics.config_reader import load_study
    from psychophysics.stimuli.curate import curate as curate_study
    from psychophysics.study_folder import StudyFolder

    study = load_study(config)
    say(curate_study(study, StudyFolder.of(results_root(), study.study.name), sign, str(config)))


@app.command()
def freeze(config: Study) -> None:
    """Fix configuration and stimuli under one hash; a study without curated catch trials is refused."""
    from psychophysics.config_reader import load_study
    from psychophysics.stimuli.freeze import freeze as freeze_study
    from psychophysics.study_folder import StudyFolder

    study = load_study(config)
    folder = StudyFolder.of(results_root(), study.study.name)
    frozen = freeze_study(study, folder, str(config))
    say(f"{folder.frozen}: frozen at {frozen.time}, sha256 {frozen.sha256}")


@app.command()
def layers(config: Study) -> None:
    """List the layers of a study's networks and their channels: the names that units may have."""
    from psychophysics.config_reader import load_study
    from psychophysics.networks import open_network

    for name, section in load_study(config).network_sections.items():
        network = open_network(section)
        say(f"{name} ({section.source}), input {network.height}x{network.width}")
        for layer, channels in network.layers.items():
            say(f"  {layer}/0 to {layer}/{channels - 1}")
