"""Landfast inside real Django projects."""
