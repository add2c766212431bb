"""The names of models that need no file. Listing them does not load PyTorch."""

__all__ = ["BUILT_IN_NAMES", "known_names", "registered_examples"]

BUILT_IN_NAMES = ("qadd", "qadd2", "qops", "qlinear")


def registered_examples() -> dict[str, tuple[str, str]]:
    """Name -> module and class of executorch.examples.models; empty without that package."""
    try:
        from executorch.examples.models import MODEL_NAME_TO_MODEL
    except ImportError:
        return {}
    return dict(MODEL_NAME_TO_MODEL)


def known_names() -> list[str]:
    """The model names that --model_name accepts, in addition to files."""
    return [*BUILT_IN_NAMES, *registered_examples()]
