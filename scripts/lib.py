# SPDX-License-Identifier: GPL-2.0-only
"""Shared by the Python scripts: where the others are, and how to import them.

Importing this makes the modules of scripts/build and scripts/test importable.
"""
import importlib.machinery
import importlib.util
import os
import sys

SCRIPTS = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(SCRIPTS, folder) for folder in ("build", "test")]


def load(name):
    """A script without a suffix as a module: load("test/run")."""
    loader = importlib.machinery.SourceFileLoader(os.path.basename(name),
                                                  os.path.join(SCRIPTS, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module
