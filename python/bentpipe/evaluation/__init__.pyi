from .assessment import Evaluation as Evaluation
from .assessment import evaluate as evaluate
