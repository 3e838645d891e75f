"""The executable specification: pattern → canonical byte DFA → token masks → sampling → tool calls.

Read in this order: patterns, utf8, nfa, subset, minimise, dfa, compile; jsontext, schema; vocabulary, trie, masks,
constraint, lookahead; pcg32, sampling; tools, toolstream. NumPy and the standard library only.
"""
