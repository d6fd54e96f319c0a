"""After the fact: dead letters, replay, the proof that nothing was lost, a lost ledger, and a look at everything."""
