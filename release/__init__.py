"""Makes the artefacts of a release into `dist/`; docs/release.md says what each of them is.

Two runs on one commit give the same bytes: everything is made from a copy of the commit, and every
time in an artefact is the commit's.
"""
