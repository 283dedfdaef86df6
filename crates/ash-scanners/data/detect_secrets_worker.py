"""Runs the detect-secrets library over a list of files for ash.

    python -I -X utf8 detect_secrets_worker.py REQUEST OUTPUT

The current directory is the scanned tree. REQUEST is JSON: {"files": NAME, "accepted": [[position, type, hash], ...],
"seconds_per_file": N, "plugins": LIST or null, "filters": LIST, "verify": LEVEL or null}; the file NAME beside it holds the names to scan, relative to the tree, each ended by a NUL byte. OUTPUT
receives JSON that names files by their position in that list, so that a name which is no text does no harm, and that never
holds a secret or its hash.

Plugins are the library's (all of them for null) or of files that ash has judged; so are filters. With a LEVEL, candidates are verified with
their issuers, and those below it are left out.
"""
import builtins
import codecs
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
from detect_secrets.settings import get_filters, get_plugins, get_settings
from detect_secrets.util.code_snippet import get_code_snippet


class TooSlow(Exception):
    """A file took longer than its share."""


VERIFY = "detect_secrets.filters.common.is_ignored_due_to_verification_policies"


def configure(request):
    """Sets the library up; returns the names of the plugins, and of what the settings name and this version does not have."""
    settings = get_settings()
    settings.clear()
    own = {plugin.__name__ for plugin in get_mapping_from_secret_type_to_class().values()}
    # It remembers, and plugins from files are still to come.
    get_mapping_from_secret_type_to_class.cache_clear()
    asked = request["plugins"] or []
    plugins = [plugin for plugin in asked if "path" in plugin or plugin["name"] in own]
    unknown = [plugin["name"] for plugin in asked if plugin not in plugins]
    settings.configure_plugins(plugins or [{"name": name} for name in sorted(own)])
    settings.filters = {entry["path"]: entry for entry in request["filters"]}
    if request["verify"]:
        settings.filters[VERIFY] = {"path": VERIFY, "min_level": request["verify"]}
    try:
        names = [type(plugin).__name__ for plugin in get_plugins()]
        loaded = {getattr(filter, "path", None) for filter in get_filters()}
    except Exception as problem:
        sys.exit("the plugins of the settings cannot be loaded (%s: %s); name what they need in sandbox.extra_read_paths" % (type(problem).__name__, problem))
    missing = [path for path in settings.filters if path not in loaded]
    if any(path.startswith("file://") or path == VERIFY for path in missing):
        sys.exit("the filters of the settings cannot be loaded: %s; name what they need in sandbox.extra_read_paths" % ", ".join(missing))
    return names, unknown + missing


left_out = 0


def counting(is_filtered_out):
    """Filters are the settings' choice; how much they leave out is said."""
    def counted(*args, **kwargs):
        global left_out
        filtered = is_filtered_out(*args, **kwargs)
        left_out += bool(filtered)
        return filtered
    return counted


# Ends of the names of text files, in lower case: what follows the last dot, or the whole name. Programs run or read them whatever a few
# bytes are, so they are looked at whatever the bytes are.
TEXT_NAMES = frozenset("""
    js mjs cjs jsx ts mts cts tsx vue svelte py pyw pyi ipynb rb erb php phtml pl pm lua tcl r jl sh bash zsh ksh csh fish command ps1 psm1 psd1
    bat cmd vbs vb c h cc cpp cxx hh hpp cs fs java kt kts scala groovy gradle go rs swift m mm dart ex exs erl hs clj cljs el nim zig
    sql tf tfvars hcl bicep yaml yml json jsonc json5 jsonl toml ini cfg conf config properties env envrc npmrc pypirc netrc xml html htm xhtml css scss
    less md markdown rst txt csv tsv log tex tpl tmpl template j2 jinja ejs hbs graphql proto nix cmake mk service
    dockerfile containerfile makefile rakefile gemfile jenkinsfile vagrantfile procfile
""".split())
# Bytes that text has no use for.
CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\x0b\x0c\r\x1b") + b"\x7f"


