"""Tuners and objectives by name, with settings."""

import subprocess
import sys

import numpy as np
import pytest

from toledo.errors import InputError, UnknownNameError
from toledo.metrics.bleu import BLEU
from toledo.metrics.ter import TER
from toledo.objectives.registry import OBJECTIVES
from toledo.objectives.xbleu import XBLEU
from toledo.tuning.settings import TUNERS
from toledo.tuning.tuners.gradient import Gradient
from toledo.tuning.tuners.mert import MERT
from toledo.tuning.tuners.pro import PRO

METHODS = ["mert", "pro", "mira", "mmi", "regression", "simplex"]


@pytest.mark.parametrize("name", [*METHODS, *OBJECTIVES.names()])
def test_every_name_makes_a_tuner_of_that_name(name: str) -> None:
    tuner = TUNERS.make(name)
    assert tuner.name == name
    assert name in TUNERS
    tuner.check_metric(BLEU(smooth_method="none"))
    assert tuner.wants in ("lists", "forests")


def test_settings_are_given_with_the_name() -> None:
    assert TUNERS.make("pro:l2=5") == PRO(l2=5.0)
    assert TUNERS.make("mert", restarts=3) == MERT(restarts=3)
    tuner = TUNERS.make("xbleu:l2=0.0001,annealing=true")
    assert tuner == Gradient(XBLEU(), l2=0.0001, annealing=True)
    assert TUNERS.make(MERT()) == MERT()
    assert TUNERS.make("gradient", objective="cobleu:order=2") == Gradient("cobleu:order=2")


def test_what_a_tuner_lacks_is_refused_with_what_it_has() -> None:
    with pytest.raises(UnknownNameError, match="restarts") as caught:
        TUNERS.make("pro:restarts=2")
    assert "l2" in caught.value.remedy
    with pytest.raises(UnknownNameError, match="did you mean 'xbleu'"):
        TUNERS.make("xblue")
    for wrong in ("mert:restarts=-1", "xbleu:steps=0", "mira:epochs=0", "pro:interpolation=2", "xbleu:batch=0"):
        with pytest.raises(InputError):
            TUNERS.make(wrong)
    with pytest.raises(InputError, match="one of both"):
        TUNERS.make("xbleu:batch=5,optimizer=ascent")


@pytest.mark.parametrize("name", ["xbleu", "cobleu", "linear-bleu", "gleu", "mira:on=forests"])
def test_a_metric_that_an_objective_cannot_use(name: str) -> None:
    with pytest.raises(InputError, match=f"objective '{name}' cannot use metric 'ter'"):
        TUNERS.make(name).check_metric(TER())


def test_objects_and_functions_are_objectives_too() -> None:
    assert TUNERS.make(XBLEU(3)) == Gradient(XBLEU(3))
    tuner = TUNERS.make(lambda matched, expected: (float(expected.sum()), np.ones(expected.size)), l2=0.5)
    assert isinstance(tuner, Gradient)
    assert (tuner.l2, tuner.wants) == (0.5, "forests")


def test_names_are_known_without_numpy() -> None:
    code = "import sys, toledo.tuning.settings as s; s.TUNERS.names(); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
