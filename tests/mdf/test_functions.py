"""The functions that expressions may call, row by row, and MDF's own, against MDF's engine."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from backedge.convert.mdf.raising.numpy import calls
from backedge.convert.mdf.raising.numpy.calls import MATH, PYTHON
from backedge.convert.mdf.raising.numpy.evaluate import evaluate
from backedge.convert.mdf.raising.numpy.reductions import REDUCTIONS
from backedge.convert.mdf.raising.numpy.ufuncs import UFUNCS
from backedge.passes.errors import BackedgeError, InvalidModel, Unsupported

from mdf.evaluated import agree, assert_same, built, each, our_call, ours, their_call, theirs

_random = np.random.default_rng(1)
VALUES: dict[str, Any] = {
    "M": _random.standard_normal((3, 4)),
    "V": np.array([3.0, -1.0, 2.0, np.nan]),
    "W": np.array([1.5, -2.0, 7.0]),
    "N": np.arange(6).reshape(2, 3) - 2,
    "Q": np.array([True, False, True]),
    "T": _random.standard_normal((2, 3, 4)),
    "Z": np.zeros((0, 3)),
    "F": np.float32([[1.5, 2.0], [-3.0, 4.0]]),
    "S": _random.standard_normal((3, 3)),
    "X": np.array([[True, False], [True, True]]),
    "s": 2.5,
    "n": 3,
    "z": np.array(1.25),
}


def used(text: str) -> dict[str, Any]:
    """The values that are named in an expression."""
    return {name: VALUES[name] for name in re.findall(r"(?<![\w.'])[A-Za-z]\b(?!')", text) if name in VALUES}


def check(text: str) -> None:
    """Where the engine gives numbers, we give the same; where it doesn't, we refuse or give others."""
    values = used(text)
    try:
        expected = theirs(text, **values)
    except Exception:
        with pytest.raises(BackedgeError):
            ours(text, True, **values)
        return
    expected = np.array(expected) if isinstance(expected, list) else expected
    for constant in (False, True):
        assert_same(ours(text, constant, **values), expected, 1e-13, (text, constant))


# NumPy -------------------------------------------------------------------------------------------

EVERY_REDUCTION = each(
    """
    numpy.f(M); numpy.f(N); numpy.f(Q); numpy.f(s); numpy.f(n); numpy.f(z); numpy.f(M,0); numpy.f(M,axis=1)
    numpy.f(V); numpy.f(N,axis=-1); numpy.f(T,axis=1); numpy.f(F); numpy.f(Z,axis=0); numpy.f(Z); numpy.f([1,2.5])
    numpy.f([]); numpy.f(M,axis=None); numpy.f(M,axis=2); numpy.f(s,axis=0); numpy.f(z,axis=-1); numpy.f(X,axis=0)
    numpy.f(X,1)
    """
)
UNDONE = [("median", text) for text in ("numpy.f(Z)", "numpy.f([])", "numpy.f(Z,axis=0)")] + [
    ("diff", "numpy.f(M,axis=None)")
]
WITH_KEEPDIMS = each(
    """
    numpy.f(M,axis=1,keepdims=True); numpy.f(T,axis=(0,2)); numpy.f(T,axis=(0,2),keepdims=True); numpy.f(T,(1,))
    numpy.f(M,keepdims=True); numpy.f(T,axis=(0,0)); numpy.f(T,axis=(0,-3))
    """
)


REDUCED = {*REDUCTIONS, "all", "any", "count_nonzero", "nanprod", "nansum", "ptp", "std"} - {"linalg.norm"}


@pytest.mark.parametrize("name", [*sorted(REDUCED), "sort", "median", "size"])
def test_reductions(name: str) -> None:
    bare = ("average", "cumprod", "cumsum", "diff", "median", "size", "sort")
    for text in [*EVERY_REDUCTION, *(WITH_KEEPDIMS if name not in bare else [])]:
        if name == "diff" and "None" in text:  # the one that counts from its last axis
            continue
        if (name, text) not in UNDONE:
            check(text.replace("numpy.f", f"numpy.{name}"))


