"""Each screen in real Chromium: in sight, legible, usable by keyboard; who is refused, and what the page tells them."""

import re

import pytest

pytestmark = pytest.mark.browser


def test_the_whole_study_by_keyboard_alone(server, visit, check_stored):
    visitor = visit(server)
    page = visitor.page
    page.goto(server.url)
    page.get_by_role("button", name="I agree").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    for number in range(1, 5):
        page.get_by_text(f"Page {number} of 4").wait_for()
        visitor.screen()
        page.keyboard.press("Enter")
    keys = dict(zip((-3, -2, -1, 1, 2, 3), "123456", strict=True))
    while (screen := visitor.screen()) in ("continue", "trial"):
        if screen == "trial":
            visitor.buttons.append(visitor.decide())
            page.keyboard.press(keys[visitor.buttons[-1]])
            page.keyboard.press("6")
        else:
            page.mouse.click(5, 590)  # beside the button, which loses the focus
            page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.type("I looked.")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("#withdrawal-code").wait_for()
    check_stored(visitor)
    (questions,) = [event for event in server.events(visitor.id) if event.kind == "questions"]
    assert questions.content == {"answers": {"strategy": "I looked.", "comments": ""}}


def test_reaction_times_are_those_of_the_clock(begun):
    visitor = begun()
    visitor.page.wait_for_timeout(700)
    visitor.answer()
    visitor.screen()
    shown, answer = (event for event in visitor.server.events(visitor.id) if event.kind in ("trial_shown", "answer"))
    assert 700 <= answer.content["rt_ms"] < 5000
    assert answer.at_ms - shown.at_ms == pytest.approx(answer.content["rt_ms"], abs=1.5)


IN_SIGHT = """() => [...document.querySelectorAll("img, [data-button], .continue, h2")].every((element) => {
  const { top, left, bottom, right } = element.getBoundingClientRect();
  return top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth && right > left;
})"""
SCROLLS = (
    "() => document.documentElement.scrollHeight > innerHeight || document.documentElement.scrollWidth > innerWidth"
)
CONTRASTS = """() => {
  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = (color) => parse(color).slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (parse(color)[3] !== 0) return color;
    }
  };
  return [...document.querySelectorAll("h1, h2, p, strong, figcaption, span, a, label, button:enabled")]
    .filter((element) => element.innerText && element.getClientRects().length)
    .map((element) => {
      const [a, b] = [light(getComputedStyle(element).color), light(behind(element))].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05);
    });
}"""


@pytest.mark.parametrize("size", [(940, 600), (1440, 900)])
def test_a_trial_is_in_sight_without_scrolling_and_its_text_legible(begun, size):
    visitor = begun(viewport={"width": size[0], "height": size[1]})
    page = visitor.page
    assert page.evaluate(IN_SIGHT) and not page.evaluate(SCROLLS)
    assert page.locator(".trial img").count() in (3, 12)
    assert min(page.evaluate(CONTRASTS)) >= 4.5
    labels = [page.locator(f"[data-button='{b}']").get_attribute("aria-label") for b in (-3, 1)]
    assert labels == ["left image, confidence 3 of 3: very sure", "right image, confidence 1 of 3: unsure"]
    assert all(page.locator("img").evaluate_all("images => images.map((image) => image.alt)"))
    visitor.answer()
    visitor.screen()
    assert page.evaluate(IN_SIGHT) and not page.evaluate(SCROLLS)


def test_a_window_that_becomes_too_small_is_covered_until_it_is_large_enough(begun):
    visitor = begun()
    visitor.page.set_viewport_size({"width": 800, "height": 600})
    visitor.page.get_by_text("at least 940 × 600").wait_for()
    assert "Now it has 800 × 600" in visitor.page.locator("#cover").inner_text()
    visitor.page.set_viewport_size({"width": 940, "height": 600})
    visitor.page.locator("#cover").wait_for(state="hidden")
    visitor.answer()
    visitor.screen()
    seen = [event.content["visible"] for event in visitor.server.events(visitor.id) if event.kind == "visibility"]
    assert seen == [False, True]


TELEPHONE = (
    "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130 Mobile Safari/537.36"
)


def test_telephones_are_refused_and_who_does_not_agree_leaves_nothing(server, visit):
    telephone = visit(server, user_agent=TELEPHONE, viewport={"width": 412, "height": 915})
    telephone.page.goto(server.url)
    telephone.page.get_by_text("cannot be done on a telephone or tablet").wait_for()
    before = len(server.stored()[0])
    visitor = visit(server)
    visitor.page.goto(server.url)
    visitor.page.get_by_role("button", name="I do not agree").click()
    visitor.page.get_by_text("Nothing was stored").wait_for()
    assert len(server.stored()[0]) == before


def test_a_changed_consent_text_must_be_read_again(server, visit):
    visitor = visit(server)

    def an_older_text(route):
        response = route.fetch()
        study = response.json()
        route.fulfill(response=response, json={**study, "consent": {**study["consent"], "version": "0"}})

    visitor.page.route(re.compile("/api/study$"), an_older_text)
    visitor.join()
    visitor.page.get_by_role("heading", name="The text was changed").wait_for()
    visitor.page.unroute(re.compile("/api/study$"))
    visitor.page.get_by_role("button", name="Read it").click()
    visitor.page.get_by_role("button", name="I agree").click()
    visitor.page.get_by_text("Page 1 of 4").wait_for()


def test_prolific_once_each_until_the_study_is_full(start_server, visit):
    server = start_server(
        design={"conditions": ["none"], "ranked_sets": 2, "sets": 1, "participants_per_cell": 1},
        recruitment={"kind": "prolific", "completion_code": "C0DE"},
    )
    stranger = visit(server)
    stranger.page.goto(server.url)
    stranger.page.get_by_text("Open this study from its page on Prolific").wait_for()
    link = "?PROLIFIC_PID={}&STUDY_ID=s&SESSION_ID=x"
    visitor = visit(server)
    visitor.join(link.format("ann"))
    visitor.page.get_by_text("Page 1 of 4").wait_for()
    late = visit(server)
    late.join(link.format("bob"))
    late.page.get_by_role("heading", name="The study is full").wait_for()
    visitor.page.context.clear_cookies()
    visitor.page.evaluate("localStorage.clear()")  # another browser, the same person: the session goes on
    visitor.join(link.format("ann"))
    visitor.instructions()
    visitor.finish()
    address = visitor.page.get_by_role("link", name="Return with this code").get_attribute("href")
    assert address == "https://app.prolific.com/submissions/complete?cc=C0DE"
    visitor.page.evaluate("localStorage.clear()")
    visitor.join(link.format("ann"))
    visitor.page.get_by_role("heading", name="You took part already").wait_for()
    assert len(server.stored()[0]) == 1
