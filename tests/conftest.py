"""Which tests run by default: all that are quick, and of the files that take long one test in so many.

`python -m pytest` is to end within minutes; `python -m pytest -m full` runs the others. Where a file or a folder is
named on the command line, all of its tests run.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from backedge.runtime.oracles.xla_session import limit_instructions

_ONE_IN: dict[int, str] = {
    0: (
        "compiled/test_catalogue hlo/test_lower_sweep hlo/test_random_modules journeys/test_journeys "
        "openvino_ir/test_corpus openvino_raising/test_dynamic openvino_raising/test_mutations "
        "openvino_raising/test_numbers openvino_raising/test_onnx opset/test_corpus"
    ),
    2: (
        "api/test_package hlo/test_compiled hlo/test_hostile hlo/test_lower_loops hlo/test_lower_quantize "
        "hlo/test_raise_dot hlo/test_raise_dynamic hlo/test_raise_elementwise_random hlo/test_raise_gather "
        "hlo/test_raise_reduce hlo/test_raise_shape hlo/test_raise_sort many/test_cluster match/test_reals "
        "match/test_verdict mdf/test_hostile mdf/test_schedule mdf/test_stateful openvino_ir/test_malformed "
        "openvino_ir/test_round_trip openvino_raising/test_loop_forms openvino_raising/test_states "
        "opset/test_down_slicing quantized/test_linear quantized/test_lstm quantized/test_quantizer "
        "recurrent/test_lengths"
    ),
    3: (
        "api/test_notebooks api/test_testing compare/test_wide_integers hlo/test_lower_nn hlo/test_lower_operators "
        "hlo/test_raise_batch_norm hlo/test_raise_complex hlo/test_raise_convolution hlo/test_raise_indexing "
        "hlo/test_raise_linalg hlo/test_raise_ormqr hlo/test_raise_windows hlo/test_text_xla mdf/test_function_form "
        "mdf/test_function_form_engine mdf/test_loop_function opset/test_down_scatter opset/test_down_selection "
        "oracles/test_mdf picture/test_layout"
    ),
    4: (
        "api/test_objects command/test_memory command/test_opset command/test_pipes command/test_written "
        "compare/test_combined compiled/test_cache decompose/test_argmax hlo/test_lower_draws "
        "hlo/test_raise_scatter hlo/test_text_errors hlo/test_xla_oracle locate/test_repro match/test_certificate "
        "mdf/test_functions mdf/test_stateful_cases openvino_ir/test_hub_round_trip openvino_ir/test_read "
        "openvino_lowering/test_operators opset/test_bad_models quantized/test_microsoft recurrent/test_iterators"
    ),
    5: (
        "command/test_command compare/test_seeded_faults fuzz/test_names compiled/test_native hlo/test_command_hlo "
        "hlo/test_higher_order hlo/test_raise_linalg_open mdf/test_function_form_hostile mdf/test_onnx_functions "
        "only_ops/test_cases openvino_lowering/test_loop_forms opset/control/test_table rounding/test_rule"
    ),
    7: (
        "decompose/test_ml hlo/test_raise_elementwise openvino_lowering/test_catalogue openvino_lowering/test_text "
        "oracles/test_runtimes recurrent/test_convert"
    ),
    8: (
        "hlo/test_mlir_open_sizes hlo/test_mlir_reader hlo/test_mlir_writer hlo/test_raise_composed "
        "hlo/test_raise_elementwise_types many/test_many only_ops/test_command"
    ),
    9: "hlo/test_programs mdf/test_command opset/test_twelve_cases picture/test_svg",
    10: (
        "api/test_jax_arguments command/test_absent_libraries command/test_exit_codes compiled/test_elementwise "
        "hlo/test_raise_linalg_eig hlo/test_raise_linalg_lapack hlo/test_stablehlo passes/test_patterns"
    ),
    12: "control_flow/test_cases hlo/test_names hlo/test_open_sizes mdf/test_numbers",
    18: "compiled/test_growing hlo/test_to_jax quantized/test_compressed test_samples",
    24: "compiled/test_halves compiled/test_recorded compiled/test_whole_graph recurrent/test_fuse",
    48: "compiled/test_loops compiled/test_random_bodies",
    96: "compiled/test_tensors",
}
"""Number -> files, of whose tests one in so many runs by default; 0: none does."""

SHARES = {f"{name}.py": share for share, names in _ONE_IN.items() for name in names.split()}
_HERE = Path(__file__).parent


def pytest_configure() -> None:
    """XLA's results, which the tests want, don't depend on the machine."""
    limit_instructions()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell each process of xdist what the command line asks for."""
    node.workerinput["sampled"] = _is_sampled(node.config)


def _is_sampled(config: pytest.Config) -> bool:
    """Whether no file is named: of one that is, all tests run."""
    given = getattr(config, "workerinput", {}).get("sampled")
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS if given is None else given


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is left for `-m full`."""
    if not _is_sampled(config):
        return
    seen: Counter[str] = Counter()
    shares = {_HERE / name: (name, share) for name, share in SHARES.items()}
    for item in items:
        name, share = shares.get(item.path, ("", None))
        if share is None or any(item.get_closest_marker(other) for other in ("corpus", "bench", "fuzz")):
            continue
        if not share or seen[name] % share:
            item.add_marker(pytest.mark.full)
        seen[name] += 1