CASES = each(
    """
    numpy.cumsum(M,axis=1); numpy.cumsum(W,0); numpy.cumprod(N,axis=0); numpy.cumsum(Q); numpy.cumsum(N,dtype=float)
    numpy.diff(M,axis=0); numpy.diff(M,2); numpy.diff(Q); numpy.diff(N,1,1); numpy.diff(W,5); numpy.diff(W,0)
    numpy.var(M,ddof=1); numpy.std(M,axis=0,ddof=1); numpy.var(W,ddof=3); numpy.sum(N,dtype='float64'); numpy.sum(Q,0)
    numpy.average(W,weights=[1,2,3]); numpy.average(M,axis=0,weights=M); numpy.mean(N,dtype=float); numpy.sum(F,0)
    numpy.argmax([1.0,numpy.nan,3.0,numpy.nan]); numpy.argmin([[1.0,numpy.nan],[0.0,2.0]],axis=1); numpy.argmax(Q)
    numpy.argmax(V); numpy.argmin(V,keepdims=True); numpy.nansum(V); numpy.nanprod([numpy.nan,2,3]); numpy.max(V)
    numpy.linalg.norm(W,2); numpy.linalg.norm(M,'fro'); numpy.linalg.norm(M,axis=1); numpy.linalg.norm(M,2,axis=0)

    numpy.reshape(M,(4,3)); numpy.reshape(M,-1); numpy.reshape(M,(2,-1)); numpy.reshape(M,(5,-1))
    numpy.reshape(Z,(0,5)); numpy.reshape(Z,(-1,3)); numpy.reshape(s,(1,1)); numpy.reshape(M,12)
    numpy.reshape(M,[3,2,2]); numpy.reshape(M,(-1,-1)); numpy.ravel(M); numpy.ravel(s); numpy.squeeze([[1],[2]])
    numpy.squeeze([[1],[2]],axis=1); numpy.squeeze([[1],[2]],axis=0); numpy.squeeze(s); numpy.expand_dims(M,0)
    numpy.expand_dims(M,-1); numpy.expand_dims(M,(0,2)); numpy.expand_dims(s,0); numpy.expand_dims(M,3)
    numpy.atleast_1d(s); numpy.atleast_2d(s); numpy.atleast_2d(W); numpy.atleast_3d(W); numpy.atleast_3d(M)
    numpy.atleast_3d(s); numpy.atleast_1d(M); numpy.broadcast_to(W,(2,3)); numpy.broadcast_to(s,(2,))
    numpy.broadcast_to(W,(3,2)); numpy.broadcast_to(M,(3,4)); numpy.transpose(M); numpy.transpose(T,(1,0,2))
    numpy.transpose(T,(2,-3,1)); numpy.transpose(W); numpy.transpose(T,(1,0)); numpy.permute_dims(M)
    numpy.swapaxes(T,0,2); numpy.swapaxes(T,0,-1); numpy.moveaxis(T,0,-1); numpy.moveaxis(T,(0,1),(2,0))
    numpy.moveaxis(T,0,(1,2)); numpy.flip(M); numpy.flip(M,1); numpy.flip(W); numpy.fliplr(M); numpy.flipud(M)
    numpy.flip(s); numpy.flip(T,(0,2)); numpy.flipud(W); numpy.fliplr(W); numpy.roll(W,1); numpy.roll(W,-4)
    numpy.roll(M,1); numpy.roll(M,1,axis=1); numpy.roll(W,0); numpy.roll(M,(1,2),axis=(0,1)); numpy.roll(Z,2)
    numpy.roll(M,2,axis=(0,1)); numpy.roll(M,(1,2)); numpy.roll(M,(1,2),axis=(0,1,0)); numpy.take(M,1)
    numpy.take(M,[0,2]); numpy.take(M,1,axis=0); numpy.take(M,[0,-1],axis=1); numpy.take(M,n,axis=1)
    numpy.take(M,-n,1); numpy.take(W,[[0,1],[2,2]]); numpy.take(W,1.5); numpy.take(W,7); numpy.take(M,1,0)
    numpy.take(s,0); numpy.take(W,Q); numpy.take(W,True); numpy.tile(W,2); numpy.tile(W,(2,2)); numpy.tile(M,(2,1))
    numpy.tile(s,3); numpy.tile(M,2); numpy.tile(M,0); numpy.tile(Q,2); numpy.repeat(W,2); numpy.repeat(M,2,axis=1)
    numpy.repeat(W,[1,0,2]); numpy.repeat(s,3); numpy.repeat(W,0); numpy.repeat(W,[1,2]); numpy.repeat(M,[2],axis=0)
    numpy.repeat(W,-1)

    numpy.concatenate([W,W]); numpy.concatenate((W,N[0])); numpy.concatenate([M,M],axis=1); numpy.concatenate([M,W])
    numpy.concatenate([M,M],axis=-1); numpy.concatenate([M,N],axis=None); numpy.concatenate([s,s])
    numpy.concat([W,Q]); numpy.concatenate([[1],[2.5]]); numpy.concatenate(M); numpy.concatenate([Q,Q])
    numpy.concatenate([]); numpy.hstack(W); numpy.stack([W,W]); numpy.stack([W,W],axis=1); numpy.stack([s,n])
    numpy.stack([W,W],axis=-1); numpy.stack([W,M]); numpy.stack((n,n)); numpy.hstack([W,W]); numpy.hstack([M,M])
    numpy.hstack([s,n]); numpy.vstack([W,W]); numpy.vstack([s,n]); numpy.vstack([M,M]); numpy.dstack([W,W])
    numpy.dstack([M,M]); numpy.column_stack([W,W]); numpy.column_stack([S,W]); numpy.append(W,s); numpy.append(W,W)
    numpy.append(M,M,axis=0); numpy.append(W,[1,2]); numpy.split(W,3)[1]; numpy.split(M,2,axis=1)[0]
    numpy.split(W,[1])[1]; numpy.split(W,[1,2])[0]; numpy.split(W,2); numpy.split(M,[1,5],axis=1)[2]; numpy.split(s,1)
    numpy.pad(W,1); numpy.pad(W,(1,2)); numpy.pad(M,((1,0),(0,2))); numpy.pad(W,1,constant_values=s)
    numpy.pad(N,1,constant_values=7); numpy.pad(W,0); numpy.pad(s,1); numpy.pad(N,1,constant_values=2.5)
    numpy.pad(W,2,'edge'); numpy.pad(W,2,'reflect'); numpy.pad(W,(1,4),'wrap'); numpy.pad(M,((1,0),(2,2)),'symmetric')
    numpy.pad(W,1,'constant',constant_values=2); numpy.pad(Z,1,'edge'); numpy.tril(M); numpy.triu(M); numpy.triu(M,1)
    numpy.tril(S,k=-1); numpy.triu(X); numpy.tril(T); numpy.diag(W); numpy.diag(S); numpy.diag(M,1); numpy.diag(W,-1)
    numpy.diag(M,-5); numpy.diag(N); numpy.diag(Q); numpy.diag(T); numpy.diagonal(M); numpy.diagonal(T)
    numpy.diagonal(M,1); numpy.trace(M); numpy.trace(S); numpy.trace(N); numpy.trace(T); numpy.size(M,1)
    numpy.ndim(M); numpy.ndim(s); numpy.shape(M); numpy.shape(s)

    numpy.zeros(3); numpy.zeros((2,3)); numpy.zeros(()); numpy.zeros(2,dtype=int); numpy.zeros(2,bool)
    numpy.ones([2]); numpy.zeros(3,'int64'); numpy.ones((2,),dtype=numpy.int64); numpy.full(3,s); numpy.full((2,2),7)
    numpy.full(3,W); numpy.full((2,),True); numpy.full(2,s,int); numpy.full(2,W); numpy.zeros_like(M)
    numpy.zeros_like(N); numpy.ones_like(N,dtype=float); numpy.zeros_like(s); numpy.ones_like(n); numpy.full_like(M,n)
    numpy.full_like(N,2.7); numpy.zeros(-1); numpy.zeros(1.5); numpy.zeros_like([1,2]); numpy.ones_like(Q)
    numpy.zeros(numpy.shape(M)); numpy.zeros(len(W)); numpy.zeros_like(M,shape=(2,)); numpy.full_like(M,W,shape=(2,3))
    numpy.full((),[n]); numpy.full((),[[s]]); numpy.full(3,[[W]]); numpy.full(3,[[[n]]],int); numpy.full((),W)
    numpy.full((2,3),[M[:2,:3]]); numpy.full(2,[[1],[2]]); numpy.full_like(n,[s]); numpy.full((2,0),[n])
    numpy.full(W,1); numpy.array([1,2]); numpy.array([s,n]); numpy.array(s); numpy.array([[s,1],[2,n]])
    numpy.array(M); numpy.array([W,W]); numpy.array([1,2],dtype=float); numpy.array([1.7,-2.7],int)
    numpy.asarray([True,2]); numpy.array([True,False]); numpy.array([[1],[2,3]]); numpy.array([]); numpy.copy(W)
    numpy.astype(W,int); numpy.array([s,[1]]); numpy.array((1,2)); numpy.array([Q[0],n]); numpy.array([[]])
    numpy.arange(5); numpy.arange(1,4); numpy.arange(0,1,0.25); numpy.arange(5,0,-2); numpy.arange(2.5)
    numpy.arange(3,dtype=float); numpy.arange(0); numpy.arange(1,2,0); numpy.arange(len(W)); numpy.arange(4,1)
    numpy.linspace(0,1,5); numpy.linspace(s,n,4); numpy.linspace(0,1,5,endpoint=False); numpy.linspace(0,s,1)
    numpy.linspace(0,s,0); numpy.linspace(s,z,3,False); numpy.linspace(0,1); numpy.linspace(0,1,num=3)
    numpy.linspace(s,s,2); numpy.linspace(0,1,-1); numpy.eye(3); numpy.logspace(0,2,3); numpy.logspace(0,s,3,base=2)
    numpy.eye(2,3); numpy.eye(3,k=1); numpy.eye(2,dtype=int); numpy.identity(2); numpy.eye(-1)

    numpy.where(M>0,M,0); numpy.where(M>0,1,0); numpy.where(Q,W,s); numpy.where(Q,n,s); numpy.where(Q,Q,False)
    numpy.where(s>1,W,0); numpy.where(N,1,-1); numpy.where(V,1.5,2); numpy.where(Q,True,False)
    numpy.where(Q,N,M[0,:3]); numpy.where(F>0,F,1.0); numpy.where(F>0,F,n); numpy.where(True,s,n)
    numpy.where(Q,1,2.5); numpy.where(Q,True,n); numpy.where(W>0,W,N); numpy.where(numpy.isnan(V),0,V)
    numpy.where(Q,W,V); numpy.clip(M,0,1); numpy.clip(M,None,0.5); numpy.clip(M,-0.5,None); numpy.clip(N,0,1)
    numpy.clip(N,-0.5,0.5); numpy.clip(s,0,1); numpy.clip(V,0,2); numpy.clip(W,W-1,W+1); numpy.clip(M,1,0)
    numpy.clip(n,0,2); numpy.clip(M,a_min=0,a_max=1); numpy.clip(M,min=0); numpy.clip(M,max=0,min=-1)
    numpy.clip(F,0,1.5); numpy.clip(Q,0,1); numpy.clip(N,n,s); numpy.clip(s,numpy.nan,1); numpy.nan_to_num(V)
    numpy.nan_to_num(numpy.log(W-7)); numpy.nan_to_num(N); numpy.nan_to_num(V,nan=7); numpy.nan_to_num(V,nan=s)
    numpy.nan_to_num(1/(W-7),posinf=1,neginf=2); numpy.nan_to_num(-1/(W-7)); numpy.round(M); numpy.round(M,2)
    numpy.round(N); numpy.round(s); numpy.round(n); numpy.around(M,1); numpy.round(W*100,-1); numpy.round(V,1)
    numpy.round(N,1); numpy.fix(W); numpy.fix(N); numpy.round(F,1); numpy.round(M,decimals=3); numpy.sinc(W)
    numpy.sinc(W-7); numpy.sinc(0); numpy.sinc(n); numpy.sinc(z); numpy.isclose(W,W+1e-9); numpy.isclose(V,V)
    numpy.isclose(V,V,equal_nan=True); numpy.isclose(1/(W-7),1/(W-7)); numpy.isclose(n,3)
    numpy.isclose(s,2.6,atol=0.2); numpy.isclose(N,N); numpy.isclose(W,numpy.inf); numpy.isclose(F,F)
    numpy.allclose(W,W); numpy.allclose(V,V); numpy.allclose(W,2,rtol=10); numpy.array_equal(W,W)
    numpy.array_equal(W,M); numpy.array_equal(V,V); numpy.array_equal(Q,Q); numpy.sort(M,axis=0)
    numpy.sort(M,axis=None); numpy.sort([3,1,2]); numpy.sort([numpy.nan,1,numpy.inf,numpy.nan,-numpy.inf])
    numpy.median(N,axis=1); numpy.interp(s,[0,1,3],[0,10,20]); numpy.interp(W,[-1,1,3],[0,10,20])
    numpy.interp(V,[0,1],[2,3]); numpy.interp(s,[1],[5]); numpy.interp(M,W[[1,0,2]],W)
    numpy.interp(z,[0,1,1,2],[0,1,5,6]); numpy.interp(3,[0,1,3],[0,10,20]); numpy.interp(s,W[[1,0,2]],W)
    numpy.interp(s,[],[]); numpy.interp(s,[0,1],[1])

    numpy.dot(M,numpy.transpose(M)); numpy.dot(W,W); numpy.dot(s,W); numpy.dot(s,n); numpy.dot(M,V); numpy.dot(W,M)
    numpy.dot(T,V); numpy.dot(T,numpy.transpose(T,(0,2,1))); numpy.dot(N,W); numpy.dot(Q,Q); numpy.dot(W,W[:2])
    numpy.dot([1,2],[3,4]); numpy.dot(M,T); numpy.dot(X,X); numpy.dot(N,N[0]); numpy.dot(V,0.0); numpy.dot(W,-0.0)
    numpy.matmul(M,V); numpy.matmul(T,numpy.transpose(M)); numpy.matmul(W,W); numpy.matmul(s,W); numpy.matmul(S,S)
    M @ V; W @ M; S @ W; S @ T; X @ X; N @ W; W @ W; M @ W; F @ F; F @ X; [1,2] @ X; W @ s; T @ M; T @ T
    numpy.matmul(Z,M); numpy.transpose(Z) @ Z; numpy.inner(W,W); numpy.inner(M,M); numpy.inner(s,W); numpy.inner(T,M)
    numpy.inner(M,T); numpy.inner(W,V); numpy.vdot(M,M); numpy.vdot(W,M); numpy.outer(W,W); numpy.outer(M,W)
    numpy.outer(s,W); numpy.outer(N[0],Q); numpy.linalg.det(S); numpy.linalg.det(M); numpy.einsum('ij,kj->ik',M,M)
    numpy.einsum('ii',S); numpy.einsum('ij->ji',M); numpy.einsum('i,i',W,W); numpy.einsum('ij,j',M,V)
    numpy.einsum('...j,j->...',T,V); numpy.einsum('ij -> i',N); numpy.einsum('ii->i',S); numpy.einsum('i,j',W,N[0])
    numpy.einsum('ij,jk',M,M)

    numpy.float64(n); numpy.int64(s); numpy.float64(W); numpy.int64(W); numpy.bool_(W); numpy.bool(n)
    numpy.float32(s); numpy.int32(s); numpy.float64([1,2]); numpy.bool_(0); numpy.float32(W)*2; numpy.float32(s)*s
    numpy.float32(W)+W; numpy.int32(W)+1; numpy.int32(W)/2; numpy.int32(n)**2; numpy.int32(W)+N
    numpy.exp(numpy.int32(n)); numpy.int_(s); numpy.int32(n)+2**40; numpy.sum(numpy.int32(W)); numpy.float32(n)//2
    numpy.float32(s)+True; numpy.float32(s)+Q; numpy.double(n); numpy.single(s); numpy.pi*W; numpy.e*s; numpy.True_
    numpy.nan*W; numpy.inf*W; numpy.euler_gamma; numpy.int8(W); numpy.uint8(numpy.abs(W)); numpy.int16(N)
    numpy.uint16(n)+numpy.uint16(7); numpy.uint32(n)*3; numpy.uint64(n)-numpy.uint64(4)
    numpy.int8(100)+numpy.int8(n*20)
    numpy.uint8(n)//2; numpy.int16(N)%3; numpy.int8(N)+numpy.int16(N); numpy.uint64(n)/2
    numpy.left_shift(numpy.uint8(n),numpy.uint8(N[1])); numpy.right_shift(numpy.uint8(200),numpy.uint8([1,7,8,9,255]))
    numpy.left_shift(numpy.uint32(n),31); numpy.right_shift(numpy.uint64(2**62),numpy.uint64([0,61,62,64,65]))
    numpy.uint64(18446744073709551615); numpy.uint64((9223372036854775808,1)); numpy.uint64([[2],[9223372036854775809]])
    numpy.uint64(n)|9223372036854775808; numpy.bitwise_and(numpy.uint64(n)-numpy.uint64(4),18446708889337462784)
    N+9223372036854775808; 9223372036854775808*1.5; W*9223372036854775808; 9223372036854775808==18446744073709551615
    numpy.uint64(18446744073709551616); numpy.uint64(9223372036854775808)-numpy.uint64(n); numpy.uint64((1,[2**63]))
    numpy.right_shift(N,1); numpy.left_shift(N,numpy.array([62,63,-1])); numpy.right_shift(-n,[0,1,63,64,-1])
    numpy.left_shift(numpy.int8(N),3); numpy.right_shift(numpy.int8(-100),numpy.int8([1,6,7,8]))
    numpy.left_shift(numpy.uint16(n),numpy.uint16(14)); numpy.left_shift(numpy.uint64(n),numpy.uint64([63,64,1]))
    numpy.float16(W); numpy.float16(W)*3; numpy.float16(s)+numpy.float16(z); numpy.exp(numpy.float16(W)); numpy.half(n)
    numpy.float16(W)//numpy.float16(0.3); numpy.log1p(numpy.float16(s)); numpy.float16(W)+numpy.float32(z)
    numpy.float16(W)>numpy.float16(s); numpy.max(numpy.float16(M),1); numpy.sort(numpy.float16(V)); numpy.float16(M)/7
    numpy.sum(numpy.float16(M),dtype=numpy.float32); numpy.float16(100000.0*s); numpy.where(Q,numpy.float16(W),s)
    numpy.float32(1e300) * numpy.float16(2)

    numpy.argsort(V,kind='stable'); numpy.argsort(N,0,kind='stable'); numpy.argsort(Q,kind='stable')
    numpy.argsort(M,axis=1,kind='stable'); numpy.argsort([3,1,3,1],kind='stable');
    numpy.argsort(Z,0,kind='stable'); numpy.take_along_axis(M,numpy.argsort(M,1,kind='stable'),1)
    numpy.take_along_axis(W,numpy.array([2,-1]),0); numpy.take_along_axis(W,N,0); numpy.take_along_axis(M,N[:,:2],1)
    numpy.compress(Q,W); numpy.compress(Q,M,0); numpy.compress([True,False],M,axis=1); numpy.compress(Q,M)
    numpy.compress(N[0],W); numpy.compress(X,M); numpy.compress(Q,s); numpy.argwhere(N); numpy.argwhere(Q)
    numpy.argwhere(V>0); numpy.argwhere(Z); numpy.zeros(n); numpy.ones((n,2)); numpy.full((2,n),s); numpy.full(n,True)
    numpy.arange(n); numpy.arange(n,0,-1); numpy.arange(1,n,2); numpy.arange(n,1); numpy.arange(n,dtype=float)
    numpy.arange(s); numpy.arange(-s); numpy.arange(0,s,1); numpy.arange(s,dtype=int); numpy.arange(numpy.float32(s))
    numpy.pad(W,numpy.reshape(numpy.array([n,1]),(1,2))); numpy.pad(M,[[n,0],[0,1]],constant_values=s)
    numpy.max(Z,axis=0,initial=-1.5); numpy.min(Z,0,initial=numpy.inf); numpy.max(M,initial=2)
    numpy.max(N,1,initial=0)
    numpy.min(Q,initial=True); numpy.max(Q,axis=0,initial=False); numpy.min(F,keepdims=True,initial=9.0)
    """
)


