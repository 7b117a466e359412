"""Pictures of the page of participants for README and docs, from a study that is served as a rehearsal.

hms study serve study-demo --rehearsal
python scripts/docs/study_pictures.py http://127.0.0.1:8000 results/studies/study-demo docs
writes study_instructions.png, study_trial.png and study_trial_none.png. Needs Chromium.
"""

import io
import os
import shutil
import sys
from pathlib import Path

import httpx
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from psychophysics.simulated_strategies import Preference, preference
from psychophysics.stimuli.manifest import read_manifest
from psychophysics.study_folder import StudyFolder

SIZE = {"width": 940, "height": 600}
WIDTH = 720
COLOURS = 160
MOST_VISITS = 20


def save(page: Page, path: Path) -> None:
    """The window as a small PNG."""
    with Image.open(io.BytesIO(page.screenshot())) as image:
        height = round(WIDTH * image.height / image.width)
        small = image.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS)
    small.quantize(COLOURS).save(path, optimize=True)


def take_part(page: Page, url: str, prefer: Preference, out: Path) -> str:
    """One participant up to the first main trial; the name of its picture."""

    def fetch(address: str) -> bytes:
        return httpx.get(url + address).raise_for_status().content

    page.goto(url)
    page.get_by_role("button", name="I agree").click()
    for number in range(1, 5):
        page.get_by_text(f"Page {number} of 4").wait_for()
        page.wait_for_selector(".continue:enabled")
        if number == 3 and page.locator(".grid").count():
            save(page, out / "study_instructions.png")
        page.locator(".continue").click()
    while True:
        page.wait_for_selector(".continue:enabled, [data-button]:enabled")
        if page.locator(".continue:enabled").count():
            page.locator(".continue").click()
            continue
        if page.locator("header.progress").inner_text().startswith("Main"):
            name = "study_trial.png" if page.locator(".grid").count() else "study_trial_none.png"
            save(page, out / name)
            return name
        places = {"base": ".base img", "left": "[data-side=left] img", "right": "[data-side=right] img"}
        trial = {name: page.locator(place).get_attribute("src") for name, place in places.items()}
        page.locator(f"[data-button='{3 if prefer(trial, fetch) > 0 else -3}']").click()


def main(browser: Browser, url: str, study: Path, out: Path) -> None:
    """Participants come until one has seen references and one has not."""
    prefer, wanted = (
        preference("perfect", read_manifest(StudyFolder(study))),
        {"study_trial.png", "study_trial_none.png"},
    )
    for _ in range(MOST_VISITS):
        with browser.new_context(viewport=SIZE) as context:  # type: ignore[arg-type]
            wanted.discard(take_part(context.new_page(), url, prefer, out))
        if not wanted:
            return
    sys.exit(f"no participant has seen {', '.join(sorted(wanted))}: are both kinds of conditions in this study?")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.getuid() == 0 else []
        main(
            playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments),
            sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]),
        )  # fmt: skip
