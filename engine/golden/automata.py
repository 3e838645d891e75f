"""An automaton as goldens write it: accepting states, the class of each byte, one row of classes a state."""

from typing import Any


def as_case(accept: list[int], table: list[list[int]]) -> dict[str, Any]:
    """Byte classes from this table, numbered by first byte (SPEC §2); −1 is dead."""
    numbers: dict[tuple[int, ...], int] = {}
    columns = [tuple(row[byte] for row in table) for byte in range(256)]
    classes = [numbers.setdefault(column, len(numbers)) for column in columns]
    firsts = [classes.index(number) for number in range(len(numbers))]
    rows = [[row[byte] for byte in firsts] for row in table]
    return {"states": len(table), "accept": accept, "classes": classes, "table": rows}


def from_case(case: dict[str, Any]) -> tuple[list[int], list[list[int]]]:
    """The accepting states and the n × 256 table of a written automaton."""
    table = [[row[number] for number in case["classes"]] for row in case["table"]]
    return list(case["accept"]), table
