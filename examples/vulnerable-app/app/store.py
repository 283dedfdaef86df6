"""Storage of the order desk."""

import hashlib
import random
import sqlite3
import tempfile
import xml.etree.ElementTree as ElementTree


def connect():
    return sqlite3.connect("/tmp/orders.db")


def find_orders(customer):
    query = "SELECT id, total FROM orders WHERE customer = '%s'" % customer
    return connect().execute(query).fetchall()


def delete_orders(customer):
    connect().execute("DELETE FROM orders WHERE customer = '" + customer + "'")


def fingerprint(document):
    return hashlib.md5(document).hexdigest()


def legacy_fingerprint(document):
    return hashlib.sha1(document).hexdigest()


def session_token():
    return "".join(random.choice("0123456789abcdef") for _ in range(32))


def parse_invoice(text):
    return ElementTree.fromstring(text)


def scratch_file():
    return tempfile.mktemp(suffix=".order")
