"""The page: its content, its handling of missing values, and its escaping."""

import base64
import copy
import hashlib
import itertools
import json
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import augerino
from augerino import coordinate as ag_coordinate
from augerino.coordinate import unit_of
from augerino.errors import InputError
from augerino.report import read_run, render, write_report
from augerino.report.markup import escape, short, tag
from augerino.report.plot import Scale, nice_ticks
from tests.report.pages import STRANGE, Page, changed, page_of
from tests.report.runs import (
    coordinate,
    make_mask_run,
    make_run,
    payoff,
    policy,
    result,
    trial,
)

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\" onmouseover='alert(1)' x=\"",
    "{{body}} {{script}} &amp; &lt;",
    "]]><!-- --><style>*{display:none}</style>",
    "\u202egnp.tac שלום مرحبا",
    "🦊 ünï cödé",
    "x" * 300,
    "a\x00b\x1bc\ud800d",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "sprites")


def drawings(page: Page) -> list[list[dict]]:
    """The attributes of all elements from each <svg> to the next one."""
    starts = [i for i, (name, _) in enumerate(page.tags) if name == "svg"]
    ends = [*starts[1:], len(page.tags)]
    return [
        [attributes for _, attributes in page.tags[start:end]]
        for start, end in zip(starts, ends, strict=True)
    ]


def of_class(elements: list[dict], class_: str) -> list[dict]:
    return [attributes for attributes in elements if attributes.get("class") == class_]


@pytest.fixture(scope="module")
def mask_run(tmp_path_factory) -> Path:
    return make_mask_run(tmp_path_factory.mktemp("runs") / "masks")


class TestMasks:
    def test_the_report_of_masks_uses_their_words_and_scores(self, mask_run):
        page = page_of(mask_run)
        for words in (
            "Pixel accuracy on",
            "mean IoU",
            "80.0 %",
            "Intersection over union (IoU)",
            "ignored, or outside the image",
        ):
            assert words in page.text
        assert "Fraction of correct" not in page.text and "of pixels correct" in page.text
        assert (
            sum("mask" in (attributes.get("class") or "").split() for _, attributes in page.tags)
            == 2 * 5 * 2
        )

    def test_names_of_classes_stay_text(self, mask_run):
        page = render([read_run(mask_run)])
        assert "<b>ground" not in page and "&lt;b&gt;ground" in page and "tree &amp; bush" in page

    def test_runs_of_several_kinds_are_compared_by_their_own_names(self, mask_run, run):
        page = page_of(mask_run, run)
        assert "pixel accuracy or accuracy" in page.text and "mean IoU" in page.text

    def test_invalid_colours_and_foreign_files_are_left_out_of_the_gallery(
        self, mask_run, tmp_path
    ):
        other = tmp_path / "run"
        shutil.copytree(mask_run, other)
        file = other / "gallery" / "gallery.json"
        data = json.loads(file.read_text())
        data["legend"] = [
            {"class": 0, "color": color}
            for color in ("url(//x)", "#12345", "red", None, "#0072B2\n")
        ] + [None, {}]
        file.write_text(json.dumps(data))
        page = render([read_run(other)])
        assert "url(" not in page.split("</style>")[1] and "#12345" not in page
        for name in ("../result.json", "/etc/hostname", None, "result.json"):
            data["strips"][0]["masks"]["true"] = name
            file.write_text(json.dumps(data))
            with pytest.raises(InputError):
                read_run(other)

    def test_the_page_stays_small(self, mask_run):
        assert len(render([read_run(mask_run)])) < 1_000_000


