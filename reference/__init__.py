"""The executable specification: pattern → canonical byte DFA → token masks → sampling → tool calls.

Read in this order, chapter in hand:

* patterns: charsets, nodes, atoms, patterns, utf8, nfa, subset, minimise, dfa, compile
* JSON: integers, jsontext, jsonwriter, schema_text, schema
* masks: token_bytes, tokenizer_files, tokenizer_json, gguf, vocabulary, trie, automata, walk, bitmasks, masks,
  constraint
* ahead: token_graph, lookahead, budget
* sampling: pcg32, sampling
* tool calls: tool_errors, tools, toolprompt, toolstream

NumPy and the standard library only.
"""
