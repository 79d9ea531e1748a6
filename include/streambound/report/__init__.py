"""What is shown of verdicts, plans and runs: tables and plots for people, SARIF and marks for tools.

``pages`` makes HTML and SVG of the same.
"""
