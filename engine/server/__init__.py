"""An OpenAI-compatible server whose tool calls cannot be malformed: every token is masked by the request's grammar.

A request goes: `app` (routes, limits) → `parameters` (its fields) → `compiler` (its grammar, in a process of its own) →
`queue` (the one model thread) → `generation` (one output, token by token) → `answers` (the JSON a client reads).
`constraints` holds the languages of free text and of automatic choice, `limits` every bound in one place.
"""
