"""The criteria for a correct result: the comparisons of the suite (analyze_output_utils.py and arm_tester.py of the wheel), in numpy."""

import math
from dataclasses import dataclass

import ml_dtypes
import numpy as np

NARROW = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}


@dataclass
class Parameters:
    """The quantization parameters of a value."""

    scale: float
    zp: int
    qmin: int = -128
    qmax: int = 127
    dtype: str = "int8"

    def quantize(self, array, dtype):
        return np.clip(np.rint(array / np.float32(self.scale)) + self.zp, self.qmin, self.qmax).astype(dtype)

    def dequantize(self, array):
        return (array.astype(np.float32) - self.zp) * np.float32(self.scale)


def observed(array):
    """Affine int8 parameters from the minimum and maximum."""
    finite = array[np.isfinite(array)]
    low = min(float(finite.min()), 0.0) if finite.size else 0.0
    high = max(float(finite.max()), 0.0) if finite.size else 0.0
    scale = max((high - low) / 255, 2.0**-16)
    return Parameters(scale, int(min(127, max(-128, -128 - round(low / scale)))))


def decoded(array, torch_type):
    """The bits of a type that numpy lacks, as float32."""
    if torch_type not in NARROW or array.dtype.kind not in "iu":
        return array
    return array.view(NARROW[torch_type]).astype(np.float32)


def close(result, reference, atol, rtol):
    if result.shape != reference.shape:
        return False
    if result.dtype == bool or reference.dtype == bool:
        return bool(np.array_equal(result.astype(bool), reference.astype(bool)))
    return bool(
        np.allclose(result.astype(np.float64), reference.astype(np.float64), atol=atol, rtol=rtol, equal_nan=True)
    )


def sqnr(error_energy, energy):
    if error_energy == 0:
        return 99.0
    return -99.0 if energy == 0 else round(10 * math.log10(error_energy and energy / error_energy), 2)


def metrics(result, reference, scale=None):
    """SQNR in dB, the largest difference, and that difference in steps of the scale. Only elements that are finite on both sides count."""
    if result.shape != reference.shape or reference.size == 0:
        return {}
    if result.dtype == bool or reference.dtype == bool:
        return {"max_difference": float((result.astype(bool) != reference.astype(bool)).mean())}
    ours, theirs = result.astype(np.float64).ravel(), reference.astype(np.float64).ravel()
    finite = np.isfinite(ours) & np.isfinite(theirs)
    found = {"not_finite": int((~finite).sum())}
    ours, theirs = ours[finite], theirs[finite]
    if not theirs.size:
        return found
    error = ours - theirs
    found["sqnr"] = sqnr(float((error * error).sum()), float((theirs * theirs).sum()))
    found["max_difference"] = float(np.abs(error).max())
    if scale:
        found["steps"] = round(found["max_difference"] / scale, 2)
    return found


def cleaned(reference, q):
    """The float reference as the suite prepares it: values below a step become zero, infinities become the largest values."""
    reference = np.where(np.abs(reference) >= q.scale, reference, 0).astype(np.float32)
    largest, smallest = (q.qmax - q.zp) * q.scale, (q.qmin - q.zp) * q.scale
    return np.nan_to_num(reference, nan=0.0, posinf=largest, neginf=smallest)


def norm(array):
    return float(np.linalg.norm(array.astype(np.float64).ravel()))


def cosine(a, b):
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    return float(a @ b) / (max(float(np.linalg.norm(a)), 1e-8) * max(float(np.linalg.norm(b)), 1e-8))


def against_float(result, reference, q, frobenius, min_cosine):
    """The suite's comparison of a quantized result with the float model. Returns '' or the error."""
    if result.shape != reference.shape:
        return f"shape {list(result.shape)} instead of {list(reference.shape)}"
    reference = cleaned(reference, q)
    if not reference.any():
        return ""
    relative, angle = norm(result - reference) / (norm(reference) + 1e-8), cosine(result, reference)
    if math.isnan(angle):
        return "NaN in the result"
    if norm(reference) > max(1e-8, q.scale * reference.size**0.5):  # a smaller reference is quantization noise
        discount = 0.02 if angle >= max(0.98, min_cosine) else 0.0
        if max(0.0, relative - discount) > frobenius:
            return f"relative Frobenius error {relative:.4f} above {frobenius}, cosine {angle:.4f}"
    return (
        f"cosine {angle:.4f} below {min_cosine}, relative Frobenius error {relative:.4f}" if angle < min_cosine else ""
    )
