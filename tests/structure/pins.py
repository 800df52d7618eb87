#!/usr/bin/env python3
"""tools/versions.env pins NVIDIA's wheels in the versions that the installed torch asks for."""
import importlib.machinery
import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load(path):
    loader = importlib.machinery.SourceFileLoader("cuda_wheels", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("cuda_wheels", loader))
    loader.exec_module(module)
    return module


def self_test(tool):
    """A pin that is another one, or missing, is seen; parts of the toolkit that nobody wants are not."""
    torch = ["numpy", 'cuda-toolkit[cublas,nvtx]==13.0.2; platform_system == "Linux"', 'nvidia-nccl-cu13==2.28.9; platform_system == "Linux"']
    toolkit = ["nvidia-cublas==13.1.0.3.*; (sys_platform == 'linux') and extra == 'cublas'",
               "nvidia-cuda-crt==13.0.88.*; (sys_platform == 'linux') and extra == 'crt'",
               "nvidia-npp==13.0.1.2.*; (sys_platform == 'linux') and extra == 'npp'"]
    wished = tool.wishes(torch, toolkit)
    assert wished == {"cuda-toolkit": "13.0.2", "nvidia-nccl-cu13": "2.28.9", "nvidia-cublas": "13.1.0.3", "nvidia-cuda-crt": "13.0.88"}, wished
    pinned = {"TORCH": "2.11.0", "CUDA_TOOLKIT": "13.0.2", "NCCL": "2.30.3", "CUBLAS": "13.1.0.3"}
    assert list(tool.differences(pinned, wished)) == ["CUDA_CRT_VERSION is missing, torch 2.11.0 asks for nvidia-cuda-crt 13.0.88",
                                                      "NCCL_VERSION is 2.30.3, torch 2.11.0 asks for nvidia-nccl-cu13 2.28.9"]


def main():
    tool = load(ROOT / "tools/cuda_wheels")
    self_test(tool)
    sites = list((ROOT / ".deps/python/lib").glob("python3*/site-packages"))
    assert len(sites) == 1, f"not one site-packages below .deps/python: {sites}"
    tool.check(str(sites[0]))
    print(f"{len(tool.pins(tool.VERSIONS.read_text()))} pins, none differs from what torch asks for")


if __name__ == "__main__":
    main()
