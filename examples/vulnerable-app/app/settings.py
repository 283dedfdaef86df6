"""Settings of the order desk. Every value is invented."""

DEBUG = True
BIND_ADDRESS = "0.0.0.0"

DATABASE_USER = "orders"
DATABASE_PASSWORD = "not-a-real-password"

# The key pair printed in public cloud documentation.
AWS_ACCESS_KEY_ID = "AKIAIOSFODNN7EXAMPLE"
AWS_SECRET_ACCESS_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

SESSION_SIGNING_KEY = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a6978"
