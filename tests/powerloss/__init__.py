"""Power loss: crash images of real databases under load, mounted, recovered and checked. `make powerloss` runs it."""
