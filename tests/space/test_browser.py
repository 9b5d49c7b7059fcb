import json
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.space.browser import METRIC, SECONDS, app, chromium, missing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=str(missing()))]
SIMILARITY = "?tab=similarity&a=The+film+is+good.&b=The+film+is+not+good.&model=english"


@pytest.fixture(scope="module")
def address():
    with app() as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


def wait(driver, seen):
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.support.ui import WebDriverWait

    ignored = (StaleElementReferenceException,)
    return WebDriverWait(driver, SECONDS, ignored_exceptions=ignored).until(seen)


def first(driver, css):
    """Return the first visible element."""
    return wait(driver, lambda d: next((e for e in _all(d, css) if e.is_displayed()), None))


def answer(driver, page, part):
    """Return the text of a page's answer, once it contains a part."""
    css = f"#answer-{page}"
    return str(wait(driver, lambda d: next((e.text for e in _all(d, css) if part in e.text), None)))


def _all(driver, css):
    return list(driver.find_elements("css selector", css))


def open_tab(driver, title):
    tabs = wait(driver, lambda d: [e for e in _all(d, "button[role=tab]") if e.text == title])
    tabs[0].click()


def click(driver, css):
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", first(driver, css))
    first(driver, css).click()


def requested(driver):
    """Return the hosts of all requests."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    addresses = [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
    return {urlsplit(each).hostname or "" for each in addresses if each.startswith("http")}


def test_two_texts_are_compared_and_shared(browser, address):
    from selenium.webdriver import ActionChains, Keys

    browser.get(address)
    assert "physician" in answer(browser, "similarity", "cosine 0.")  # opens with an answer
    write(browser, "A cat sleeps.", "The cat is asleep.")
    keys = ActionChains(browser).key_down(Keys.CONTROL).send_keys(Keys.ENTER)
    keys.key_up(Keys.CONTROL).perform()
    answer(browser, "similarity", "asleep")
    click(browser, "#share-similarity")
    link = wait(browser, lambda d: parse_qs(urlsplit(d.current_url).query))
    texts = {"a": ["A cat sleeps."], "b": ["The cat is asleep."]}
    assert link == {"tab": ["similarity"], **texts, "model": ["english"]}
    assert requested(browser) == {"127.0.0.1"}, "a page of the Space asks others for files"


def test_a_clicked_example_is_answered(browser, address):
    texts = {"a": "猫が寝ている。", "b": "A cat sleeps."}
    browser.get(f"{address}?{urlencode({'tab': 'similarity', **texts, 'model': 'english'})}")
    answer(browser, "similarity", "cosine 0.000")
    click(browser, "#answer-similarity .note a")
    assert "multilingual" in browser.current_url
    answer(browser, "similarity", "猫")


def test_an_example_is_answered_when_it_is_clicked(browser, address):
    browser.get(address)
    open_tab(browser, "Nearest")
    click(browser, "#examples-nearest tbody tr")
    assert "Which way is my house?" in answer(browser, "nearest", "cosine")
    open_tab(browser, "SimiLE")
    click(browser, "#examples-simile tbody tr")
    assert "baseline" in answer(browser, "simile", "tuned:newstest2015")
    click(browser, "#answer-simile summary")
    assert "Bread is dear." in answer(browser, "simile", "segment")


def test_a_link_fits_on_a_phone(address):
    with chromium(375, 700) as phone:
        phone.get(address + SIMILARITY)
        assert "film" in answer(phone, "similarity", "cosine 0.9")
        width = "return [document.documentElement.scrollWidth, window.innerWidth]"
        content, screen = phone.execute_script(width)
        assert (content, screen) == (375, 375)
        click(phone, "#answer-similarity summary")
        assert phone.execute_script(width) == [375, 375]  # the table scrolls by itself


def write(driver, *texts):
    """Fill the first visible fields."""
    fields = wait(driver, lambda d: [e for e in _all(d, "textarea") if e.is_displayed()])
    for field, text in zip(fields, texts, strict=False):
        field.clear()
        field.send_keys(text)


def test_the_page_of_the_metric_works_in_the_browser(browser):
    with app(METRIC) as address:
        browser.get(address)
        click(browser, "button.primary")
        fields = "return [...document.querySelectorAll('textarea')].map(e => e.value)"
        written = wait(browser, lambda d: [e for e in d.execute_script(fields) if "SIM" in e])
    assert "tuned:newstest2015" in written[0]
