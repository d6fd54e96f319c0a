"""What this machine cannot show: several regions, simulated, and rates beyond it, computed from what was measured."""