@pytest.mark.parametrize("text", ["W[5] if n > 4 else s", "s if n < 4 else numpy.take(Z, n, 0)[0]"])
def test_a_fault_in_a_part_that_is_not_wanted(text: str) -> None:
    """It is one where it is wanted only, in both."""
    check(text)
    with pytest.raises(Exception, match="Could not evaluate"):
        theirs(text, **(values := {**used(text), "n": 5}))
    with pytest.raises(BackedgeError):
        ours(text, **values)


@pytest.mark.parametrize("text", CASES)
def test_numpy(text: str) -> None:
    check(text)


def test_every_row_of_numpy_is_tested() -> None:
    called = {name for text in CASES for name in re.findall(r"numpy\.((?:linalg\.)?\w+)\(", text)}
    assert called | REDUCED | UFUNCS.keys() >= calls.TABLES["numpy"].keys()


LEFT_OPEN = {
    "numpy.arange(0, s, 0.5)": "must be known",
    "9223372036854775808 + n": "64 bits",
    "numpy.where(Q, 9223372036854775808, 1)": "64 bits",
    "[9223372036854775808, 1]": "64 bits",
    "numpy.sum(numpy.float16(W))": "float16",
    "numpy.mean(numpy.float16(W))": "float16",
    "numpy.float16(W) @ numpy.float16(W)": "float16",
    "numpy.tile(W, n)": "must be known",
    "numpy.where(Q)": "a condition is true",
    "numpy.round(Q)": "bool",
    "numpy.tril(W)": "shape",
    "numpy.pad(W, 1, 'mean')": "mean",
    "numpy.linalg.norm(M, 1)": "norm",
    "numpy.average(M, axis=1, weights=[1, 2, 3, 4])": "weights",
    "numpy.zeros(1000000000)": "1000000000 elements",
    "numpy.zeros((100000, 100000))": "elements",
    "numpy.eye(100000)": "elements",
    "numpy.arange(1e15)": "elements",
    "numpy.linspace(0, 1, 1000000000)": "elements",
    "numpy.tile(W, 1000000000)": "elements",
    "numpy.repeat(W, 1000000000)": "elements",
    "numpy.pad(W, 1000000000)": "elements",
    "numpy.diag(W, 100000)": "elements",
    "numpy.broadcast_to(W, (1000000000, 3))": "elements",
    "[0] * 100000000": "over",
    "numpy.array(5, ndmin=1)": "axes",
    "round(s, 1)": "digits",
}


