"""Settings: `landfast.toml`, then LANDFAST_* in the environment, then what the code says; each may override the last.

Every mistake is a ConfigError: one sentence that names the key, where it was read, and the fix. A value that may hold a
password is never repeated in it.
"""

from landfast.config.checking import nearest
from landfast.config.dependencies import dependency
from landfast.config.forwards import forward
from landfast.config.reading import FILE, load, strange_variables
from landfast.config.settings import Address, RetentionSettings, SecretSettings, Server, Settings, SourceSettings
from landfast.config.sources import source

__all__ = [
    "FILE",
    "Address",
    "RetentionSettings",
    "SecretSettings",
    "Server",
    "Settings",
    "SourceSettings",
    "dependency",
    "forward",
    "load",
    "nearest",
    "source",
    "strange_variables",
]