class TestContent:
    def test_the_answers_come_first_and_everything_is_there(self, run):
        page = page_of(run)
        headings = [i for i, (name, _) in enumerate(page.tags) if name in ("h1", "h2")]
        assert len(headings) == 1 + 10
        order = [
            "Does it help?",
            "Learned symmetries",
            "Transformed examples",
            "Evidence",
            "Distributions",
            "Training",
            "Output along orbits",
            "Results by class",
            "Seeds",
            "Configuration",
        ]
        places = [page.text.index(title) for title in order]
        assert places == sorted(places)
        for words in (
            "Invariant up to ±45.0°",
            "Undecided",
            "None found",
            "Full range",
            "98.1 %",
            "sha256:3f1c8a02b95d",
        ):
            assert words in page.text
        for words in (
            "augerino learn pictures/sprites --epochs 40",
            "A fifth of the items",
            "seed",
            "2.13.0",
            "robot upside down",
        ):
            assert words in page.text

    def test_headings_never_skip_a_level(self, run, tmp_path):
        for page in (page_of(run), page_of(run, changed(run, tmp_path / "other"))):
            levels = [int(name[1]) for name, _ in page.tags if re.fullmatch("h[1-6]", name)]
            assert levels[0] == 1 and levels.count(1) == 1
            assert all(after <= before + 1 for before, after in itertools.pairwise(levels))

    def test_every_drawing_has_a_description(self, run):
        page = page_of(run)
        drawings = [attributes for name, attributes in page.tags if name == "svg"]
        assert all(
            a.get("aria-label") if a.get("role") == "img" else a.get("aria-hidden") == "true"
            for a in drawings
        )
        assert all(attributes["alt"] for name, attributes in page.tags if name == "img")

    def test_each_section_may_be_missing(self, run, tmp_path):
        whole = page_of(run).text
        for i, section in enumerate(result()):
            if section not in ("version", "coordinates"):
                text = page_of(changed(run, tmp_path / str(i), **{section: None})).text
                assert "Learned symmetries" in text and len(text) < len(whole)

    def test_a_run_with_coordinates_only_has_a_page(self, tmp_path):
        (tmp_path / "result.json").write_text(
            json.dumps({"version": 2, "coordinates": [{"name": "rotate"}]})
        )
        assert "rotate" in page_of(tmp_path).text

    def test_many_classes_are_folded_and_the_worst_come_first(self, run, tmp_path):
        rows = [
            {"class": f"class {i}", "items": 3, "accuracy": {"learned": abs(i - 500) / 500}}
            for i in range(1000)
        ]
        page = page_of(
            changed(
                run, tmp_path / "many", per_class=rows, class_names=[row["class"] for row in rows]
            )
        )
        assert "All 1000 classes" in page.text and page.text.index("class 500 3") < page.text.index(
            "class 0 3"
        )
        assert ("details", {}) in page.tags

    def test_orbits_of_many_classes_keep_the_true_one(self, run, tmp_path):
        outputs = [[(i + 1) / 100 for i in range(40)] for _ in range(5)]
        orbits = [
            {
                "title": "one",
                "coordinate": "rotate",
                "values": [-2, -1, 0, 1, 2],
                "outputs": outputs,
                "truth": 0,
            }
        ]
        text = page_of(
            changed(
                run,
                tmp_path / "o",
                orbits=orbits,
                class_names=[f"name {i}" for i in range(40)],
                per_class=None,
            )
        ).text
        assert (
            "name 0 name 35 name 36 name 37 name 38 name 39" in text
            and "34 more outputs with lower peaks" in text
        )

    def test_an_interval_of_factors_names_each_end_once(self, run, tmp_path):
        scale = coordinate(
            "scale",
            unit="log-factor",
            learned=0.2,
            limit=1.0,
            interval=[0.0770, 0.2390],
            support=[-0.2, 0.2],
            start_text="×0.74 to ×1.35",
            learned_text="×0.82 to ×1.22",
        )
        seeds = [{"seed": i, "learned": {"scale": 0.1 + 0.1 * i}} for i in range(2)]
        text = page_of(changed(run, tmp_path / "f", coordinates=[scale], seeds=seeds)).text
        assert "95 %: ×1.08 to ×1.27" in text and "×1.11 to ×1.22" in text
        assert not re.search(r"to ×[\d.]+ to", text)

    def test_an_interval_of_percentages_names_its_unit_once(self, run, tmp_path):
        shift = coordinate("shift", unit="half-images", limit=1.0, interval=[0.5, 0.6])
        text = page_of(changed(run, tmp_path / "p", coordinates=[shift])).text
        assert "95 %: ±25.0 to ±30.0 % of the image" in text

    def test_contrast_is_drawn_in_factors(self, run, tmp_path):
        contrast = coordinate(
            "contrast",
            unit=ag_coordinate.SLOPE.symbol,
            learned=0.4,
            limit=0.95,
            interval=[0.3, 0.5],
        )
        page = page_of(changed(run, tmp_path / "c", coordinates=[contrast]))
        assert "extent, factor" in page.text and "own unit" not in page.text
        scale = Scale(ag_coordinate.SLOPE)
        assert [scale.text(tick) for tick in scale.ticks(-0.4, 0.4)] == [
            "×0.5",
            "×0.67",
            "×1",
            "×1.5",
            "×2",
        ]

    def test_a_coordinate_without_a_limit_has_a_visible_bar(self, run, tmp_path):
        noise = coordinate("noise", unit="dB", limit=None, learned=0.4, support=[-0.4, 0.4])
        page = page_of(changed(run, tmp_path / "l", coordinates=[noise]))
        bars = [a for name, a in page.tags if "extent" in (a.get("class") or "").split()]
        assert len(bars) == 1 and float(bars[0]["width"]) > 50
        classes = [a.get("class") for _, a in page.tags]
        assert "track" not in classes and "limit of the coordinate" not in page.text

    def test_a_distribution_of_any_kind_is_drawn(self, tmp_path):
        settings = [
            ("Uniform", {"bound": [0.5]}),
            ("Interval", {"low": [-0.1], "high": [0.4]}),
            ("Gaussian", {"loc": [0.1], "scale_tril": [[0.2]]}),
            ("Bernoulli", {"probability": [0.4]}),
        ]
        product = {
            "kind": "Product",
            "settings": {"distributions": [{"kind": k, "settings": s} for k, s in settings]},
        }
        (tmp_path / "policy.json").write_text(json.dumps({"distribution": product}))
        rows = [coordinate(kind, discrete=kind == "Bernoulli") for kind, _ in settings]
        (tmp_path / "result.json").write_text(json.dumps({"version": 2, "coordinates": rows}))
        found = read_run(tmp_path)
        assert [c.shape.kind for c in found.coordinates] == ["uniform", "uniform", "normal", "flip"]
        assert render([found]).count('aria-label="Distribution of') == 3

    def test_no_grid_line_crosses_the_name_or_the_score_of_a_model(self, run):
        charts = [chart for chart in drawings(page_of(run)) if of_class(chart, "row-label")]
        assert charts
        for chart in charts:
            labels = of_class(chart, "row-label") + of_class(chart, "row-value")
            upright = [a for a in of_class(chart, "grid") if a["x1"] == a["x2"]]
            assert upright
            for label, line in itertools.product(labels, upright):
                baseline = float(label["y"])
                above = float(line["y2"]) <= baseline - 12  # the size of the letters
                below = float(line["y1"]) >= baseline + 3  # their descenders
                assert above or below