@pytest.mark.parametrize("text", LEFT_OPEN)
def test_numpy_left_open(text: str) -> None:
    with pytest.raises(Unsupported) as caught:
        ours(text, **used(text))
    assert LEFT_OPEN[text] in str(caught.value)


METHODS = each(
    """
    M.T; M.shape; M.size; M.ndim; M.sum(); M.sum(axis=0); M.sum(0); M.mean(1); M.max(); M.min(axis=1); M.prod()
    M.std(); M.var(ddof=1); Q.all(); Q.any(); M.argmax(); M.argmin(1); M.cumsum(); M.cumprod(axis=1); M.dot(V)
    M.reshape(4,3); M.reshape((2,6)); M.reshape(-1); M.flatten(); M.ravel(); M.transpose(); T.transpose(1,0,2)
    T.transpose((2,1,0)); T.swapaxes(0,1); M.squeeze(); W.repeat(2); W.take([0,2]); W.clip(0,1); W.round(); W.copy()
    W.astype(int); z.item(); S.diagonal(); S.trace(); M.T.dot(M).trace(); W[0].item(); M.shape[0]; (M+1).T[0]; z.sum()
    z.T; W.sum()*2; T.T; W.clip(min=0); M.round(1); Q.sum(); M.max(keepdims=True); numpy.exp(W).sum()
    V.argsort(kind='stable')
    """
)


