"""What was learned about each coordinate, in words, and on what ground."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from augerino.augmentation import Augmentation
from augerino.coordinate import LearnedCoordinate, Unit
from augerino.diagnostics.evidence import Evidence, Findings

LOOSE = 0.5  # an interval wider than this share of the extent decides nothing

Answer = Literal["symmetry", "full", "none", "undecided"]


@dataclass(frozen=True)
class Verdict:
    """One coordinate's answer; `start`, `learned`, `interval` and `true` are in the coordinate's own unit.

    With evidence from held-out data, `interval` is the 95 % interval of where the loss begins to rise; without, the answer
    rests on the learned extent alone, and the sentence says no more than what was learned.
    """

    coordinate: str
    start: float
    learned: float
    start_text: str
    learned_text: str
    answer: Answer
    sentence: str
    interval: tuple[float, float] | None = None


def verdicts(
    augmentation: Augmentation,
    start: dict[str, float],
    true: dict[str, float] | None = None,
    findings: Findings | None = None,
    unfinished: Collection[str] = (),
    followed: Collection[str] = (),
    outputs: str = "outputs",
) -> list[Verdict]:
    """One verdict per coordinate: whether it is a symmetry of the data, how far it reaches, or that it cannot be told.

    Args:
        augmentation: as learned.
        start: where each bound started.
        true: extents that are known, for data made to have them.
        findings: what held-out data say (`gather`).
        unfinished: coordinates whose bounds were still on their way when training ended.
        followed: coordinates that outputs follow (`model.followed`), where a symmetry is an equivariance and not an invariance.
        outputs: what follows, as "masks".
    """
    out = []
    answer: Answer
    for coordinate in augmentation.coordinates:
        name = coordinate.name
        unit = coordinate.unit
        case = _Case(
            coordinate,
            unfinished=name in unfinished,
            follower=outputs if name in followed else None,
        )
        found = None if findings is None else findings.coordinates[name]
        if findings is not None and findings.known.low <= 0:
            answer, words = (
                "undecided",
                "not decided, the network has learned nothing that holds on held-out data",
            )
        elif found is None:
            answer, words = _judge_extent(case)
        elif coordinate.discrete:
            answer, words = _judge_flip(case, found)
        else:
            answer, words = _judge_evidence(case, found)
        sentence = f"{name}: {words}"
        if answer == "undecided":
            sentence += ": needs more data or epochs"
        if true and name in true:
            alone = (
                " by itself" if len(true.keys() & start.keys()) > 1 else ""
            )  # together they may have less room
            sentence += f" — true extent{alone} {unit.extent(true[name])}"
        interval = None if found is None or answer in ("none", "undecided") else found.interval
        out.append(
            Verdict(
                coordinate=name,
                start=start[name],
                learned=coordinate.extent,
                start_text=unit.extent(start[name]),
                learned_text=coordinate.text,
                answer=answer,
                sentence=sentence,
                interval=interval,
            )
        )
    return out


@dataclass(frozen=True)
class _Case:
    coordinate: LearnedCoordinate
    unfinished: bool
    follower: str | None  # what moves along with the input; None where the answer stays the same

    @property
    def symmetric(self) -> str:
        """The kind of symmetry, in words that an extent may follow."""
        return "invariant" if self.follower is None else f"equivariant, {self.follower} follow"

    @property
    def text(self) -> str:
        """The learned range, without its rate."""
        return self.coordinate.range_text

    @property
    def unit(self) -> Unit:
        return self.coordinate.unit


def _judge_extent(case: _Case) -> tuple[Answer, str]:
    """By the learned extent alone."""
    follow = "" if case.follower is None else f", {case.follower} follow"
    if case.unfinished:
        return "undecided", _still_moving(case)
    if case.coordinate.is_negligible:
        return "none", f"learned {case.text}, as good as none"
    if case.coordinate.is_full:
        return "full", f"learned all the way ({case.text}){follow}"
    return "symmetry", f"learned {case.text}{follow}"


def _still_moving(case: _Case) -> str:
    return f"not decided, still moving at {case.text} when training ended"


def _all_the_way(case: _Case) -> str:
    return (
        f"yes, all the way ({case.text})"
        if case.follower is None
        else f"yes, {case.symmetric} all the way ({case.text})"
    )


def _judge_flip(case: _Case, found: Evidence) -> tuple[Answer, str]:
    """By what mirroring every held-out input does."""
    harmless = found.rise[-1].mean <= found.tolerance
    if case.coordinate.rate >= 0.4 and harmless:
        same = (
            "mirrored inputs mean the same"
            if case.follower is None
            else f"{case.follower} of mirrored inputs are mirrored"
        )
        return "full", f"yes, {same} ({case.text} mirrored)"
    if case.coordinate.rate < 0.1 and not harmless:
        other = (
            "mean something else"
            if case.follower is None
            else f"have other {case.follower} than the mirrored ones"
        )
        return "none", f"no symmetry found, mirrored inputs {other} ({case.text} mirrored)"
    return "undecided", f"not decided, {case.text} mirrored"


def _judge_evidence(case: _Case, found: Evidence) -> tuple[Answer, str]:
    """By where the held-out loss rises, as far as it was learned."""
    coordinate = case.coordinate
    if coordinate.is_negligible:
        return "none", f"no symmetry found (learned {case.text})"
    if found.reach is None or found.interval is None:  # it never rises within what was looked at
        if coordinate.is_at_limit(found.extents[-1]) and coordinate.is_full:
            return "full", _all_the_way(case)
        if case.unfinished:
            return "undecided", _still_moving(case)
        beyond = case.unit.extent(found.extents[-1])
        return (
            "symmetry",
            f"yes, {case.symmetric} up to {case.text} (held-out loss stays flat even at {beyond})",
        )
    low, high = found.interval
    if high < coordinate.negligible:
        return (
            "none",
            f"no symmetry found (held-out loss rises from {case.unit.extent(found.reach)} on)",
        )
    if high - low > LOOSE * max(found.reach, coordinate.negligible):
        return (
            "undecided",
            "not decided, held-out loss begins to rise somewhere between "
            f"{case.unit.edge(low)} and {case.unit.edge(high)}",
        )
    if found.reach > coordinate.max_abs and case.unfinished:
        return "undecided", _still_moving(case)
    if coordinate.is_at_limit(found.reach) and coordinate.is_full:
        return "full", _all_the_way(case)
    if low > coordinate.max_abs:  # the model bears more than was learned
        more = f"held-out loss stays flat up to {case.unit.extent(found.reach)}, 95 %: {case.unit.span(low, high)}"
        return "symmetry", f"yes, {case.symmetric} up to {case.text} ({more})"
    return (
        "symmetry",
        f"yes, {case.symmetric} up to {case.unit.extent(found.reach)} (95 %: {case.unit.span(low, high)})",
    )
