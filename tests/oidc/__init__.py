"""`make test-oidc`: our sign-in against oidc-provider from the npm registry, a certified provider of another author."""
