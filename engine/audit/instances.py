"""Values written on an engine under a schema: in which spellings, how far they go, what is wrong with that.

`written` tries every spelling that an engine may have; `made_small` takes parts away from schema and value together, as
long as the value goes wrong in the same way and breaks the same keyword.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import validator_for

from engine.audit.policies import Policy, by_name
from engine.audit.problems import Declined
from engine.audit.runner import Runner
from engine.audit.scenario import Grammar
from engine.audit.shrink import Budget
from engine.audit.smallest import Pair, compact, keeps_types, smaller_pairs, smallest
from engine.audit.writing import Written, tokenizer, write_text
from engine.host import PortFault
from engine.protocol import PortError
from reference.vocabulary import Vocabulary

WIDEST = 1000
FARTHEST = 10**17
"""Digits of a whole number with an exponent that is still made an int."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A value, and whether the schema allows it."""

    value: Any
    valid: bool


@dataclass(frozen=True, slots=True)
class Scribe:
    """Writes values on one port over one vocabulary."""

    runner: Runner
    vocabulary: Vocabulary

    def compiled(self, schema: Any) -> int:
        """The port's handle of a schema."""
        if self.runner.vocabulary is not self.vocabulary:
            self.runner.give(self.vocabulary)
        return self.runner.compile(Grammar("json_schema", compact(schema)))

    def written(self, handle: int, schema: Any, value: Any) -> Written | None:
        """The spelling that goes farthest; None when the vocabulary has no tokens for any."""
        cut, tries = tokenizer(self.vocabulary), list[Written]()
        for text in spellings(schema, value, self.runner.policy):
            tokens = cut(text.encode("utf-8", "replace"))
            if tokens is not None:
                tries.append(replace(write_text(self.runner, handle, tokens), text=text))
                if tries[-1].whole:
                    break
        return max(tries, key=lambda one: (one.whole, one.done)) if tries else None

    def goes_wrong(self, schema: Any, instance: Instance) -> tuple[str, str, str]:
        """What is wrong with a value, the keyword that it breaks, its text; ("", "", "") where nothing can be told."""
        try:
            keyword = broken_keyword(schema, instance.value)
            if (keyword is None) != instance.valid:
                return "", "", ""
            written = self.written(self.compiled(schema), schema, instance.value)
        except (SchemaError, TypeError, ValueError, RecursionError, Declined, PortError):
            return "", "", ""
        except PortFault:
            self.runner.restart()
            return "", "", ""
        return (wrong_kind(instance, written), keyword or "", written.text) if written else ("", "", "")

    def made_small(
        self,
        schema: Any,
        instance: Instance,
        budget: Budget,
        also: Callable[[Any, Instance], bool] = lambda schema, instance: True,
    ) -> Pair:
        """The smallest schema and value found that go wrong in the same way, where `also` holds too."""
        wanted = self.goes_wrong(schema, instance)[:2]

        def likely(pair: Pair) -> Iterator[Pair]:
            found = (smaller for smaller in smaller_pairs(pair) if keeps_types(schema, smaller[0]))
            return (smaller for smaller in found if _breaks(smaller, wanted[1]))

        def is_wrong(pair: Pair) -> bool:
            smaller = replace(instance, value=pair[1])
            return self.goes_wrong(pair[0], smaller)[:2] == wanted and also(pair[0], smaller)

        if not wanted[0]:
            return schema, instance.value
        return smallest((schema, instance.value), likely, is_wrong, budget)


def _breaks(pair: Pair, keyword: str) -> bool:
    """Whether the value breaks the keyword of the schema, or nothing when that is empty."""
    try:
        return (broken_keyword(*pair) or "") == keyword
    except (SchemaError, TypeError, ValueError, RecursionError):
        return False


def wrong_kind(instance: Instance, written: Written) -> str:
    """What is wrong with how far a value went; nothing when it is writable exactly if it is valid."""
    if written.problem:
        return written.problem
    if written.whole == instance.valid:
        return ""
    return "incomplete" if instance.valid else "not_enforced"


def broken_keyword(schema: Any, value: Any) -> str | None:
    """The keyword that an instance breaks, None when it is valid; raises SchemaError for a broken schema."""
    validator = validator_for(schema, default=Draft202012Validator)
    validator.check_schema(schema)
    error = next(validator(schema).iter_errors(value), None)
    if error is None:
        return None
    while (
        isinstance(error, ValidationError)
        and error.validator in ("anyOf", "oneOf", "allOf")
        and len(error.context or []) == 1
    ):
        error = (error.context or [])[0]
    return str(error.validator)


def exact_value(text: str | bytes) -> Any:
    """The value of a JSON text with every number as it is: int where it is whole, Decimal elsewhere.

    Doubles would call 1e+23 another number than 100000000000000000000000, and 10000000000000001.0 the same as 1e16.
    An exponent of more digits than Decimal takes stands for FARTHEST: no schema names numbers between the two.
    """
    return json.loads(text, parse_float=_number, parse_constant=_no_number)


def _number(digits: str) -> int | Decimal:
    try:
        number = Decimal(digits)
    except InvalidOperation:
        mantissa, _, exponent = digits.lower().partition("e")
        number = Decimal(f"{mantissa}e{'-' if exponent.startswith('-') else ''}{FARTHEST}")
    if number.is_zero():
        return 0
    return int(number) if abs(number.adjusted()) < WIDEST and number == number.to_integral_value() else number


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def spellings(schema: Any, value: Any, policy: Policy) -> list[str]:
    """The texts in which an instance is tried: with the port's separators, in the order that it has, and in others."""
    styles = ((policy.separators[0].decode(), policy.separators[1].decode()), (",", ":"), (", ", ": "))
    orders = [in_schema_order(schema, value), value]
    if policy.sorted_members:
        orders.insert(0, by_name(value))
    texts = [json.dumps(order, separators=style, ensure_ascii=False) for style in styles for order in orders]
    return list(dict.fromkeys(texts))


def in_schema_order(schema: Any, value: Any) -> Any:
    """The value with its members in the order of the schema's `properties`, others after them."""
    if not isinstance(schema, dict):
        return value
    if isinstance(value, list):
        items = schema.get("items")
        return [in_schema_order(items, item) for item in value]
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    names = [name for name in known if name in value] + [name for name in value if name not in known]
    return {name: in_schema_order(known.get(name), value[name]) for name in names}
