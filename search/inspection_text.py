"""What `hms data inspect` and `--dry-run` print, as lines of text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prednet.data.inspection.findings import FoundRecording, Inspection, Way, counted, listed
from search.prepared_data import Prepared


def inspection_lines(inspection: Inspection, *, quick: bool) -> Iterator[str]:
    """Found, true of it, wrong with it, what would be used, and the next command."""
    yield f"{inspection.path}: {inspection.title}"
    if inspection.recordings:
        yield ""
        yield from aligned([_header(inspection), *(_row(recording) for recording in inspection.recordings)], indent=2)
    yield from _section("What is true of it", inspection.facts)
    yield from _section(f"What is wrong ({len(inspection.problems)})", inspection.problems)
    if not inspection.problems:
        yield ""
        yield "Nothing wrong found" + (" in the headers; without --quick every frame is read" if quick else "")
    for way in inspection.ways:
        yield from _way_lines(way)


def preview_lines(preview: Mapping[str, Any]) -> Iterator[str]:
    """What preparing would make: splits, recordings, space; nothing of it written."""
    height, width = preview["size"]
    for name, split in preview["splits"].items():
        names = [f"{entry['name']} ({entry['frames']})" for entry in split["recordings"]]
        yield f"{name}: {split['frames']} frames in {len(names)} recordings: {listed(names, 8)}"
    yield f"{height}x{width} pixels, resize {preview['resize']}, held out: {preview['held_out']}"
    yield f"needs {preview['bytes'] / 1e6:,.1f} MB of the {preview['free'] / 1e9:,.1f} GB free at {preview['path']}"
    if preview["prepared"]:
        yield "prepared already, from these very files: the command would change nothing"
    for warning in preview["warnings"]:
        yield f"note: {warning}"


def aligned(rows: Sequence[Sequence[str]], *, indent: int = 0) -> Iterator[str]:
    """Rows as columns of equal width; columns without any text below the first row are left out."""
    kept = [at for at in range(len(rows[0])) if any(row[at] for row in rows[1:])]
    widths = [max(len(row[at]) for row in rows) for at in kept]
    for row in rows:
        cells = [row[at].ljust(width) for at, width in zip(kept, widths, strict=True)]
        yield (" " * indent + "  ".join(cells)).rstrip()


def _header(inspection: Inspection) -> tuple[str, ...]:
    words = {"hkl": ("split", "rows"), "prepared": ("split", "numbers"), "objects": ("", "")}
    camera, numbers = words.get(inspection.kind, ("camera", "numbers"))
    first = "object" if inspection.kind == "objects" else "recording"
    return (first, "category", camera, "images" if first == "object" else "frames", numbers, "size", "pictures")


def _row(recording: FoundRecording) -> tuple[str, ...]:
    numbers = ", ".join(f"{first}-{last}" for first, last in recording.numbers[:6])
    pictures = counted(recording.formats) if recording.formats else ""
    if recording.colours:
        pictures += f", {counted(recording.colours)}"
    if recording.rate:
        pictures += f", {recording.rate:.4g} Hz"
    if recording.bad:
        pictures += f", {recording.bad} broken"
    return (
        recording.name,
        recording.category or ("unknown" if recording.camera.isdigit() else ""),
        recording.camera,
        str(recording.frames),
        numbers + (", ..." if len(recording.numbers) > 6 else ""),
        counted(recording.sizes),
        pictures,
    )


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield title
        yield from (f"  - {line}" for line in lines)


def _way_lines(way: Way) -> Iterator[str]:
    yield ""
    if way.preview is not None:
        yield "What would be used" + (f", {way.label}" if way.label else "")
        yield from (f"  {line}" for line in preview_lines(way.preview))
    if way.error:
        yield f"What would be used{f', {way.label}' if way.label else ''}: {way.error}"
    yield f"Next: {way.command}"


def prepared_lines(items: Sequence[Prepared]) -> Iterator[str]:
    """A table of what is prepared."""
    rows = [("name", "kind", "MB", "frames", "splits", "state", "source")]
    for item in items:
        size = f"{item.bytes / 1e6:,.1f}"
        rows.append((item.name, item.kind, size, str(item.frames or ""), item.splits, item.state, item.source))
    yield from aligned(rows)
