"""What skl2onnx converts, fitted to small data: every estimator of its table, and pipelines and ensembles of them.

scikit-learn and skl2onnx aren't needed for anything else: `pip install scikit-learn skl2onnx`.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

Feeds = dict[str, np.ndarray]

ROWS, COLUMNS = 90, 4
_OPSETS = {"": 18, "ai.onnx.ml": 3}


@dataclass(frozen=True)
class Data:
    """What is fitted, what the model's inputs are, and rows that weren't fitted.

    Attributes:
        x, y: of `fit`.
        types: skl2onnx's initial types, made from `kinds` ("float", "int64", "string") and widths.
        feeds: further rows, of several batch sizes.
    """

    x: Any
    y: Any
    kinds: dict[str, tuple[str, int]]
    feeds: list[Feeds]


def _random() -> np.random.Generator:
    return np.random.default_rng(12)


def _of(x: np.ndarray, y: Any, kind: str = "float", fitted: Any = None, name: str = "X") -> Data:
    """The last rows aren't fitted; seven of them are asked for, then one."""
    x_fit, rest = x[:-8], x[-8:]
    y_fit = None if y is None else y[:-8]
    width = x.shape[1] if x.ndim == 2 else -1
    return Data(
        x_fit if fitted is None else fitted[:-8], y_fit, {name: (kind, width)}, [{name: rest[:7]}, {name: rest[7:]}]
    )


def _table() -> np.ndarray:
    """Three clouds of points, float32 [ROWS, COLUMNS]."""
    random = _random()
    centres = np.array([[0, 2, -1, 1], [2, -1, 0, 0.5], [-1, -1, 2, -1]])
    return (centres[np.arange(ROWS) % 3] + random.standard_normal((ROWS, COLUMNS))).astype(np.float32)


def classes() -> Data:
    return _of(_table(), np.arange(ROWS) % 3)


def two_classes() -> Data:
    return _of(_table(), (np.arange(ROWS) % 3 == 0).astype(np.int64))


def named_classes() -> Data:
    return _of(_table(), np.array(["red", "green", "bleu é"])[np.arange(ROWS) % 3])


def _values(x: np.ndarray) -> np.ndarray:
    return x @ np.array([1.0, -2, 0.5, 0.25]) + np.sin(x[:, 0])


def numbers() -> Data:
    return _of(_table(), _values(_table()))


def positive() -> Data:
    return _of(np.abs(_table()), np.abs(_values(_table())) + 0.1)


def positive_classes() -> Data:
    return _of(np.abs(_table()), np.arange(ROWS) % 3)


def counts() -> Data:
    x = np.floor(np.abs(_table()) * 2).clip(0, 3)
    x[0] = 3  # all categories are seen
    return _of(x.astype(np.int64), np.arange(ROWS) % 3, "int64")


def several_numbers() -> Data:
    x = _table()
    return _of(x, np.stack([_values(x), x[:, 1] - x[:, 2]], axis=1))


def several_classes() -> Data:
    y = np.stack([np.arange(ROWS) % 3, (_table()[:, 0] > 0).astype(np.int64)], axis=1)
    return _of(_table(), y)


def holes() -> Data:
    x = _table()
    x[_random().random(x.shape) < 0.2] = np.nan
    return _of(x, np.arange(ROWS) % 3)


def words() -> Data:
    random = _random()
    colours = np.array(["red", "green", "bleu é"], object)[random.integers(0, 3, (ROWS, 1))]
    sizes = np.array(["s", "m", "l", "xl"], object)[random.integers(0, 4, (ROWS, 1))]
    return _of(np.concatenate([colours, sizes], axis=1), np.arange(ROWS) % 3, "string")


def two_kinds_of_words() -> Data:
    made = words()
    return Data(made.x, np.arange(len(made.x)) % 2, made.kinds, made.feeds)


_LINES = [
    "the cat sat on the mat",
    "a dog and a cat",
    "dogs bark at cats",
    "the mat was red",
    "red dogs sat",
    "a red cat barks",
]


def texts() -> Data:
    lines = np.array(_LINES * 3, object)
    return _of(lines.reshape(-1, 1), np.arange(len(lines)) % 2, "string", fitted=lines)