def readings(name, data):
    """The encodings a file is read in, each with what to do with bytes that are wrong in it. None: it is binary.

    The library gives up, without a word, on a file with one byte that is not UTF-8, and finds nothing between the NUL bytes of UTF-16. What
    looks like UTF-16 may be UTF-8 all the same, so it is read as both.
    """
    wide = wide_encodings_of(data) if b"\0" in data else []
    try:
        data.decode("utf-8")
        narrow = [("utf-8", "strict")]
    except UnicodeDecodeError:
        narrow = [] if is_binary(name, data) else [("utf-8", "replace")]
    return narrow + [(encoding, "replace") for encoding in wide]


def is_binary(name, data):
    """Whether a file that is not UTF-8 is none of text either. A few odd bytes do not make it so, nor do many if it is to be a program."""
    if b"\0" not in data or data.startswith(b"#!") or os.path.basename(name).rsplit(".", 1)[-1].lower() in TEXT_NAMES:
        return False
    odd = len(data) - len(data.translate(None, CONTROLS)) + data.decode("utf-8", "replace").count("\ufffd")
    return odd > len(data) // 10


def wide_encodings_of(data):
    """UTF-16 and UTF-32, if it may be one of them. A mark alone proves nothing: without a NUL byte there is no Latin text in either."""
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        # The mark of little-endian UTF-16 and a NUL character look the same.
        return ["utf-32", "utf-16"]
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ["utf-16"]
    # Without a mark: half of the bytes of Latin text are NUL, and always the same half.
    even, odd = data[::2].count(0), data[1::2].count(0)
    if max(even, odd) > len(data) // 4 and min(even, odd) <= len(data) // 64:
        return ["utf-16-be" if even > odd else "utf-16-le"]
    return []


# How the library reads the file it is at.
reading = ("utf-8", "strict")


def open_text(name):
    encoding, errors = reading
    return builtins.open(name, encoding=encoding, errors=errors)


def lines_of(name):
    with open_text(name) as stream:
        return stream.read().splitlines()


def ring(_signal, _frame):
    raise TooSlow


def scan_one(position, name, seconds):
    """Findings of one file: (position, line, type, hash, allowlisted), why it was not read, if it was not, and what filters left out."""
    secrets, most_left_out = [], 0
    signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        with builtins.open(name, "rb") as stream:
            possible = readings(name, stream.read())
        for one in possible:
            found, fewer = scan_as(one, position, name)
            secrets += found
            most_left_out = max(most_left_out, fewer)
    except TooSlow:
        return [], [position, "it took longer than %d seconds" % seconds], left_out
    except RecursionError:
        return [], [position, "it is nested too deep"], left_out
    except Exception as problem:
        return [], [position, type(problem).__name__], left_out
    finally:
        signal.alarm(0)
    return secrets, None, most_left_out


def scan_as(one, position, name):
    """Findings of one file in one reading, and what filters left out. What several readings find alike is one finding in the end."""
    global left_out, reading
    left_out, reading = 0, one
    found = list(scan.scan_file(name))
    lines = lines_of(name) if found else []
    return [(position, secret.line_number, secret.type, secret.secret_hash, allowlisted(name, lines, secret.line_number)) for secret in found], left_out


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
    plugins, unknown = configure(request)
    scan.open = open_text
    scan._is_filtered_out = counting(scan._is_filtered_out)

    seen, secrets, unread, filtered = set(), [], [], 0
    for found, missed, fewer in scan_all(names, request["seconds_per_file"]):
        filtered += fewer
        if missed:
            unread.append({"file": missed[0], "reason": missed[1]})
        for position, line, kind, digest, allowed in sorted(found):
            key = (position, kind, digest, allowed)
            if key in seen:
                continue
            seen.add(key)
            known = (position, kind, digest) in accepted
            secrets.append({"file": position, "line": line, "type": kind, "allowlisted": allowed, "accepted": known})
    result = {"version": VERSION, "plugins": plugins, "files": len(names), "secrets": secrets, "unread": unread, "left_out": filtered, "unknown": unknown}
    partial = output_path + ".part"
    with builtins.open(partial, "w", encoding="utf-8") as stream:
        json.dump(result, stream)
    os.replace(partial, output_path)


if __name__ == "__main__":
    main()
