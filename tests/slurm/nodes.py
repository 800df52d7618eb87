#!/usr/bin/env python3
"""Runs over several nodes of a real Slurm: as a job and within an allocation, with blocks on all nodes at once, and with a node that is lost."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fault"))
import cluster  # noqa: E402
import harness  # noqa: E402
from harness import MARK, Folder, expect, expect_no_orphans, main, marked_processes, parent, parse_options, wait_for  # noqa: E402

NODES = 4
SITE = """\
nodes = {nodes}
time = 30:00
export = EXPC_DEVICE_LOCKS
export = EXPC_FAULT_TEST
option = --overcommit
"""

slurm = None


class Study(Folder):
    """A study, and runs of it on nodes of the cluster."""

    def environment(self):
        name, value = MARK.split("=")
        return {**os.environ, name: value}

    def on_slurm(self, nodes, devices="cpu:1", *extra, worker=None, site=""):
        (self.path / "site").write_text(SITE.format(nodes=nodes) + site)
        command = self.command("--on", "slurm", "--site", "site", "--devices", devices, *extra)
        if worker:
            command[command.index("--worker") + 1] = worker
        return subprocess.run(command, cwd=self.path, text=True, capture_output=True, timeout=300, env=self.environment())

    def in_allocation(self, nodes, **variables):
        return subprocess.Popen(["salloc", "--quiet", "--no-kill", f"--nodes={nodes}", "--time=30", "--overcommit",
                                 *self.command("--devices", "cpu:1")], cwd=self.path, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env={**self.environment(), **variables})

    def verdicts(self, devices="cpu:1"):
        report = subprocess.run([harness.options.expc, "report", str(self.study), "--results", str(self.results), "--devices",
                                 devices], capture_output=True, text=True, timeout=60)
        return sorted(line for line in report.stdout.splitlines() if line.startswith(("PASS", "FAIL", "UNDECIDED")))

    def most_at_once(self):
        """Of how many nodes trials were under way at one moment."""
        edges = []
        for session, begin, end in self.query(
                "SELECT session, started, started + seconds FROM trial WHERE status = 'valid' AND kind = 'timed'"):
            edges += [(begin, 1, session), (end, 0, session)]
        under_way, most = set(), 0
        for _, begins, session in sorted(edges):
            (under_way.add if begins else under_way.discard)(session)
            most = max(most, len(under_way))
        return most


def runs_on(node, pid):
    with contextlib.suppress(OSError):  # it has ended meanwhile
        return f"SLURMD_NODENAME={node}".encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    return False


def lose(node):
    """As a node that loses its power: all that runs there is gone at once, with the daemons that Slurm has there."""
    on_node = [pid for pid in marked_processes() if runs_on(node, pid)]
    expect(on_node, f"something runs on {node}")
    steps = {parent(pid) for pid in on_node}
    steps = {pid for pid in steps if pid and pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("slurmstepd")}
    for pid in [int((slurm.folder / f"{node}.pid").read_text()), *steps, *on_node]:
        with contextlib.suppress(ProcessLookupError):  # the death of one may be another's
            os.kill(pid, signal.SIGKILL)


def revive(node):
    slurm.call("slurmd", "-N", node, "-f", os.environ["SLURM_CONF"])
    slurm.until(lambda: set(slurm.call("sinfo", "-h", "-N", "-o", "%t").split()) == {"idle"}, "all nodes are idle again")


def said(study):
    """Verdicts without their numbers."""
    return [line.split(":")[0] for line in study.verdicts()]


def eight_blocks_on_four_nodes_take_a_quarter_of_the_time():
    seconds = {}
    verdicts = {}
    for nodes in (1, NODES):
        with Study(duration="1s", timed=8) as study:
            done = study.on_slurm(nodes)
            expect(done.returncode == 0, f"the job ends well\n{done.stderr}{done.stdout}")
            study.check_store()
            study.check_complete(8, 1)
            verdicts[nodes] = said(study)
            (begin, end), = study.query("SELECT min(started), max(started + seconds) FROM trial WHERE kind = 'timed'")
            seconds[nodes] = end - begin
            hosts = [host for host, in study.query("SELECT DISTINCT host FROM session")]
            if nodes == NODES:
                expect(sorted(hosts) == [f"n{i + 1}" for i in range(NODES)], f"each node has a session, found {hosts}")
                expect(study.most_at_once() == NODES, f"blocks of four nodes overlapped, found {study.most_at_once()}")
    with Study(duration="60ms", timed=8) as local:
        local.run("--devices", "cpu:1").expect(0)
        expect(verdicts[1] == verdicts[NODES] == said(local), f"verdicts are a local run's: {verdicts}, {said(local)}")
    expect_no_orphans()
    return f"{NODES} nodes took {seconds[NODES] / seconds[1]:.2f} of one node's {seconds[1]:.1f} s"


TRAINED = """\
import std.image

