"""Headless browsers, and the app of a Space in a separate process."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPACE = ROOT / "hub_cards" / "spaces" / "paraphrastic"
METRIC = ROOT / "src" / "paraphrastic_hf" / "metrics" / "simile"
SECONDS = 300  # timeout of every wait, for busy machines


def missing():
    """Return the missing requirement of the browser tests, if any."""
    import importlib.util

    for package in ("gradio", "selenium"):
        if importlib.util.find_spec(package) is None:
            return f"{package} is not installed: pip install 'paraphrastic-hf[dev]'"
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"{program} is not installed: apt install chromium chromium-driver"
    return None


def missing_firefox():
    """Return what is missing to drive Firefox, if anything."""
    if _firefox() is None:
        return "Firefox is not installed: apt install firefox-esr"
    if shutil.which("geckodriver") is None:
        return "geckodriver is not on the PATH"
    return None


@contextmanager
def app(folder=SPACE, **variables):
    """Serve the app of a Space with `PARAPHRASTIC_` variables, and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        **{"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        **{"GRADIO_SERVER_PORT": str(port), "GRADIO_SERVER_NAME": "127.0.0.1"},
        **{f"PARAPHRASTIC_{name}": value for name, value in variables.items()},
    }
    address = f"http://127.0.0.1:{port}/"
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [sys.executable, str(folder / "app.py")], env=environment, stdout=log, stderr=log
        )
        try:
            end = time.monotonic() + SECONDS
            while not _answers(address):
                if process.poll() is not None or time.monotonic() > end:
                    log.seek(0)
                    raise RuntimeError(f"the app did not start: {log.read()}")
                time.sleep(0.3)
            yield address
        finally:
            process.terminate()
            process.wait(30)


@contextmanager
def chromium(width=1000, height=900):
    """Open a browser with pages of this width. Below 500 pixels it emulates a phone."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in (
        *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--disable-background-networking", "--lang=en"),
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # blocks the network
        f"--window-size={max(width, 500)},{height}",
    ):
        options.add_argument(argument)
    if width < 500:
        metrics = {"width": width, "height": height, "pixelRatio": 1.0}
        options.add_experimental_option("mobileEmulation", {"deviceMetrics": metrics})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    yield from _patient(webdriver.Chrome(options, service))


@contextmanager
def firefox():
    from selenium import webdriver

    options = webdriver.FirefoxOptions()
    options.binary_location = _firefox() or ""
    options.add_argument("-headless")
    service = webdriver.FirefoxService(shutil.which("geckodriver"))
    yield from _patient(webdriver.Firefox(options, service))


def _firefox():
    return shutil.which("firefox-esr") or shutil.which("firefox")


def _patient(driver):
    """Yield a driver with long timeouts, then close it."""
    driver.set_page_load_timeout(SECONDS)
    driver.set_script_timeout(SECONDS)
    try:
        yield driver
    finally:
        driver.quit()


def _answers(address):
    try:
        with urllib.request.urlopen(address, timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False
