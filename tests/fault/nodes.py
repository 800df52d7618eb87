#!/usr/bin/env python3
"""Runs over several nodes, each of which is an agent on this machine that a shell starts: what overlaps, and what is lost."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import harness
from harness import Folder, expect, expect_no_orphans, main, marked_processes, parse_options, wait_for


# Each process says who it is, and waits for the last one.
COMMAND = """\
workload meet command ["sh", "-c",
    "echo $$RANK $$WORLD_SIZE $$LOCAL_RANK $$MASTER_ADDR:$$MASTER_PORT > met.$$RANK; until [ -e met.$$(( $$WORLD_SIZE - 1 )) ]; do sleep 0.01; done; echo 1"] {
  param nodes : int in 1..64 = 1
  metric one  : float higher  from stdout()
}

study meets {
  workload meet()
  factor nodes in 1..3
  measure one
  criterion right: forall *: one >= 1
  design { timed { repeat 2 } }
}
"""


# Says where it reads its data.
READER = """\
workload reader command ["sh", "-c", "IFS=; cat $$0/words; echo $$0 > $$EXPC_STUDY_FOLDER/read.$$EXPC_TRIAL", "${data}"] {
  param data : path
  metric one : float higher  from stdout()
}

study reads {
  workload reader(data = "words of ours")
  measure one
  criterion right: forall *: one >= 1
  design { timed { repeat 4 } }
}
"""


LINE = "exec $EXPC_AGENT"


class Study(Folder):
    """A study, and runs of it on so many nodes."""

    def on(self, nodes, *extra, line=LINE):
        return ["--devices", "cpu:1", "--nodes", str(nodes), "--agents-by", line, *extra]

    def verdicts(self):
        done = subprocess.run([harness.options.expc, "report", str(self.study), "--results", str(self.results), "--devices",
                               "cpu:1", "--format", "json"], capture_output=True, text=True, timeout=60)
        expect(done.returncode in (0, 3, 4), f"there is a report\n{done.stderr}")
        return {criterion["name"]: criterion["verdict"] for criterion in json.loads(done.stdout)["criteria"]}

    def most_at_once(self):
        """Of how many sessions trials were under way at one moment."""
        edges = []
        for session, begin, end in self.query("SELECT session, started, started + seconds FROM trial WHERE status = 'valid'"):
            edges += [(begin, 1, session), (end, 0, session)]
        under_way, most = set(), 0
        for _, begins, session in sorted(edges):
            (under_way.add if begins else under_way.discard)(session)
            most = max(most, len(under_way))
        return most


def agents():
    return [pid for pid, command in marked_processes().items() if command.endswith("/expc agent ")]


def has_valid(study, least):
    return list(study.results.glob("journal/*.jsonl")) and study.valid() >= least


def blocks_run_on_all_nodes_at_once_and_the_verdicts_are_a_local_runs():
    with Study(duration="60ms", timed=8) as study, Study(duration="60ms", timed=8) as local:
        study.run(*study.on(4)).expect(0, "on each of the nodes")
        study.check_store()
        study.check_complete(8, 1)
        expect(study.most_at_once() == 4, f"trials of four nodes overlapped, found {study.most_at_once()}")
        expect(study.one("SELECT count(DISTINCT host) FROM session") == 4, "each node has a session")
        local.run("--devices", "cpu:1").expect(0)
        expect(study.verdicts() == local.verdicts(), f"{study.verdicts()} are {local.verdicts()}")
        study.run(*study.on(4)).expect(0, "nothing to run")
        expect_no_orphans()


def a_lost_node_is_named_and_the_others_go_on():
    with Study(duration="100ms", timed=8) as study:
        run = study.start(*study.on(3))
        wait_for(lambda: has_valid(study, 3), "trials are measured", 30)
        os.kill(agents()[-1], signal.SIGKILL)
        out, err = run.communicate(timeout=60)
        # Whether sessions of three nodes, one of which was cut short, decide a claim about times hangs on what else the machine does.
        expect(run.returncode in (0, 4) and re.search(r"lost node \S+: the connection to it has ended", err), f"the run goes on\n{err}")
        study.check_store()
        study.check_complete(8, 1)
        lost = study.query("SELECT status, reason FROM trial WHERE status <> 'valid'")
        expect(all(status == "interrupted" and "lost node" in reason for status, reason in lost),
               f"a trial that was lost says nothing of its point: {lost}")
        expect_no_orphans()


def a_node_that_is_told_to_end_fails_no_trial():
    with Study(duration="100ms", gpus="1, 2", timed=8) as study:
        run = study.start(*study.on(2))
        wait_for(lambda: has_valid(study, 2), "trials are measured", 30)
        # As at the end of a job: all that runs there is told, and the engine a moment later.
        for pid, command in marked_processes().items():
            if pid != run.pid and not command.startswith("sh "):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
        time.sleep(0.5)
        run.send_signal(signal.SIGUSR1)
        out, err = run.communicate(timeout=60)
        expect(run.returncode == 130, f"the run is interrupted, not {run.returncode}\n{err}")
        ends = study.query("SELECT status, reason FROM trial WHERE status NOT IN ('valid', 'interrupted')")
        expect(ends == [], f"no trial failed: {ends}\n{err}")
        expect_no_orphans()
        study.run(*study.on(2)).expect(0)
        study.check_complete(8, 1)


def a_run_without_nodes_ends_and_goes_on_with_new_ones():
    with Study(duration="100ms", timed=8) as study:
        run = study.start(*study.on(2))
        wait_for(lambda: has_valid(study, 2), "trials are measured", 30)
        for agent in agents():
            os.kill(agent, signal.SIGKILL)
        out, err = run.communicate(timeout=60)
        expect(run.returncode == 1 and "No node is left" in err, f"it says why it ends\n{err}")
        expect_no_orphans()
        study.run(*study.on(2)).expect(0)
        study.check_store()
        study.check_complete(8, 1)


def trials_read_copies_on_the_nodes_own_disks():
    with Study() as study:
        study.study.write_text(READER)
        data, local = study.path / "words of ours", study.path / "local disk"
        data.mkdir()
        (data / "words").write_text("1\n")
        scratch = ["--scratch", str(local)]
        study.run(*study.on(2), *scratch).expect(0, f"trials read their data from {local} on each of 2 nodes")
        read = {path.read_text().strip() for path in study.path.glob("read.*")}
        copy, = local.glob("expc-data-*/*/*")
        expect(read == {str(copy)} and copy.name == data.name, f"all read the one copy {copy}: {read}")
        study.run("--devices", "cpu:1", *scratch).expect(0, "nothing to run")
        # Another disk is another experiment.
        study.run("--devices", "cpu:1").expect(0)
        expect(study.one("SELECT count(*) FROM trial WHERE status = 'valid'") == 8, "and is measured anew")
        (data / "words").write_text("2\n")
        study.run("--devices", "cpu:1", *scratch).expect(0)
        expect(len(list(local.glob("expc-data-*/*/*"))) == 2, "other data have another copy")
        expect_no_orphans()


def nothing_outlives_the_engine():
    with Study(duration="60s", timed=1) as study:
        for sign, code in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
            run = study.start(*study.on(2))
            wait_for(lambda: len(agents()) == 2 and len(marked_processes()) >= 6, f"trials run on both nodes: {marked_processes()}", 30)
            run.send_signal(sign)
            out, err = run.communicate(timeout=60)
            expect(run.returncode == code, f"it ends with {code}, not {run.returncode}\n{err}")
            wait_for(lambda: not marked_processes(), f"nothing is left: {marked_processes()}", 15)


def a_node_that_heats_up_or_copies_ends_with_the_engine():
    with Study(duration="60ms", timed=6) as study:
        usual, harness.options.heat_up = harness.options.heat_up, "120"
        run = study.start(*study.on(2))
        harness.options.heat_up = usual
        wait_for(lambda: len(agents()) == 2, "both nodes are there", 30)
        time.sleep(2)  # they heat up
        run.send_signal(signal.SIGKILL)
        run.wait(timeout=30)
        wait_for(lambda: not marked_processes(), f"nothing heats on: {marked_processes()}", 30)
    with Study() as study:
        study.study.write_text(READER)
        data, local = study.path / "words of ours", study.path / "local disk"
        data.mkdir()
        with open(data / "words", "wb") as file:
            file.truncate(1 << 30)
        run = study.start(*study.on(1), "--scratch", str(local))
        wait_for(lambda: list(local.glob("expc-data-*/*/*")), "the node copies", 60)
        run.send_signal(signal.SIGKILL)
        run.wait(timeout=30)
        wait_for(lambda: not marked_processes(), f"nothing copies on: {marked_processes()}", 30)
        expect(not list(local.glob("expc-data-*/*")), f"no copy is left: {list(local.glob('expc-data-*/*'))}")


def a_trial_with_more_devices_than_a_node_has_runs_on_several():
    with Study(duration="60ms", gpus="1, 2, 4", timed=6) as study, Study(duration="60ms", gpus="1", timed=6) as local:
        study.run("--devices", "cpu:2", *study.on(2)[2:]).expect(0, "1 block runs at once, each on 2 of the nodes")
        study.check_store()
        study.check_complete(6, 1)
        session, = study.query("SELECT DISTINCT host FROM session")
        expect("+" in session[0], f"a session is on both nodes: {session}")
        sizes = {count for count, in study.query("SELECT DISTINCT json_array_length(devices) FROM trial WHERE status = 'valid'")}
        expect(sizes == {1, 2, 4}, f"trials have as many devices as they asked for: {sizes}")
        expect_no_orphans()


SPREAD = """\
import std.null

