"""Every known pitfall as a small change of the reference, and which check sees it.

`catalogue` reads the mutants (fixtures/mutants.toml), `patch` puts one in place of the reference's source as it is
imported, `columns` are the checks, `child` runs all columns against one mutant, `matrix` runs the children.
"""
