#!/usr/bin/env python3
"""Services: servers that stay up over several trials, through the real command: how long they live, what becomes of trials whose server
dies, and that nothing of them stays. Server and client are Python's own.

usage: services_test.py --expc PATH
"""
import csv
import io
import os
import pathlib
import re
import signal
import subprocess
import time

from command import OPTIONS, Command, main

# Answers with its own number and how many it has answered. `fault` is what goes wrong.
SERVER = """import http.server, os, subprocess, sys, time
port, speed, fault = int(sys.argv[1]), sys.argv[2], sys.argv[3]
log = open(os.path.join(os.environ["EXPC_STUDY_FOLDER"], "starts.txt"), "a")
print(os.getpid(), speed, file=log, flush=True)
if fault == "children": subprocess.Popen(["sleep", "987"], start_new_session=True)
if fault == "early": sys.exit("no model at this place")
if fault == "silent": time.sleep(600)
if fault == "port": port = 0
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_GET(self):
        if fault == "late" and self.path != "/health":
            print("the card fell off the bus", file=sys.stderr, flush=True)
            os._exit(7)
        body = f"{os.getpid()} {speed}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
CLIENT = """import csv, sys, time, urllib.request
url, load = sys.argv[1], int(sys.argv[2])
times = []
for _ in range(20):
    start = time.perf_counter()
    answer = urllib.request.urlopen(url + "/work", timeout=60).read().decode().split()
    times.append(time.perf_counter() - start)
print("server", answer[0], "t", 100 * load + 10 * int(answer[1] == "fast"))
with open("requests.csv", "w", newline="") as file:
    csv.writer(file).writerows([["latency"], *[[one] for one in times]])
if load == 99: time.sleep(600)
"""
STUDY = """enum speed {{ slow, fast }}
enum fault {{ none, early, late, silent, port, children }}
service web command ["python3", "{server}", "${{port}}", "${{speed}}", "${{fault}}"] {{
  param speed : speed = slow
  param fault : fault = none
  ready http("/health") timeout {timeout}
  metric start    : Time lower from ready
  metric cpu_time : Time lower
  metric memory   : Bytes lower from host_memory_peak
}}
workload load command ["python3", "client.py", "http://${{web.host}}:${{web.port}}", "${{load}}"] {{
  service web
  param load : int in 1..99 = 1
  metric pid  : float lower from regex("server ([0-9]+)")
  metric t    : Time lower from regex("t ([0-9]+)", unit = 1ms)
  metric tail : Time lower from p99(csv("requests.csv", column = "latency", unit = 1s))
}}
study serve {{
  workload load(fault = {fault})
  factor speed in {{ slow, fast }}  baseline slow
  factor load  in {loads}
  measure pid, start, tail, cpu_time, memory
  compare r = ratio(t) over speed
  criterion c: forall *: r >= 0.1x  always
  criterion slo: forall *: tail <= 60s  always
  design {{ repeat {repeat}  {restart} }}
}}
"""


def alive(text):
    """The processes, but this one, whose command line has the text."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if text in line and int(folder.name) != os.getpid():
            found.append(line)
    return found


class Services(Command):
    timeout = 240

    def study(self, fault="none", loads="{ 1, 2, 3 }", repeat=1, restart="", timeout="30s"):
        self.server = f"server-{self.folder.name}.py"  # a name that no process of another test has
        self.write(self.server, SERVER)
        self.write("client.py", CLIENT)
        self.write("s.exp", STUDY.format(server=self.server, fault=fault, loads=loads, repeat=repeat, restart=restart, timeout=timeout))

    def run_study(self, *arguments, code=0):
        done = self.expc("run", "s.exp", "--devices", "cpu:1", "--heat-up", "0", *arguments, code=code)
        self.nothing_stays()
        return done

    def nothing_stays(self):
        until = time.monotonic() + 20
        while (left := alive(self.server) + alive("sleep 987")) and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual(left, [])
        self.assertEqual([path.name for path in (self.folder / "results/trials").glob("*") if path.name.startswith("web") and not self.kept], [])

    kept = False  # whether folders of services that died are kept

    def answered(self):
        """The processes that answered, one for each trial."""
        rows = csv.DictReader(io.StringIO(self.expc("export", "s.exp", "--jobs", "2", "--format", "csv").stdout))
        return [row["value"] for row in rows if row["metric"] == "pid"]

    def starts(self):
        return [line.split()[1] for line in (self.folder / "starts.txt").read_text().splitlines()]


class Lifetimes(Services):
    def test_each_block_has_an_instance_for_each_setting_of_the_service(self):
        self.study(repeat=2)
        done = self.run_study(code=(0, 4))
        self.assertIn("the service web is ready after", done.stderr)
        starts = self.starts()
        self.assertEqual(sorted(starts), ["fast", "fast", "slow", "slow"])
        self.assertEqual(set(starts[:2]), {"fast", "slow"}, "each block starts both")
        order = re.findall(r"timed speed=(\w+) load=(\d)[^:]*: valid", done.stderr)
        if order:
            blocks = [order[:6], order[6:]]
            for block in blocks:
                changes = sum(a[0] != b[0] for a, b in zip(block, block[1:]))
                self.assertEqual(changes, 1, "the points of an instance stand together")

    def test_each_trial_or_each_session(self):
        self.study(restart="restart trial")
        self.run_study(code=(0, 4))
        self.assertEqual(len(self.starts()), 6)
        self.study(restart="restart session", repeat=3)
        self.assertIn("services start once in a session (2 instances), so results do not cover their restarts",
                      self.expc("plan", "s.exp", "--results", "other").stdout)
        (self.folder / "starts.txt").unlink()
        self.run_study("--results", "other", code=(0, 4))
        # One lane has one instance at a time: another setting ends it.
        self.assertLessEqual(len(self.starts()), 6)

    def test_the_time_until_ready_is_a_metric(self):
        self.study()
        self.run_study(code=(0, 4))
        report = self.document("report", "s.exp", code=(0, 4))
        self.assertIn('"start"', str(report).replace("'", '"'))
        for point in report["points"]:
            # The server holds an interpreter, and takes less time than its client's requests last.
            self.assertGreater(point["metrics"]["memory"]["median"], 4 << 20, point["metrics"])
            self.assertTrue(0 < point["metrics"]["cpu_time"]["median"] < 60, point["metrics"])
        plan = self.expc("plan", "s.exp").stdout
        self.assertIn("services start 2 times, newly in each block", plan)


