"""Stands before the `sitecustomize` of the installation in one test, which wants the entry point alone."""
