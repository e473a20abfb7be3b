"""The package as users import it: quick, lazy, typed, and without names that hide modules."""

import ast
import inspect
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

import toledo

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "toledo"
OWN = ("api", "consensus", "metrics", "results.py", "__init__.py")


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_the_import_is_light():
    code = (
        "import sys, toledo; dir(toledo); "
        "print([name for name in ('numpy', 'numba', 'msgspec', 'sacrebleu') if name in sys.modules])"
    )
    assert run(code).strip() == "[]"


def test_registries_and_results_need_no_numpy():
    code = (
        "import sys; from toledo.metrics.registry import METRICS; from toledo.consensus.gains import GAINS; "
        "from toledo.consensus.registry import RULES; "
        "import toledo.results; print('numpy' in sys.modules, METRICS.names(), RULES.names())"
    )
    found = run(code)
    assert found.startswith("False ['bleu', 'chrf', 'chrf++', 'ter', ")
    assert "['mbr', 'consensus', 'forest-consensus', " in found


def test_every_export_exists_and_hides_no_module():
    modules = {path.stem for path in PACKAGE.glob("*.py")} | {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    for name in toledo._EXPORTS:
        assert getattr(toledo, name) is not None
        assert name not in modules or callable(getattr(toledo, name))
        assert name in dir(toledo)


def test_the_stub_has_every_export():
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text("utf-8"))
    found = {
        alias.asname: f"{node.module}" for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert found == {name: f"toledo.{module}" for name, module in toledo._EXPORTS.items()}


def test_unknown_names_are_explained():
    with pytest.raises(AttributeError, match=r"no attribute 'evalute': did you mean toledo.evaluate\?"):
        toledo.evalute  # noqa: B018
    with pytest.raises(AttributeError, match=r"did you mean toledo.metrics.corpus_bleu\?"):
        toledo.corpus_bleu  # noqa: B018
    with pytest.raises(TypeError, match="predictions"):
        toledo.evaluate(predictions=["a"], references=["a"])


def test_shared_signatures_are_shown_and_checked():
    assert list(inspect.signature(toledo.choose_many).parameters) == list(
        inspect.signature(toledo.iter_choose).parameters
    )
    assert {"rule", "metric", "search", "seed"} < set(inspect.signature(toledo.Model.translate).parameters)
    with pytest.raises(TypeError, match=r"choose_many\(\) got an unexpected keyword argument 'metrc'"):
        toledo.choose_many([["a"]], metrc="bleu")


def test_the_version_is_that_of_the_project():
    assert toledo.__version__ == tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def test_class_names_of_the_front_door_have_one_meaning():
    places = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(PACKAGE).as_posix())
    shared = {
        name: found for name, found in places.items() if len(found) > 1 and any(one.startswith(OWN) for one in found)
    }
    allowed = {"Hypothesis", "Choice", "Choices", "References"}  # others rename theirs
    assert set(shared) <= allowed, shared


EXAMPLES = """
from pathlib import Path

import toledo
from toledo.metrics import BLEU, CHRF, TER, corpus_bleu, sentence_chrf

samples = ["The cat sat on the mat.", "A cat sat on the mat."]
choice = toledo.choose(samples)
print(choice, choice.index, f"{choice.score:.2f}", f"{choice.confidence:.2f}")
toledo.choose(samples, metric="bleu", source="Die Katze.", logprobs=[-4.1, -5.0])
toledo.choose(samples, samples, rule="lattice-mbr:precision=0.8")
print(toledo.choose_many([samples, samples], num_samples=2).texts)
text: str = toledo.MBR("chrf").choose(samples).text
evaluation = toledo.evaluate("test.out", [Path("test.trg.0"), Path("test.trg.1")], tokenize="none")
score: float = evaluation["bleu"].score + evaluation.bleu.score
toledo.evaluate(samples, [["a", "b"], ["c"]])
toledo.evaluate(samples, toledo.References.per_set([samples, samples]))
comparison = toledo.compare({"before": samples, "tuned": toledo.Runs(samples, samples)}, samples, metrics="bleu")
print(comparison.best("bleu"), comparison.tests[0].p_corrected)
toledo.compare([samples, samples], samples, test="bootstrap", pairs="all")


def judge(hypotheses: list[str], references: list[str], sources: list[str] | None) -> list[float]:
    return [1.0 for _ in hypotheses]


toledo.choose(samples, metric=judge)
toledo.evaluate(samples, samples, metrics=[judge, BLEU(tokenize="none"), CHRF(), TER()])
toledo.evaluate(samples, samples, metrics=toledo.utility(judge, higher_is_better=False))
print(toledo.BLEU().corpus_score(samples, [samples]), corpus_bleu(samples, [samples]), sentence_chrf("a", ["b"]).score)
tuning = toledo.tune_rule([samples], samples[:1], rules=["mbr", toledo.Consensus(order=2)], scales=[0.5, 1.0])
print(tuning.best.scale)
"""


def test_the_examples_are_typed(tmp_path):
    (tmp_path / "examples.py").write_text(EXAMPLES)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file",
        str(ROOT / "pyproject.toml"),
        str(tmp_path / "examples.py"),
    ]
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert found.returncode == 0, found.stdout
