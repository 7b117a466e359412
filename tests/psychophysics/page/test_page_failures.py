"""What goes wrong while somebody takes part: nothing is lost, nothing is stored twice, and the page says what is up."""

import re

import pytest

pytestmark = pytest.mark.browser

EVENTS = "**/api/session/events"


@pytest.fixture(scope="module")
def server(start_server):
    """A study in which nobody is excluded."""
    anything = {
        "catch_correct": 0, "rarer_side": 0, "instruction_seconds": 0, "instruction_seconds_none": 0,
        "total_seconds": [0, 9000], "total_seconds_none": [0, 9000],
    }  # fmt: skip
    design = {"conditions": ["blurred", "none"], "ranked_sets": 2, "sets": 2, "participants_per_cell": 9}
    return start_server(design=design, exclusions=anything, recruitment={"completion_code": "C0DE"})


@pytest.fixture
def begun(server, visit):
    """A function: a visitor at the first trial."""

    def begin(**context):
        visitor = visit(server, **context)
        visitor.join()
        visitor.instructions()
        visitor.to_trial()
        return visitor

    return begin


def notice(visitor):
    return visitor.page.locator("#notice")


def test_answers_that_arrive_but_are_not_acknowledged_are_sent_again_and_stored_once(begun, check_stored):
    visitor = begun()
    seen = []

    def lose_every_other_acknowledgement(route):
        seen.append(route.request.post_data)
        if len(seen) % 2:
            route.fetch()
            route.abort("connectionreset")
        else:
            route.continue_()

    visitor.page.route(EVENTS, lose_every_other_acknowledgement)
    visitor.finish()
    check_stored(visitor)
    assert len(seen) > len(set(seen))


def test_a_slow_network_delays_and_loses_nothing(server, visit, check_stored):
    visitor = visit(server)
    network = visitor.page.context.new_cdp_session(visitor.page)
    network.send("Network.enable")
    slow = {"offline": False, "latency": 150, "downloadThroughput": 50_000, "uploadThroughput": 20_000}
    network.send("Network.emulateNetworkConditions", slow)
    visitor.join()
    visitor.page.get_by_text("Loading the images").wait_for()
    visitor.instructions()
    visitor.finish()
    check_stored(visitor)


def test_answers_wait_in_the_browser_while_the_connection_is_lost_also_over_a_reload(begun, check_stored):
    visitor = begun()
    visitor.page.route(EVENTS, lambda route: route.abort("internetdisconnected"))
    visitor.answer()
    notice(visitor).get_by_text("Connection lost. Your answers are kept.").wait_for()
    assert [event for event in visitor.server.events(visitor.id) if event.kind == "answer"] == []
    visitor.page.reload()
    notice(visitor).get_by_text("Connection lost").wait_for()
    visitor.page.unroute(EVENTS)
    visitor.page.evaluate("dispatchEvent(new Event('online'))")
    visitor.page.get_by_role("heading", name="Welcome back").wait_for()
    assert notice(visitor).inner_text() == ""
    visitor.finish()
    check_stored(visitor)


def test_a_killed_server_that_starts_again_goes_on_with_everybody(start_server, visit, check_stored):
    server = start_server(design={"conditions": ["natural"], "ranked_sets": 2, "sets": 2, "participants_per_cell": 1})
    visitor = visit(server)
    visitor.join()
    visitor.instructions()
    visitor.to_trial()
    visitor.answer()
    visitor.to_trial()
    button = visitor.decide()
    server.kill()
    visitor.press(button)
    notice(visitor).get_by_text("Connection lost").wait_for()
    server.start()
    visitor.finish()
    check_stored(visitor)


def test_reloads_at_every_screen_go_on_where_they_were(server, visit, check_stored):
    visitor = visit(server)
    visitor.join()
    visitor.page.get_by_text("Page 1 of 4").wait_for()
    visitor.page.reload()
    visitor.instructions()
    for _ in range(3):
        visitor.to_trial()
        shown = (
            visitor.page.locator("header.progress").inner_text(),
            visitor.page.locator(".base img").get_attribute("src"),
        )
        visitor.page.reload()
        visitor.to_trial()
        again = (
            visitor.page.locator("header.progress").inner_text(),
            visitor.page.locator(".base img").get_attribute("src"),
        )
        assert again == shown
        visitor.answer()
        visitor.page.reload()
    while visitor.screen() != "questions":
        visitor.go_on() if visitor.screen() == "continue" else visitor.answer()
    visitor.page.reload()
    visitor.finish()
    codes = visitor.page.locator("#completion-code, #withdrawal-code").all_inner_texts()
    visitor.page.reload()
    visitor.page.locator("#withdrawal-code").wait_for()
    assert visitor.page.locator("#completion-code, #withdrawal-code").all_inner_texts() == codes
    check_stored(visitor)
    kinds = [event.kind for event in server.events(visitor.id)]
    assert kinds.count("instructions_shown") == 2 and kinds.count("questions") == 1


def test_double_clicks_answer_once(begun, check_stored):
    visitor = begun()
    while (screen := visitor.screen()) in ("continue", "trial"):
        if screen == "trial":
            visitor.buttons.append(visitor.decide())
            visitor.page.locator(f"[data-button='{visitor.buttons[-1]}']").dblclick(force=True)
        else:
            box = visitor.page.locator(".continue").bounding_box()
            visitor.page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    check_stored(visitor)


def test_the_window_opened_last_goes_on_and_the_other_says_so(begun, check_stored):
    visitor = begun()
    visitor.answer()
    visitor.to_trial()
    first = visitor.page
    second = first.context.new_page()
    second.goto(visitor.server.url)
    first.get_by_role("heading", name="The study goes on in another window").wait_for()
    visitor.page = second
    visitor.to_trial()
    visitor.answer()
    visitor.page = first
    first.bring_to_front()
    first.get_by_role("button", name="Go on here instead").click()
    second.get_by_role("heading", name="The study goes on in another window").wait_for()
    visitor.to_trial()
    visitor.finish()
    check_stored(visitor)


def test_a_page_that_is_behind_begins_again_from_what_the_server_holds(begun, check_stored):
    """As after an answer from a copy of the profile on another computer: the windows know nothing of each other."""
    visitor = begun()
    token = visitor.page.evaluate("JSON.parse(localStorage.getItem('hms-study/drawn/session')).token")
    session = visitor.http.get("/api/session", headers={"Authorization": f"Bearer {token}"}).json()
    visitor.page.wait_for_function("JSON.parse(localStorage.getItem('hms-study/drawn/events')).events.length === 0")
    elsewhere = {"trial": session["state"]["trial"]["id"], "button": visitor.decide(), "rt_ms": 900.0}
    events = visitor.server.events(visitor.id)
    event = {"seq": len(events), "kind": "answer", "at_ms": events[-1].at_ms + 1, "content": elsewhere}
    sent = visitor.http.post(
        "/api/session/events", json={"events": [event]}, headers={"Authorization": f"Bearer {token}"}
    )
    assert sent.status_code == 200
    visitor.buttons.append(elsewhere["button"])
    visitor.page.locator("[data-button='3']").click()
    visitor.page.get_by_role("heading", name="Welcome back").wait_for()
    visitor.finish()
    check_stored(visitor)


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
