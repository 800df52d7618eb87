import os

from spack.package import *


class Expc(Package):
    """Performance studies as source code: a compiler, a runtime and verdicts.

    It installs the archive that tools/package makes, from the folder in which Spack is started:
      spack repo add tools/packaging/spack
      cd build/release/dist && spack install --no-checksum expc
    """

    manual_download = True
    license("Apache-2.0 WITH LLVM-exception")

    # An archive is of one build, so that it has no digest that could be written here.
    version("0.1.0")
    variant("torch", default=False, description="For the built-in training jobs, the torch of this Spack; studies of programs need none")

    depends_on("py-torch@2.11", type="run", when="+torch")
    requires("platform=linux", msg="the archive holds programs for Linux")
    requires("target=x86_64:", msg="the archive holds programs for x86-64")

    def url_for_version(self, version):
        return f"file://{os.getcwd()}/expc-{version}-linux-x86_64.tar.zst"

    def install(self, spec, prefix):
        install_tree(".", prefix)

    def setup_run_environment(self, env):
        if self.spec.satisfies("+torch"):
            env.set("EXPC_TORCH", find(self.spec["py-torch"].prefix, "torch/lib/libtorch_cpu.so")[0].removesuffix("/lib/libtorch_cpu.so"))
