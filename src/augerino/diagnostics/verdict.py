"""Verdicts: for each coordinate, whether it is a symmetry of the data, and over which range."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from augerino.augmentation import Augmentation
from augerino.coordinate import LearnedCoordinate, discrete_unit
from augerino.diagnostics.evidence import CoordinateEvidence, Evidence

MAX_INTERVAL = 0.5  # a wider interval, as a fraction of the extent, leaves a verdict undecided

Answer = Literal["symmetry", "full", "none", "undecided"]


@dataclass(frozen=True)
class Verdict:
    """The verdict on one coordinate.

    Without evidence from held-out data it only reports what was learned.

    Attributes:
        coordinate: its name.
        start: initial extent, in the coordinate's own unit.
        learned: learned extent, in the same unit.
        start_text: the initial extent as text.
        learned_text: the learned extent and rate as text.
        answer: symmetry, full (range), none or undecided.
        sentence: the verdict in words.
        interval: 95 % interval of the extent at which the held-out loss starts to rise.
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
    evidence: Evidence | None = None,
    *,
    unfinished: Collection[str] = (),
    interrupted: bool = False,
    followed: Collection[str] = (),
    output_name: str = "outputs",
) -> list[Verdict]:
    """Returns one verdict per coordinate.

    Args:
        augmentation: as learned.
        start: initial extent of each coordinate.
        true: known extents, for synthetic data.
        evidence: measurements on held-out data, from `gather_evidence`.
        unfinished: coordinates whose bounds were still moving when training ended.
        interrupted: whether the training ended before the bounds were fixed.
        followed: coordinates that transform the outputs too (`model.followed`); a symmetry there is
            an equivariance, not an invariance.
        output_name: plural noun for the outputs in sentences, such as "masks".
    """
    true = true or {}
    # Known extents hold for one coordinate at a time; together the data may allow less.
    alone = " by itself" if len(true.keys() & start.keys()) > 1 else ""
    results = []
    for coordinate in augmentation.coordinates:
        name = coordinate.name
        case = _Case(
            coordinate,
            is_unfinished=name in unfinished,
            follower=output_name if name in followed else None,
        )
        found = None if evidence is None else evidence.coordinates[name]
        if interrupted:
            answer, words = _undecided("the training ended before the ranges were fixed")
        elif evidence is not None and evidence.information.low <= 0:
            answer, words = _undecided("the network is no better than chance on held-out data")
        elif found is None:
            answer, words = _from_extent(case)
        elif coordinate.discrete:
            answer, words = _from_outcome(case, found)
        else:
            answer, words = _from_edge(case, found)
        sentence = f"{name}: {words}"
        if name in true:
            sentence += f" — true extent{alone} {coordinate.unit.extent(true[name])}"
        is_decided = answer in ("symmetry", "full")
        results.append(
            Verdict(
                coordinate=name,
                start=start[name],
                learned=coordinate.extent,
                start_text=coordinate.unit.extent(start[name]),
                learned_text=coordinate.text,
                answer=answer,
                sentence=sentence,
                interval=found.interval if found is not None and is_decided else None,
            )
        )
    return results


@dataclass(frozen=True)
class _Case:
    """One learned coordinate.

    Attributes:
        coordinate: with its learned range.
        is_unfinished: whether its bound was still moving when training ended.
        follower: what transforms along with the input, such as "masks"; None for an invariance.
    """

    coordinate: LearnedCoordinate
    is_unfinished: bool
    follower: str | None

    @property
    def text(self) -> str:
        """The learned range, without its rate."""
        return self.coordinate.range_text

    @property
    def symmetric(self) -> str:
        """The kind of symmetry."""
        if self.follower is None:
            return "invariant"
        return f"equivariant, {self.follower} follow"

    @property
    def up_to(self) -> str:
        """The learned range after "up to": its edge, or all of it where it is not symmetric."""
        unit = self.coordinate.unit
        extent = self.coordinate.extent
        return unit.edge(extent) if self.text == unit.extent(extent) else self.text


def _undecided(reason: str) -> tuple[Answer, str]:
    return "undecided", f"undecided: {reason}; use more data or epochs"


def _still_moving(case: _Case) -> tuple[Answer, str]:
    return _undecided(f"the bound was still moving when training ended ({case.text} so far)")


def _full_range(case: _Case) -> tuple[Answer, str]:
    return "full", f"yes, {case.symmetric} over the full range ({case.text})"


def _from_extent(case: _Case) -> tuple[Answer, str]:
    """The verdict without evidence, from the learned extent."""
    follows = "" if case.follower is None else f", {case.follower} follow"
    if case.is_unfinished:
        return _still_moving(case)
    if case.coordinate.is_negligible:
        return "none", f"learned {case.text}, which is negligible"
    if case.coordinate.is_full:
        return "full", f"learned the full range ({case.text}){follows}"
    return "symmetry", f"learned {case.text}{follows}"


def _from_outcome(case: _Case, found: CoordinateEvidence) -> tuple[Answer, str]:
    """The verdict on a discrete coordinate, such as a flip, from the loss of changed inputs."""
    unit = discrete_unit(case.coordinate.unit)
    is_harmless = found.rise[-1].mean <= found.tolerance
    if case.coordinate.rate >= 0.4 and is_harmless:
        return "full", f"yes, {case.symmetric} under {unit.noun} ({case.text} {unit.participle})"
    effect = "does not raise" if is_harmless else "raises"
    effect = f"{unit.noun} {effect} the held-out loss"
    if case.coordinate.rate < 0.1 and not is_harmless:
        return "none", f"no symmetry found, {effect} ({case.text} {unit.participle})"
    return _undecided(f"{case.text} {unit.participle}, {effect}")


def _from_edge(case: _Case, found: CoordinateEvidence) -> tuple[Answer, str]:
    """The verdict on a continuous coordinate, from the extent at which the held-out loss rises."""
    coordinate = case.coordinate
    unit = coordinate.unit
    if coordinate.is_negligible:
        return "none", f"no symmetry found (learned {case.text})"
    if found.edge is None or found.interval is None:
        return _without_edge(case, found.extents[-1])
    edge = unit.edge(found.edge)
    low, high = found.interval
    interval = unit.span(low, high)
    if high < coordinate.negligible:
        return "none", f"no symmetry found (the held-out loss rises from {edge} on)"
    if high - low > MAX_INTERVAL * max(found.edge, coordinate.negligible):
        between = unit.span(low, high, joint="and")
        return _undecided(f"the held-out loss starts to rise somewhere between {between}")
    if found.edge > coordinate.max_abs and case.is_unfinished:
        return _still_moving(case)
    if coordinate.is_at_limit(found.edge) and coordinate.is_full:
        return _full_range(case)
    if low > coordinate.max_abs:  # the data allow more than was learned
        flat = f"the held-out loss stays flat up to {edge}, 95 %: {interval}"
        return "symmetry", f"yes, {case.symmetric} up to {case.up_to} ({flat})"
    return "symmetry", f"yes, {case.symmetric} up to {edge} (95 %: {interval})"


def _without_edge(case: _Case, measured: float) -> tuple[Answer, str]:
    """The verdict where the loss does not rise up to the largest measured extent."""
    coordinate = case.coordinate
    if coordinate.is_at_limit(measured) and coordinate.is_full:
        return _full_range(case)
    if case.is_unfinished:
        return _still_moving(case)
    flat = f"the held-out loss stays flat even at {coordinate.unit.edge(measured)}"
    return "symmetry", f"yes, {case.symmetric} up to {case.up_to} ({flat})"
