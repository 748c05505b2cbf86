"""The closed loop: a policy acts, the world answers; exact on finite models, sampled elsewhere.

`diacritic.rollout(runs)` plays saved runs.
"""

from diacritic import callable_package

callable_package(__name__, "diacritic.measure.rollouts", "rollout")
