"""Tidy trials in, numbers out: pure functions, one question a file. Only accepted participants' trials belong here."""
