#!/usr/bin/env python3
"""Every kind of data through a trial: a class folder, a packed file made of it, damaged files. usage: data_test.py EXPC_WORKER EXPC"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import ranks

WORKER, EXPC = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
GOLDEN = ranks.ROOT / "tests" / "parity" / "golden" / "images"
CLASSES = {"red": ["420.jpg", "422_odd.jpg", "grey.png"], "teal": ["444.jpg", "palette.png", "progressive_odd.jpg"]}
SMALL = {"size": 32, "width": 0.25, "batch": 4, "workers": 1, "learning_rate": 0.001}


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


class Packed(unittest.TestCase):
    """Twenty drawn images as files and packed: five batches of four are an epoch."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="expc-data-")
        cls.root = pathlib.Path(cls.temporary.name)
        cls.expc("make", "shapes", "--size", "40px", "--count", "20", "--classes", "4", "--to", "shapes")
        cls.expc("pack", "shapes", "--to", "shapes.pack")
        cls.expc("pack", "shapes", "--to", "small.pack", "--size", "32px")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def expc(cls, *arguments):
        subprocess.run([EXPC, "data", *arguments], cwd=cls.root, check=True, timeout=120, stdout=subprocess.DEVNULL)

    def trial(self, data, kind="timed", count=1, **parameters):
        settings = {"steps": 4, "warmup": 1} if kind == "timed" else {"epochs": 1}
        return ranks.specification(kind, count, settings, root=self.root, data=data, **{**SMALL, **parameters})

    def losses(self, data, **parameters):
        return ranks.result(WORKER, self.trial(data, "quality", **parameters))["series"]["loss"]

    def damaged(self, name):
        """A copy of the folder or file in which one training image is damaged, and how that image is named."""
        copy = self.root / f"damaged_{name}"
        if (self.root / name).is_dir():
            if not copy.exists():
                shutil.copytree(self.root / name, copy)
            victim = sorted((copy / "train").rglob("*.jpg"))[7]
            victim.write_bytes(victim.read_bytes()[:400])
            return {"folder": [copy.name]}, f"{victim.relative_to(self.root)}: damaged JPEG"
        content = bytearray((self.root / name).read_bytes())
        content[-(24 - 7) * 40 * 40 * 3 + 100] ^= 1
        copy.write_bytes(content)
        return {"packed": [copy.name]}, f"{copy.name}: training image 7 (class "

    def test_packed_and_folder_give_the_same_losses_to_the_last_bit(self):
        wanted = self.losses({"folder": ["shapes"]}, size=40)
        self.assertEqual(len(wanted), 5)
        self.assertEqual(self.losses({"packed": ["shapes.pack"]}, size=40), wanted)
        # Scaled before or on the way: both as PIL scales.
        self.assertEqual(self.losses({"packed": ["small.pack"]}), self.losses({"folder": ["shapes"]}))

    def test_images_in_memory_as_tensors_train_as_files_do(self):
        for more in ({}, {"layout": "nhwc", "worker_kind": "processes"}, {"precision": "bf16", "transfer_dtype": "compute"}):
            wanted = self.losses({"folder": ["shapes"]}, **more)
            found = self.losses({"folder": ["shapes"]}, preload=True, **more)
            self.assertEqual(len(found), len(wanted))
            self.assertAlmostEqual(found[0], wanted[0], places=3, msg=str(more))
        data, name = self.damaged("shapes")
        ended = ranks.run(WORKER, self.trial(data, preload=True))[0].last()
        self.assertIn(name, ended.get("reason", ""))

    def test_every_loader_takes_both(self):
        wanted = self.losses({"folder": ["shapes"]}, size=40, layout="nhwc")[0]
        for loader in ({"worker_kind": "processes"}, {"loader": "native"}, {"loader": "dali"}):
            for data in ({"folder": ["shapes"]}, {"packed": ["shapes.pack"]}):
                with self.subTest(loader=loader, data=data):
                    event = ranks.run(WORKER, self.trial(data, size=40, layout="nhwc", **loader))[0].last()
                    # A loader that this build or this machine lacks says so.
                    if "not in this build" in event.get("reason", "") or "tools/setup --dali" in event.get("reason", ""):
                        continue
                    self.assertEqual(event["event"], "result", event)
                    # The same images in the same order.
                    self.assertAlmostEqual(event["series"]["loss"][0], wanted, delta=1e-3)

    def test_damage_fails_the_trial_with_its_name(self):
        for name in ("shapes", "shapes.pack"):
            data, wanted = self.damaged(name)
            rank = ranks.run(WORKER, self.trial(data))[0]
            self.assertEqual(rank.last().get("event"), "failed", rank.last())
            self.assertIn(wanted, rank.last()["reason"])

    def test_damage_is_skipped_and_counted(self):
        for name, count in (("shapes", 1), ("shapes.pack", 1), ("shapes", 2)):
            data, _ = self.damaged(name)
            # Batch normalisation of two images has gradients beyond the range of fp32 now and then, with torch's kernels too.
            settings = self.trial(data, count=count, on_corrupt="skip", batch=4 // count, precision="fp64")
            metrics = ranks.result(WORKER, settings)["metrics"]
            self.assertEqual(metrics["images_skipped"], 1, (name, count))
        data, _ = self.damaged("shapes")
        judged = dict(self.trial(data, "quality", on_corrupt="skip"), metrics=["accuracy"])
        notes = ranks.result(WORKER, judged).get("notes", [])
        self.assertIn("images that could not be decoded and were replaced: 1", notes)
        self.assertFalse([note for note in notes if "left out of the accuracy" in note], "the damaged one is trained on")
        self.assertEqual(ranks.result(WORKER, self.trial({"folder": ["shapes"]}, on_corrupt="skip"))["metrics"]["images_skipped"], 0)

    def judged(self, name, count=1):
        """Accuracy of a folder with damaged images, and what is noted."""
        spec = self.trial({"folder": [name]}, "quality", count=count, on_corrupt="skip", batch=4 // count, precision="fp64")
        result = ranks.result(WORKER, dict(spec, metrics=["accuracy", "train_accuracy"]))
        return result["metrics"], [note for note in result.get("notes", []) if "left out of the accuracy" in note]

    def test_an_accuracy_leaves_out_what_cannot_be_decoded(self):
        def copied(name):
            self.expc("make", "shapes", "--size", "40px", "--count", "80", "--classes", "4", "--to", name)
            return sorted((self.root / name / "test").rglob("*.jpg"))  # four of each class
        images, fewer = copied("half damaged"), copied("half gone")
        for number, (damaged, gone) in enumerate(zip(images, fewer)):
            if number % 2:
                damaged.write_bytes(damaged.read_bytes()[:300])
                gone.unlink()
        (found, notes), (wanted, none) = self.judged("half damaged"), self.judged("half gone")
        self.assertEqual(found, wanted)
        self.assertEqual(none, [])
        note, = notes
        self.assertIn(f"{len(images) // 2} of {len(images)} images of ", note)
        # A rank of whose part none is left does not fail the trial; a set of which none is left does.
        for damaged in images[1:]:
            damaged.write_bytes(b"")
        for count in (1, 2):
            metrics, notes = self.judged("half damaged", count)
            self.assertIn(metrics["accuracy"], (0, 1))
            self.assertIn(f"{len(images) - 1} of {len(images)} images of ", *notes)
        images[0].write_bytes(b"")
        reason = ranks.run(WORKER, self.trial({"folder": ["half damaged"]}, "quality", on_corrupt="skip"))[0].last().get("reason", "")
        self.assertIn("could be decoded, so there is no accuracy", reason)

    def test_a_file_that_is_gone_is_never_skipped(self):
        copy = self.root / "gone"
        shutil.copytree(self.root / "shapes", copy)
        victim = sorted((copy / "train").rglob("*.jpg"))[3]
        victim.unlink()
        victim.symlink_to("nowhere")
        reason = ranks.run(WORKER, self.trial({"folder": ["gone"]}, on_corrupt="skip"))[0].last().get("reason", "")
        self.assertIn(f"{victim.relative_to(self.root)}: No such file or directory", reason)

    def test_what_is_no_packed_file_is_refused(self):
        (self.root / "cut.pack").write_bytes((self.root / "shapes.pack").read_bytes()[:-1])
        for path, wanted in (("cut.pack", "it was truncated"), ("nowhere", "no such file"), ("shapes", "not a file")):
            reason = ranks.run(WORKER, self.trial({"packed": [path]}))[0].last().get("reason", "")
            self.assertIn(wanted, reason)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