@pytest.mark.parametrize("text", METHODS)
def test_methods(text: str) -> None:
    check(text)


def test_every_method_is_tested() -> None:
    assert {name for text in METHODS for name in re.findall(r"\.([A-Za-z]\w*)", text)} >= calls.TABLES["array"].keys()


@pytest.mark.parametrize(
    "text", ["s.T", "n.sum()", "[1, 2].sum()", "(1, 2).T", "M.item()", "M.reshape(5)", "2.5.sum()"]
)
def test_what_has_no_methods(text: str) -> None:
    with pytest.raises(InvalidModel, match="here"):
        ours(text, **used(text))


WRONG = each(
    """
    numpy.exp(); numpy.exp(1, 2, 3); numpy.sum(); numpy.reshape(M); abs(); abs(1, 2); math.exp(1, 2); numpy.exp
    numpy.sum + 1; math.exp(M); math.sqrt(-1); math.log(0); math.exp(1000); max([]); min(1); sum(1); len(1); int(M)
    int(numpy.nan); float(M); any(1); numpy.exp(None); numpy.exp('x'); numpy.sum(M, 'x'); numpy.exp(float); [float]
    numpy.where(1, float, 2); float + 1; numpy.diff(M, axis=None); numpy.einsum('ij,jk', M, M); numpy.sum(M, 5)
    """
)