study trained {
  workload image.mobilenet_v2(data = synthetic(32), size = 32px, batch = 4)
  factor (gpus, nodes) in { (1, 0), (2, 2), (4, 0) }
  factor precision in { fp32, bf16 } baseline fp32
  measure step_time
  compare gain = speedup(step_time) over precision
  criterion runs: forall (gpus, nodes): gain[precision = bf16] >= 0.001x
  design { timed { repeat 2  steps 2  warmup 1 } }
}
"""

# Ranks find each other by what they were told, and say so in one file.
MEET = """\
workload meet command ["sh", "-c", "exec python3 $$EXPC_STUDY_FOLDER/meet.py"] {
  inputs "meet.py"
  param nodes : int in 1..64 = 1
  metric met  : float higher  from stdout()
}

study meets {
  workload meet()
  factor nodes in { 1, 2, 4 }
  measure met
  criterion all_there: forall *: met >= 1
  design { timed { repeat 2 } }
}
"""
MEET_PY = """\
import os, socket, sys, time
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    server = socket.create_server(place)
    callers = [server.accept()[0] for _ in range(size - 1)]
    said = sorted(int(caller.makefile().readline()) for caller in callers)
    assert said == list(range(1, size)), said
    print(size)
else:
    while True:
        try:
            caller = socket.create_connection(place)
            break
        except ConnectionRefusedError:
            time.sleep(0.02)
    caller.sendall(b"%d\\n" % rank)
"""


def ranks_of_one_trial_run_on_two_nodes_and_the_verdicts_are_a_local_runs():
    with Study(duration="60ms", gpus="1, 2, 4", timed=6) as study, Study(duration="60ms", gpus="1, 2, 4", timed=6) as local:
        done = study.on_slurm(2, "cpu:2")
        expect(done.returncode == 0, f"the job ends well\n{done.stderr}{done.stdout}")
        study.check_store()
        study.check_complete(6, 1)
        sizes = {count for count, in study.query("SELECT DISTINCT json_array_length(devices) FROM trial WHERE status = 'valid'")}
        expect(sizes == {1, 2, 4}, f"trials of one, two and four ranks: {sizes}")
        expect({host for host, in study.query("SELECT DISTINCT host FROM session")} == {"n1+n2"}, "a session is on both nodes")
        local.run("--devices", "cpu:1", "--nodes", "4", "--agents-by", "$EXPC_AGENT").expect(0)
        expect(study.verdicts("cpu:2") == local.verdicts(), f"{study.verdicts('cpu:2')} are {local.verdicts()}")
        expect_no_orphans()


def processes_of_a_command_meet_over_nodes():
    with Study() as study:
        study.study.write_text(MEET)
        (study.path / "meet.py").write_text(MEET_PY)
        done = study.on_slurm(NODES)
        expect(done.returncode == 0, f"the job ends well\n{done.stderr}{done.stdout}")
        met = sorted(study.query("SELECT value, count(*) FROM metric_value WHERE name = 'met' GROUP BY value"))
        expect(met == [(1, 2), (2, 2), (4, 2)], f"each trial's processes met: {met}")
        expect_no_orphans()


READER = """\
workload reader command ["sh", "-c", "cat $$0; case $$0 in */local/*) ;; *) exit 3;; esac", "${data}"] {
  param data : path
  metric one : float higher  from stdout()
}

