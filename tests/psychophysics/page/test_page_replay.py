"""The replay of a trial shows what the page in real Chromium showed: no pixel differs."""

import io

import numpy as np
import pytest
from PIL import Image

from psychophysics.replay import find_moment, replay_page

pytestmark = pytest.mark.browser


def _pixels(screenshot: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(screenshot)).convert("RGB"))


@pytest.mark.parametrize("size", [(940, 600), (1440, 900)])
def test_the_replay_looks_as_the_trial_did(begun, browser, size):
    visitor, (width, height) = begun(viewport={"width": size[0], "height": size[1]}), size
    server = visitor.server
    for _ in range(3):
        visitor.page.evaluate("document.activeElement.blur()")  # the frame of the heading that has the focus
        shown = _pixels(visitor.page.screenshot())
        visitor.answer()
        visitor.to_trial()
        events = server.events(visitor.id)
        trial = [event.content["trial"] for event in events if event.kind == "answer"][-1]
        moment = find_moment(server.frozen, server.manifest, server.person(visitor.id), events, trial)
        page = replay_page(server.folder, server.frozen, server.manifest, moment)
        tab = browser.new_page(viewport={"width": width, "height": height})
        requests: list[str] = []
        tab.on("request", lambda request, requests=requests: requests.append(request.url))
        tab.set_content(page)
        frame = tab.locator("iframe")
        assert [frame.get_attribute(name) for name in ("width", "height")] == [str(width), str(height)]
        assert tab.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        tab.set_content(frame.get_attribute("srcdoc"))
        replayed = _pixels(tab.screenshot())
        tab.close()
        assert replayed.shape == shown.shape == (height, width, 3)
        np.testing.assert_array_equal(replayed, shown)
        assert [url[:40] for url in requests if not url.startswith("data:")] == []
