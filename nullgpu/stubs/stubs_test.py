"""What stubs.py makes of lists of symbols. A new torch that asks for something else has to end the build, with a line that says what."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from stubs import Binary, Mismatch, Wish, answer_text, declarations, demand_of, family_of, looked_up_names, merged, missing_in, script_text, strings_in, stubs_text, symbols_of

FAMILIES = {"libcudart.so.13": ["cuda*", "__cuda*"], "libcuda.so.1": ["cu[A-Z]*"], "libcufile.so.0": ["cuFile*"],
            "libnccl.so.2": ["nccl*"], "libnvidia-ml.so.1": ["nvml*"]}


def lines_of(*binaries, **options):
    try:
        demand_of(binaries, FAMILIES, **options)
    except Mismatch as mismatch:
        return mismatch.lines
    return []


class Families(unittest.TestCase):
    def test_the_closest_pattern_decides(self):
        self.assertEqual(family_of("cuFileRead", FAMILIES), "libcufile.so.0")
        self.assertEqual(family_of("cuInit", FAMILIES), "libcuda.so.1")
        self.assertEqual(family_of("__cudaLaunchKernel", FAMILIES), "libcudart.so.13")
        self.assertIsNone(family_of("curandGenerate", FAMILIES))


class Demand(unittest.TestCase):
    def test_symbols_are_sorted_by_the_library_that_has_to_have_them(self):
        torch = Binary("libtorch_cuda.so", needed=["libcudart.so.13", "libc.so.6", "libc10.so"],
                       wishes=[Wish("cudaMalloc", "libcudart.so.13", "libcudart.so.13"), Wish("memcpy", "GLIBC_2.14", "libc.so.6"),
                               Wish("ncclSend"), Wish("_ZN3c105ErrorE"), Wish("_Znwm")], looked_up={"cuInit", "nvmlShutdown"})
        c10 = Binary("libc10.so", defined={"_ZN3c105ErrorE"})
        demand = demand_of([torch, c10], FAMILIES, defined_elsewhere={"_Znwm"})
        self.assertEqual(demand["libcudart.so.13"], {"version": "libcudart.so.13", "symbols": {"cudaMalloc": "libtorch_cuda.so"}})
        self.assertEqual(demand["libnccl.so.2"], {"version": None, "symbols": {"ncclSend": "libtorch_cuda.so"}})
        self.assertEqual(list(demand["libcuda.so.1"]["symbols"]), ["cuInit"])
        self.assertEqual(list(demand["libnvidia-ml.so.1"]["symbols"]), ["nvmlShutdown"])
        self.assertEqual(demand["libcufile.so.0"]["symbols"], {})

    def test_a_symbol_of_no_family_is_named(self):
        [line] = lines_of(Binary("libtorch_cuda.so", wishes=[Wish("cutensorCreate")]))
        self.assertIn("libtorch_cuda.so asks for cutensorCreate", line)

    def test_a_library_that_is_not_here_is_named(self):
        [line] = lines_of(Binary("libtorch_cuda.so", needed=["libcudart.so.14"]))
        self.assertIn("libtorch_cuda.so needs libcudart.so.14", line)

    def test_a_symbol_that_the_exports_hide_is_named(self):
        [line] = lines_of(Binary("libtorch_cuda.so", wishes=[Wish("nvCudaThing", "libcudart.so.13", "libcudart.so.13")]))
        self.assertIn("nvCudaThing of libcudart.so.13", line)

    def test_two_versions_of_one_library_are_named(self):
        [line] = lines_of(Binary("a.so", wishes=[Wish("cudaFree", "OLD", "libcudart.so.13")]),
                          Binary("b.so", wishes=[Wish("cudaMalloc", "NEW", "libcudart.so.13")]))
        self.assertIn("b.so asks for cudaMalloc of libcudart.so.13 in version NEW, others for version OLD", line)

    def test_the_interpreters_own_symbols_are_nobodys_business(self):
        self.assertEqual(lines_of(Binary("libtorch_python.so", wishes=[Wish("PyList_New"), Wish("_Py_NoneStruct")])), [])


class Libraries(unittest.TestCase):
    def test_what_a_built_library_lacks_is_named(self):
        entry = {"version": "V1", "symbols": {"cudaFree": "libtorch_cuda.so", "cudaMalloc": "libc10_cuda.so"}}
        self.assertEqual(missing_in(entry, {"cudaFree@@V1", "cudaMalloc@@V1"}), [])
        [line] = missing_in(entry, {"cudaFree@@V1", "cudaMalloc@@V2"})
        self.assertIn("libc10_cuda.so asks for cudaMalloc@@V1", line)
        [line] = missing_in({"version": None, "symbols": {"ncclSend": "libtorch_cuda.so"}}, set())
        self.assertIn("ncclSend", line)

    def test_the_demands_of_several_torches_are_one(self):
        older = {"version": "libcudart.so.12", "symbols": {"cudaFree": "libc10_cuda.so", "cudaGetDeviceProperties_v2": "libc10_cuda.so"}}
        newer = {"version": "libcudart.so.13", "symbols": {"cudaFree": "libtorch_cuda.so"}}
        self.assertEqual(merged([newer, older]), {"version": None, "symbols": {"cudaFree": "libtorch_cuda.so", "cudaGetDeviceProperties_v2": "libc10_cuda.so"}})
        same = {"version": None, "symbols": {"cudaMalloc": "libtorch_cuda.so"}}
        self.assertEqual(merged([older, same])["version"], "libcudart.so.12")

    @unittest.skipUnless(shutil.which("g++"), "no g++")
    def test_a_library_that_is_only_a_name_has_the_symbols_behind_it_in_its_version(self):
        with tempfile.TemporaryDirectory() as folder:
            def link(name, source, *options):
                (pathlib.Path(folder) / "source.cpp").write_text(source)
                subprocess.run(["g++", "-shared", "-fPIC", "-o", name, "source.cpp", f"-Wl,-soname,{name}", *options], cwd=folder, check=True)
            link("libnullgpu_cudart.so", 'extern "C" int cudaFree() { return 0; }')
            (pathlib.Path(folder) / "script").write_text("libcudart.so.12 { };")
            link("libcudart.so.12", "", "-Wl,--version-script=script", "-Wl,--no-as-needed", "libnullgpu_cudart.so")
            built = symbols_of(pathlib.Path(folder) / "libcudart.so.12")
        entry = {"version": "libcudart.so.12", "symbols": {"cudaFree": "libtorch_cuda.so"}}
        self.assertEqual(missing_in(entry, built), [])
        self.assertEqual(len(missing_in({**entry, "version": "libcudart.so.13"}, built)), 1)

    def test_a_script_has_one_version_and_only_the_exports(self):
        self.assertEqual(script_text("V1", ["cuda*", "__cuda*"]), "V1 { global: cuda*; __cuda*; local: *; };\n")
        self.assertEqual(script_text(None, ["nccl*"]), "{ global: nccl*; local: *; };\n")

    def test_names_that_are_looked_up_are_whole_strings_which_the_header_declares(self):
        names = looked_up_names("CUresult CUDAAPI cuInit(unsigned int Flags); CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr);")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "library"
            file.write_bytes(b"\0cuInit\0cuInitialised\0nvmlInit_v2\0a cuInit here\0cuMemFree_v2\0cuZebra\0")
            self.assertEqual(strings_in(file, names), {"cuInit", "nvmlInit_v2", "cuMemFree_v2"})

    def test_a_function_that_a_header_declares_is_answered_by_its_parameters(self):
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder) / "cusolverDn.h"
            header.write_text("""cusolverStatus_t CUSOLVERAPI cusolverDnSgetrf(/* a comment (of parameters) */
              cusolverDnHandle_t handle, int m, float * Aarray[], int const work[2], int * devInfo);
              const char* CUSPARSEAPI cusparseGetErrorString(cusparseStatus_t status); int cusolverNone();""")
            found = declarations([header])
        self.assertEqual(list(found), ["cusolverDnSgetrf", "cusparseGetErrorString"])
        self.assertEqual(found["cusolverDnSgetrf"][2], ["handle", "m", "Aarray", "work", "devInfo"])
        self.assertIn('{ return nullgpu::answer("cusolverDnSgetrf", CUSOLVER_STATUS_EXECUTION_FAILED, handle, m, Aarray, work, devInfo); }',
                      answer_text("cusolverDnSgetrf", *found["cusolverDnSgetrf"]))

    @unittest.skipUnless(shutil.which("g++"), "no g++")
    def test_a_function_that_only_succeeds_returns_0_whatever_it_is_given(self):
        with tempfile.TemporaryDirectory() as folder:
            source, caller, program = (pathlib.Path(folder) / name for name in ("stubs.cpp", "caller.cpp", "program"))
            source.write_text(stubs_text("libcublasLt.so.13", "nullgpu/cublaslt", [], ["cublasLtSet"]))
            caller.write_text('extern "C" int cublasLtSet(void*, int, const void*, unsigned long);\n'
                              "int main() { return cublasLtSet(nullptr, 3, nullptr, 8); }\n")
            subprocess.run(["g++", "-o", program, source, caller], check=True)
            self.assertEqual(subprocess.run([program]).returncode, 0)

    @unittest.skipUnless(shutil.which("g++"), "no g++")
    def test_a_call_of_a_stub_ends_the_process_with_the_name_and_the_place(self):
        with tempfile.TemporaryDirectory() as folder:
            source, program = pathlib.Path(folder) / "stubs.cpp", pathlib.Path(folder) / "program"
            source.write_text(stubs_text("libcusolver.so.12", "nullgpu/cusolver", ["cusolverDnCreate", "cusolverDnDestroy"])
                              + "int main() { cusolverDnDestroy(); }\n")
            subprocess.run(["g++", "-o", program, source], check=True)
            ended = subprocess.run([program], capture_output=True, text=True)
        self.assertEqual(ended.returncode, -6)
        self.assertEqual(ended.stderr, "nullgpu: cusolverDnDestroy is called, which libcusolver.so.12 of the null GPU has only as a stub: "
                                       "write it in nullgpu/cusolver\n")


if __name__ == "__main__":
    sys.exit(unittest.main())
