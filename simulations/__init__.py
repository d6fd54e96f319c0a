"""What this machine cannot show: rates beyond it, computed from what was measured."""
