#!/usr/bin/env python3
"""Every kind of data through a trial: a class folder, a packed file made of it, damaged files. usage: data_test.py EXPC_WORKER EXPC"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import ranks

WORKER, EXPC = sys.argv[1], sys.argv[2]
GOLDEN = ranks.ROOT / "tests" / "parity" / "golden" / "images"
CLASSES = {"red": ["420.jpg", "422_odd.jpg", "grey.png"], "teal": ["444.jpg", "palette.png", "progressive_odd.jpg"]}
SMALL = {"size": 32, "width": 0.25, "batch": 4, "workers": 1}


def class_folder(root):
    for part, copies in (("train", 4), ("test", 1)):
        for name, files in CLASSES.items():
            folder = root / part / name
            folder.mkdir(parents=True)
            for number in range(copies):
                for file in files:
                    shutil.copy(GOLDEN / file, folder / f"{number}_{file}")
    return root


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="expc-data-")
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        self.images = class_folder(self.root / "images")

    def trial(self, data, kind="timed", **parameters):
        settings = {"steps": 3, "warmup": 1} if kind == "timed" else {"epochs": 1}
        return ranks.specification(kind, 1, settings, root=self.root, data=data, **{**SMALL, **parameters})

    def reason(self, spec):
        rank = ranks.run(WORKER, spec)[0]
        self.assertNotEqual(rank.last().get("event"), "result", rank.events)
        return rank.last().get("reason", "")

    def test_folder_trains_and_is_judged(self):
        result = ranks.result(WORKER, self.trial({"folder": ["images"]}, "quality"))
        self.assertTrue(0 <= result["metrics"]["accuracy"] <= 1)
        ranks.result(WORKER, self.trial({"folder": ["images"]}, layout="nhwc", precision="bf16"))

    def test_damaged_image_is_named(self):
        victim = self.images / "train" / "teal" / "2_444.jpg"
        victim.write_bytes(victim.read_bytes()[:500])
        reason = self.reason(self.trial({"folder": ["images"]}, "quality"))
        self.assertIn("train/teal/2_444.jpg: damaged JPEG", reason)

    def test_missing_folder_is_named(self):
        self.assertIn("nowhere: no such folder; expected one with train/CLASS", self.reason(self.trial({"folder": ["nowhere"]})))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
