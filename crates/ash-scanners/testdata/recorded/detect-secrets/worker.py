"""One detect-secrets run: worker.py ROOT FILE_LIST (names under ROOT, each ended by NUL). JSON on stdout.

Files are named by their position in the list, so a name that is not UTF-8 does no harm.
"""
import json
import os
import sys

from detect_secrets.__version__ import VERSION
from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.core.secrets_collection import SecretsCollection
from detect_secrets.settings import transient_settings

root, file_list = sys.argv[1:3]
with open(file_list, "rb") as stream:
    names = [os.fsdecode(name) for name in stream.read().split(b"\0") if name]
os.chdir(root)
plugins = sorted({plugin.__name__ for plugin in get_mapping_from_secret_type_to_class().values()})
secrets, unread = [], []
with transient_settings({"plugins_used": [{"name": name} for name in plugins], "filters_used": []}) as settings:
    settings.disable_filters(*list(settings.filters))
    for index, name in enumerate(names):
        try:
            with open(name, encoding="utf-8") as text:
                for _ in text:
                    pass
            found = SecretsCollection()
            found.scan_file(name)
        except (OSError, ValueError, RecursionError) as problem:
            unread.append({"file": index, "reason": type(problem).__name__})
            continue
        for _, secret in found:
            secrets.append({
                "file": index,
                "line": secret.line_number,
                "type": secret.type,
                "hash": secret.secret_hash,
                "verified": secret.is_verified,
            })
secrets.sort(key=lambda secret: (secret["file"], secret["line"], secret["type"], secret["hash"]))
json.dump({"version": VERSION, "plugins": plugins, "files": len(names), "secrets": secrets, "unread": unread}, sys.stdout)
