"""How the option parser reads numbers: with short metavariables and plain error messages."""

import types
from typing import Any, Union, get_args, get_origin

import tyro
from tyro.constructors import PrimitiveConstructorSpec, PrimitiveTypeInfo

NUMBERS = tyro.constructors.ConstructorRegistry()
_EXPECTED = {int: "an integer", float: "a number"}


@NUMBERS.primitive_rule
def _number(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """Reads `int`, `float` and their optional forms."""
    kind = _without_none(info.type)
    if kind not in _EXPECTED:
        return None

    def parse(words: list[str]) -> Any:
        try:
            return kind(words[0])
        except ValueError:
            raise ValueError(f"expected {_EXPECTED[kind]}, got '{words[0]}'") from None

    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=kind.__name__.upper(),
        instance_from_str=parse,
        is_instance=lambda value: value is None or isinstance(value, kind),
        str_from_instance=lambda value: [str(value)],
    )


def _without_none(annotation: Any) -> Any:
    """The type `X` of an annotation `X` or `X | None`."""
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    return kinds[0] if len(kinds) == 1 else annotation