study reads {
  workload reader(data = "words")
  measure one
  criterion right: forall *: one >= 1
  design { timed { repeat 4 } }
}
"""


# Two ranks on each of two nodes, of which the last one ends last.
RANKED = """\
workload train command ["python3", "ranked.py"] timeout 1min {
  inputs "ranked.py"
  ranks gpus
  param gpus  : int in 1..64 = 4
  param nodes : int in 1..64 = 2
  outputs trial
  metric wall          : Time lower
  metric cpu_time      : Time lower
  metric loss          : float lower
  metric local_by_rank : float lower series
}

study ranked {
  workload train()
  measure wall, cpu_time, loss, local_by_rank
  criterion all_there: forall *: loss >= 1
  design { timed { repeat 2 } }
}
"""
RANKED_PY = MEET_PY.replace("    print(size)\n", "") + """
import expc
assert (os.environ["LOCAL_RANK"], os.environ["LOCAL_WORLD_SIZE"]) == (str(rank % 2), "2")
t = expc.trial()
t.metric(loss=size, local=rank % 2)
"""


def ranks_of_a_command_on_two_nodes_are_measured_together():
    with Study() as study:
        study.study.write_text(RANKED)
        (study.path / "ranked.py").write_text(RANKED_PY + "if rank == 3:\n    time.sleep(0.7)\n    while time.process_time() < 0.3: pass\n")
        done = study.on_slurm(2, "cpu:2")
        expect(done.returncode == 0, f"the job ends well\n{done.stderr}{done.stdout}")
        values = study.query("SELECT name, min(value), count(*) FROM metric_value WHERE name IN ('wall', 'cpu_time', 'loss') GROUP BY name ORDER BY name")
        expect([(name, count) for name, _, count in values] == [("cpu_time", 2), ("loss", 2), ("wall", 2)], f"all values are there: {values}")
        least = {name: value for name, value, _ in values}
        expect(least["loss"] == 4 and least["wall"] >= 0.7 and least["cpu_time"] >= 0.3, f"the last rank counts, too: {values}")
        expect({host for host, in study.query("SELECT DISTINCT host FROM session")} == {"n1+n2"}, "a session is on both nodes")
        expect_no_orphans()


def a_rank_that_dies_on_the_second_node_is_the_reason():
    with Study() as study:
        study.study.write_text(RANKED)
        (study.path / "ranked.py").write_text(RANKED_PY + "if rank == 3:\n    raise ValueError('bad rows')\ntime.sleep(60)\n")
        done = study.on_slurm(2, "cpu:2", "--fail-fast")
        reasons = study.query("SELECT DISTINCT reason FROM trial WHERE status = 'failed'")
        expect(done.returncode == 6, f"the run fails by {done.returncode}\n{done.stderr}{done.stdout}")
        expect(reasons == [("rank 3: python3 exited with code 1: ValueError: bad rows",)], f"by the words of rank 3: {reasons}")
        expect_no_orphans()


def a_timeout_tells_the_places_of_ranks_on_both_nodes():
    with Study() as study:
        study.study.write_text(RANKED)
        (study.path / "ranked.py").write_text(RANKED_PY + "def wait():\n    time.sleep(60)\nwait()\n")
        study.on_slurm(2, "cpu:2", "--fail-fast", "--timeout", "20")
        reasons = study.query("SELECT DISTINCT reason FROM trial WHERE status = 'timeout'")
        expect(len(reasons) == 1, f"one time-out: {reasons}")
        for rank in range(4):
            expect(re.search(rf"rank {rank}: ranked.py:\d+ in wait", reasons[0][0]), f"rank {rank} in {reasons}")
        expect_no_orphans()


def data_are_copied_to_the_scratch_folder_of_the_site_file():
    with Study() as study:
        study.study.write_text(READER)
        (study.path / "words").write_text("1\n")
        done = study.on_slurm(2, site=f"scratch = {study.path}/local/$SLURM_JOB_ID\n")
        expect(done.returncode == 0, f"trials read the copy\n{done.stderr}{done.stdout}")
        copies = list(study.path.glob("local/*/expc-data-*/*/words"))
        expect(len(copies) == 1 and copies[0].parts[-4].isdigit(), f"in the job's own folder: {copies}")
        expect_no_orphans()


def ranks_on_two_nodes_train_together_by_gloo():
    if not harness.options.torch_worker:
        return "SKIPPED: expc-worker was not built"
    with Study() as study:
        study.study.write_text(TRAINED)
        done = study.on_slurm(2, "cpu:2", worker=harness.options.torch_worker)
        expect(done.returncode == 0, f"the job ends well\n{done.stderr}{done.stdout}")
        study.check_store()
        sizes = study.query("SELECT json_array_length(devices), devices LIKE '%\"node\"%', count(*) FROM trial WHERE status = 'valid' "
                            "GROUP BY 1, 2 ORDER BY 1")
        expect(sizes == [(1, 0, 4), (2, 1, 4), (4, 1, 4)], f"trials of one rank, and of one and two on each of two nodes: {sizes}")
        expect_no_orphans()


def a_preempted_job_of_two_nodes_goes_on_after_the_one_that_took_its_place():
    with Study(duration="60ms", gpus="1, 2", timed=8) as study, Study(duration="60ms", gpus="1, 2", timed=8) as local:
        taken = study.on_slurm(2, "cpu:1", "--detach")
        expect(taken.returncode == 0, f"the job is taken\n{taken.stderr}")
        job = taken.stderr.split("slurm-")[1].split(":")[0]
        slurm.until(lambda: list(study.results.glob("journal/*.jsonl")) and study.valid() > 2, "trials are measured")
        urgent = slurm.call("sbatch", "--parsable", "-p", "urgent", f"--nodes={NODES}", "--exclusive", "--chdir=/tmp",
                            "--output=/dev/null", "--wrap=sleep 1").strip()
        slurm.until(lambda: slurm.state(job) == "PENDING" and slurm.state(urgent) == "COMPLETED", "it gives way")
        expect_no_orphans()
        code = study.results / "jobs" / f"slurm-{job}.code"
        code.unlink(missing_ok=True)  # of the part that gave way, where it had the time to end
        slurm.start_again(job)
        slurm.until(lambda: code.exists() and code.read_text().strip(), "the run ends", 240)
        log = (study.results / "jobs" / f"slurm-{job}.log").read_text()
        expect(code.read_text().strip() == "0", f"well\n{log}")
        study.check_store()
        study.check_complete(8, 1)
        expect(study.query("SELECT reason FROM trial WHERE status = 'failed'") == [], f"no trial failed\n{log}")
        local.run("--devices", "cpu:2").expect(0)
        expect(study.verdicts() == local.verdicts(), f"verdicts are a local run's: {study.verdicts()}, {local.verdicts()}")


def the_nodes_of_an_interactive_allocation_are_used():
    with Study(duration="60ms", timed=8) as study:
        run = study.in_allocation(2)
        out, err = run.communicate(timeout=120)
        # Two sessions say little of how far sessions lie apart, so the verdict may stay open.
        expect(run.returncode in (0, 4) and "this machine is not part of allocation" in err, f"the run ends well\n{err}")
        expect(sorted(host for host, in study.query("SELECT DISTINCT host FROM session")) == ["n1", "n2"], "trials ran on the nodes")
        study.check_complete(8, 1)
        expect_no_orphans()


def a_node_that_is_lost_takes_only_its_trial_with_it():
    with Study(duration="300ms", timed=8) as study:
        run = study.in_allocation(NODES)
        wait_for(lambda: list(study.results.glob("journal/*.jsonl")) and study.valid() >= 4, "trials are measured", 60)
        lose("n2")
        out, err = run.communicate(timeout=120)
        expect("lost node n2" in err, f"it is named\n{err}")
        expect(run.returncode == 0, f"the other nodes continue\n{err}")
        study.check_store()
        study.check_complete(8, 1)
        expect_no_orphans()
    revive("n2")


def a_step_whose_srun_is_gone_is_a_lost_node():
    with Study(duration="300ms", timed=8) as study:
        run = study.in_allocation(NODES)
        wait_for(lambda: list(study.results.glob("journal/*.jsonl")) and study.valid() >= 4, "trials are measured", 60)
        steps = [pid for pid, command in marked_processes().items() if command.startswith("srun ") and "--nodelist=n3 " in command]
        expect(steps, f"there is one for the node: {marked_processes()}")
        for pid in steps:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        out, err = run.communicate(timeout=120)
        expect(run.returncode == 0 and "lost node n3" in err, f"it is named, the other nodes continue\n{err}")
        study.check_complete(8, 1)
        expect_no_orphans()


def a_step_that_is_refused_is_told_in_the_words_of_slurm():
    with Study() as study:
        run = study.in_allocation(2, SLURM_CONSTRAINT="nosuch")
        out, err = run.communicate(timeout=120)
        expect(run.returncode == 1 and "srun: error: Unable to create step" in err, f"the message is shown\n{err}")
        expect(re.search("node n[12]: what started its agent has ended; see ", err), f"and the node is named\n{err}")
        expect_no_orphans()


def a_job_that_loses_the_node_of_its_batch_script_is_queued_again_and_goes_on():
    with Study(duration="300ms", timed=8) as study:
        taken = study.on_slurm(2, "cpu:1", "--detach")
        expect(taken.returncode == 0, f"the job is taken\n{taken.stderr}")
        job = taken.stderr.split("slurm-")[1].split(":")[0]
        slurm.until(lambda: list(study.results.glob("journal/*.jsonl")) and study.valid() > 2, "trials are measured")
        before = study.valid()
        node = slurm.call("scontrol", "show", "job", job).split("BatchHost=")[1].split()[0]
        lose(node)
        slurm.until(lambda: slurm.state(job) == "PENDING", "Slurm ends it on the other node too, and queues it again")
        (study.results / "jobs/slurm.states").unlink(missing_ok=True)
        status = subprocess.run([harness.options.expc, "status", "--results", str(study.results)], capture_output=True, text=True, timeout=60)
        expect("pending" in status.stdout, f"status does not say that it runs\n{status.stdout}{status.stderr}")
        expect_no_orphans()
        slurm.start_again(job)
        code = study.results / "jobs" / f"slurm-{job}.code"
        log = lambda: (study.results / "jobs" / f"slurm-{job}.log").read_text()
        slurm.until(lambda: code.exists() and code.read_text().strip(), "the run ends", 240)
        expect(code.read_text().strip() in ("0", "4"), f"and judges what is measured\n{log()}")
        expect(study.valid() >= before, f"nothing that was measured is lost\n{log()}")
        study.check_store()
        study.check_complete(8, 1)
        expect(study.query("SELECT reason FROM trial WHERE status = 'failed'") == [], f"no trial failed\n{log()}")
        expect_no_orphans()
    revive(node)


if __name__ == "__main__":
    cluster.skip_without()
    parse_options(heat_up=0)
    with cluster.Slurm(NODES) as slurm:
        sys.exit(main([eight_blocks_on_four_nodes_take_a_quarter_of_the_time,
                       ranks_of_one_trial_run_on_two_nodes_and_the_verdicts_are_a_local_runs, processes_of_a_command_meet_over_nodes,
                       ranks_of_a_command_on_two_nodes_are_measured_together, a_rank_that_dies_on_the_second_node_is_the_reason,
                       a_timeout_tells_the_places_of_ranks_on_both_nodes,
                       ranks_on_two_nodes_train_together_by_gloo, data_are_copied_to_the_scratch_folder_of_the_site_file,
                       a_preempted_job_of_two_nodes_goes_on_after_the_one_that_took_its_place,
                       the_nodes_of_an_interactive_allocation_are_used,
                       a_node_that_is_lost_takes_only_its_trial_with_it, a_step_whose_srun_is_gone_is_a_lost_node,
                       a_step_that_is_refused_is_told_in_the_words_of_slurm,
                       a_job_that_loses_the_node_of_its_batch_script_is_queued_again_and_goes_on]))
