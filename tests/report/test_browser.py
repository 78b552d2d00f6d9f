"""The page in a real browser: rendering, animation, no requests, phones, dark mode and print."""

import shutil

import pytest

from augerino.report import write_report
from tests.report.runs import make_mask_run, make_run, payoff, policy, result, trial

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
DESKTOP = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
LONG = "ünbroken-" * 33


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no chromium here: apt-get install chromium")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright drives the browser: pip install playwright"
    )
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield started
        started.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages of one run, two runs, a run with long and unusual names, and runs with masks."""
    folder = tmp_path_factory.mktemp("runs")
    one, two = make_run(folder / "one"), make_run(folder / "two", seed=1)
    whole = result()
    rows = [{"class": f"{LONG}{i}", "items": 3, "accuracy": {LONG: i / 1000}} for i in range(1000)]
    for entry in whole["coordinates"]:
        entry |= {
            "name": f"{entry['name']}-{LONG}",
            "sentence": f"{LONG} <script>alert(1)</script>",
        }
    strange = {
        "coordinates": whole["coordinates"],
        "per_class": rows,
        "class_names": [row["class"] for row in rows],
        "payoff": payoff(sentence=LONG),
        "policy": policy(
            name=LONG, sentence=LONG, trials=[trial(LONG, 0.0), trial(f"{LONG}2", 1e11)]
        ),
    }
    data = {
        "path": f"/{LONG}/</script><script>alert(1)</script>",
        "fingerprint": LONG,
        "notes": [LONG, "\u202e שלום"],
    }
    long = make_run(folder / "long", command=f"augerino learn {LONG}", data=data, **strange)
    masks = make_mask_run(folder / "masks")
    return {
        **{
            "one": write_report([one]),
            "two": write_report([one, two]),
            "long": write_report([long]),
        },
        **{"masks": write_report([masks]), "mixed": write_report([masks, one])},
    }


@pytest.fixture
def visit(browser, pages):
    """Opens a page; no warning and no request may have occurred at the end."""
    contexts, troubles = [], []

    def opened(name, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                request.url.startswith(("file:", "data:")) or troubles.append(request.url)
            ),
        )
        page.goto(pages[name].as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.mark.parametrize("name", ["one", "two", "long", "masks", "mixed"])
@pytest.mark.parametrize("device", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_it_renders_without_errors_and_fits_the_width(visit, name, device):
    page = visit(name, **device)
    assert page.evaluate("document.documentElement.scrollWidth") <= device["viewport"]["width"]
    assert page.locator("h1").is_visible() and page.locator(".verdict").first.is_visible()
    outside = page.evaluate(
        "[...document.querySelectorAll('main *')]"
        ".filter(e => !e.closest('.scroll, .belt, svg, .hidden, .picker') "
        "&& e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert outside == []


def test_a_slider_moves_the_image_and_shows_the_output(visit):
    page = visit("one", **DESKTOP)
    card = page.locator(".card").first
    slider, image, readout = (
        card.get_by_label("Transform along rotate"),
        card.locator("img").first,
        card.locator(".readout"),
    )
    assert readout.inner_text().startswith("unchanged") and slider.input_value() == "6"
    before = image.evaluate("e => e.getBoundingClientRect().left")
    slider.focus()
    page.keyboard.press("End")
    assert slider.input_value() == "12" and "beyond the learned range" in readout.inner_text()
    window = card.locator(".window").first.evaluate("e => e.clientWidth")
    assert before - image.evaluate("e => e.getBoundingClientRect().left") == pytest.approx(
        6 * window, abs=2
    )
    assert "+90" in slider.get_attribute("aria-valuetext")
    page.keyboard.press("ArrowLeft")
    assert slider.input_value() == "11"


def test_another_example_is_chosen_by_keyboard(visit):
    page = visit("one", **DESKTOP)
    said = page.locator(".readout").all_inner_texts()
    page.locator(".picker input").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".picker input").nth(1).is_checked()
    assert (
        page.locator(".card").first.locator(".strip:visible").get_attribute("data-example") == "1"
    )
    assert page.locator(".readout").all_inner_texts() != said


def test_masks_lie_over_their_picture_and_move_with_it(visit):
    page = visit("masks", **DESKTOP)
    card = page.locator(".card").first
    layers = card.locator(".strip:visible img")
    # One expression, so that all positions are of the same moment.
    at = "images => images.map(e => Object.values(e.getBoundingClientRect().toJSON()))"
    card.get_by_label("Transform along rotate").focus()
    for key in ("Home", "End", "ArrowLeft"):
        page.keyboard.press(key)
        picture, predicted, true = layers.evaluate_all(at)
        assert predicted == pytest.approx(picture, abs=1) and true == pytest.approx(picture, abs=1)
    assert "of pixels correct" in card.locator(".readout").inner_text()
    assert layers.evaluate_all("images => images.every(e => e.complete && e.naturalWidth > 0)")


def test_a_switch_shows_the_predicted_mask_the_true_one_or_neither(visit):
    page = visit("masks", **DESKTOP)
    seen = {}
    for choice in ("predicted mask", "true mask", "image only"):
        page.get_by_label(choice).check()
        seen[choice] = tuple(
            page.locator(f".strip:visible .{layer}").first.is_visible()
            for layer in ("predicted", "true")
        )
    assert seen == {
        "predicted mask": (True, False),
        "true mask": (False, True),
        "image only": (False, False),
    }
    legend = page.locator(".swatches li")
    assert legend.count() == 4 and "<b>ground" in legend.first.inner_text()
    assert all(
        box["width"] > 10 for box in (legend.nth(i).locator("svg").bounding_box() for i in range(4))
    )
    page.emulate_media(media="print")
    stack, true = (
        page.locator(f".strip:visible {which}").first.bounding_box()
        for which in (".stack", ".true")
    )
    assert true["y"] >= stack["y"] + stack["height"] and page.locator(".layers").first.is_hidden()


def test_a_finger_moves_a_slider(visit):
    page = visit("one", **PHONE)
    slider = page.locator(".slider").first
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page.touchscreen.tap(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2)
    assert int(slider.input_value()) > 9


def test_the_command_can_be_copied(visit):
    page = visit("one", permissions=["clipboard-read", "clipboard-write"], **DESKTOP)
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert (
        page.evaluate("navigator.clipboard.readText()")
        == "augerino learn pictures/sprites --epochs 40"
    )


def brightness(page):
    color = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in color.removeprefix("rgb(").removesuffix(")").split(",")) / 3


def test_it_is_dark_where_the_reader_likes_it_and_light_on_paper(visit):
    page = visit("one", color_scheme="dark", **DESKTOP)
    assert brightness(page) < 60
    page.emulate_media(media="print")
    assert brightness(page) > 200
    assert brightness(visit("one", color_scheme="light", **DESKTOP)) > 200


def test_paper_shows_whole_strips_and_no_controls(visit):
    page = visit("one", viewport={"width": 720, "height": 1000})
    page.emulate_media(media="print")
    assert page.locator(".slider, .picker, .copy").filter(visible=True).count() == 0
    image = page.locator(".strip:visible img").first.bounding_box()
    assert image["width"] == pytest.approx(
        page.locator(".strip:visible").first.bounding_box()["width"], abs=2
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_without_script_all_strips_and_words_are_there(browser, pages):
    context = browser.new_context(java_script_enabled=False, **DESKTOP)
    page = context.new_page()
    page.goto(pages["one"].as_uri())
    assert page.locator(".strip").count() == page.locator(".strip:visible").count() == 15
    page.locator(".strip summary").first.click()
    assert page.locator(".strip li").first.is_visible()
    context.close()
