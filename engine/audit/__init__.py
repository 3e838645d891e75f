"""An engine against the exact masks: what is asked, how it is judged, and how a finding is made small.

Read in this order: scenario (what is asked, as data), exact (the truth), compare (the kinds of difference), runner
(asks and judges), plan and its neighbours walks, programs, refusals, surfaces, corpus (what to ask), diagnose and
shrink (one finding, made small), audit (all of it, as records).
"""
