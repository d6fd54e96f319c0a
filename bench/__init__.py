"""How fast Landfast is, measured: `make bench`. Ratios in one run on one machine, the load generator included."""
