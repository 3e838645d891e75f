"""Certificates: for every language a document that the stand-alone checker reads without trusting either side."""

from engine.golden.agreement import agreed
from engine.golden.document import Case, Golden, digest
from engine.golden.pitfalls import flags_of
from engine.subject import Settings, Subject
from engine.suite import Language, languages
from fixtures import ROOT
from oracles import certificates, check_certificate
from reference.vocabulary import load_vocabulary


def files() -> list[Golden]:
    """One file a language, each with the one certificate."""
    inputs = digest((ROOT / "languages.json").read_bytes())
    return [_file(language, inputs) for language in languages()]


def _file(language: Language, inputs: str) -> Golden:
    case = _case(language)
    about = f"The certificate of {language.id}; check it with: python oracles/check_certificate.py FILE"
    path = f"certificates/{language.id}.json"
    return Golden(path, "golden-certificate.schema.json", about, flags_of([case]), (case,), inputs)


def _case(language: Language) -> Case:
    subject = Subject(language, load_vocabulary("toy"), Settings())
    accept, table = subject.claim
    certificate = certificates.make_certificate(language.pattern, language.dialect, accept, table)
    agreed(f"certificate of {language.id}", [], check_certificate.check(certificate))
    return {
        "id": language.id,
        "comment": language.why,
        "flags": list(language.guards),
        "certificate": certificate,
        "confirmed_by": ["reference", "stand-alone checker"],
    }
