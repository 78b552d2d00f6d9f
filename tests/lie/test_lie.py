"""Exponential maps: references, group laws, degenerate cases and huge coordinates."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from augerino import lie
from augerino.lie import table2d
from augerino.lie.closed2d import closed_form

GENERATORS = torch.tensor(list(lie.AFFINE2D.values()), dtype=torch.float64)
NAMES = list(lie.AFFINE2D)


def element(t: torch.Tensor) -> torch.Tensor:
    return lie.exp_affine2d(lie.combine(t, GENERATORS))


coordinates = st.lists(st.floats(-3, 3), min_size=6, max_size=6)
# Huge values, exact zeros and equal values; rotate with an equal squeeze or shear is nilpotent.
wild = st.lists(
    st.one_of(st.sampled_from([0.0, 1.0, -1.0, 1e-8, 5.0, 1e3, -1e3]), st.floats(-1e3, 1e3)),
    min_size=6,
    max_size=6,
)


def test_generators_are_the_papers():
    expected = {
        "translate_x": [[0, 0, 1], [0, 0, 0], [0, 0, 0]],
        "translate_y": [[0, 0, 0], [0, 0, 1], [0, 0, 0]],
        "rotate": [[0, -1, 0], [1, 0, 0], [0, 0, 0]],
        "scale": [[1, 0, 0], [0, 1, 0], [0, 0, 0]],
        "squeeze": [[1, 0, 0], [0, -1, 0], [0, 0, 0]],
        "shear": [[0, 1, 0], [1, 0, 0], [0, 0, 0]],
    }
    assert {
        name: [list(row) for row in matrix] for name, matrix in lie.AFFINE2D.items()
    } == expected
    assert list(expected) == NAMES


def by_squaring(algebra: torch.Tensor) -> torch.Tensor:
    """Reference exponential: a long series of A / 2^8, squared eight times."""
    small = algebra / 2**8
    power = torch.eye(3, dtype=algebra.dtype).expand_as(algebra)
    total = power
    for n in range(1, 20):
        power = power @ small / n
        total = total + power
    for _ in range(8):
        total = total @ total
    return total


@given(coordinates)
@settings(max_examples=300, deadline=None)
def test_table_and_closed_form_are_the_exponential(values):
    algebra = lie.combine(torch.tensor([values], dtype=torch.float64), GENERATORS)
    expected = by_squaring(algebra)
    for exp in (lie.exp_affine2d, closed_form):
        assert (exp(algebra) - expected).abs().max() <= 1e-12 * expected.abs().max()
    # torch.linalg.matrix_exp has an error of about 1e-10 at small norms, from a short series.
    assert (torch.linalg.matrix_exp(algebra) - expected).abs().max() <= 1e-9 * expected.abs().max()


@given(coordinates)
@settings(max_examples=100, deadline=None)
def test_minus_t_is_the_inverse(values):
    t = torch.tensor([values], dtype=torch.float64)
    forward, backward = element(t), element(-t)
    assert torch.allclose(
        forward @ backward,
        torch.eye(3, dtype=torch.float64),
        atol=1e-10 * float(forward.abs().max() * backward.abs().max()),
    )


@given(coordinates, st.floats(-1, 1), st.floats(-1, 1))
@settings(max_examples=100, deadline=None)
def test_one_parameter_subgroups_add(values, a, b):
    t = torch.tensor([values], dtype=torch.float64)
    left, right = element(a * t) @ element(b * t), element((a + b) * t)
    scale = float(element(a * t).abs().max() * element(b * t).abs().max())
    assert (left - right).abs().max() <= 1e-10 * max(scale, 1.0)


@given(wild)
@settings(max_examples=500, deadline=None)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_nothing_is_nan_or_inf_however_large(dtype, values):
    t = torch.tensor([values], dtype=dtype, requires_grad=True)
    matrix = lie.exp_affine2d(lie.combine(t, GENERATORS))
    assert matrix.isfinite().all()
    (gradient,) = torch.autograd.grad(matrix.sum(), t)
    assert gradient.isfinite().all()


DEGENERATE = {
    "zero": [0, 0, 0, 0, 0, 0],
    "translation only": [0.3, 0.2, 0, 0, 0, 0],
    "scale only": [0.3, 0.2, 0, 1, 0, 0],
    "rotation only": [0.3, 0.2, 2, 0, 0, 0],
    "nilpotent": [0.3, 0.2, 1, 0, 1, 0],
    "large nilpotent": [0.3, 0.2, 5, 0, 3, 4],
    "one zero eigenvalue": [0.3, 0.2, 0, 1, 1, 0],
    "other zero eigenvalue": [0.3, 0.2, 0, -1, 0.6, 0.8],
    "where formulas change": [0.3, 0.2, 0, 0.6, 0.8, 0],
    "where they change, turning": [0.3, 0.2, 1, 0, 0, 0],
}


@pytest.mark.parametrize("values", DEGENERATE.values(), ids=DEGENERATE.keys())
def test_gradients_are_right_in_degenerate_cases(values):
    t = torch.tensor([values], dtype=torch.float64, requires_grad=True)
    for way in (element, lambda t: closed_form(lie.combine(t, GENERATORS))):
        assert torch.autograd.gradcheck(way, (t,))
    assert (element(t) - torch.linalg.matrix_exp(lie.combine(t, GENERATORS))).abs().max() < 1e-12


class TestTable:
    """The series table agrees with the closed form wherever it is used."""

    @pytest.mark.parametrize(
        ("dtype", "tolerance"), [(torch.float32, 3e-6), (torch.float64, 1e-13)]
    )
    @pytest.mark.parametrize("size", [0.0, 1e-9, 1e-3, 0.3, 1.0])
    def test_it_agrees_with_the_closed_form(self, size, dtype, tolerance):
        t = ((torch.rand(50, 6, dtype=torch.float64) * 2 - 1) * size).to(dtype)
        t[:, NAMES.index("rotate")] *= 3
        probe = torch.rand(50, 3, 3, dtype=dtype)
        found = []
        for exp in (
            lambda t: lie.element_affine2d(t, GENERATORS),
            lambda t: closed_form(lie.combine(t, GENERATORS)),
        ):
            moving = t.clone().requires_grad_()
            matrix = exp(moving)
            found.append((matrix, *torch.autograd.grad(matrix, moving, probe)))
        for ours, expected in zip(*found, strict=True):
            assert ours.dtype == dtype
            assert (ours - expected).abs().max() <= tolerance * expected.abs().max().clamp_min(1)

    def test_it_is_used_only_where_the_series_converge(self):
        turn = torch.zeros(1, 6)
        turn[0, NAMES.index("rotate")] = 1.0
        for angle, used in (
            (3.2, True),
            (6.2, True),
            (30.0, False),
            (float("nan"), False),
            (float("inf"), False),
        ):
            assert (table2d._Algebra(turn * angle, GENERATORS, None).terms is not None) == used

    def test_scales_multiply_the_generators(self):
        t = torch.rand(3, 6, dtype=torch.float64)
        scales = [0.5, 2.0, 1.0, 1.0, 1.0, 1.0]
        scaled = lie.element_affine2d(t, GENERATORS, scales)
        assert torch.allclose(scaled, element(t * torch.tensor(scales)), atol=1e-14)

    def test_second_derivatives_are_right(self):
        t = torch.rand(2, 6, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradgradcheck(element, (t,))

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")  # raised by torch when it loads jvp
    def test_function_transforms_and_tangents_give_the_same_values(self):
        t, direction = torch.rand(2, 3, 6, dtype=torch.float64)
        expected = element(t)
        assert torch.allclose(torch.func.vmap(lambda row: element(row[None])[0])(t), expected)
        _, slope = torch.func.jvp(element, (t,), (direction,))
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.unpack_dual(
                element(torch.autograd.forward_ad.make_dual(t, direction))
            )
        numeric = (element(t + 1e-6 * direction) - element(t - 1e-6 * direction)) / 2e-6
        for found in (slope, dual.tangent):
            assert torch.allclose(found, numeric, atol=1e-6)

    def test_empty_and_nested_batches(self):
        assert lie.exp_affine2d(torch.zeros(0, 3, 3)).shape == (0, 3, 3)
        assert lie.exp_affine2d(torch.zeros(2, 4, 3, 3)).shape == (2, 4, 3, 3)

    def test_the_cached_table_works_inside_and_outside_inference_mode(self):
        table2d._table.cache_clear()
        with torch.inference_mode():
            element(torch.rand(2, 6, dtype=torch.float64))
        t = torch.rand(2, 6, dtype=torch.float64, requires_grad=True)
        element(t).sum().backward()
        assert t.grad is not None


def test_a_rotation_is_a_rotation():
    t = torch.zeros(1, 6, dtype=torch.float64)
    t[0, NAMES.index("rotate")] = 0.7
    cos, sin = torch.cos(t[0, 2]), torch.sin(t[0, 2])
    expected = torch.stack([torch.stack([cos, -sin]), torch.stack([sin, cos])])
    assert torch.allclose(element(t)[0, :2, :2], expected)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_runs_in_float32(dtype):
    # torch.linalg.matrix_exp fails in bf16: diag(0.5) gives -1e30.
    algebra = torch.diag(torch.tensor([0.5, 0.5, 0.0])).to(dtype)[None]
    expected = torch.diag(torch.tensor([0.5, 0.5, 0.0]).exp())
    for exp in (lie.exp, lie.exp_affine2d):  # matrix_exp has an error of 3e-5
        assert torch.allclose(exp(algebra)[0], expected, atol=1e-4)
        assert exp(algebra).dtype == torch.float32


class TestAffine3d:
    """The same laws in 3-D, where the exponential is computed by scaling and squaring."""

    GENERATORS = torch.tensor(list(lie.AFFINE3D.values()), dtype=torch.float64)
    NAMES = tuple(lie.AFFINE3D)

    def element(self, t: torch.Tensor) -> torch.Tensor:
        return lie.exp_affine3d(lie.combine(t, self.GENERATORS))

    def test_generators_extend_the_papers(self):
        """Each one acts within a plane like its 2-D counterpart and fixes the third axis."""
        planes = {"xy": [0, 1, 3], "yz": [1, 2, 3], "xz": [0, 2, 3], "zx": [2, 0, 3]}

        def in_plane(name, plane):
            matrix = self.GENERATORS[self.NAMES.index(name)]
            rest = matrix.clone()
            rest[torch.tensor(planes[plane])[:, None], torch.tensor(planes[plane])] = 0
            assert rest.abs().max() == 0
            return matrix[planes[plane]][:, planes[plane]]

        two = {name: GENERATORS[i] for i, name in enumerate(NAMES)}
        for name, plane in (("rotate_z", "xy"), ("rotate_x", "yz"), ("rotate_y", "zx")):
            assert torch.equal(in_plane(name, plane), two["rotate"])
        for plane in ("xy", "yz"):
            assert torch.equal(in_plane(f"squeeze_{plane}", plane), two["squeeze"])
        for plane in ("xy", "yz", "xz"):
            assert torch.equal(in_plane(f"shear_{plane}", plane), two["shear"])
        for name, plane in (("translate_x", "xy"), ("translate_y", "yz"), ("translate_z", "zx")):
            assert torch.equal(in_plane(name, plane), two["translate_x"])
        assert torch.equal(
            self.GENERATORS[self.NAMES.index("scale")],
            torch.diag(torch.tensor([1.0, 1, 1, 0])).double(),
        )
        assert len(self.NAMES) == 12 and torch.linalg.matrix_rank(self.GENERATORS.flatten(1)) == 12

    @given(st.lists(st.floats(-3, 3), min_size=12, max_size=12))
    @settings(max_examples=200, deadline=None)
    def test_it_is_the_exponential(self, values):
        algebra = lie.combine(torch.tensor([values], dtype=torch.float64), self.GENERATORS)
        expected = torch.linalg.matrix_exp(algebra)
        assert (lie.exp_affine3d(algebra) - expected).abs().max() <= 1e-9 * expected.abs().max()
        single = lie.exp_affine3d(algebra.float())
        assert single.dtype == torch.float32
        assert (single - expected).abs().max() <= 1e-5 * expected.abs().max()

    @given(st.lists(st.floats(-2, 2), min_size=12, max_size=12))
    @settings(max_examples=100, deadline=None)
    def test_minus_t_is_the_inverse(self, values):
        t = torch.tensor([values], dtype=torch.float64)
        there, back = self.element(t), self.element(-t)
        size = float(there.abs().max() * back.abs().max())
        assert torch.allclose(there @ back, torch.eye(4, dtype=torch.float64), atol=1e-11 * size)

    @given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3))
    @settings(max_examples=100, deadline=None)
    def test_rotations_are_rigid_at_any_angle(self, angles):
        t = torch.zeros(1, 12, dtype=torch.float64)
        t[0, 3:6] = torch.tensor(angles)
        rotation = self.element(t)[0, :3, :3]
        assert torch.allclose(rotation @ rotation.mT, torch.eye(3, dtype=torch.float64), atol=1e-9)
        assert torch.linalg.det(rotation) == pytest.approx(1)
        axis = t[0, 3:6]
        assert torch.allclose(rotation @ axis, axis, atol=1e-6)  # the axis is fixed
        cosine = (rotation.diagonal().sum() - 1) / 2
        assert cosine == pytest.approx(float(axis.norm().cos()), abs=1e-8)

    @given(
        st.lists(
            st.one_of(
                st.sampled_from([0.0, 1.0, -1.0, 1e-8, 5.0, 1e3, -1e3]), st.floats(-1e3, 1e3)
            ),
            min_size=12,
            max_size=12,
        )
    )
    @settings(max_examples=300, deadline=None)
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_nothing_is_nan_or_inf_however_large(self, dtype, values):
        t = torch.tensor([values], dtype=dtype, requires_grad=True)
        matrix = self.element(t)
        assert matrix.isfinite().all()
        (gradient,) = torch.autograd.grad(matrix.sum(), t)
        assert gradient.isfinite().all()

    @pytest.mark.parametrize("size", [0.0, 1e-9, 0.4, 1.0, 4.0])
    def test_gradients_are_right_through_zero_and_where_squarings_begin(self, size):
        t = (torch.randn(2, 12, dtype=torch.float64) * size).requires_grad_()
        assert torch.autograd.gradcheck(self.element, (t,), atol=1e-5, rtol=1e-4)

    def test_each_element_is_independent_of_the_batch(self):
        sizes = torch.tensor([0.01, 0.5, 3.0, 100.0], dtype=torch.float64)
        t = sizes[:, None] * torch.randn(4, 12, dtype=torch.float64)
        alone = torch.cat([self.element(row[None]) for row in t])
        assert torch.allclose(self.element(t), alone, rtol=1e-14)