class TestComparison:
    def test_runs_stand_side_by_side_and_each_has_its_own_part(self, run, tmp_path):
        other = changed(
            run,
            tmp_path / "other",
            coordinates=[coordinate("rotate", learned_text="±44.0°"), coordinate("shear")],
            seed=7,
        )
        page = page_of(run, other)
        assert (
            "Comparison of 2 runs" in page.text
            and "not learned" in page.text
            and "±44.0°" in page.text
        )
        targets = [a["href"][1:] for name, a in page.tags if name == "a"]
        articles = [a["id"] for name, a in page.tags if name == "article"]
        assert len(articles) == 2
        assert targets == 2 * articles  # from the payoffs and from the verdicts
        columns = [
            name
            for name, _ in page.tags[: [n for n, _ in page.tags].index("tbody")]
            if name == "th"
        ]
        assert len(columns) == 3

    def test_folders_of_the_same_name_are_distinguished(self, run, tmp_path):
        twin = changed(run, tmp_path / "sprites")
        out = write_report([run, twin], tmp_path / "both.html")
        text = Page(out.read_text()).text
        assert str(run) in text and str(twin) in text


class TestSafety:
    @pytest.mark.parametrize("name", HOSTILE)
    def test_a_name_never_changes_the_structure_of_the_page(self, run, tmp_path, name):
        def sections(word):
            row = {"class": word, "items": 2, "accuracy": {word: 0.5}}
            return {
                "class_names": [word, "b", "c", "d"],
                "coordinates": [
                    coordinate(
                        word,
                        transform=word,
                        unit=word,
                        start_text=word,
                        learned_text=word,
                        sentence=word,
                    )
                ],
                "models": [
                    {
                        "name": word,
                        "accuracy": 0.5,
                        "loss": 0.1,
                        "low": 0.4,
                        "high": 0.6,
                        "items": 4,
                        "copies": 1,
                    }
                ],
                "payoff": payoff(sentence=word, standard=word),
                "policy": policy(
                    name=word,
                    sentence=word,
                    copies_text=word,
                    standard=word,
                    trials=[trial(word, 0.0), trial(word, 0.1), trial(word, None)],
                ),
                "per_class": [row, row],
                "orbits": [
                    {
                        "title": word,
                        "coordinate": word,
                        "values": [0, 1],
                        "outputs": [[0.1], [0.2]],
                        "truth": 0,
                    }
                ],
                "data": {"path": word, "fingerprint": word, "notes": [word], "shape": [word]},
                "command": word,
                "recipe": {word: word},
                "versions": {word: word},
                "seeds": [{"seed": word, "learned": {word: 0.1}, "accuracy": 0.5}],
                "date": word,
            }

        plain, hostile = (
            page_of(changed(run, tmp_path / folder, **sections(word)), run)
            for folder, word in (("plain", "word"), ("hostile", name))
        )
        skeleton = [(name, sorted(attributes)) for name, attributes in plain.tags]
        assert [(name, sorted(attributes)) for name, attributes in hostile.tags] == skeleton
        shown = re.sub(
            "[\x00-\x08\x0b-\x1f\ud800-\udfff]",
            "\ufffd",
            " ".join(name.split()) if "\x00" not in name else name,
        )
        assert hostile.text.count(shown) > 8

    def test_names_in_the_gallery_are_escaped(self, tmp_path):
        folder = make_run(tmp_path / "run")
        file = folder / "gallery" / "gallery.json"
        data = json.loads(file.read_text())
        data["class_names"] = [HOSTILE[1]] * 4
        data["coordinates"][0] |= {"name": HOSTILE[0], "texts": [HOSTILE[0]] * 13}
        file.write_text(json.dumps(data))
        page = page_of(folder)
        assert [name for name, _ in page.tags].count("script") == 1
        assert not [
            key for _, attributes in page.tags for key in attributes if key.startswith("on")
        ]

    def test_only_its_own_style_and_script_may_run_and_nothing_is_loaded(self, run):
        text = render([read_run(run)])
        page = Page(text)
        (policy,) = [
            a["content"]
            for name, a in page.tags
            if a.get("http-equiv") == "Content-Security-Policy"
        ]
        assert policy.startswith("default-src 'none'; img-src data:;") and "unsafe" not in policy
        for element in ("style", "script"):
            (content,) = re.findall(f"<{element}>(.*?)</{element}>", text, re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy
        assert not [a for _, a in page.tags if "style" in a]
        assert all(
            a["src"].startswith("data:image/png;base64,") for _, a in page.tags if "src" in a
        )
        assert not re.search(r"https?://|url\(|@import", text.replace("http-equiv", ""))

    @settings(
        max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(data=st.data())
    def test_whatever_the_files_contain_there_is_a_page_or_an_input_error(self, tmp_path, data):
        folder = tmp_path / "run"
        if not folder.exists():
            make_run(folder)
        file = folder / data.draw(
            st.sampled_from(
                [
                    "result.json",
                    "result.json",
                    "history.json",
                    "policy.json",
                    "gallery/gallery.json",
                ]
            )
        )
        before = file.read_bytes()
        whole = json.loads(before)
        for _ in range(data.draw(st.integers(1, 3))):
            place = whole
            while True:  # down to some depth, and there something else
                keys = sorted(place) if isinstance(place, dict) else range(len(place))
                key = data.draw(st.sampled_from(keys))
                if not (
                    isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans())
                ):
                    break
                place = place[key]
            place[key] = copy.deepcopy(data.draw(st.sampled_from(STRANGE)))
        file.write_text(json.dumps(whole))
        try:
            text = render([read_run(folder), read_run(folder)])
        except InputError:
            return
        finally:
            file.write_bytes(before)
        shown = re.sub(
            r"<(style|script)>.*?</(style|script)>|base64,[^\"]*", "", text, flags=re.DOTALL
        )
        assert not re.search(r"\b(nan|NaN|inf|Infinity)\b|>None<", shown)

    def test_colours_of_text_are_legible_in_light_and_dark(self):
        style = (Path(augerino.__file__).parent / "report" / "page.css").read_text()
        for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2]:
            colors = dict(re.findall(r"--([\w-]+): (#\w{6})", block))
            for name in (
                "ink",
                "soft",
                "learned",
                "good",
                "bad",
                "symmetry",
                "full",
                "none",
                "undecided",
                "true",
            ):
                assert contrast(colors[name], colors["paper"]) >= 4.5, name


