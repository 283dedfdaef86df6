#!/bin/sh
# Deliberately vulnerable: see README.md.
set -e
. ./deploy.env
eval "$1"
curl -k "http://$DEPLOY_HOST/install.sh" | sh
sqlplus orders/not-a-real-password@ORDERS @migrate.sql
