"""Classes for other frameworks: one file each, named after the library that it imports.

A model is a directory, a packaged model or a Hub repository. Vectors have unit length, so that a
dot product is a cosine. Frameworks that need only a function are in
`docs/guides/integrations.md`.
"""