def contrast(one: str, other: str) -> float:
    """The contrast ratio; WCAG requires at least 4.5 for text."""

    def luminance(color):
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


class TestPieces:
    def test_markup_escapes_all_but_markup(self):
        assert (
            tag("p", tag("b", "<"), ["&", None], title='"')
            == '<p title="&quot;"><b>&lt;</b>&amp;</p>'
        )
        assert tag("input", disabled=True, value=None) == "<input disabled>"
        escape("\ud800\x07").encode()
        assert short("a  b\nc") == "a b c"

    @given(
        st.floats(-1e9, 1e9),
        st.floats(1e-9, 1e9),
        st.sampled_from(
            [
                "rad",
                "log-factor",
                "contrast level",
                "half-images",
                "of full intensity",
                "factor - 1",
                "strength",
                "posterize strength",
                "",
                "dB",
            ]
        ),
    )
    def test_ticks_are_few_and_within(self, low, span, unit):
        high = low + span
        room = 1e-6 * max(abs(low), abs(high))
        assert (
            all(low - room <= tick <= high + room for tick in nice_ticks(low, high))
            and len(nice_ticks(low, high)) <= 6
        )
        scale = Scale(unit_of(unit))
        ticks = scale.ticks(low, high)
        assert len(ticks) <= 6 and all(scale.text(tick) for tick in ticks)
        assert all(low - room <= tick <= high + room for tick in ticks)


class TestStrengths:
    """Axes of coordinates whose sign has no meaning."""

    @pytest.mark.parametrize("symbol", ["strength", "of the tones", "of the shorter side"])
    def test_values_and_edges_have_no_sign(self, symbol):
        scale = Scale(unit_of(symbol))
        assert scale.text(-0.5) == scale.text(0.5) == scale.edge(0.5) == "50 %"

    def test_levels_are_powers_of_two(self):
        scale = Scale(unit_of("posterize strength"))
        assert [scale.text(tick) for tick in scale.ticks(0.0, 1.0, 7)] == [
            "256",
            "128",
            "64",
            "32",
            "16",
            "8",
            "4",
        ]
        assert len(scale.ticks(0.0, 1.0)) <= 5 and scale.label == "levels"

    def test_a_linear_factor_reaches_zero(self):
        scale = Scale(unit_of("factor - 1"))
        assert scale.text(-1.0) == "×0" and scale.edge(1.0) == "×2"
        assert scale.ticks(-1.0, 1.0)

    def test_a_discrete_unit_is_known_by_its_symbol(self):
        assert unit_of("grey copies", discrete=True).outcome == "grey"
        assert unit_of("", discrete=True).outcome == "flipped"
