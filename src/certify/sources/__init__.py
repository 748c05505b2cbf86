"""Sources: certify the tasks people already have.

Each module turns one kind of thing into a `certify.Model`, and imports its package only when it is used:
`adapter` (the contract), `gym`, `dm`, `cards` (POPGym), `recordings`, `minari`, `pomdp`, `bridge`, `policy`.
"""
