"""The page in headless Chromium and Firefox, compared with Python."""

import functools
import http.server
import json
import random
import runpy
import threading
from pathlib import Path

import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder
from tests.space.browser import SECONDS, chromium, firefox, missing, missing_firefox
from tests.web.texts import texts

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The page and its models, as `make web` writes them."""
    folder = tmp_path_factory.mktemp("web")
    runpy.run_path(str(ROOT / "web" / "assemble.py"))["assemble"](folder)
    return folder


@pytest.fixture(scope="module")
def address(built):
    yield from served(built)


@pytest.fixture(scope="module")
def checkout():
    yield from served(ROOT)


def served(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


@pytest.fixture(scope="module", params=["chromium", "firefox"])
def each_browser(request):
    if request.param == "chromium":
        yield request.getfixturevalue("browser")
        return
    if lacking := missing_firefox():
        pytest.skip(lacking)
    with firefox() as driver:
        yield driver


def text_of(driver, name):
    script = (
        "const field = document.getElementById(arguments[0]); return field.value ?? field.innerText"
    )
    return str(driver.execute_script(script, name))


def until(driver, name, part):
    """Return the text of an element once it contains a part."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(driver, SECONDS, 0.05).until(lambda d: part in text_of(d, name))
    return text_of(driver, name)


def put(driver, name, value):
    """Set a field as if it was pasted."""
    driver.execute_script(
        "const field = document.getElementById(arguments[0]); field.value = arguments[1];"
        "field.dispatchEvent(new Event('input', {bubbles: true}))",
        name,
        value,
    )


def open_page(driver, address):
    driver.get("about:blank")
    driver.get(address)
    until(driver, "status", "ready")


def errors(driver):
    if driver.name == "firefox":  # whose driver has no log
        return []
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def compare(driver):
    encoder = SentenceEncoder.from_pretrained("tiny")
    first, second = "The kitten sleeps on the sofa.", "A cat is asleep on the couch."
    put(driver, "first", first)
    put(driver, "second", second)
    until(driver, "cosine", f"{encoder.similarity(first, second).item():.2f}")


def test_two_sentences_from_the_network_and_from_disk(each_browser, address, checkout, built):
    for page in (address, f"{checkout}web/index.html", (built / "index.html").as_uri()):
        open_page(each_browser, page)
        compare(each_browser)
        assert errors(each_browser) == []


def test_nothing_is_requested_after_the_page(browser, address):
    browser.get_log("performance")
    open_page(browser, address)
    compare(browser)
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [
        m["params"]["request"]["url"]
        for m in messages
        if m["method"] == "Network.requestWillBeSent"
    ]
    assert {url for url in sent if url.startswith("http")} == {address}


def test_vectors_equal_those_of_python(each_browser, checkout):
    lines = texts(2000, seed=5)
    each_browser.get(f"{checkout}web/index.html")
    found = each_browser.execute_async_script(
        """const [texts, model, done] = arguments;
        import("/web/paraphrastic.js").then(async ({ Encoder }) => {
          const encoder = await Encoder.load(model);
          done([...encoder.encode(JSON.parse(texts))]);
        }).catch(done);""",
        json.dumps(lines),
        "/src/paraphrastic_hf/assets/multilingual",
    )
    expected = SentenceEncoder.from_pretrained("multilingual").encode(lines)
    np.testing.assert_allclose(found, expected.ravel(), rtol=0, atol=1e-6)


def test_search_in_ten_thousand_lines(each_browser, address, tmp_path):
    encoder = SentenceEncoder.from_pretrained("tiny")
    choice = random.Random(1)
    words = [token[1:] for token in encoder.tokenizer.tokens() if token[1:].isalpha()]
    lines = [" ".join(choice.choices(words, k=8)) for _ in range(10_000)]
    rows = ["id,text", *(f'{number},"{line}, ""quoted"""' for number, line in enumerate(lines))]
    (tmp_path / "lines.csv").write_text("\n".join(rows))
    open_page(each_browser, f"{address}#search")
    each_browser.find_element("id", "file").send_keys(str(tmp_path / "lines.csv"))
    until(each_browser, "indexed", "10,000 lines")
    query = lines[1234]
    put(each_browser, "query", query)
    first = until(each_browser, "results", query).splitlines()[:2]
    cosines = encoder.similarity(query, [f'{line}, "quoted"' for line in lines])[0]
    assert first == [f"{cosines.max():.2f}", f'{lines[cosines.argmax()]}, "quoted"']
    put(each_browser, "query", "☃")
    until(each_browser, "results", "knows no word")


def test_lists_are_matched_without_a_network_after_loading(browser, address):
    open_page(browser, f"{address}#mine")
    browser.find_element("id", "match-sample").click()
    browser.find_element("id", "match").click()
    until(browser, "matched", "10 pairs from 11 and 11 lines")
    browser.execute_cdp_cmd("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    put(browser, "source", "A cat is asleep.\nBread costs more.\n\n")
    put(browser, "target", "Le pain coûte plus cher.\nUn chat dort.")
    browser.find_element("id", "match").click()
    until(browser, "matched", "2 pairs from 2 and 2 lines")
    assert "Un chat dort." in text_of(browser, "pairs")
    online = {**offline, "offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", online)


def test_a_model_beside_a_page_on_disk_is_chosen_by_hand(browser, built):
    open_page(browser, f"{(built / 'index.html').as_uri()}#mine")
    browser.find_element("id", "match-sample").click()
    browser.find_element("id", "match").click()
    until(browser, "notice", "models/multilingual")
    folder = browser.find_element("css selector", "#folder input")
    folder.send_keys(str(built / "models" / "multilingual"))
    until(browser, "status", "multilingual is ready")
    browser.find_element("id", "match").click()
    until(browser, "matched", "10 pairs")


def test_the_page_fits_a_phone_and_works_by_keyboard(address):
    from selenium.webdriver import ActionChains, Keys

    with chromium(390, 844) as driver:
        open_page(driver, address)
        for part in ("compare", "search", "mine"):
            driver.execute_script("location.hash = arguments[0]", part)
            assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
        driver.execute_script("location.hash = 'compare'")
        driver.find_element("id", "second").click()
        for _ in range(20):
            ActionChains(driver).send_keys(Keys.TAB).perform()
            if driver.execute_script("return document.activeElement.innerText").startswith(
                "doctor"
            ):
                break
        assert driver.execute_script("return document.querySelectorAll('.focused .on').length") > 1