@pytest.mark.parametrize("text", WRONG)
def test_calls_that_are_wrong(text: str) -> None:
    with pytest.raises(InvalidModel, match="here") as caught:
        ours(text, **used(text))
    assert "\n" not in str(caught.value)


# Python and math ---------------------------------------------------------------------------------

SINGLE = [0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 3.5, -2.5, 700.0, 0.1, 8.0, 1000.0, 3, -3, 0, True, False, 1e-17, 100]
SINGLE += [np.array(0.3), np.array(True), np.array(4), math.inf, math.nan, 2**40]


@pytest.mark.parametrize("name", MATH)
def test_math(name: str) -> None:
    """Single numbers as floats; a whole result of constants is an integer then."""
    two = name in ("atan2", "copysign", "fmod", "hypot", "log", "pow")
    for a in SINGLE:
        agree(f"math.{name}(a)", 1e-14, a=a)
        for b in SINGLE[::3] if two else ():
            agree(f"math.{name}(a, b)", 1e-14, a=a, b=b)


@pytest.mark.parametrize("name", PYTHON)
def test_python(name: str) -> None:
    arrays = [np.array([1.0, 2.0, -3.0]), np.array([1, 0]), np.array([True, False]), np.zeros(0), np.ones((2, 2))]
    for a in [*SINGLE, *arrays]:
        agree(f"{name}(a)", a=a)


