"""Small networks that bench/range_networks.py trains in seconds on digits, photographs of scikit-learn, and drawings."""

from range_networks import NETWORKS, UNITS, trained
from zoo_model import Entry, Trained, Training

TASKS = {
    "plain": "image classification",
    "efficient": "image classification",
    "plates": "number plates",
    "landmarks": "face landmarks",
    "portrait": "portrait segmentation",
    "denoiser17": "noise removal",
    "larger": "super-resolution",
    "policy": "moves of a board game",
    "gestures": "gestures",
    "sounds": "sounds",
    "curves": "regression",
    "autoencoder": "anomaly detection",
}
CALIBRATED, TESTED = 64, 800


def load(name):
    network = NETWORKS[name]
    module, x, y = trained(name)
    test = slice(network.trained, network.trained + TESTED)
    return Trained(
        name=name,
        task=TASKS[name],
        source="trained by bench/range_networks.py",
        licence="Apache-2.0",
        module=module,
        calibration=x[:CALIBRATED],
        test=x[test],
        truth=y[test],
        metric=network.metric,
        unit=UNITS[network.metric],
        training=Training(x[: network.trained], y[: network.trained], network.loss),
    )


MODELS = [Entry(name, lambda name=name: load(name)) for name in TASKS]
