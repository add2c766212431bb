"""What MLIA loads: the backend and the target `carina`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import carina
from mlia.backend.config import BackendConfiguration, BackendType
from mlia.backend.registry import BackendRegistry
from mlia.core.advisor import DefaultInferenceAdvisor, InferenceAdvisor
from mlia.core.common import AdviceCategory
from mlia.core.context import Context, ExecutionContext
from mlia.core.data_analysis import DataAnalyzer, PatternAnalyzer
from mlia.core.data_collection import ContextAwareDataCollector, DataCollector
from mlia.plugins.plugins import BackendPlugin, TargetPlugin
from mlia.target.config import TargetInfo, TargetProfile
from mlia.target.registry import TargetRegistry, profile

from carina_plugins.mlia.output import Advised, compatibility, output_of, performance

_ADVICE = {AdviceCategory.COMPATIBILITY: compatibility, AdviceCategory.PERFORMANCE: performance}
_OPTIONS = ("quantize", "calibration", "system_config", "memory_mode", "config", "optimize")


class CarinaProfile(TargetProfile):  # type: ignore[misc]
    """A target profile: the NPU, and options of the compilation."""

    def __init__(self, target: str, npu: str, **settings: Any) -> None:
        super().__init__(target, settings.pop("backend_config", None))
        self.npu = npu
        self.options = {name: settings[name] for name in _OPTIONS if name in settings}

    def verify(self) -> None:
        super().verify()
        npus = [name for name in carina.targets() if name.startswith("ethos-")]
        if self.npu not in npus:
            raise ValueError(f"npu: expected one of {', '.join(npus)}, got {self.npu}")


class CarinaCollector(ContextAwareDataCollector):  # type: ignore[misc]
    """Explains the model once, and makes a result of each requested category."""

    def __init__(self, model: Path, settings: CarinaProfile) -> None:
        self.model = model
        self.settings = settings

    @classmethod
    def name(cls) -> str:
        return "carina"

    def collect_data(self) -> Advised:
        explanation = carina.explain(
            self.model, target=cast(carina.Target, self.settings.npu), note=lambda note: None, **self.settings.options
        )
        results = [make(explanation) for category, make in _ADVICE.items() if self.context.category_enabled(category)]
        return Advised(output_of(self.model, self.settings.npu, self.settings.options, results))


class CarinaAdvisor(DefaultInferenceAdvisor):  # type: ignore[misc]
    """Collects results; it has no analyzers, because the results have the advice."""

    @classmethod
    def name(cls) -> str:
        return "carina_advisor"

    def get_collectors(self, context: Context) -> list[DataCollector]:
        return [CarinaCollector(self.get_model(context), profile(self.get_target_profile(context)))]

    def get_analyzers(self, context: Context) -> list[DataAnalyzer]:
        return []

    def get_pattern_analyzers(self, context: Context) -> list[PatternAnalyzer]:
        return []


def _advisor_of(context: ExecutionContext, target_profile: str | Path, model: str | Path, **_: Any) -> InferenceAdvisor:
    if context.config_parameters is None:
        context.config_parameters = {CarinaAdvisor.name(): {"model": str(model), "target_profile": str(target_profile)}}
    return CarinaAdvisor()


class CarinaBackendPlugin(BackendPlugin):  # type: ignore[misc]
    """Registers the backend."""

    plugin_interface_version = "0.0.1"

    @staticmethod
    def register(registry: BackendRegistry) -> None:
        configuration = BackendConfiguration(
            supported_advice=list(_ADVICE), supported_systems=None, backend_type=BackendType.BUILTIN, installation=None
        )
        registry.register("carina", configuration, pretty_name="Carina")


class CarinaTargetPlugin(TargetPlugin):  # type: ignore[misc]
    """Registers the target."""

    plugin_interface_version = "0.0.1"

    @staticmethod
    def register(registry: TargetRegistry) -> None:
        target = TargetInfo(
            supported_backends=["carina"],
            default_backends=["carina"],
            advisor_factory_func=_advisor_of,
            target_profile_cls=CarinaProfile,
        )
        registry.register("carina", target, pretty_name="Ethos-U by Carina")