PYTHON_CASES = each(
    """
    max(a,b,c); min(a,b,c); min([a,b]); sum([a,b,c]); sum([a,b],c); any([a>1,b>1]); all([a,b]); max(x); min(x)
    max([a,a]); len(y); abs(x); abs(-3); bool(x[0]); float(a); round(a,None); pow(a,2); pow(b,a); pow(2,-1)
    sum(x)/len(x); max(1,a); min((a,b)); max(a,b)+1; sum((a,b)); round(2.5); round(-0.5); round(3.5); int(2.9)
    int(-2.9); all(x>0); sum(x>0); abs(numpy.array([-1,2])); int(numpy.pi); sum([]); max([a,b,c][1:]); sum(y)
    max(y[0]); max(a,numpy.nan); min(a,numpy.nan); max(z,numpy.nan); max(numpy.nan*z,z); min([numpy.nan*z,z]); any([])
    all([]); abs(True); int(True); float(3); bool(0.0); len([1,2,3]); len((1,)); pow(a,b); min(x[0],x[1]); any(x)
    all([x[0],x[1]])
    """
)


@pytest.mark.parametrize("text", PYTHON_CASES)
def test_python_cases(text: str) -> None:
    values = {"a": 2.5, "b": 3, "c": -1.0, "x": np.array([1.0, -2.0, 4.0]), "y": np.ones((2, 3)), "z": np.array(1.0)}
    scope = {name: values[name] for name in re.findall(r"\b[abcxyz]\b", text)}
    expected = theirs(text, **scope)
    for constant in (False, True):
        made = ours(text, constant, **scope)
        assert np.array_equal(made, expected, equal_nan=True), (text, constant)


def test_a_fold_over_too_many() -> None:
    with pytest.raises(Unsupported, match="one by one"):
        ours("sum(x)", x=np.zeros(5000))


# MDF's own ---------------------------------------------------------------------------------------

