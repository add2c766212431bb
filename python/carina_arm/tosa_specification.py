"""TOSA specifications by their names: "TOSA-1.0+INT+int16+u55"."""

from __future__ import annotations

import contextvars
import re
from collections.abc import Iterable
from types import TracebackType
from typing import Any, ClassVar, Generic, TypeVar

from packaging.version import Version

T = TypeVar("T")


class TosaSpecification:
    """A version of TOSA, the profiles that a graph may use, and extensions.

    Made by :meth:`create_from_string`. Two specifications are equal if version and profiles are equal; extensions do not count.

    Attributes:
        version: of TOSA.
        profiles: "INT", "FP", or both.
        extensions: of the profiles, without "u55" and "8k".
        level_8k: whether the level 8K is requested.
        is_U55_subset: whether graphs use only what an Ethos-U55 supports.
    """

    _SUPPORTED_VERSIONS: ClassVar[list[Version]] = [Version("1.0"), Version("1.1")]
    _SUPPORTED_PROFILES: ClassVar[list[str]] = ["INT", "FP"]
    available_profiles: ClassVar[list[str]] = ["INT", "FP"]
    valid_extensions: ClassVar[dict[str, list[str]]] = {}

    version: Version
    profiles: list[str]
    extensions: list[str]
    level_8k: bool
    is_U55_subset: bool

    def __init__(self, version: Version, extras: list[str]) -> None:
        """Parses the text after the version.

        Raises:
            ValueError: no profile, too many profiles, or extensions of other profiles.
        """
        self.version = version
        rest = list(extras)
        self.is_U55_subset = _take(rest, "u55")
        known = type(self).available_profiles
        self.profiles = [word for word in rest if word in known]
        if not self.profiles:
            raise ValueError(f"No profile ({known}) found in: {rest}.")
        if len(self.profiles) > len(known):
            raise ValueError(f"Too many profiles ({known}) found in: {rest}.")
        for profile in self.profiles:
            rest.remove(profile)
        self.level_8k = _take(rest, "8k")
        valid = {word for profile in self.profiles for word in type(self).valid_extensions[profile]}
        if not valid.issuperset(rest):
            raise ValueError(f"Bad extensions for TOSA-{version}{self._get_profiles_string()}: {rest}")
        self.extensions = rest

    @staticmethod
    def create_from_string(repr: str) -> TosaSpecification:
        """Parses a name such as "TOSA-1.0+INT+int16".

        Raises:
            ValueError: an invalid name, or an unknown version.
        """
        match = re.match(r"^TOSA-([\d.]+)\+(.+)$", repr)
        if match is None:
            raise ValueError(f"Failed to parse TOSA specification representation: {repr}")
        version = Version(match.group(1))
        for supported, kind in ((Version("1.0"), Tosa_1_00), (Version("1.1"), Tosa_1_1)):
            if (version.major, version.minor) == (supported.major, supported.minor):
                return kind(version, match.group(2).split("+"))
        hint = (
            "; carina.arm lowers to TOSA 1.0 and 1.1. `carina tosa MODEL --tosa-version 0.80` writes a file of TOSA 0.80"
            if version.release[:2] == (0, 80)
            else ""
        )
        raise ValueError(f"Wrong TOSA version: {version} from {repr}{hint}")

    @classmethod
    def all_versions_and_profiles(cls) -> list[TosaSpecification]:
        """A specification for each profile of each version."""
        return [spec for version in cls._SUPPORTED_VERSIONS for spec in cls.all_profiles_for_version(version)]

    @classmethod
    def all_versions_for_profile(cls, profile: str) -> list[TosaSpecification]:
        """A specification for each version, with one profile.

        Raises:
            ValueError: an unknown profile.
        """
        name = profile.upper()
        if name not in cls._SUPPORTED_PROFILES:
            raise ValueError(f"Unsupported TOSA profile: {profile}")
        return [cls.create_from_string(f"TOSA-{version}+{name}") for version in cls._SUPPORTED_VERSIONS]

    @classmethod
    def all_profiles_for_version(cls, version: Version | str) -> list[TosaSpecification]:
        """A specification for each profile, with one version.

        Raises:
            ValueError: an unknown version.
        """
        plain = _major_minor(version)
        if plain not in cls._SUPPORTED_VERSIONS:
            raise ValueError(f"Unsupported TOSA version: {version}")
        return [cls.create_from_string(f"TOSA-{plain}+{profile}") for profile in cls._SUPPORTED_PROFILES]

    @classmethod
    def _normalize_version(cls, version: Version | str) -> Version:
        return _major_minor(version)

    def support_integer(self) -> bool:
        """Whether graphs may compute with integers."""
        return "INT" in self.profiles

    def support_float(self) -> bool:
        """Whether graphs may compute with floats."""
        return "FP" in self.profiles

    def support_extension(self, extension: str) -> bool:
        """Whether the specification has the extension, and one of its profiles allows it."""
        valid = type(self).valid_extensions
        return extension in self.extensions and any(extension in valid[profile] for profile in self.profiles)

    def _get_profiles_string(self) -> str:
        return "".join(f"+{profile}" for profile in self.profiles)

    def _get_extensions_string(self) -> str:
        return "".join(f"+{extension}" for extension in self.extensions)

    def _canonical_key(self) -> TosaSpecification:
        """The specification without extensions and without the patch level."""
        return type(self)(Version(f"{self.version.major}.{self.version.minor}.0"), list(self.profiles))

    def __repr__(self) -> str:
        more = ("+8k" if self.level_8k else "") + ("+u55" if self.is_U55_subset else "")
        return f"TOSA-{self.version}{self._get_profiles_string()}{self._get_extensions_string()}{more}"

    def __hash__(self) -> int:
        return hash((self.version, self._get_profiles_string()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TosaSpecification) or type(other) is not type(self):
            return False
        return self.version == other.version and self.profiles == other.profiles


class Tosa_1_00(TosaSpecification):
    """Rules of version 1.0."""

    valid_extensions: ClassVar[dict[str, list[str]]] = {
        "INT": ["int16", "int4", "var", "cf", "u55"],
        "FP": ["bf16", "fp8e4m3", "fp8e5m2", "fft", "var", "cf"],
    }


class Tosa_1_1(Tosa_1_00):
    """Rules of version 1.1."""

    valid_extensions: ClassVar[dict[str, list[str]]] = {
        "INT": [*Tosa_1_00.valid_extensions["INT"], "shape", "int64"],
        "FP": [*Tosa_1_00.valid_extensions["FP"], "shape", "int64", "random", "mxfp", "blockscale_ue5m3"],
    }


def _take(words: list[str], word: str) -> bool:
    if word not in words:
        return False
    words.remove(word)
    return True


def _major_minor(version: Version | str) -> Version:
    parsed = version if isinstance(version, Version) else Version(str(version).removeprefix("TOSA-"))
    return Version(f"{parsed.major}.{parsed.minor}")


def _one_profile_each(spec: TosaSpecification) -> list[TosaSpecification]:
    if set(spec.profiles) != {"FP", "INT"}:
        return [spec]
    return [TosaSpecification.create_from_string(f"TOSA-{spec.version}+{profile}") for profile in ("FP", "INT")]


class TosaSpecMapping(Generic[T]):
    """Lists of values by version and profile. A specification with both profiles has the values of both."""

    def __init__(self) -> None:
        self._mapping: dict[TosaSpecification, list[T]] = {}

    def add(self, spec: TosaSpecification, value: T) -> None:
        """Adds a value for one profile.

        Raises:
            ValueError: a specification with extensions, or of two profiles.
        """
        if spec.is_U55_subset or spec.extensions:
            raise ValueError(f"TosaSpecMapping does not support extensions, got: {spec}")
        if len(spec.profiles) > 1:
            raise ValueError(f"TosaSpecMapping does not support multiple profiles, got: {spec}")
        self._mapping.setdefault(spec._canonical_key(), []).append(value)

    @staticmethod
    def _get_base_specs(spec: TosaSpecification) -> list[TosaSpecification]:
        return _one_profile_each(spec)

    def get(self, spec: TosaSpecification) -> list[T]:
        """The values for the specification's profiles.

        Raises:
            KeyError: there are no values.
        """
        found = [value for base in _one_profile_each(spec) for value in self._mapping.get(base._canonical_key(), [])]
        if not found:
            raise KeyError(f"No values found for TOSA specification: {spec}")
        return found


class TosaLoweringContext:
    """A context in which :func:`get_context_spec` returns `spec`, and :func:`get_context_shape_env` returns `shape_env`."""

    tosa_spec_var: ClassVar[contextvars.ContextVar[TosaSpecification]] = contextvars.ContextVar("tosa_spec")
    shape_env_var: ClassVar[contextvars.ContextVar[Any]] = contextvars.ContextVar("shape_env")

    def __init__(self, spec: TosaSpecification, shape_env: Any = None) -> None:
        self.spec = spec
        self.shape_env = shape_env

    def __enter__(self) -> TosaLoweringContext:
        self._tokens = (self.tosa_spec_var.set(self.spec), self.shape_env_var.set(self.shape_env))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.tosa_spec_var.reset(self._tokens[0])
        self.shape_env_var.reset(self._tokens[1])


def get_context_spec() -> TosaSpecification:
    """The specification of the active TosaLoweringContext.

    Raises:
        RuntimeError: no context is active.
    """
    try:
        return TosaLoweringContext.tosa_spec_var.get()
    except LookupError:
        raise RuntimeError("Function must be executed within a TosaLoweringContext") from None


def get_context_shape_env() -> Any:
    """The torch ShapeEnv of the active TosaLoweringContext.

    Raises:
        RuntimeError: no context is active, or it has no ShapeEnv.
    """
    shape_env = TosaLoweringContext.shape_env_var.get(None)
    if shape_env is not None:
        return shape_env
    get_context_spec()
    raise RuntimeError("No ShapeEnv set in the current TosaLoweringContext")


def tosa_spec_in_set(spec: TosaSpecification, specs: Iterable[TosaSpecification]) -> bool:
    """Whether the specification, or one of its profiles alone, is in `specs`."""
    among = set(specs)
    return any(base in among for base in _one_profile_each(spec))
