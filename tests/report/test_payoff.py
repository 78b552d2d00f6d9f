"""The first section: the answer, the models, the policy and its trials."""

import copy
import itertools
import json
import re
from pathlib import Path

import pytest

from augerino.report import read_run, render
from tests.report.pages import STRANGE, Page, changed, page_of
from tests.report.runs import make_run, payoff, policy, result, trial

SENTENCES = {
    "yes": "Use it: +6.9 points (95 %: +5.1 to +8.8) over no augmentation.",
    "no": "Do not use it: −2.0 points (95 %: −3.0 to −1.0) over no augmentation.",
    "undecided": "Undecided: +0.2 points (95 %: −1.0 to +1.4) over no augmentation.",
    "none": "Not worth it here: in the trials, no policy did better than no augmentation.",
}
GAINS = {"yes": 6.9, "no": -2.0, "undecided": 0.2, "none": None}
LEADS = {
    "yes": "The learned policy helps: +6.9 points over no augmentation.",
    "no": "The learned policy makes predictions worse: −2.0 points over no augmentation.",
    "undecided": "Whether the learned policy helps is undecided: +0.2 points over no augmentation.",
    "none": "Augmentation does not help here.",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "sprites", gallery=False)


def of_answer(answer: str) -> dict:
    mean = GAINS[answer]
    gain = None if mean is None else {"mean": mean, "low": mean - 1, "high": mean + 1}
    return payoff(answer=answer, gain=gain, sentence=SENTENCES[answer])


def with_class(page: Page, class_: str) -> list[dict]:
    return [a for _, a in page.tags if class_ in (a.get("class") or "").split()]


def rows_of(page_text: str) -> list[str]:
    """The markup of each trial."""
    return re.findall(r'<li class="trial(?: chosen)?">.*?</li>', page_text)


def dots_of(rows: list[str]) -> list[float | None]:
    """The position of the dot in each row; None without one."""
    found = [re.search(r'<circle cx="([\d.]+)"', row) for row in rows]
    return [None if match is None else float(match[1]) for match in found]


class TestAnswer:
    @pytest.mark.parametrize("answer", SENTENCES)
    def test_it_is_the_first_thing_on_the_page(self, run, tmp_path, answer):
        page = page_of(changed(run, tmp_path / "r", payoff=of_answer(answer)))
        shown = page.text.replace(" :", ":")
        order = [LEADS[answer], "Does it help?", SENTENCES[answer], "Learned symmetries"]
        places = [shown.index(words) for words in order]
        assert places == sorted(places)
        (line,) = with_class(page, "payoff")
        assert line["class"] == f"payoff {answer}"

    def test_every_answer_has_its_own_sign(self, run, tmp_path):
        signs = set()
        for answer in SENTENCES:
            folder = changed(run, tmp_path / answer, payoff=of_answer(answer))
            text = render([read_run(folder)])
            signs.add(re.search(r'<p class="payoff.*?(<svg.*?</svg>)', text)[1])
        assert len(signs) == len(SENTENCES)

    def test_an_answer_without_a_sentence_is_shown_in_its_own_words(self, run, tmp_path):
        page = page_of(changed(run, tmp_path / "r", payoff={"answer": "yes"}))
        assert "Does it help? Use it ." in page.text and "The learned policy helps." in page.text

    def test_the_gain_of_a_regression_is_in_the_squared_error(self, run, tmp_path):
        folder = changed(run, tmp_path / "r", task="regression", payoff=payoff(is_accuracy=False))
        page = page_of(folder)
        assert "+6.9 % of the squared error over no augmentation" in page.text
        assert "judged by its squared error on 1333" in page.text
        assert "Decrease of the squared error" in page.text and ", nats" not in page.text