STANDARD: dict[str, dict[str, Any]] = {
    "linear": {"variable0": "x", "slope": 2.5, "intercept": "y"},
    "arctan": {"variable0": "x", "scale": 2},
    "arcsin": {"variable0": "x / 8", "scale": "y"},
    "arccos": {"variable0": "x / 8", "scale": 0.5},
    "logistic": {"variable0": "x", "gain": 2.1, "bias": "2.2", "offset": "y"},
    "exponential": {"variable0": "x", "scale": 3.1, "rate": "y / 3", "bias": 3.3, "offset": 3.4},
    "sin": {"variable0": "x", "scale": 4.0},
    "cos": {"variable0": "x", "scale": "scale"},
    "tan": {"variable0": "x", "scale": "-y"},
    "sinh": {"variable0": "x", "scale": 2},
    "cosh": {"variable0": "x", "scale": True},
    "tanh": {"variable0": "x", "scale": "1_0"},
    "Relu": {"A": "x"},
}


@pytest.mark.parametrize("name", STANDARD)
@pytest.mark.parametrize("x", [np.array([0.5, -7.0, 0.0]), np.array(-0.25), 3.5, 2, -1, np.array([[1, -2]])])
def test_standard_functions(name: str, x: Any) -> None:
    values = {"x": x, "y": 1.5, "scale": 0.25}
    expected = their_call(name, STANDARD[name], **values)
    for constant in (False, True):
        assert_same(our_call(name, STANDARD[name], constant, **values), expected)


def test_relu_of_an_infinity_is_no_number() -> None:
    """The engine multiplies by a boolean."""
    expected = their_call("Relu", {"A": "x"}, x=np.array([-np.inf, np.inf, -0.0]))
    assert np.isnan(expected[0])
    assert_same(our_call("Relu", {"A": "x"}, x=np.array([-np.inf, np.inf, -0.0])), expected)


def test_matmul() -> None:
    a, b = VALUES["S"], VALUES["M"]
    assert_same(
        our_call("MatMul", {"A": "a", "B": "b"}, a=a, b=b), their_call("MatMul", {"A": "a", "B": "b"}, a=a, b=b)
    )
    with pytest.raises(InvalidModel, match="matrix product"):
        our_call("MatMul", {"A": "b", "B": "b"}, b=b)
    with pytest.raises(InvalidModel, match="no array"):
        our_call("MatMul", {"A": 2, "B": "b"}, b=b)


def test_arguments_see_the_ones_before() -> None:
    args = {"variable0": "x + 1", "slope": "variable0 * 2", "intercept": "slope - variable0"}
    assert_same(our_call("linear", args, x=np.array(2.0)), their_call("linear", args, x=np.array(2.0)))


def test_what_is_no_argument_is_taken_from_the_scope() -> None:
    values = {"variable0": np.array(2.0), "slope": 3.0, "intercept": 0.5}
    assert_same(our_call("linear", {}, **values), their_call("linear", {}, **values))
    with pytest.raises(InvalidModel, match="'intercept' is unknown"):
        our_call("linear", {"variable0": 1, "slope": 2})


def test_a_function_may_be_an_expression() -> None:
    args = {"a": "x * 2", "b": [1.0, 2.0]}
    assert_same(our_call("a * b + x", args, x=3), their_call("a * b + x", args, x=3))
    with pytest.raises(InvalidModel, match="unknown"):
        our_call("nothing", args, x=3)
    with pytest.raises(InvalidModel, match="may have"):
        our_call("open('x')", args, x=3)


@pytest.mark.parametrize("name", ["drift_diffusion_integrator", "update_goal", "match_production", "check_termination"])
def test_functions_that_are_refused(name: str) -> None:
    with pytest.raises(Unsupported, match=name):
        our_call(name, {"a": "x"}, x=3)


def test_all_of_mdfs_functions_are_known() -> None:
    """Each one either gives something or is refused by its name."""
    from modeci_mdf.functions.standard import mdf_functions

    for name in mdf_functions:
        if not name.startswith("onnx::"):
            with pytest.raises(BackedgeError) as caught:
                our_call(name, {})
            assert "is unknown" in str(caught.value) or isinstance(caught.value, Unsupported), name
            assert name in STANDARD or name == "MatMul" or isinstance(caught.value, Unsupported), name


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text", each("numpy.concatenate([a, a]); numpy.outer(a, a); numpy.stack([a, a]); a[:, None] * a[None]; [a, a]")
)
def test_expressions_over_each_other_grow_no_further_than_memory(text: str) -> None:
    def repeated(op: Any, scope: Any) -> Any:
        for _ in range(100):
            scope = {"a": evaluate(op, text, scope, "here")}
            scope = {"a": evaluate(op, "numpy.ravel(a)", scope, "here")}
        return scope["a"]

    for constant in (True, False):
        with pytest.raises(Unsupported, match="an array of shape"):
            built(repeated, {"a": np.ones(3)}, constant)
