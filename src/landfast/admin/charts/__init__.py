"""Drawings of numbers as SVG: pure functions, from numbers to text. Colours are classes of the style sheet."""
