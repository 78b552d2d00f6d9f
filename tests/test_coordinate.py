"""How coordinates and their extents are written."""

import pytest

import augerino as ag
from augerino import coordinate
from augerino.coordinate import (
    COPIES,
    FACTOR,
    HALF_IMAGE,
    LEVELS,
    LOG_FACTOR,
    PIXEL_NOISE,
    PLAIN,
    RADIAN,
    SIDE,
    SLOPE,
    STRENGTH,
    TONES,
)


@pytest.mark.parametrize(
    ("unit", "value", "extent", "span"),
    [
        (RADIAN, "+28.6°", "±28.6°", "±28.6° to ±34.4°"),
        (HALF_IMAGE, "+25.0 % of the image", "±25.0 % of the image", None),
        (PLAIN, "+0.5", "±0.5", "±0.5 to ±0.6"),
        (LOG_FACTOR, "×1.65", "×0.61 to ×1.65", "×1.65 to ×1.82"),
        (SLOPE, "×2.95", "×0.34 to ×2.95", "×2.95 to ×3.91"),
        (COPIES, "+0.5", "25.0 % of copies", None),
        (FACTOR, "×1.50", "×0.50 to ×1.50", "×1.50 to ×1.60"),
        (STRENGTH, "50.0 % strength", "up to 50.0 % strength", None),
        (TONES, "50.0 % of the tones", "up to 50.0 % of the tones", None),
        (LEVELS, "32 levels", "256 to 32 levels", "32 levels to 22 levels"),
        (PIXEL_NOISE, "50.0 % noise", "up to 50.0 % noise", None),
        (SIDE, "50.0 % of the side", "up to 50.0 % of the side", None),
    ],
)
def test_every_unit_writes_values_extents_and_intervals(unit, value, extent, span):
    assert unit.value(0.5) == value
    assert unit.extent(0.5) == extent
    assert span is None or unit.span(0.5, 0.6) == span


def test_no_unit_is_without_an_axis_label():
    units = [unit for unit in vars(coordinate).values() if isinstance(unit, ag.Unit)]
    assert len(units) >= 10 and all(unit.label for unit in units)
    (contrast,) = ag.Contrast().coordinates
    assert contrast.unit.label == contrast.unit.symbol == "contrast level"


def test_a_unit_of_your_own_is_one_line():
    unit = ag.Unit("mm", label="mm", suffix=" mm")
    assert unit.extent(2.0) == "±2.0 mm"


@pytest.mark.parametrize("unit", [STRENGTH, TONES, LEVELS, PIXEL_NOISE, SIDE])
def test_units_of_a_strength_ignore_its_sign(unit):
    assert unit.value(-0.3) == unit.value(0.3)
    assert "±" not in unit.extent(0.3) + unit.value(0.3) + unit.span(0.3, 0.4)