def labels() -> Data:
    y = np.array(["red", "green", "bleu é"], object)[np.arange(ROWS) % 3]
    return Data(y[:-8], None, {"X": ("string", -1)}, [{"X": y[-8:]}, {"X": y[:1]}])


def number_labels() -> Data:
    y = np.array([10, 20, 30])[np.arange(ROWS) % 3]
    return Data(y[:-8], None, {"X": ("int64", -1)}, [{"X": y[-8:]}, {"X": y[:1]}])


def two_tables() -> Data:
    """A column of words beside the numbers."""
    x, word = _table(), words().feeds[0]["X"]
    whole = words().x
    fitted = np.concatenate([x[:-8].astype(object), whole], axis=1)
    rows = {"numbers": x[-8:-1], "words": word}
    return Data(
        fitted,
        np.arange(ROWS - 8) % 3,
        {"numbers": ("float", COLUMNS), "words": ("string", 2)},
        [rows, {name: value[:1] for name, value in rows.items()}],
    )


@dataclass(frozen=True)
class Case:
    """An estimator that isn't fitted yet, and data.

    Attributes:
        zipmap: whether it is a classifier whose probabilities may come as a list of dictionaries.
    """

    name: str
    make: Callable[[], Any]
    data: Callable[[], Data]
    zipmap: bool = False


# Data by what a class is; the estimator's own name beats its module.
_DATA: dict[str, Callable[[], Data]] = {
    "CategoricalNB": counts,
    "ComplementNB": positive_classes,
    "MultinomialNB": positive_classes,
    "GammaRegressor": positive,
    "PoissonRegressor": positive,
    "TweedieRegressor": positive,
    "MultiTaskElasticNet": several_numbers,
    "MultiTaskElasticNetCV": several_numbers,
    "MultiTaskLasso": several_numbers,
    "MultiTaskLassoCV": several_numbers,
    "MultiOutputRegressor": several_numbers,
    "MultiOutputClassifier": several_classes,
    "PLSRegression": several_numbers,
    "TunedThresholdClassifierCV": two_classes,
    "KNNImputer": holes,
    "SimpleImputer": holes,
    "HistGradientBoostingClassifier": holes,
    "LabelEncoder": labels,
    "LabelBinarizer": number_labels,
    "OneHotEncoder": words,
    "OrdinalEncoder": words,
    "CountVectorizer": texts,
    "TfidfVectorizer": texts,
    "TfidfTransformer": positive_classes,
    "TargetEncoder": two_kinds_of_words,
}
# How a class is made where its defaults don't do.
_MADE: dict[str, Callable[[type], Any]] = {
    "BaggingClassifier": lambda kind: kind(n_estimators=4, random_state=0),
    "BaggingRegressor": lambda kind: kind(n_estimators=4, random_state=0),
    "CalibratedClassifierCV": lambda kind: kind(_logistic(), cv=2),
    "CastRegressor": lambda kind: kind(_tree_regressor()),
    "CastTransformer": lambda kind: kind(dtype=np.float64),
    "ColumnTransformer": lambda kind: kind([("a", _scaler(), [0, 1]), ("b", "passthrough", [3])]),
    "FeatureUnion": lambda kind: kind([("a", _scaler()), ("b", _pca())]),
    "FunctionTransformer": lambda kind: kind(),
    "GaussianRandomProjection": lambda kind: kind(3, random_state=0),
    "GenericUnivariateSelect": lambda kind: kind(mode="k_best", param=2),
    "GridSearchCV": lambda kind: kind(_logistic(), {"C": [0.5, 2.0]}, cv=2),
    "IsolationForest": lambda kind: kind(n_estimators=8, random_state=0),
    "KMeans": lambda kind: kind(3, n_init=2, random_state=0),
    "KNeighborsTransformer": lambda kind: kind(n_neighbors=3),
    "KBinsDiscretizer": lambda kind: kind(3, encode="onehot-dense"),
    "LocalOutlierFactor": lambda kind: kind(n_neighbors=5, novelty=True),
    "MLPClassifier": lambda kind: kind(hidden_layer_sizes=(6,), max_iter=60, random_state=0),
    "MLPRegressor": lambda kind: kind(hidden_layer_sizes=(6,), max_iter=60, random_state=0),
    "MiniBatchKMeans": lambda kind: kind(3, n_init=2, random_state=0),
    "MultiOutputClassifier": lambda kind: kind(_logistic()),
    "MultiOutputRegressor": lambda kind: kind(_tree_regressor()),
    "OneVsOneClassifier": lambda kind: kind(_logistic()),
    "OneVsRestClassifier": lambda kind: kind(_logistic()),
    "Pipeline": lambda kind: kind([("scale", _scaler()), ("tree", _tree())]),
    "QuantileTransformer": lambda kind: kind(n_quantiles=10),
    "RANSACRegressor": lambda kind: kind(random_state=0),
    "RFE": lambda kind: kind(_tree(), n_features_to_select=2),
    "RFECV": lambda kind: kind(_tree(), cv=2),
    "RadiusNeighborsClassifier": lambda kind: kind(radius=9.0),
    "RadiusNeighborsRegressor": lambda kind: kind(radius=9.0),
    "RandomTreesEmbedding": lambda kind: kind(4, max_depth=2, random_state=0, sparse_output=False),
    "ReplaceTransformer": lambda kind: kind(),
    "OneHotEncoder": lambda kind: kind(sparse_output=False),
    "SelectPercentile": lambda kind: kind(percentile=50),
    "SelectFromModel": lambda kind: kind(_tree()),
    "StackingClassifier": lambda kind: kind([("a", _tree()), ("b", _logistic())], cv=2),
    "StackingRegressor": lambda kind: kind([("a", _tree_regressor()), ("b", _ridge())], cv=2),
    "NearestNeighbors": lambda kind: kind(n_neighbors=3, radius=None),
    "OrthogonalMatchingPursuitCV": lambda kind: kind(cv=2, max_iter=2),
    "TunedThresholdClassifierCV": lambda kind: kind(_logistic(), cv=2),
    "VotingClassifier": lambda kind: kind([("a", _tree()), ("b", _logistic())], voting="soft", flatten_transform=False),
    "VotingRegressor": lambda kind: kind([("a", _tree_regressor()), ("b", _ridge())]),
}
_SMALL = {"n_estimators": 8, "max_iter": 200, "random_state": 0}
"""Parameters set where a class has them, so that models are small, and the same each time."""