class Lanes(Services):
    def test_lanes_have_services_and_ports_of_their_own(self):
        self.study(repeat=4, loads="{ 1, 2 }")
        done = self.expc("run", "s.exp", "--devices", "cpu:2", "--jobs", "2", "--heat-up", "0", code=(0, 4))
        self.nothing_stays()
        # `run.alone` may need one once more.
        self.assertTrue(8 <= len(self.starts()) <= 12, done.stderr)
        self.assertGreaterEqual(min(self.starts().count("fast"), self.starts().count("slow")), 4)
        self.assertGreaterEqual(len(set(self.answered())), 8, "each block of a lane asked servers of its own")

    def test_lanes_wait_for_each_others_controls_until_all_blocks_are_done(self):
        """With one load, both lanes soon come to `run.alone` at once, and the one that waits has no service up."""
        self.study(repeat=5, loads="{ 1 }")
        done = self.expc("run", "s.exp", "--devices", "cpu:2", "--jobs", "2", "--heat-up", "0", code=(0, 4))
        self.assertGreaterEqual(len(self.starts()), 10, done.stderr)

    def test_nodes_have_services_of_their_own(self):
        self.study(repeat=4, loads="{ 1, 2 }")
        self.expc("run", "s.exp", "--devices", "cpu:1", "--nodes", "2", "--agents-by", 'sh -c "$EXPC_AGENT"', "--heat-up", "0", code=(0, 4))
        self.nothing_stays()
        self.assertEqual(sorted(self.starts()), 4 * ["fast"] + 4 * ["slow"])


class Faults(Services):
    kept = True

    def test_a_service_that_ends_at_once(self):
        self.study(fault="early")
        done = self.run_study(code=6)
        self.assertIn("the service web: python3 exited with code 1: no model at this place", done.stderr)

    def test_a_service_that_dies_under_its_client(self):
        self.study(fault="late")
        done = self.run_study(code=6)
        self.assertIn("the service web: python3 exited with code 7: the card fell off the bus", done.stderr)
        self.assertGreater(len(self.starts()), 2, "each attempt starts another one")
        kept = [path for path in (self.folder / "results/trials").glob("web-*") if (path / "stderr.txt").exists()]
        self.assertTrue(kept, "what it wrote is kept")

    def test_a_client_that_ends_well_without_its_service(self):
        """The client's last request ends the server, and the client writes all that the study reads."""
        self.study(loads="{ 1 }")
        self.write("client.py", CLIENT.replace("if load == 99: time.sleep(600)", "import os, signal\nos.kill(int(answer[0]), signal.SIGKILL)\n"
                                               "while os.path.exists(f'/proc/{answer[0]}'): time.sleep(0.01)"))
        self.assertIn("the service web", self.run_study(code=6).stderr)
        self.assertEqual(self.answered(), [])

    def test_a_service_that_is_never_ready(self):
        self.study(fault="silent", timeout="500ms", loads="{ 1 }")
        done = self.run_study(code=6)
        self.assertIn("the service web: was not ready after 0.5 s: nothing accepts connections at port", done.stderr)
        self.assertEqual(done.stderr.count("the service web failed; its folder "), 1, done.stderr)
        self.assertNotIn("failed in", done.stderr, "the trial itself took no time")

    def test_a_service_at_another_port_is_never_ready(self):
        self.study(fault="port", timeout="500ms", loads="{ 1 }")
        self.assertIn("nothing accepts connections at port", self.run_study(code=6).stderr)

    def test_children_end_with_it(self):
        self.kept = False
        self.study(fault="children", loads="{ 1 }")
        self.run_study(code=(0, 4))


class Kills(Services):
    def started(self):
        """A run whose clients never end, once a client is under way."""
        self.study(loads="{ 99 }")
        run = subprocess.Popen([OPTIONS.expc, "run", "s.exp", "--devices", "cpu:1", "--heat-up", "0"], cwd=self.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.stderr.close)
        self.addCleanup(run.kill)
        until = time.monotonic() + 60
        while not list(self.folder.glob("results/trials/*/requests.csv")) and time.monotonic() < until:
            time.sleep(0.05)
        self.assertTrue(alive(self.server))
        return run

    def test_the_engine_is_killed(self):
        self.kept = True
        run = self.started()
        run.kill()
        run.wait()
        self.nothing_stays()

    def test_a_run_that_is_preempted_ends_both_and_goes_on_later(self):
        run = self.started()
        run.send_signal(signal.SIGTERM)
        self.assertIn(run.wait(timeout=60), (130, 143))
        self.nothing_stays()
        self.study(loads="{ 1, 2 }")
        self.kept = True  # that of the trial that was cut
        self.run_study(code=(0, 4))

    def test_ctrl_c_ends_client_and_service(self):
        run = self.started()
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=60), 130)
        self.nothing_stays()


if __name__ == "__main__":
    main()
