"""The doctor's look at what flows, beside `recovery.doctor`, which looks at what rests in the databases."""