class TestMissing:
    @pytest.mark.parametrize("is_absent", [True, False])
    def test_a_run_without_a_policy_step_begins_with_its_verdicts(self, tmp_path, is_absent):
        whole = result(payoff=None, policy=None)
        if is_absent:
            del whole["payoff"], whole["policy"]
        (tmp_path / "result.json").write_text(json.dumps(whole))
        text = page_of(tmp_path).text
        assert "Does it help?" not in text and "Trials" not in text and "helps" not in text
        assert text.index("Learned symmetries") < text.index("Held-out performance")

    def test_the_models_are_shown_once_and_with_the_answer(self, run):
        page = page_of(run)
        assert "Held-out performance" not in page.text
        captions = [a for _, a in page.tags if a.get("aria-label") == "Models on held-out samples"]
        assert len(captions) == 1
        assert page.text.index("learned, 4 copies") < page.text.index("Policy:")

    def test_a_policy_without_a_baseline_has_no_measured_gain(self, run, tmp_path):
        text = page_of(changed(run, tmp_path / "r", payoff=None)).text
        assert "Does it help? Not measured: this run has no comparison" in text
        assert "flip + shift + photometric" in text

    def test_a_payoff_without_trials(self, run, tmp_path):
        text = page_of(changed(run, tmp_path / "r", policy=None)).text
        assert "Use it" in text and "Policy:" not in text and "Trials" not in text


class TestTrials:
    def test_the_policy_is_described_in_words(self, run):
        text = page_of(run).text
        assert "Policy: shift up to 12.5 % of the image in every image; flip half ." in text
        assert "Predictions: 4 copies at 0.5 of the strength ." in text
        assert "Each trial is a short training with one candidate policy" in text
        assert "on 1333 other training samples" in text

    def test_one_row_per_trial_in_their_order_and_one_is_chosen(self, run):
        rows = rows_of(render([read_run(run)]))
        names = [re.search(r"<bdi>(.*?)</bdi>", row)[1] for row in rows]
        assert names == [entry["name"] for entry in policy()["trials"]]
        assert [">chosen<" in row for row in rows] == [False, False, False, True, False]
        assert ['class="trial chosen"' in row for row in rows] == [">chosen<" in r for r in rows]
        assert [">standard policy" in row for row in rows] == [False, True, False, False, False]
        assert [">diverged<" in row for row in rows] == [False, False, False, False, True]

    def test_gains_have_their_intervals_and_a_common_number_of_decimals(self, run):
        text = page_of(run).text
        assert "+0.250 (95 %: +0.245 to +0.255), accuracy 96.2 %" in text
        assert "−0.100 (95 %: −0.102 to −0.098), accuracy 87.5 %" in text
        assert "no augmentation loss 0.5, accuracy 90.0 %" in text

    def test_a_larger_gain_is_further_to_the_right(self, run):
        rows = rows_of(render([read_run(run)]))
        dots = dots_of(rows)
        assert dots[4] is None
        assert dots[2] < dots[0] < dots[1] < dots[3]
        zeros = {re.search(r'<line x1="([\d.]+)"[^>]*class="axis"', row)[1] for row in rows}
        assert zeros == {str(dots[0])}
        lines = {re.search(r'x1="([\d.]+)"[^>]*class="standard-line"', row)[1] for row in rows}
        assert lines == {str(dots[1])}

    def test_a_much_worse_trial_is_an_arrow_and_does_not_compress_the_others(self, run, tmp_path):
        names = ("a", "b", "c", "d")
        gains = (0.0, 0.1, 0.2, -1e9)
        trials = [trial(name, gain, accuracy=0.5) for name, gain in zip(names, gains, strict=True)]
        folder = changed(run, tmp_path / "r", policy=policy(trials=trials))
        rows = rows_of(render([read_run(folder)]))
        dots = dots_of(rows)
        assert dots[3] is None and 'class="point start"' in rows[3]
        assert dots[1] - dots[0] > 40 and dots[2] - dots[1] == pytest.approx(
            dots[1] - dots[0], 0.02
        )

    def test_without_a_reference_there_are_losses_and_no_drawing(self, run, tmp_path):
        trials = [trial("no augmentation", None), trial("shift", 0.1, gain=None)]
        folder = changed(run, tmp_path / "r", policy=policy(name="shift", trials=trials))
        rows = rows_of(render([read_run(folder)]))
        assert "diverged" in rows[0] and "loss 0.4" in rows[1] and ">chosen<" in rows[1]
        assert not any("<svg" in row for row in rows)

    def test_no_augmentation_is_not_marked_as_the_standard_policy(self, run, tmp_path):
        folder = changed(run, tmp_path / "r", policy=policy(standard="no augmentation"))
        text = render([read_run(folder)])
        assert "standard policy" not in text and 'class="standard-line"' not in text

    def test_equal_gains_are_drawn(self, run, tmp_path):
        trials = [trial(name, 0.0) for name in ("no augmentation", "shift")]
        folder = changed(run, tmp_path / "r", policy=policy(name="shift", trials=trials))
        first, second = dots_of(rows_of(render([read_run(folder)])))
        assert first == second


