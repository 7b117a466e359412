"""What goes wrong while somebody takes part: nothing is lost, nothing is stored twice, and the page says what is up."""

import pytest

pytestmark = pytest.mark.browser

EVENTS = "**/api/session/events"


def notice(visitor):
    return visitor.page.locator("#notice")


def test_answers_that_arrive_but_are_not_acknowledged_are_sent_again_and_stored_once(begun, check_stored):
    visitor = begun()
    seen = []

    def lose_some_acknowledgements(route):
        seen.append(route.request.post_data)
        if len(seen) in (1, 3, 4):
            route.fetch()
            route.abort("connectionreset")
        else:
            route.continue_()

    visitor.page.route(EVENTS, lose_some_acknowledgements)
    visitor.finish()
    check_stored(visitor)
    assert len(seen) > len(set(seen))


def test_a_lost_answer_to_consent_makes_no_second_participant(server, visit):
    visitor = visit(server)
    before = len(server.stored()[0])
    sent = []

    def lose_the_first(route):
        sent.append(route.request.post_data)
        route.fetch()
        route.abort("connectionreset") if len(sent) == 1 else route.continue_()

    visitor.page.route("**/api/sessions", lose_the_first)
    visitor.join()
    visitor.page.get_by_text("Page 1 of 4").wait_for()
    assert len(sent) == 2 and len(server.stored()[0]) == before + 1


def test_a_slow_network_delays_and_loses_nothing(server, visit, check_stored):
    visitor = visit(server)
    network = visitor.page.context.new_cdp_session(visitor.page)
    network.send("Network.enable")
    slow = {"offline": False, "latency": 50, "downloadThroughput": 100_000, "uploadThroughput": 20_000}
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


def test_answers_on_a_kept_connection_come_without_a_delay(server, visit):
    """Nagle's algorithm together with delayed acknowledgements would cost 40 ms each."""
    http = visit(server).http
    seconds = [http.get("/health").elapsed.total_seconds() for _ in range(20)]
    assert min(seconds[5:]) < 0.03
