"""Values whose sizes only a run shows, against MDF's engine."""

from __future__ import annotations

import re

import pytest
from backedge.passes.errors import BackedgeError

from mdf.evaluated import each, ours, theirs

from .test_functions import check, used

OPEN = {"K": "numpy.compress(Q,M,0)", "L": "numpy.compress(Q,W)", "E": "numpy.compress(W>100,W)"}
"""Values whose sizes only a run shows: [2, 4], [2], [0]."""
OF_OPEN = each(
    """
    K; L; K+1; K*V; L+L; K+numpy.sum(K,0); K*numpy.expand_dims(L,1); -L; L>0; numpy.exp(K); numpy.where(L>0,L,s)
    numpy.where(L>0,1,L); numpy.size(K); numpy.size(K,0); numpy.size(K,1); len(L); numpy.shape(K); numpy.ndim(K)
    numpy.size(L)+s; numpy.size(E); numpy.sum(K); numpy.sum(K,0); numpy.sum(K,1,keepdims=True); numpy.sum(E)
    numpy.prod(K,1)
    numpy.max(L); numpy.max(K,1); numpy.max(E,initial=-1); numpy.min(K,0,initial=numpy.inf); numpy.argmax(K,1)
    numpy.cumsum(L); numpy.cumsum(K,0); numpy.concatenate((L,W)); numpy.concatenate((K,M)); numpy.concatenate((K,K),1)
    numpy.concatenate((E,E)); numpy.concatenate((L,[1.5])); numpy.append(L,s); numpy.reshape(K,-1)
    numpy.reshape(K,(4,-1))
    numpy.reshape(K,(2,4)); numpy.reshape(K,(8,)); numpy.ravel(K); numpy.expand_dims(L,0); numpy.expand_dims(K,(0,2))
    numpy.squeeze(numpy.expand_dims(K,1),1); numpy.transpose(K); numpy.transpose(K,(1,0)); numpy.swapaxes(K,0,1)
    numpy.moveaxis(K,0,1); numpy.flip(L); numpy.flip(K,1); numpy.flip(K); L[0]; L[-1]; K[1]; K[:,2]; K[0,1]; L[1:]
    L[:-1]
    L[::-1]; L[::2]; L[-1:]; L[:0]; L[None]; K[:,None]; K[1,None]; K[...,0]; K[numpy.array([0,-1])]
    numpy.take(L,[1,0])
    numpy.take(K,1,0); numpy.take(K,[0,3],1); numpy.take(L,n-2); K @ V; W @ numpy.compress(Q,S,1)
    K @ numpy.transpose(K)
    L[0] if s>1 else s; L if s>1 else W; E if s>1 else W; L if s>3 else W; K if n>5 else M; L[n] if n<1 else s
    W[n] if n<1 else s; numpy.take(E,0) if n<1 else s; numpy.concatenate((K,M),1) if n<1 else K; L[0]>1 and s>2
    numpy.zeros(numpy.size(L)); numpy.arange(numpy.size(L)); numpy.arange(numpy.size(K,0)-1,-1,-1)
    numpy.zeros_like(K)
    numpy.full((len(L),),[s]); numpy.full(numpy.shape(L),[[n]])
    numpy.full_like(L,s); numpy.ones((len(L),2)); numpy.pad(L,1); numpy.pad(K,((0,0),(1,2)),constant_values=s)
    numpy.argsort(L,kind='stable'); numpy.argwhere(L>0); numpy.compress(L>0,L); numpy.int64(L)
    numpy.astype(K,numpy.float32)
    numpy.take(Z,numpy.int64(E),0); Z[numpy.int64(E)]; Z[numpy.arange(n-3)]; numpy.tile(L,numpy.array([n]))
    numpy.take(numpy.zeros((0,2)),numpy.int64(Z),0); numpy.tile(M,numpy.array([n,2])); numpy.tril(M,n-2)
    numpy.triu(M,n); numpy.triu(M,-n); numpy.tril(K,numpy.int32(n)); numpy.tile(K,numpy.array([n,0]))
    numpy.clip(L,0,1); numpy.isnan(L); numpy.maximum(L,0); numpy.minimum(K,V); numpy.mean(K,1); numpy.dot(L,L)
    numpy.round(L)
    K.T; K.shape; K.sum(0); L.size; numpy.tril(K); numpy.diff(L); numpy.any(L>3); numpy.all(K>9,1)
    numpy.count_nonzero(L)
    """
)


@pytest.mark.parametrize("text", OF_OPEN)
def test_open_sizes(text: str) -> None:
    """Sizes that only a run shows, or are known after all."""
    for name, stands_for in OPEN.items():
        text = re.sub(rf"\b{name}\b", stands_for, text)
    check(text)


@pytest.mark.parametrize(
    "text", ["L + W", "numpy.concatenate((K, N))", "numpy.reshape(K, (3, 3))", "L[5]", "numpy.squeeze(K, 0)"]
)
def test_open_sizes_that_do_not_go_together(text: str) -> None:
    """The engine fails, and so does a run, or the model is refused."""
    for name, stands_for in OPEN.items():
        text = re.sub(rf"\b{name}\b", stands_for, text)
    with pytest.raises(Exception, match="Could not evaluate"):
        theirs(text, **used(text))
    with pytest.raises(BackedgeError):
        ours(text, **used(text))
