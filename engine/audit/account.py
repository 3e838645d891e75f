"""What an audit says of itself at its end: how much was compared, whose time it took, what the policies leave out."""

from collections.abc import Iterator
from typing import Any

from engine.audit.exact import compiled
from engine.audit.findings import Subject
from engine.audit.policies import Policy, members
from engine.audit.runner import Runner, Tally
from engine.audit.scenario import Grammar
from engine.host import Port, PortFault
from engine.protocol import PortError
from engine.results import Record

LENGTH = 24
SCHEMA = (
    '{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"integer"}}}}'
)


def policy_record(runner: Runner, subject: Subject) -> Iterator[Record]:
    """How much the declared policies narrow what may be written; nothing for a port that declares none."""
    if not subject.policies:
        return
    policy, tally = runner.policy, runner.tally
    domain: dict[str, Any] = {"masks": tally.masks}
    told = []
    if policy.forced_first_token:
        domain |= {"narrowed_masks": tally.withheld_masks, "withheld_tokens": tally.withheld}
        told.append(f"{tally.withheld_masks:,} of {tally.masks:,} masks hold one forced token alone")
    if policy.rewrites_json:
        grammar = Grammar("json_schema", SCHEMA)
        compact, own = (members(compiled(grammar, one), LENGTH) for one in (Policy(), policy))
        domain |= {"compact_texts": float(compact), "own_texts": float(own)}
        told.append(f"of at most {LENGTH} bytes {own:.3g} texts instead of {compact:.3g}")
    message = "; ".join(told) or "declared, and no narrowing that is measured"
    yield subject.record("policy", "policy", "tested", domain=domain, message=message)


def goodbye_record(port: Port, subject: Subject) -> Record:
    """Whether the port ends when it is told to."""
    try:
        if port.alive:
            port.bye()
    except (PortFault, PortError) as error:
        kind = error.kind if isinstance(error, PortFault) else "garbage"
        return subject.record("bye", "bye", "refuted", kind=kind, message=str(error))
    return subject.record("bye", "bye", "tested")


def effort_record(port: Port, subject: Subject, tally: Tally, seconds: float, lab_seconds: float) -> Record:
    """What was compared, and whose time it took: the port's, or ours; looking into findings is counted apart."""
    own = max(seconds - lab_seconds, 1e-9)
    spent = port.clock.port_seconds
    detail = {
        "port_seconds": round(spent, 3),
        "audit_seconds": round(own, 3),
        "diagnosis_seconds": round(lab_seconds, 3),
        "port_share": round(spent / own, 3),
        "by_op": {op: round(part, 3) for op, part in port.clock.by_op.items()},
    }
    message = f"{tally.bits:,} mask bits compared; {spent / own:.0%} of {own:.1f} s spent in the port"
    domain = {name: getattr(tally, name) for name in Tally.__slots__}
    return subject.record(
        "audit", "effort", "tested", domain=domain, seconds=seconds, message=message, detail=detail
    )