LEFT_OUT = {
    "DictVectorizer": "skl2onnx takes dictionaries, which aren't tensors",
    "FeatureHasher": "its converter needs ONNX Runtime's contrib operators",
    "GaussianProcessClassifier": "skl2onnx writes com.microsoft.Solve, which ONNX Runtime hasn't",
    "KernelCenterer": "takes a kernel's matrix: PCA of kernels has it",
    "_ConstantPredictor": "part of OneVsRestClassifier",
}


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=300)


def _tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=3, random_state=0)


def _tree_regressor() -> Any:
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(max_depth=3, random_state=0)


def _ridge() -> Any:
    from sklearn.linear_model import Ridge

    return Ridge()


def _scaler() -> Any:
    from sklearn.preprocessing import StandardScaler

    return StandardScaler()


def _pca() -> Any:
    from sklearn.decomposition import PCA

    return PCA(2)


def _bayes() -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB()


def _made(kind: type) -> Any:
    make = _MADE.get(kind.__name__)
    model = make(kind) if make else kind()
    if make is None and hasattr(model, "get_params"):
        model.set_params(**{name: value for name, value in _SMALL.items() if name in model.get_params(deep=False)})
    return model


def _data_of(kind: type) -> Callable[[], Data]:
    from sklearn.base import is_regressor

    found = _DATA.get(kind.__name__)
    return found or (numbers if is_regressor(_made(kind)) else classes)


