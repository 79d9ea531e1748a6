"""How each kind of plan goes on from one partition's summaries to the next; ``statement`` chooses.

It imports `evaluation` and tasks, and nothing that lists partitions, schedules or commits.
"""
