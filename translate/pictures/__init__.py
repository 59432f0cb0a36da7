"""Drawings of a model and its search: text for a terminal, SVG and PNG by matplotlib, HTML pages."""
