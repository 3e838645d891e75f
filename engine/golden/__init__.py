"""Goldens: files of cases that any port in any language can be held to (fixtures/golden, docs/porting.md).

Read `document` for the form of a file, the modules named after a folder of fixtures/golden for what goes into it,
`check` for how a file is held to the oracles, `lint` for what a schema cannot say, `replay` for how a port is held
to it.
"""