def supported() -> list[type]:
    """The classes that skl2onnx has a converter for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = importlib.import_module("skl2onnx._supported_operators").sklearn_operator_name_map
    return sorted((kind for kind in table if isinstance(kind, type)), key=lambda kind: kind.__name__)


def _has_probabilities(model: Any) -> bool:
    """Whether skl2onnx asks how probabilities are to be given: not of RFE, which is what its estimator is."""
    from sklearn.base import is_classifier

    return is_classifier(model) and type(model).__name__ not in ("LinearSVC", "RFE", "RFECV")


def _pipe(*steps: Any) -> Any:
    from sklearn.pipeline import make_pipeline

    return make_pipeline(*steps)


def _voting(voting: str, **more: Any) -> Any:
    from sklearn.ensemble import VotingClassifier

    return VotingClassifier(
        [("l", _logistic()), ("b", _bayes()), ("t", _tree())], voting=voting, flatten_transform=False, **more
    )


def _sk(module: str, name: str, *args: Any, **more: Any) -> Any:
    return getattr(importlib.import_module(f"sklearn.{module}"), name)(*args, **more)


_GP = "gaussian_process.kernels"

COMBINED: list[tuple[str, Callable[[], Any], Callable[[], Data]]] = [
    ("soft voting of three", lambda: _voting("soft"), classes),
    ("soft voting with weights, named", lambda: _voting("soft", weights=np.array([1, 2, 3])), named_classes),
    ("hard voting", lambda: _voting("hard"), classes),
    ("logistic, two classes", _logistic, two_classes),
    ("logistic, named classes", _logistic, named_classes),
    ("forest, two classes", lambda: _sk("ensemble", "RandomForestClassifier", 8, random_state=0), two_classes),
    ("boosting, two classes", lambda: _sk("ensemble", "GradientBoostingClassifier", n_estimators=8), two_classes),
    ("histogram boosting, numbers", lambda: _sk("ensemble", "HistGradientBoostingRegressor", max_iter=8), numbers),
    (
        "calibrated bayes, isotonic",
        lambda: _sk("calibration", "CalibratedClassifierCV", _bayes(), cv=2, method="isotonic"),
        classes,
    ),
    (
        "calibrated machine, named",
        lambda: _sk("calibration", "CalibratedClassifierCV", _sk("svm", "LinearSVC"), cv=2),
        named_classes,
    ),
    (
        "stack of four",
        lambda: _sk(
            "ensemble",
            "StackingClassifier",
            [("t", _tree()), ("b", _bayes()), ("n", _sk("neighbors", "KNeighborsClassifier", 3))],
            _logistic(),
            cv=2,
            passthrough=True,
        ),
        classes,
    ),
    (
        "bagged neighbours",
        lambda: _sk(
            "ensemble",
            "BaggingClassifier",
            _sk("neighbors", "KNeighborsClassifier", 3),
            3,
            max_features=3,
            random_state=0,
        ),
        classes,
    ),
    ("one against rest of trees", lambda: _sk("multiclass", "OneVsRestClassifier", _tree()), classes),
    ("one against one of machines", lambda: _sk("multiclass", "OneVsOneClassifier", _sk("svm", "LinearSVC")), classes),
    ("machine with probabilities", lambda: _sk("svm", "SVC", probability=True, random_state=0), classes),
    ("machine of polynomials, two", lambda: _sk("svm", "SVC", kernel="poly", degree=2), two_classes),
    ("machine of numbers, sigmoid", lambda: _sk("svm", "SVR", kernel="sigmoid"), numbers),
    ("scaled, reduced, machine", lambda: _pipe(_scaler(), _pca(), _sk("svm", "SVC")), classes),
    (
        "imputed, scaled, polynomial, ridge",
        lambda: _pipe(
            _sk("impute", "SimpleImputer", strategy="median"),
            _scaler(),
            _sk("preprocessing", "PolynomialFeatures", 2),
            _ridge(),
        ),
        holes,
    ),
    ("neighbours' imputer, forest", lambda: _pipe(_sk("impute", "KNNImputer"), _tree()), holes),
    ("neighbours by distance", lambda: _sk("neighbors", "KNeighborsRegressor", 3, weights="distance"), numbers),
    ("best columns, bayes", lambda: _pipe(_sk("feature_selection", "SelectKBest", k=2), _bayes()), classes),
    (
        "bins, logistic",
        lambda: _pipe(_sk("preprocessing", "KBinsDiscretizer", 3, encode="onehot-dense"), _logistic()),
        classes,
    ),
    ("words, logistic", lambda: _pipe(_sk("feature_extraction.text", "TfidfVectorizer"), _logistic()), texts),
    (
        "words counted in pairs, bayes",
        lambda: _pipe(
            _sk("feature_extraction.text", "CountVectorizer", ngram_range=(1, 2)), _sk("naive_bayes", "MultinomialNB")
        ),
        texts,
    ),
    (
        "numbers and words",
        lambda: _pipe(
            _sk(
                "compose",
                "ColumnTransformer",
                [
                    ("n", _scaler(), [0, 1, 2, 3]),
                    ("w", _sk("preprocessing", "OneHotEncoder", handle_unknown="ignore"), [4, 5]),
                ],
            ),
            _logistic(),
        ),
        two_tables,
    ),
    ("process, Matern", lambda: _sk("gaussian_process", "GaussianProcessRegressor", _sk(_GP, "Matern")), numbers),
    (
        "process of rational squares and noise",
        lambda: _sk(
            "gaussian_process",
            "GaussianProcessRegressor",
            _sk(_GP, "RationalQuadratic") + _sk(_GP, "WhiteKernel"),
        ),
        numbers,
    ),
    ("trees of several numbers", lambda: _sk("ensemble", "ExtraTreesRegressor", 8, random_state=0), several_numbers),
    (
        "forest of several classes",
        lambda: _sk("ensemble", "RandomForestClassifier", 8, random_state=0),
        several_classes,
    ),
    (
        "net of several numbers",
        lambda: _sk("neural_network", "MLPRegressor", hidden_layer_sizes=(5,), max_iter=80, random_state=0),
        several_numbers,
    ),
]


def cases() -> Iterator[Case]:
    """Each estimator by its defaults (or `_MADE`), then the combined ones."""
    for kind in supported():
        if kind.__name__ not in LEFT_OUT:
            yield Case(
                kind.__name__, lambda kind=kind: _made(kind), _data_of(kind), zipmap=_has_probabilities(_made(kind))
            )
    for name, make, data in COMBINED:
        yield Case(name, make, data, zipmap=_has_probabilities(make()))


@contextmanager
def _whole_numbers() -> Iterator[None]:
    """Booleans among integers, which protobuf takes no more and skl2onnx still writes for boosted trees."""
    container = importlib.import_module("skl2onnx.common._container")
    usual = container.make_node

    def make_node(*args: Any, **attributes: Any) -> onnx.NodeProto:
        lists = {name: value for name, value in attributes.items() if isinstance(value, list)}
        made = {
            name: [int(one) if isinstance(one, bool | np.bool_) else one for one in value]
            for name, value in lists.items()
        }
        return usual(*args, **{**attributes, **made})

    container.make_node = make_node
    try:
        yield
    finally:
        container.make_node = usual


def exported(case: Case, zipmap: bool) -> tuple[onnx.ModelProto, Any]:
    """The ONNX model of a fitted estimator, and the estimator."""
    from skl2onnx import convert_sklearn
    from skl2onnx.common import data_types

    kinds = {
        "float": data_types.FloatTensorType,
        "int64": data_types.Int64TensorType,
        "string": data_types.StringTensorType,
    }
    data = case.data()
    with warnings.catch_warnings(), _whole_numbers():
        warnings.simplefilter("ignore")
        model = case.make()
        model = model if data.y is None else model.fit(data.x, data.y)
        if data.y is None:
            model.fit(data.x)
        types = [
            (name, kinds[kind]([None, width] if width >= 0 else [None])) for name, (kind, width) in data.kinds.items()
        ]
        text = importlib.import_module("sklearn.feature_extraction.text")
        options: dict[Any, Any] = {kind: {"locale": "C"} for kind in (text.CountVectorizer, text.TfidfVectorizer)}
        if case.zipmap:
            options[id(model)] = {"zipmap": zipmap}
        made = convert_sklearn(model, case.name, types, options=options, target_opset=_OPSETS)
    return made, model


def as_sklearn(model: Any, feeds: Feeds) -> list[np.ndarray]:
    """What scikit-learn itself says of the rows: predictions, then probabilities; or what they are made into."""
    x = next(iter(feeds.values())) if len(feeds) == 1 else np.concatenate([v.astype(object) for v in feeds.values()], 1)
    if x.dtype == object and x.shape[-1] == 1:
        x = x.reshape(-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(model, "predict"):
            found = [model.predict(x)]
            if hasattr(model, "predict_proba"):
                found.append(model.predict_proba(x))
            return found
        if hasattr(model, "kneighbors"):
            return [model.kneighbors(x)[1]]
        made = model.transform(x)
    return [made.toarray() if hasattr(made, "toarray") else np.asarray(made)]
