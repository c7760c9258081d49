# SPDX-License-Identifier: GPL-2.0-only
"""Scripts without a suffix as modules: from testmodule import test."""
import importlib.machinery
import importlib.util
import os


def load(name):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    loader = importlib.machinery.SourceFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


test = load("test")
