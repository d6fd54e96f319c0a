"""What regions.md rests on: several regions, simulated. Nothing of it is built, and nothing of Landfast imports it."""
