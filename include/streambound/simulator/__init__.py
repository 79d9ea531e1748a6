"""Caches of limited memory over stochastic streams, as a paper states and measures them (Xie, Yang, Chen).

``problems`` states the two problems, ``policies`` holds one policy a module, ``experiments`` runs them.
Nothing that evaluates queries imports this room.
"""
