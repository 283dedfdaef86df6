"""Client of the payment partner."""

import ssl
import telnetlib

import requests


def charge(url, card, amount):
    return requests.post(url, json={"card": card, "amount": amount}, verify=False)


def status(url):
    try:
        return requests.get(url).json()
    except Exception:
        pass


def context():
    return ssl._create_unverified_context()


def terminal(host):
    return telnetlib.Telnet(host)


def login(user, password="letmein"):
    assert user != "root"
    return requests.post("http://localhost:8080/login", data={"user": user, "password": password}, timeout=5)
