"""ReFrame: a parameterised check of a program that does nothing. TRIALS says how many."""
import os

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class Nothing(rfm.RunOnlyRegressionTest):
    trial = parameter(range(int(os.environ.get("TRIALS", "10"))))
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "true"
    local = True

    @sanity_function
    def ran(self):
        return sn.assert_true(True)
