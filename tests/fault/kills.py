#!/usr/bin/env python3
"""Kills the engine with SIGKILL at random moments, and often its launch server or a rank before, running the same command again each
time, and looks at what is left: what was told is there, and nothing counts twice.

The moments are drawn from --seed (printed), so a failure can be repeated roughly: the machine's timing is not part of the seed.
"""
import contextlib
import os
import random
import re
import signal
import sys
import time

import harness
from harness import Folder, expect, expect_no_orphans, marked_processes, workers_of

REPEAT = 20
QUALITY = 4
# A session that was last seen before this is over: it is aged here to make several.
GAP_SECONDS = 31 * 60


def has_begun(folder):
    """False where the kill came before anything was recorded."""
    return folder.query("SELECT count(*) FROM session") not in (None, [(0,)])


def check_left(folder):
    """The state as the kill left it: looking changes nothing."""
    if not has_begun(folder):
        return 0
    folder.check_store()
    running = folder.one("SELECT count(*) FROM trial WHERE status = 'running'")
    expect(running <= 1, f"one trial ran at most, found {running}")
    return folder.valid()


def complete(folder):
    ended = folder.run(timeout=120).expect(0)
    expect_no_orphans()
    folder.check_store()
    folder.check_complete(REPEAT, QUALITY)
    expect(folder.one("SELECT count(*) FROM trial WHERE status NOT IN ('valid', 'interrupted') AND reason NOT LIKE '%killed by signal 9%' "
                      "AND reason NOT LIKE '%launch server%'") == 0, "no trial failed but for what was killed")
    expect("PASS" in ended.out, "the criteria pass")
    sessions = folder.one("SELECT count(*) FROM session")
    trials = folder.valid()
    # Whole blocks are never repeated: what is valid beyond the design comes from blocks that a dead session cut.
    planned = 4 * (REPEAT + QUALITY)
    expect(planned <= trials <= planned + 3 * sessions * 2, f"{planned} trials and a few cut blocks, found {trials}")
    again = folder.run().expect(0)
    expect("nothing to run" in again.err, "a complete study has nothing to run")
    expect(folder.valid() == trials, "running it again adds nothing")
    return sessions, trials, folder.one("SELECT count(*) FROM trial WHERE status = 'interrupted'")


def kill_below(engine, moments):
    """Kills the launch server or a rank, now and then. How many."""
    if moments.random() > 0.4:
        return 0
    server, ranks = workers_of(engine.pid)
    running = marked_processes()
    server = [pid for pid in server if "--serve" in running.get(pid, "")]  # and not one that is asked what it is
    victims = server if moments.random() < 0.3 else ranks
    if not victims:
        return 0
    with contextlib.suppress(OSError):
        os.kill(moments.choice(victims), signal.SIGKILL)
    time.sleep(0.2 * moments.random())
    return 1


def kill_at_random_moments():
    seed = harness.options.seed if harness.options.seed is not None else random.SystemRandom().randrange(2**32)
    print(f"seed {seed}", flush=True)
    moments = random.Random(seed)
    turn = kills = below = studies = sessions = trials = cut = told = 0
    folder, pace = None, 1  # on a busy machine a run needs longer to its first trial
    end = time.monotonic() + 60 * harness.options.minutes
    while kills + below < harness.options.kills and time.monotonic() < end:
        if folder is None:
            folder = Folder(duration="4ms", gpus="1, 2", timed=REPEAT, quality=QUALITY)
            told = 0
            if harness.options.users:
                harness.share(folder)
        turn += 1
        engine = folder.start(preexec=harness.user(turn) if harness.options.users else None)
        time.sleep(pace * moments.choice((0.05, 0.3, 0.8)) * moments.random())
        met = kill_below(engine, moments)
        below += met
        alive = engine.poll() is None
        engine.kill()
        _, err = engine.communicate()
        if alive:
            kills += 1
        expect_no_orphans()
        pace = max(1, pace / 1.2 if ": valid in " in err else pace * 1.1)  # a third of the runs end a trial
        if not has_begun(folder):
            continue  # killed before there was anything
        # A trial is told after it is durable, so nothing that was told may be missing.
        told += len(re.findall(r": valid in ", err))
        there = check_left(folder) if kills % 5 == 0 else None
        if there is not None:
            expect(there >= told, f"{told} valid trials were reported, {there} are there")
        if alive and kills % 17 == 0 and has_begun(folder):
            folder.age(GAP_SECONDS)
        if met and engine.returncode == 1 and "does not start" in err:
            continue  # the server was killed before it had said a word
        if not alive:
            expect(engine.returncode == 0, f"a run that ended by itself succeeded\n{err}")
            with folder:
                s, t, c = complete(folder)
            sessions, trials, cut, studies, folder = sessions + s, trials + t, cut + c, studies + 1, None
    if folder is not None:
        with folder:
            s, t, c = complete(folder)
        sessions, trials, cut, studies = sessions + s, trials + t, cut + c, studies + 1
    expect(sessions > studies, "some study had several sessions")
    expect(cut >= 5, f"some kills met a running trial, {cut} did")
    return f"{kills} engines and {below} servers and ranks killed, {studies} studies, {sessions} sessions, {trials} valid trials, {cut} cut"


if __name__ == "__main__":
    harness.parse_options(heat_up=0.2)  # some kills meet it
    sys.exit(harness.main([kill_at_random_moments]))
