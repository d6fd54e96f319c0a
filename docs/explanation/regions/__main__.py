"""python -m docs.explanation.regions: see `simulation`."""

import sys

from docs.explanation.regions.simulation import main

sys.exit(main())
