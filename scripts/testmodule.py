# SPDX-License-Identifier: GPL-2.0-only
"""The script scripts/test as a module: from testmodule import test."""
import importlib.machinery
import importlib.util
import os

_path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "test")
_loader = importlib.machinery.SourceFileLoader("test", _path)
test = importlib.util.module_from_spec(importlib.util.spec_from_loader("test", _loader))
_loader.exec_module(test)
