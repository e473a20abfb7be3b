"""Types of the names that `toledo` exports."""

from toledo.api.choose import choose as choose
from toledo.api.choose import choose_many as choose_many
from toledo.api.choose import iter_choose as iter_choose
from toledo.api.compare import compare as compare
from toledo.api.evaluate import evaluate as evaluate
from toledo.api.inputs import Runs as Runs
from toledo.api.tune_rule import RuleRow as RuleRow
from toledo.api.tune_rule import RuleTuning as RuleTuning
from toledo.api.tune_rule import tune_rule as tune_rule
from toledo.consensus.choice import Choice as Choice
from toledo.consensus.choice import Choices as Choices
from toledo.consensus.choice import Ranked as Ranked
from toledo.consensus.decide import MaxDerivation as MaxDerivation
from toledo.consensus.decide import MaxTranslation as MaxTranslation
from toledo.consensus.decide import Viterbi as Viterbi
from toledo.consensus.fast_consensus import Consensus as Consensus
from toledo.consensus.lattice_mbr import LatticeMBR as LatticeMBR
from toledo.consensus.mbr import MBR as MBR
from toledo.consensus.rule import Rule as Rule
from toledo.errors import InputError as InputError
from toledo.errors import MissingExtraError as MissingExtraError
from toledo.errors import ModelError as ModelError
from toledo.errors import RunError as RunError
from toledo.errors import ToledoError as ToledoError
from toledo.errors import UnknownNameError as UnknownNameError
from toledo.metrics.bleu import BLEU as BLEU
from toledo.metrics.chrf import CHRF as CHRF
from toledo.metrics.evaluation import Comparison as Comparison
from toledo.metrics.evaluation import Evaluation as Evaluation
from toledo.metrics.evaluation import Test as Test
from toledo.metrics.metric import Metric as Metric
from toledo.metrics.score import Score as Score
from toledo.metrics.score import ScoreInterval as ScoreInterval
from toledo.metrics.shapes import References as References
from toledo.metrics.ter import TER as TER
from toledo.metrics.utility import utility as utility
from toledo.progress import Progress as Progress
from toledo.results import Hypothesis as Hypothesis
from toledo.results import Result as Result

__version__: str
