"""The faults without a scenario of their own, a folder for each part; to import this registers them all.

In `shared` stand those of every part, in `words` what the modules of several parts use. From the seventeenth part on, a
module whose name begins with t is of innocent storage.
"""

from importlib import import_module
from pkgutil import walk_packages

from benchmarks.accuracy.generate.kinds import KINDS

__all__ = ["KINDS"]

# The order is part of what a seed draws.
for _name in sorted(module.name for module in walk_packages(__path__, f"{__name__}.")):
    import_module(_name)