study spread {
  workload null.idle(gpus = 2)
  factor nodes in { 1, 2, 4 } baseline 1
  require there: nodes <= system.nodes
  measure step_time
  compare cost = ratio(step_time) over nodes
  criterion small: forall nodes: cost <= 2x with confidence 90%
  criterion alone: forall nodes: step_time <= 1s with confidence 90%
  design { timed { repeat 6  steps 2 } }
}
"""


def ranks_spread_over_as_many_nodes_as_a_point_says():
    with Study() as study:
        study.study.write_text(SPREAD)
        study.run("--devices", "cpu:2", *study.on(2)[2:], "--verdicts-ok").expect(0, "1 block runs at once, each on 2 of the nodes")
        places = set(study.query("SELECT point, devices FROM trial WHERE status = 'valid'"))
        nodes = {point: sorted({device.get("node", "") for device in json.loads(devices)}) for point, devices in places}
        expect(sorted(map(len, nodes.values())) == [1, 2], f"two ranks on one node, and one on each of two: {nodes}")
        # On a machine that is none of these nodes.
        report = subprocess.run([harness.options.expc, "report", str(study.study), "--results", str(study.results), "--format",
                                 "json"], capture_output=True, text=True, timeout=60)
        criteria = {criterion["name"]: criterion["cells"] for criterion in json.loads(report.stdout)["criteria"]}
        expect([cell["scope"]["nodes"] for cell in criteria["small"]] == [2], f"a pair saw both nodes: {criteria['small']}")
        expect([cell["scope"]["nodes"] for cell in criteria["alone"]][:2] == [1, 2], f"a value those of its trial: {criteria['alone']}")
        planned = subprocess.run([harness.options.expc, "plan", str(study.study), "--nodes", "4", "--devices", "cpu:2"],
                                 capture_output=True, text=True, timeout=60)
        expect("not available" not in planned.stdout, f"four such nodes have all points\n{planned.stdout}")
        expect_no_orphans()


def too_many_devices_for_the_nodes_are_not_available():
    with Study(duration="60ms", gpus="1, 3, 4") as study:
        study.run(*study.on(3)).expect(4, "needs 4 devices, there is 1 on each of 3 nodes")
        study.check_complete(7, 1)


def a_command_has_a_process_on_each_of_its_nodes():
    with Study() as study:
        study.study.write_text(COMMAND)
        study.run(*study.on(3), "--keep-trials").expect(0)
        sizes = sorted(study.query("SELECT json_array_length(devices), count(*) FROM trial WHERE status = 'valid' GROUP BY 1"))
        expect(sizes == [(1, 2), (2, 2), (3, 2)], f"two trials on one, two and three nodes: {sizes}")
        for folder in study.results.glob("trials/*"):
            said = sorted(file.read_text() for file in folder.glob("met.*"))
            ranks, sizes, local, ports = zip(*(one.split() for one in said))
            expect(ranks == tuple(map(str, range(len(said)))) and set(sizes) == {str(len(said))}, f"all are numbered: {said}")
            expect(set(local) == {"0"} and len(set(ports)) == 1, f"and meet at one place: {said}")
        expect_no_orphans()


def a_command_that_fails_on_one_node_fails_the_trial():
    with Study() as study:
        study.study.write_text(COMMAND.replace("echo 1", "[ $$RANK != 1 ] || { echo no disk >&2; exit 3; }; echo 1"))
        study.run(*study.on(2))
        failed = set(study.query("SELECT reason FROM trial WHERE status = 'failed'"))
        expect(failed == {("rank 1: sh exited with code 3: no disk",)}, f"the rank is named, with its last words: {failed}")
        expect_no_orphans()


def a_rank_that_fails_on_another_node_fails_the_trial():
    with Study(duration="60s", fault="exit", rank=1, gpus="2", timed=1) as study:
        run = study.run(*study.on(2))
        reasons = {reason for reason, in study.query("SELECT reason FROM trial WHERE status = 'failed'")}
        expect(reasons and all(reason.startswith("rank 1 ") for reason in reasons), f"the rank is named: {reasons}\n{run.err}")
        expect_no_orphans()


def a_lost_node_takes_the_trials_that_it_has_a_part_of():
    with Study(duration="60s", gpus="2", timed=1) as study:
        run = study.start(*study.on(2))
        wait_for(lambda: len(agents()) == 2 and len(marked_processes()) >= 7, "a trial runs on both nodes", 30)
        os.kill(agents()[-1], signal.SIGKILL)
        out, err = run.communicate(timeout=60)
        expect(run.returncode == 1 and "No node is left" in err, f"it says why it ends\n{err}")
        ends = set(study.query("SELECT status FROM trial"))
        expect(ends == {("interrupted",)}, f"the loss says nothing of the point: {ends}")
        expect_no_orphans()


def nodes_that_do_not_come_are_missed():
    with Study() as study:
        refused = "printf 'no such \\033]0;title\\007partition\\n' >&2; exit 1"
        run = study.run(*study.on(3, line=f"[ $EXPC_NODE = 2 ] || exec $EXPC_AGENT; {refused}"))
        run.expect(1, "node 2: what started its agent has ended", "nodes/2.log:", "no such \\x1b]0;title\\x07partition")
        expect("\033" not in run.err, f"and what was said there is safe to print: {run.err!r}")
        run = study.run(*study.on(1, line="$EXPC_AGENT </dev/null"))
        run.expect(1, "its standard input has ended")
        study.run("--devices", "cpu:1", "--nodes", "2").expect(1, "needs an allocation of Slurm")
        expect_no_orphans()


def a_node_that_comes_late_is_waited_for_and_ctrl_c_ends_the_waiting():
    with Study(duration="60ms", timed=6) as study:
        late = "[ $EXPC_NODE = 1 ] || while [ ! -e go ]; do sleep 0.05; done; exec $EXPC_AGENT"
        run = study.start(*study.on(2, "--verdicts-ok", line=late))
        wait_for(lambda: len(agents()) == 1, "the first is there", 30)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
        expect(run.returncode == 130, f"it is interrupted, not {run.returncode}\n{err}")
        expect_no_orphans()
        run = study.start(*study.on(2, "--verdicts-ok", line=late))
        wait_for(lambda: len(agents()) == 1, "the first is there", 30)
        (study.path / "go").touch()
        out, err = run.communicate(timeout=60)
        expect(run.returncode == 0, f"and so is the second, later\n{err}")
        study.check_complete(6, 1)
        expect_no_orphans()


def what_is_printed_between_messages_is_none():
    with Study(duration="60ms", timed=6) as study:
        chatty = "echo Welcome to node $EXPC_NODE; echo 'a warning' >&2; (sleep 0.2; printf '{\"reports\":[') & printf '0: '; $EXPC_AGENT"
        study.run(*study.on(2, "--verdicts-ok", line=chatty)).expect(0)
        study.check_complete(6, 1)
        log = (study.results / "nodes" / "2.log").read_text()
        for said in ("Welcome to node 2", "a warning", '{"reports":['):
            expect(said in log, f"what was said besides is kept: {log}")
        expect_no_orphans()


def one_signal_ends_a_run_whose_agent_writes_without_end():
    with Study() as study:
        for line, said in (("yes", "wrote more than 64 MiB that no agent writes"), ("while :; do echo; done", "")):
            shutil.rmtree(study.results / "nodes", ignore_errors=True)
            run = study.start(*study.on(1, line=line))
            if not said:
                wait_for(lambda: (study.results / "nodes" / "1.log").exists(), "it has begun", 30)
                run.send_signal(signal.SIGTERM)
            _, err = run.communicate(timeout=60)
            expect(run.returncode == (1 if said else 130) and said in err, f"{line}: ended with {run.returncode}\n{err}")
            expect((study.results / "nodes" / "1.log").stat().st_size < 80 << 20, "not all of it is kept")
            expect_no_orphans()


def an_agent_says_how_others_reach_it():
    for name, value, known in (("SLURM_LAUNCH_NODE_IPADDR", "127.0.0.1", True), ("SSH_CONNECTION", "192.0.2.7 5 127.0.0.1 22", True),
                               ("SSH_CONNECTION", "192.0.2.7 5 192.0.2.8 22", False), ("SLURM_LAUNCH_NODE_IPADDR", "who?", False)):
        others = {key: text for key, text in os.environ.items() if key not in ("SLURM_LAUNCH_NODE_IPADDR", "SSH_CONNECTION")}
        agent = subprocess.run([harness.options.expc, "agent"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                               env={**others, name: value})
        here, end = (json.loads(line.removeprefix("@expc ")) for line in agent.stdout.splitlines())
        address = here["here"]["address"]
        expect(address == ("127.0.0.1" if known else here["here"]["machine"]["host"]), f"{name}={value}: {address}")
        expect(here["here"]["interface"] == "" and "standard input" in end["error"], f"nothing is made up: {agent.stdout}")


def processes():
    """Process number -> command line and pipes, of every process of this machine that is ours to look at."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            links = {os.readlink(link) for link in (folder / "fd").iterdir()}
            found[int(folder.name)] = ((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"),
                                       {link for link in links if link.startswith("pipe:")})
    return found


def nothing_but_the_agent_has_its_pipes():
    with Study() as study:
        study.study.write_text(COMMAND.replace("echo 1", "echo 1; sleep 2.71"))
        run = study.start(*study.on(2))
        # A command's environment has no mark.
        wait_for(lambda: any("sleep 2.71 " == command for command, _ in processes().values()), "a trial runs", 30)
        all = processes()
        words = set().union(*(all[pid][1] & all[run.pid][1] for pid in agents()))
        expect(len(words) == 4, f"two for each node: {words}")
        others = [command for pid, (command, pipes) in all.items() if pid not in (run.pid, *agents()) and pipes & words]
        expect(others == [], f"these have the pipes of an agent: {others}")
        run.send_signal(signal.SIGKILL)
        run.wait(timeout=30)
        wait_for(lambda: not marked_processes(), f"nothing is left: {marked_processes()}", 30)


if __name__ == "__main__":
    parse_options(heat_up=0)
    sys.exit(main([blocks_run_on_all_nodes_at_once_and_the_verdicts_are_a_local_runs, a_lost_node_is_named_and_the_others_go_on,
                   a_node_that_is_told_to_end_fails_no_trial,
                   a_run_without_nodes_ends_and_goes_on_with_new_ones, nothing_outlives_the_engine,
                   a_node_that_heats_up_or_copies_ends_with_the_engine,
                   ranks_spread_over_as_many_nodes_as_a_point_says, trials_read_copies_on_the_nodes_own_disks,
                   a_trial_with_more_devices_than_a_node_has_runs_on_several,
                   too_many_devices_for_the_nodes_are_not_available, a_rank_that_fails_on_another_node_fails_the_trial,
                   a_command_has_a_process_on_each_of_its_nodes, a_command_that_fails_on_one_node_fails_the_trial,
                   a_lost_node_takes_the_trials_that_it_has_a_part_of, nodes_that_do_not_come_are_missed,
                   a_node_that_comes_late_is_waited_for_and_ctrl_c_ends_the_waiting, what_is_printed_between_messages_is_none,
                   one_signal_ends_a_run_whose_agent_writes_without_end, an_agent_says_how_others_reach_it,
                   nothing_but_the_agent_has_its_pipes]))
