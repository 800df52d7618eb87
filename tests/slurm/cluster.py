"""A Slurm of the tests' own on this machine: a controller and node daemons on the loopback, all of whose files are in one folder."""
import contextlib
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol")

CONF = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=5
SlurmdTimeout=15
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port={first}-{last} CPUs={cores} RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes=n[1-{nodes}] Default=YES MaxTime=1:00:00 State=UP PriorityTier=1
PartitionName=urgent Nodes=n[1-{nodes}] MaxTime=1:00:00 State=UP PriorityTier=10 PreemptMode=off
"""


def lacking():
    """Why there can be no Slurm here, or ""."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        return f"{', '.join(missing)} not found: tools/setup --tests installs slurm-wlm and munge"
    return "" if os.geteuid() == 0 else "daemons of a Slurm are started as root only"


class Slurm:
    """Up from `with` to its end."""

    def __init__(self, nodes=1):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="expc-slurm-"))
        self.nodes = nodes

    def __enter__(self):
        port = random.randrange(20000, 30000)
        conf = self.folder / "slurm.conf"
        conf.write_text(CONF.format(host=socket.gethostname(), port=port, folder=self.folder, nodes=self.nodes, first=port + 1,
                                    last=port + self.nodes, cores=os.cpu_count()))
        (self.folder / "state").mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        os.environ["SLURM_CONF"] = str(conf)
        try:
            of = lambda name: f"--{name.replace('_', '-')}={self.folder}/munge.{name.split('_')[0]}"
            self.call("munged", "--force", f"--key-file={key}", f"--socket={self.folder}/munge.socket", of("pid_file"),
                      of("log_file"), of("seed_file"))
            self.call("slurmctld", "-i", "-f", str(conf))
            for node in range(1, self.nodes + 1):
                (self.folder / f"spool.n{node}").mkdir()
                self.call("slurmd", "-N", f"n{node}", "-f", str(conf))
            self.until(lambda: set(self.call("sinfo", "-h", "-N", "-o", "%t").split()) == {"idle"}, "all nodes are idle")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        numbers = []
        for file in self.folder.glob("*.pid"):
            with contextlib.suppress(OSError, ValueError):
                numbers.append(int(file.read_text()))
        for sign in (signal.SIGTERM, signal.SIGKILL):
            for number in numbers:
                with contextlib.suppress(OSError):
                    os.kill(number, sign)
            end = time.monotonic() + 10
            while time.monotonic() < end and any(os.path.exists(f"/proc/{number}") for number in numbers):
                time.sleep(0.05)
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def call(*command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)} ended with {done.returncode}: {done.stdout}")
        return done.stdout

    def state(self, job):
        """"RUNNING", "PENDING", …"""
        return self.call("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").strip()

    def start_again(self, job):
        """Starts a job that was queued again, which Slurm by itself does two minutes later."""
        # A node refuses what was signed within the second in which the job was ended there.
        time.sleep(2.5)
        self.call("scontrol", "update", f"job={job}", "StartTime=now")

    def until(self, condition, what, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := condition():
                return value
            time.sleep(0.1)
        logs = "".join(f"\n{log}: {log.read_text(errors='replace')[-2000:]}" for log in self.folder.glob("*.log"))
        raise AssertionError(f"not so after {seconds} s: {what}{logs}")


def skip_without():
    """Ends the test as skipped, with the reason, where there can be no Slurm."""
    if why := lacking():
        print(f"skipped: {why}")
        sys.exit(77)
