"""The experimenter's page and the withdrawal page in Chromium."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


@pytest.fixture
def open_page(browser, served):
    """A function that opens a path of the served study; at the end, no script has failed and nothing else was asked."""
    contexts, troubles = [], []

    def start(path, width=1280):
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: request.url.startswith(served.url) or troubles.append(request.url))
        page.goto(served.url + path)
        return page

    yield start
    for context in contexts:
        context.close()
    assert troubles == []


def test_the_page_shows_the_study_and_follows_it(served, open_page):
    people = {person.place.condition: person for person in (served.join() for _ in range(5))}
    people["natural"].finish()
    people["mixed"].finish(catch=False)
    page = open_page(f"/admin#token={served.study.secrets.admin_token}")
    cards = page.locator(".card")
    expect(cards).to_have_text(
        ["Accepted1of 10 places", "Take part now3seen in the last 60 min", "Excluded1of 2 finished",
         "Left0of 5 who agreed", "Withdrawn0answers erased"]
    )  # fmt: skip
    assert page.url == f"{served.url}/admin"  # the token is in no history, no screenshot
    row = page.locator("#fill-rows tr", has_text="natural")
    natural = people["natural"].place
    expect(row.locator("td").nth(natural.image_set)).to_have_text("1")
    expect(row.locator("td").last).to_have_text("1 of 2")
    catch = page.locator("#rule-rows tr", has_text="catch trials")
    expect(catch.locator("td").first).to_have_text("50 %")
    expect(page.locator("#live-rows tr")).to_have_count(3)
    for chart in ("times", "buttons", "sides"):
        assert page.locator(f"#{chart} .bars path").count() > 1
    expect(page.locator("#times-caption")).to_contain_text("Median 1.2 s")

    people["none"].finish()
    expect(cards.first).to_have_text("Accepted2of 10 places", timeout=8000)
    page.reload()
    expect(cards.first).to_have_text("Accepted2of 10 places")  # the tab keeps the token


def test_a_narrow_screen_does_not_scroll_sideways(served, open_page):
    served.join().finish()
    page = open_page(f"/admin#token={served.study.secrets.admin_token}", width=390)
    expect(page.locator("#times .bars path")).to_have_count(31)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_without_the_token_nothing_is_shown(served, open_page):
    page = open_page("/admin#token=wrong")
    expect(page.locator("#outage")).to_have_text("This is not the token of this study.")
    expect(page.locator("#page")).to_be_hidden()
    page.get_by_label("Token of this page").fill(served.study.secrets.admin_token)
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("heading", name="Fill")).to_be_visible()
    expect(page.locator("#ask")).to_be_hidden()


def test_a_withdrawal_code_erases_and_a_wrong_one_does_not(served, open_page):
    person = served.join()
    person.instructions()
    page = open_page("/withdraw", width=390)
    code, button = page.get_by_label("Withdrawal code"), page.get_by_role("button", name="Erase my answers")
    code.fill("0000-0000-0000-0000")
    button.click()
    expect(page.locator("#told")).to_contain_text("No answers have this code")
    assert len(served.study.store.events(person.id)) == 2
    code.fill(f" {person.session['withdrawal_code'].lower()} ")
    code.press("Enter")
    expect(page.locator("#told")).to_contain_text("Your answers are erased")
    expect(code).to_be_hidden()
    assert served.study.store.events() == [] and served.study.store.participant(person.id) is None
