"""What a loop is beneath how it was written: how often it runs, what only counts, what is sliced and stacked.

Every step works on a `LoopDraft`, in any dialect that has a `Vocabulary`.
"""
