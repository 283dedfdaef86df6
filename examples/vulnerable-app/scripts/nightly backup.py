"""Nightly backup; the space in the file name is part of the example."""

import os
import subprocess
import tarfile


def backup(target):
    subprocess.call("tar czf /tmp/backup.tgz " + target, shell=True)
    os.chmod("/tmp/backup.tgz", 0o777)


def restore(archive):
    tarfile.open(archive).extractall("/")


def run(command):
    exec(command)
