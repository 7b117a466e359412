"""Whether each image of a folder of objects can be used: every bad one by name."""

from collections import Counter
from pathlib import Path

from metrics.errors import MetricError
from metrics.gazoobian.objects import image_file, pixel_digest, read_image, read_manifest
from search.progress import Progress


def object_problems(root: Path, progress: Progress) -> list[str]:
    """A sentence for each image that is missing, unreadable, altered or of an odd size, and for lonely views."""
    manifest = root / "manifest.csv"
    try:
        rows = (
            [(row.object, row.view, row.sha256) for row in read_manifest(manifest)]
            if manifest.is_file()
            else [(file.parent.name, file.stem, "") for file in sorted((root / "objects").glob("*/*.png"))]
        )
    except MetricError as error:
        return [str(error)]
    problems = []
    sizes: dict[Path, str] = {}
    for done, (name, view, digest) in enumerate(rows):
        progress("reading object images", done + 1, len(rows))
        file = image_file(root, name, view)
        try:
            image = read_image(file)
        except MetricError as error:
            problems.append(str(error))
            continue
        sizes[file] = f"{image.shape[1]}x{image.shape[0]}"
        if digest not in ("", pixel_digest(image)):
            problems.append(f"{file}: not the image that {manifest.name} lists (sha256 of its pixels differs)")
    usual = Counter(sizes.values()).most_common(1)
    problems += [
        f"{file}: {size} pixels, most are {usual[0][0]}" for file, size in sizes.items() if size != usual[0][0]
    ]
    views = Counter(name for name, _, _ in rows)
    return problems + [
        f"{name}: one image only; matching needs two of an object" for name, n in views.items() if n == 1
    ]