def places(value, path=()):
    """The path of every entry within nested lists and mappings."""
    keys = []
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = list(range(len(value)))
    for key in keys:
        yield (*path, key)
        yield from places(value[key], (*path, key))


def replaced(value, path, by):
    whole = copy.deepcopy(value)
    inner = whole
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = copy.deepcopy(by)
    return whole


ENTRIES = {"payoff": payoff(), "policy": policy()}


class TestDamaged:
    @pytest.mark.parametrize("path", list(places(ENTRIES)), ids=lambda p: ".".join(map(str, p)))
    def test_any_value_of_another_type_is_left_out(self, tmp_path, path):
        small = {"version": 2, "coordinates": [{"name": "rotate"}]}
        for value in STRANGE:
            whole = small | replaced(ENTRIES, path, value)
            (tmp_path / "result.json").write_text(json.dumps(whole))
            text = render([read_run(tmp_path), read_run(tmp_path)])
            shown = re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.DOTALL)
            assert not re.search(r"\b(nan|NaN|inf|Infinity)\b|>None<|e\+", shown)
            assert "rotate" in shown

    def test_several_damaged_gains_at_once(self, tmp_path):
        small = {"version": 2, "coordinates": [{"name": "rotate"}]}
        for mean, end in itertools.product((1e12, -1e12, 1e-300, 0), (1e12, -1e300, None, "x")):
            gain = {"mean": mean, "low": end, "high": end}
            trials = [trial("a", 0.0, gain=gain), trial("b", 0.1, gain=gain)]
            entries = {"payoff": payoff(gain=gain), "policy": policy(name="b", trials=trials)}
            (tmp_path / "result.json").write_text(json.dumps(small | entries))
            text = render([read_run(tmp_path)])
            assert len(rows_of(text)) == 2
            assert all(0 <= x <= 340 for x in dots_of(rows_of(text)) if x is not None)

    def test_html_in_names_and_sentences_stays_text(self, run, tmp_path):
        evil = "<img src=x onerror=alert(1)>"
        trials = [trial(evil, 0.0), trial(f"{evil}2", 0.1)]
        words = policy(name=evil, sentence=evil, copies_text=evil, standard=evil, trials=trials)
        folder = changed(run, tmp_path / "r", payoff=payoff(sentence=evil), policy=words)
        page = page_of(folder, run)
        assert not [a for _, a in page.tags if "onerror" in a]
        assert page.text.count(evil) == 7  # twice in the comparison


class TestComparison:
    def test_the_payoffs_come_first_and_side_by_side(self, run, tmp_path):
        worse = changed(run, tmp_path / "worse", payoff=of_answer("no"))
        old = changed(run, tmp_path / "old", payoff=None, policy=None)
        text = page_of(run, worse, old).text
        cells = (
            "payoff Use it +6.9 points 95 %: +5.1 to +8.8"
            " Do not use it −2.0 points 95 %: −3.0 to −1.0 not measured"
        )
        assert cells in text
        assert text.index(cells) < text.index("Learned symmetries")
        assert "predictions 4 copies at 0.5 of the strength" in text

    def test_runs_without_a_policy_step_have_no_payoffs(self, run, tmp_path):
        old = [
            changed(run, tmp_path / name, payoff=None, policy=None) for name in ("first", "second")
        ]
        assert "Does it help?" not in page_of(*old).text
