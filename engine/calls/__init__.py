"""ConstrainCall: natural-language requests to typed function calls, structure forced and values generated (SPEC §9).

Read `inputs` for the two files, `grammar` for the language of the calls, `procedural` and `compiled` for the two
decoders of it, `writing` for the output that survives an interruption, `accuracy` for what the model got right.
"""
