"""The handler prover: runs a handler in every way in which a worker may come to run it, and compares what it leaves."""

from landfast.proving.bench import Subject
from landfast.proving.prove import handler_named, prove_all, prove_now
from landfast.proving.report import Finding, Kind, Report
from landfast.proving.samples import Sample, sample_for, sample_of_body, sample_of_claim

__all__ = [
    "Finding",
    "Kind",
    "Report",
    "Sample",
    "Subject",
    "handler_named",
    "prove_all",
    "prove_now",
    "sample_for",
    "sample_of_body",
    "sample_of_claim",
]
