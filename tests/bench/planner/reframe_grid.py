"""ReFrame: a parameterised check; `reframe -c reframe_grid.py -l` makes and lists every variant. GRID_POINTS says how many."""
import os

import reframe as rfm
import reframe.utility.sanity as sn

POINTS = int(os.environ.get("GRID_POINTS", "1000"))
SEEDS = min(125, POINTS // 8)  # a tiny grid shows what start and imports cost


@rfm.simple_test
class Grid(rfm.RunOnlyRegressionTest):
    model = parameter(["mobilenet_v2", "llama3"])
    data = parameter(["folder", "packed"])
    optim = parameter(["sgd", "adam"])
    seed = parameter(range(SEEDS))
    rate = parameter(range(1, max(1, POINTS // 1000) + 1))
    gpus = variable(int, value=1)
    epochs = variable(int, value=20)
    batch = variable(int, value=64)
    precision = variable(str, value="fp32")
    workers = variable(int, value=2)
    prefetch = variable(int, value=2)
    pin_memory = variable(bool, value=False)
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "echo"
    local = True

    @run_before("run")
    def arguments(self):
        self.executable_opts = [self.model, self.data, self.optim, str(self.seed), str(self.rate)]

    @sanity_function
    def ran(self):
        return sn.assert_found(r"\S", self.stdout)
