"""The web application: play, watch, compare and learn, in a browser.

`create_app` builds it; `stratagem studio` runs it. The pages are hand-written ES modules in `static/`.
"""

from stratagem.studio.app import Settings, create_app

__all__ = ["Settings", "create_app"]
