"""Random models as MDF's engine takes them: nodes of every form of parameter, edges, conditions."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from .engine import Tree, condition, document

_STANDARD = ("linear", "logistic", "exponential", "sin", "cos", "tanh", "arctan")
_KINDS = ("constant", "expression", "own", "initial", "initial", "function", "kept", "derived", "onnx")
_ARGUMENTS = {
    "linear": ("variable0", "slope", "intercept"),
    "logistic": ("variable0", "gain", "bias", "offset"),
    "exponential": ("variable0", "scale", "rate", "bias", "offset"),
}


@dataclass
class _Maker:
    """Makes one model; all its arrays have one shape."""

    dice: random.Random
    shape: list[int]
    nodes: Tree = field(default_factory=dict)
    edges: Tree = field(default_factory=dict)

    def often(self, chance: float) -> bool:
        return self.dice.random() < chance

    def number(self) -> int | float:
        return self.dice.choice([0, 1, 2, -1, 3, 0.5, -0.25, 1.5, 0.1])

    def constant(self) -> Any:
        if self.shape and self.often(0.4):
            return [self.number() for _ in range(self.shape[0])]
        return self.number()

    def expression(self, names: list[str], depth: int = 2) -> str:
        """Something over the names that neither grows nor fails soon."""
        if depth == 0 or self.often(0.2) or not names:
            return self.dice.choice(names) if names and self.often(0.8) else str(self.number())
        a, b = (self.expression(names, depth - 1) for _ in range(2))
        forms = [
            f"({a} + {b})",
            f"({a} - {b})",
            f"0.5 * {a}",
            f"numpy.tanh({a}) * {b}",
            f"numpy.sin({a})",
            f"numpy.maximum({a}, {b})",
            f"numpy.where({a} > {b}, {a}, 1)",
            f"abs({a})",
            f"({a} + 1)",
            f"-({a})",
            f"({a} > {b}) + {b}",
        ]
        if not self.shape:
            forms += [f"({a} if {a} > {b} else {b})", f"min({a}, {b})", f"math.cos({a})"]
        return self.dice.choice(forms)

    def parameter(self, name: str, kind: str, before: list[str], all_before: list[str], later: list[str]) -> Tree:
        """A parameter; `before`: names that have a value the first time, `later`: those of stateful ones behind it."""
        initial = self.constant() if self.often(0.7) or not before else self.expression(before, 1)
        if kind == "constant":
            made: Tree = {"value": self.constant()}
        elif kind == "expression":
            made = {"value": self.expression(before)}
        elif kind == "own":
            made = {"value": f"{name} + {self.expression(before, 1)}"}
        elif kind == "initial":
            made = {"value": self.expression([*before, name, *later]), "default_initial_value": initial}
        elif kind == "function":
            function = self.dice.choice(_STANDARD)
            names = _ARGUMENTS.get(function, ("variable0", "scale"))
            made = {"function": function, "args": {one: self.expression(all_before, 1) for one in names}}
        elif kind == "onnx":
            made = {"function": f"onnx::{self.dice.choice(['Relu', 'Abs'])}", "args": {"X": self.dice.choice(before)}}
        elif kind == "derived":
            made = {"time_derivative": self.expression([*all_before, name]), "default_initial_value": initial}
        else:
            made = {"default_initial_value": initial}
        if kind == "kept" or (kind != "onnx" and self.often(0.15)):
            made["conditions"] = {
                f"c{k}": {
                    "test": f"{self.expression([*before, name] if kind != 'function' else before, 1)} > 0.2",
                    "value": self.expression(all_before, 1),
                }
                for k in range(self.dice.randint(1, 2))
            }
        return made

    def port(self) -> Tree:
        made: Tree = {}
        if self.shape:
            made["shape"] = self.shape
        if self.often(0.3):
            made["type"] = self.dice.choice(["float", "int", "float64"])
        if self.often(0.3):
            made["default_value"] = self.number() if self.often(0.7) or not self.shape else self.constant()
        return made

    def node(self) -> Tree:
        made: Tree = {}
        ports = [f"i{k}" for k in range(self.dice.choice([0, 1, 1, 2]))]
        names = list(ports)
        if ports:
            made["input_ports"] = {name: self.port() for name in ports}
        parameters = [f"p{k}" for k in range(self.dice.randint(1, 4))]
        kinds = [self.dice.choice(_KINDS) for _ in parameters]
        functions = [f"f{k}" for k in range(self.dice.choice([0, 0, 1, 2]))]
        made["parameters"] = {}
        early = list(ports)
        for k, (name, kind) in enumerate(zip(parameters, kinds, strict=True)):
            if kind == "onnx" and not (ports and self.shape):
                kind = "constant"
            later = [parameters[j] for j in range(k + 1, len(parameters)) if kinds[j] in ("initial", "derived")]
            beside = functions if self.often(0.3) and kind in ("function", "derived") else []
            names_now = ports if kind == "onnx" else early
            made["parameters"][name] = self.parameter(
                name, kind, names_now, [*names, *beside], later if self.often(0.3) else []
            )
            names.append(name)
            if kind not in ("function", "onnx"):
                early.append(name)
        if functions:
            made["functions"] = {}
            for k, name in enumerate(functions):
                made["functions"][name] = {"value": self.expression([*early, *functions[:k]])}
        names += functions
        outputs = [f"o{k}" for k in range(self.dice.choice([1, 1, 2]))]
        made["output_ports"] = {
            name: {"value": self.dice.choice(names) if self.often(0.5) else self.expression(names, 1)}
            for name in outputs
        }
        return made

    def connect(self) -> None:
        """Edges forwards; then backwards, from nodes that run later, and around, into ports with a default value."""
        names = list(self.nodes)
        behind: dict[str, set[str]] = {name: {name} for name in names}  # itself and what runs before it
        unfed: list[tuple[str, str, Tree]] = []
        for position, receiver in enumerate(names):
            for port, tree in self.nodes[receiver].get("input_ports", {}).items():
                if not position or self.often(0.3):
                    unfed.append((receiver, port, tree))
                    continue
                if self.often(0.9):
                    tree.pop("default_value", None)
                count = 1
                if self.often(0.2):
                    tree["reduce"] = self.dice.choice(["add", "multiply"])
                    count = 2
                for _ in range(count):
                    sender = self.dice.choice(names[:position])
                    self._edge(sender, receiver, port)
                    behind[receiver] |= behind[sender]
        for receiver, port, tree in unfed:
            senders = [name for name in names if receiver in behind[name]]
            reached = len(behind[receiver]) > 1 or len(names) == 1
            if self.often(0.4) and reached:
                tree["default_value"] = self.number()
                self._edge(self.dice.choice(senders), receiver, port)

    def _edge(self, sender: str, receiver: str, port: str) -> None:
        output = self.dice.choice(list(self.nodes[sender]["output_ports"]))
        made: Tree = {"sender": sender, "sender_port": output, "receiver": receiver, "receiver_port": port}
        if self.often(0.4) and sender != receiver:
            made["parameters"] = {"weight": self.dice.choice([1, 1.0, 2, -0.5, 0.25])}
        self.edges[f"e{len(self.edges)}"] = made

    def condition(self, owner: str | None, depth: int = 2) -> Tree:
        """A condition; `owner`: of a node."""
        n = self.dice.randint(1, 4)
        other = self.dice.choice(list(self.nodes))
        kinds = ["passes", "calls", "threshold", "sets", "other", *["nested"] * (depth > 0)]
        kind = self.dice.choice(kinds)
        if kind == "passes":
            return condition(
                self.dice.choice(["BeforePass", "AtPass", "AfterPass", "AfterNPasses", "EveryNPasses"]), n=n
            )
        if kind == "sets":
            stem = self.dice.choice(["Before{}", "At{}", "After{}", "AfterN{}s"])
            return condition(stem.format("ConsiderationSetExecution"), n=n)
        if kind == "calls":
            name = self.dice.choice(["BeforeNCalls", "AtNCalls", "AfterCall", "AfterNCalls", "AfterNCalls"])
            made = condition(name, dependencies=other, n=n)
            if self.often(0.2):
                made["kwargs"]["time_scale"] = self.dice.choice(["TimeScale.PASS", "TimeScale.LIFE"])
            return made
        if kind == "threshold":
            return self._threshold(other)
        if kind == "nested":
            return self._nested(owner, depth)
        if owner is not None and self.often(0.5):
            return condition("EveryNCalls", dependencies=other, n=self.dice.randint(1, 3))
        return self.dice.choice(
            [
                condition("AllHaveRun"),
                condition("Always"),
                condition("Never"),
                condition("JustRan", dependencies=other),
                condition("AtEnvironmentStateUpdateStart"),
            ]
        )

    def _threshold(self, other: str) -> Tree:
        node = self.nodes[other]
        kinds = ("parameters", "parameters", "output_ports", "functions", "input_ports")
        members = [name for kind in kinds for name in node.get(kind, {})]
        sure = [
            name
            for name, tree in node["parameters"].items()
            if isinstance(tree.get("default_initial_value"), int | float)
        ]
        if self.often(0.8):
            members = sure or list(node["output_ports"])
        made = condition(
            "Threshold",
            dependencies=other,
            parameter=self.dice.choice(members),
            threshold=self.number(),
            comparator=self.dice.choice(["<", "<=", ">", ">=", ">=", "==", "!="]),
        )
        if self.shape and self.often(0.3):
            made["kwargs"]["indices"] = [self.dice.choice([0, -1])]
        if self.often(0.2):
            made["kwargs"] |= {"atol": 0.3, "rtol": 0.1}
        return made

    def _nested(self, owner: str | None, depth: int) -> Tree:
        name = self.dice.choice(["All", "Any", "Not", "NWhen"])
        if name == "Not":
            return condition("Not", condition=self.condition(owner, depth - 1))
        if name == "NWhen":
            return condition("NWhen", condition=self.condition(owner, depth - 1), n=self.dice.randint(1, 3))
        return condition(name, args=[self.condition(owner, depth - 1) for _ in range(2)])

    def termination(self) -> Tree:
        """Something that holds after a while, most of the time."""
        sure = condition("AfterNPasses", n=self.dice.randint(1, 7))
        if self.often(0.4):
            return sure
        stop = self.condition(None)
        if self.often(0.5):
            stop = condition("All", args=[condition("AfterNPasses", n=self.dice.randint(0, 2)), stop])
        return condition("Any", args=[stop, sure]) if self.often(0.9) else stop


def model(seed: int) -> tuple[Tree, dict[str, Any]]:
    """A model and what it is fed with, by the seed alone."""
    maker = _Maker(random.Random(seed), [2] if random.Random(-seed).random() < 0.3 else [])
    dice = maker.dice
    for name in "ABCD"[: dice.choice([1, 2, 2, 3, 3, 4])]:
        maker.nodes[name] = maker.node()
    maker.connect()
    termination = maker.termination() if maker.often(0.6) else None
    conditions = {name: maker.condition(name) for name in maker.nodes if maker.often(0.3)} if maker.often(0.5) else None
    tree = document(maker.nodes, maker.edges, termination, conditions or None)
    return tree, {"steps": dice.randint(0, 4), "time_increment": dice.choice([0.1, 0.5, 1.0])}


def feeds(seed: int, inputs: list[tuple[str, str, tuple[int, ...]]]) -> dict[str, Any]:
    """Numbers for inputs, each (name, element type, shape)."""
    dice = random.Random(seed)
    found: dict[str, Any] = {}
    for name, dtype, shape in inputs:
        count = shape[0] if shape else 1
        numbers = [dice.randint(-3, 3) if dtype == "int64" else round(dice.uniform(-2, 2), 2) for _ in range(count)]
        found[name] = numbers if shape else numbers[0]
    return found
