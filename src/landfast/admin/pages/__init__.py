"""The dashboard: each page asks a few questions and draws their answers with a template. It works without a script."""
