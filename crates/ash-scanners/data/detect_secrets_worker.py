"""Runs the detect-secrets library over a list of files for ash.

    python -I -X utf8 detect_secrets_worker.py REQUEST OUTPUT

The current directory is the scanned tree. REQUEST is JSON: {"files": NAME, "accepted": [[position, type, hash], ...],
"seconds_per_file": N}; the file NAME beside it holds the names to scan, relative to the tree, each ended by a NUL byte. OUTPUT
receives JSON that names files by their position in that list, so that a name which is no text does no harm, and that never
holds a secret or its hash.

Every plugin of the library is used and no filter, whatever a baseline in the tree says: baselines can load code.
"""
import builtins
import concurrent.futures
import json
import multiprocessing
import os
import signal
import sys

from detect_secrets.__version__ import VERSION
from detect_secrets.core import scan
from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.filters.allowlist import is_line_allowlisted
from detect_secrets.settings import get_settings
from detect_secrets.util.code_snippet import get_code_snippet


class TooSlow(Exception):
    """A file took longer than its share."""


def configure():
    settings = get_settings()
    settings.clear()
    names = sorted({plugin.__name__ for plugin in get_mapping_from_secret_type_to_class().values()})
    settings.configure_plugins([{"name": name} for name in names])
    settings.disable_filters(*list(settings.filters))
    return names


def open_text(name):
    """The library gives up, without a word, on a file with one byte that is not UTF-8. Only binary files may be left out."""
    with builtins.open(name, "rb") as stream:
        data = stream.read()
    try:
        data.decode("utf-8")
        errors = "strict"
    except UnicodeDecodeError:
        errors = "strict" if b"\0" in data else "replace"
    return builtins.open(name, encoding="utf-8", errors=errors)


def lines_of(name):
    with open_text(name) as stream:
        try:
            return stream.read().splitlines()
        except UnicodeDecodeError:
            return []


def ring(_signal, _frame):
    raise TooSlow


def scan_one(position, name, seconds):
    """Findings of one file: (position, line, type, hash, allowlisted), and why it was not read, if it was not."""
    signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        with builtins.open(name, "rb"):
            pass
        found = list(scan.scan_file(name))
        lines = lines_of(name) if found else []
    except TooSlow:
        return [], [position, "it took longer than %d seconds" % seconds]
    except RecursionError:
        return [], [position, "it is nested too deep"]
    except Exception as problem:
        return [], [position, type(problem).__name__]
    finally:
        signal.alarm(0)
    secrets = []
    for secret in found:
        secrets.append((position, secret.line_number, secret.type, secret.secret_hash, allowlisted(name, lines, secret.line_number)))
    return secrets, None


def allowlisted(name, lines, number):
    """Whether the line, or the one before it, carries `pragma: allowlist secret`."""
    if not 0 < number <= len(lines):
        return False
    return bool(is_line_allowlisted(name, lines[number - 1], get_code_snippet(lines, number)))


def scan_some(batch, seconds):
    return [scan_one(position, name, seconds) for position, name in batch]


def batches(numbered, processes):
    """Small enough that no process is left with all the big files, big enough that handing them over costs nothing."""
    size = max(1, min(64, len(numbered) // (processes * 8)))
    return [numbered[start:start + size] for start in range(0, len(numbered), size)]


def scan_all(names, seconds):
    numbered = list(enumerate(names))
    processes = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 8)
    if processes < 2 or len(names) < 64:
        return scan_some(numbered, seconds)
    work = batches(numbered, processes)
    try:
        pool = concurrent.futures.ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("fork"))
    except OSError:
        # No POSIX semaphores here (no /dev/shm): one process does it all.
        return scan_some(numbered, seconds)
    # A process that dies breaks the pool, and that ends the run: half a result is none.
    with pool:
        done = pool.map(scan_some, work, [seconds] * len(work))
        return [outcome for batch in done for outcome in batch]


def main():
    request_path, output_path = sys.argv[1:3]
    with builtins.open(request_path, encoding="utf-8") as stream:
        request = json.load(stream)
    with builtins.open(os.path.join(os.path.dirname(request_path), request["files"]), "rb") as stream:
        names = [os.fsdecode(name) for name in stream.read().split(b"\0")[:-1]]
    accepted = {tuple(entry) for entry in request["accepted"]}
    plugins = configure()
    scan.open = open_text

    seen, secrets, unread = set(), [], []
    for found, missed in scan_all(names, request["seconds_per_file"]):
        if missed:
            unread.append({"file": missed[0], "reason": missed[1]})
        for position, line, kind, digest, allowed in sorted(found):
            key = (position, kind, digest, allowed)
            if key in seen:
                continue
            seen.add(key)
            known = (position, kind, digest) in accepted
            secrets.append({"file": position, "line": line, "type": kind, "allowlisted": allowed, "accepted": known})
    result = {"version": VERSION, "plugins": plugins, "files": len(names), "secrets": secrets, "unread": unread}
    partial = output_path + ".part"
    with builtins.open(partial, "w", encoding="utf-8") as stream:
        json.dump(result, stream)
    os.replace(partial, output_path)


if __name__ == "__main__":
    main()
