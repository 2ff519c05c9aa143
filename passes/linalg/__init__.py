"""Decompositions of matrices, built of the hub's operators: elimination, reflections, rotations, QR sweeps.

Algorithms are called as in Golub and Van Loan, Matrix Computations, 4th edition. Matrices are real or complex
(`Matrix`) and may be stacked along any number of batch dimensions; all sizes are known.
"""
