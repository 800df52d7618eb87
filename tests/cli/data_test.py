#!/usr/bin/env python3
"""`expc data`: sets are made, packed, described and verified, and every mistake has its message and way out. Trains nothing.

usage: data_test.py --expc PATH [--clients PYTHON]
"""
import collections
import gzip
import io
import json
import os
import pathlib
import pickle
import shutil
import signal
import struct
import subprocess
import sys
import time
import types
import zipfile
import zlib

from command import OPTIONS, Command, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "experiments" / "data" / "digits"


class Data(Command):
    def data(self, *arguments, code=0):
        return self.expc("data", *arguments, code=code, timeout=120)

    def refused(self, *arguments, code=1):
        result = self.data(*arguments, code=code)
        self.assertEqual(result.stdout, "")
        return result.stderr

    def entries(self):
        return sorted(path.name for path in self.folder.iterdir())

    def shapes(self, *arguments):
        return self.data("make", "shapes", "--size", "24px", "--count", 20, "--classes", 4, "--to", "shapes", *arguments)

    def prepare(self, code=1):
        return self.data("prepare", "reference", "--from", "downloads", "--to", "data", code=code)

    def written(self, name):
        return [json.loads(line) for line in (self.folder / "data/llm" / name).read_text().splitlines()]

    def test_downloads_become_what_the_studies_name(self):
        downloads = self.folder / "downloads/deep"
        downloads.mkdir(parents=True)
        for name in DIGITS.iterdir():
            if "idx1-ubyte" in name.name:
                shutil.copy(name, downloads)
            elif "ubyte" in name.name:  # as they are handed out
                (downloads / f"{name.name}.gz").write_bytes(gzip.compress(name.read_bytes()))
        rows = [{"instruction": f"say {i}", "input": "", "output": "é" * i, "more": i} for i in range(1, 4)]
        (downloads / "samsum.csv").write_text('id,dialogue,summary\n1,"A: hello\nB: hi",greeting\n')
        (downloads / "c4_200m.tsv").write_text("input\toutput\nhe go\the goes\r\n\nshe go\tshe goes\n")
        for name, text in (("alpaca_data_cleaned.json", json.dumps(rows)), ("alpaca_data_cleaned.jsonl", "\n".join(map(json.dumps, rows)))):
            file = downloads / name
            file.write_text(text)
            said = self.prepare().stdout
            file.unlink()
            self.assertIn("MNIST: 1437 training and 360 test images, digest ", said)
            self.assertIn("alpaca_cleaned: 3 rows, digest ", said)
            self.assertIn("missing: tokenizer: no tokenizer.model or tokenizer.json in downloads", said)
            self.assertIn("missing: colour images of 300 px: expc data make shapes --size 300px --count 60000 --to data/mnist_300", said)
            self.assertEqual(self.written("instruct.jsonl"), [{k: r[k] for k in ("input", "instruction", "output")} for r in rows])
            self.assertEqual(self.written("summarize.jsonl"), [{"dialogue": "A: hello\nB: hi", "summary": "greeting"}])
            self.assertEqual(self.written("grammar.jsonl"), [{"input": "he go", "output": "he goes"}, {"input": "she go", "output": "she goes"}])
        self.assertIn("1437 training", self.data("info", "data/mnist").stdout)

    def test_hostile_downloads_are_named_and_leave_nothing(self):
        downloads = self.folder / "downloads"
        downloads.mkdir()
        for name, text, why in (("samsum.json", '[{"dialogue": 3, "summary": "x"}]', "row 1: no text in a column called dialogue"),
                                ("samsum.csv", "dialogue,other\na,b\n", "row 1: no text in a column called summary"),
                                ("samsum.jsonl", '{"dialogue": "x"', "samsum.jsonl"), ("samsum.json", "", "samsum.json"),
                                ("c4_200m.tsv", "one text\n", "c4_200m.tsv: line 1: not two texts with a tab between them"),
                                ("c4_200m.tsv", "a\tb\tc\n", "c4_200m.tsv: line 1: not two texts"),
                                ("c4_200m.tsv", "a\t\udcff\n", "c4_200m.tsv: line 1: not UTF-8"),
                                ("tokenizer.json", "{}", "tokenizer.json")):
            (downloads / name).write_bytes(text.encode(errors="surrogateescape"))
            self.assertIn(why, self.refused("prepare", "reference", "--from", "downloads", "--to", "data"), name)
            self.assertEqual([p.name for p in (self.folder / "data/llm").iterdir()], [], name)
            (downloads / name).unlink()
        said = self.prepare().stdout
        self.assertIn("missing: samsum: no samsum.json, .jsonl, .csv, .tsv or .parquet in downloads", said)
        self.assertIn("missing: MNIST: no train-images-idx3-ubyte or train-images-idx3-ubyte.gz in downloads", said)
        images = gzip.compress((DIGITS / "train-images-idx3-ubyte").read_bytes())
        for name in ("train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
            shutil.copy(DIGITS / name, downloads)
        for content, why in ((images[:-2000], "train-images-idx3-ubyte.gz"), (gzip.compress(bytes(300 << 20)), "has more than 256 MiB"),
                             (b"x", "data/mnist/train-images-idx3-ubyte")):
            (downloads / "train-images-idx3-ubyte.gz").write_bytes(content)
            self.assertIn(why, self.refused("prepare", "reference", "--from", "downloads", "--to", "data"))
        self.assertIn("nowhere is not a folder of downloads", self.refused("prepare", "reference", "--from", "nowhere"))

    def test_parquet_is_read_and_what_is_none_is_named(self):
        if not os.path.exists(OPTIONS.clients):
            self.skipTest("no pyarrow here")
        file = self.folder / "downloads/samsum.parquet"
        file.parent.mkdir()

        def write(columns, options=""):
            script = f"import pyarrow as pa, pyarrow.parquet as pq; pq.write_table(pa.table({columns}), {str(file)!r}{options})"
            subprocess.run([OPTIONS.clients, "-c", script], check=True, timeout=120)

        write("{'id': [1, 2, 3], 'summary': pa.array(['a', 'é', 'c'], pa.large_string()), 'dialogue': ['A: x\\nB: y', '', 'z']}", ", row_group_size=2")
        self.assertIn("samsum: 3 rows, digest ", self.prepare().stdout)
        self.assertEqual(self.written("summarize.jsonl"), [{"dialogue": "A: x\nB: y", "summary": "a"}, {"dialogue": "", "summary": "é"},
                                                           {"dialogue": "z", "summary": "c"}])
        (self.folder / "data/llm/summarize.jsonl").unlink()
        whole = file.read_bytes()
        not_text = "pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b'\\0\\0\\0\\0\\1\\0\\0\\0'), pa.py_buffer(b'\\xff')])"
        for content, why in ((b"PAR1", "samsum.parquet: "), (b"", "samsum.parquet: "), (whole[:-9] + b"\xff" * 5 + b"PAR1", "samsum.parquet: "),
                             (whole[:40] + bytes(60) + whole[100:], "samsum.parquet: "),
                             ("{'dialogue': [3], 'summary': ['x']}", "samsum.parquet: row 1: no text in a column called dialogue"),
                             ("{'dialogue': ['x', 'y'], 'summary': ['x', None]}", "samsum.parquet: row 2: no text in a column called summary"),
                             (f"{{'dialogue': {not_text}, 'summary': ['x']}}", "samsum.parquet: row 1: not UTF-8")):
            file.write_bytes(content) if isinstance(content, bytes) else write(content)
            self.assertIn(why, self.refused("prepare", "reference", "--from", "downloads", "--to", "data"), content)
            self.assertEqual([p.name for p in (self.folder / "data/llm").iterdir()], [], content)

    def test_data_is_made_up_where_there_is_none(self):
        script = [sys.executable, ROOT / "experiments/reference/made_up.py", "--to", "data", "--images", "20", "--rows", "600", "--expc", OPTIONS.expc]
        said = subprocess.run(script, cwd=self.folder, check=True, capture_output=True, text=True, timeout=300).stdout
        self.assertIn("made up; away with it before a run that counts", said)
        self.assertIn("20 training, 10 test\n  size      28 x 28, grey", self.data("info", "data/mnist").stdout)
        self.assertIn("20 training, 10 test\n  size      500 x 500, colour", self.data("info", "data/mnist_500").stdout)
        # The rows as downloads: as many tokens as the reference study's subsets have, each word one of the vocabulary.
        downloads = self.folder / "downloads"
        shutil.copytree(self.folder / "data/llm", downloads)
        for name, known in (("instruct", "alpaca_cleaned"), ("summarize", "samsum")):
            (downloads / f"{name}.jsonl").rename(downloads / f"{known}.jsonl")
        told = self.prepare().stdout
        self.assertIn("tokenizer: 128256 tokens", told)
        for tokens in (59330, 28683, 83544):
            self.assertIn(f"the first 500 have {tokens} tokens", told)
        again = subprocess.run(script, cwd=self.folder, check=True, capture_output=True, text=True, timeout=300).stdout
        self.assertEqual((again.count("is there and stays"), "made up" in again), (7, False))

    def test_metas_weights_become_a_folder_and_no_pickle_is_run(self):
        torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
        torch.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})
        exec("def _rebuild_tensor_v2(*given): pass", vars(utils))
        utils._rebuild_tensor_v2.__module__ = "torch._utils"

        class Storage(tuple):
            pass

        class Tensor:
            def __init__(self, key, *shape):
                self.key, self.shape = key, shape

            def __reduce__(self):
                rows, columns = (*self.shape, 1)[:2]
                return utils._rebuild_tensor_v2, (Storage((self.key, rows * columns)), 0, self.shape, (columns, 1)[:len(self.shape)], False,
                                                  collections.OrderedDict())

        class Pickler(pickle.Pickler):
            def persistent_id(self, thing):
                return ("storage", torch.FloatStorage, thing[0], "cpu", thing[1]) if isinstance(thing, Storage) else None

        class Hostile:
            def __reduce__(self):
                return os.system, ("touch ran",)

        shapes = {"tok_embeddings": (16, 8), "norm": (8,), "output": (16, 8), "layers.0.attention_norm": (8,), "layers.0.ffn_norm": (8,),
                  "layers.0.attention.wq": (8, 8), "layers.0.attention.wk": (4, 8), "layers.0.attention.wv": (4, 8), "layers.0.attention.wo": (8, 8),
                  "layers.0.feed_forward.w1": (12, 8), "layers.0.feed_forward.w2": (8, 12), "layers.0.feed_forward.w3": (12, 8)}
        download = self.folder / "download"
        download.mkdir()
        (download / "params.json").write_text('{"dim": 8, "n_layers": 1, "n_heads": 2, "n_kv_heads": 1, "norm_eps": 1e-5, "rope_theta": 500000.0}')

        def write(more=(), short=0, inside="consolidated/data.pkl"):
            named = collections.OrderedDict((f"{name}.weight", Tensor(str(i), *shape)) for i, (name, shape) in enumerate(shapes.items()))
            named.update(more)
            text = io.BytesIO()
            sys.modules.update({"torch": torch, "torch._utils": utils})
            try:
                Pickler(text, 2).dump(named)
            finally:
                del sys.modules["torch"], sys.modules["torch._utils"]
            with zipfile.ZipFile(download / "consolidated.00.pth", "w") as archive:
                archive.writestr(inside, text.getvalue())
                for i, shape in enumerate(shapes.values()):
                    rows, columns = (*shape, 1)[:2]  # each row is its number, over and over
                    archive.writestr(f"consolidated/data/{i}", b"".join(struct.pack("<f", row) * columns for row in range(rows))[short:])

        def convert(code):
            script = [sys.executable, ROOT / "experiments/reference/meta_weights.py", "download", "model"]
            done = subprocess.run(script, cwd=self.folder, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, code, done)
            return done.stdout + done.stderr

        for arguments, why in (({"more": {"x.weight": Hostile()}}, "it names posix.system, which no file of weights needs; nothing of it was run"),
                               ({"more": {"layers.0.x.weight": Tensor("0", 16, 8)}}, "there is a tensor layers.0.x.weight, which Llama 3 has not"),
                               ({"short": 4}, "model.embed_tokens.weight has 508 bytes, expected 512"),
                               ({"inside": "consolidated/other"}, "there is no data.pkl in it")):
            write(**arguments)
            self.assertIn(why, convert(1))
            self.assertEqual(self.entries(), ["download"])
        for content in (b"", b"PK", (download / "consolidated.00.pth").read_bytes()[:200]):
            (download / "consolidated.00.pth").write_bytes(content)
            self.assertIn("download: File is not a zip file", convert(1))
        write({"rope.freqs": Tensor("1", 8)})
        self.assertIn('12 tensors of ', convert(0))
        data = (self.folder / "model/model.safetensors").read_bytes()
        length, = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + length])

        def first_of_rows(name):
            begin, end = header[name]["data_offsets"]
            values = struct.unpack(f"<{(end - begin) // 4}f", data[8 + length + begin:8 + length + end])
            return [int(value) for value in values[::header[name]["shape"][1]]]

        self.assertEqual(first_of_rows("model.layers.0.self_attn.q_proj.weight"), [0, 2, 1, 3, 4, 6, 5, 7])
        self.assertEqual(first_of_rows("model.layers.0.self_attn.k_proj.weight"), [0, 2, 1, 3])
        self.assertEqual(first_of_rows("model.layers.0.mlp.gate_proj.weight"), list(range(12)))
        self.assertEqual(header["model.layers.0.mlp.down_proj.weight"]["shape"], [8, 12])
        self.assertEqual(json.loads((self.folder / "model/config.json").read_text())["intermediate_size"], 12)
        self.assertIn("model is there; name another folder", convert(1))

    def test_make_pack_info_verify(self):
        self.assertIn('data = folder("shapes")', self.shapes().stdout)
        said = self.data("pack", "shapes", "--to", "shapes.pack").stdout
        self.assertIn("packed 20 training and 4 test images of 24 x 24 x 3 into shapes.pack", said)
        self.assertIn('data = packed("shapes.pack")', said)
        self.assertEqual(self.entries(), ["shapes", "shapes.pack"])
        folder, packed = (json.loads(self.data("info", name, "--format", "json").stdout) for name in ("shapes", "shapes.pack"))
        self.assertEqual(folder["schema"], "expc.data/1")
        self.assertEqual((folder["kind"], packed["kind"]), ("folder", "packed"))
        self.assertEqual(folder["files"], {"jpeg": 24, "png": 0, "unreadable": 0})
        self.assertEqual(len(folder["classes"]), 4)
        for key in ("train", "test", "classes", "largest", "smallest"):
            self.assertEqual(folder[key], packed[key])
        self.assertIn(packed["checksum"], said)
        self.assertIn(packed["checksum"], self.data("info", "shapes.pack").stdout)
        text = self.data("info", "shapes").stdout
        self.assertIn("images    20 training, 4 test\n  size      24 x 24, colour\n  files     24 JPEG, 0 PNG\n", text)
        self.assertEqual(self.data("verify", "shapes").stdout, "shapes: all 24 images decode without errors\n")
        report = json.loads(self.data("verify", "shapes.pack", "--format", "json").stdout)
        self.assertEqual((report["schema"], report["images"], report["damaged"]), ("expc.data.verify/1", 24, []))

    def test_test_images_that_are_training_images_are_counted(self):
        self.shapes()
        train = next((self.folder / "shapes" / "train").rglob("*.jpg"))
        twin = next((self.folder / "shapes" / "test").rglob("*.jpg"))
        twin.write_bytes(train.read_bytes())
        said = self.data("verify", "shapes").stdout
        self.assertIn("shapes: 1 of 4 test images are also training images, so accuracy there measures memorisation\n", said)
        report = json.loads(self.data("verify", "shapes", "--format", "json").stdout)
        self.assertEqual((report["test"], report["also_trained"], report["damaged"]), (4, 1, []))

    def test_an_image_beyond_the_limits_is_too_large_and_not_damaged(self):
        self.shapes()
        chunk = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))  # noqa: E731
        header = struct.pack(">IIBBBBB", 20000, 30, 8, 0, 0, 0, 0)
        wide = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 20001 * 30)) + chunk(b"IEND", b""))
        (next((self.folder / "shapes" / "train").iterdir()) / "wide.png").write_bytes(wide)
        said = self.data("verify", "shapes", code=1).stdout
        self.assertIn("wide.png: too large: its header says 20000 x 30 pixels, expected 1 to 16384 each way and at most 67108864 in all\n", said)
        self.assertIn("1 of 25 images cannot be decoded\n", said)

    def test_digits_are_packed_grey_and_scaled(self):
        said = self.data("pack", DIGITS, "--to", "digits.pack", "--size", "16").stdout
        self.assertIn("of 16 x 16 x 1 into digits.pack", said)
        self.assertIn("16 x 16, grey", self.data("info", "digits.pack").stdout)
        self.assertIn("into small.pack", self.data("pack", "digits.pack", "--to", "small.pack", "--size", "8px").stdout)

    def test_arguments_that_make_no_sense(self):
        for arguments, part in ((["--size", "8px", "--count", 20], "--size 8px: expected 16px to 1024px"),
                                (["--size", "300 cm", "--count", 20], "--size 300 cm: expected 16px to 1024px"),
                                (["--count", 3], "--count 3: expected at least one image for each of the 10 classes"),
                                (["--count", 99, "--classes", 65], "--classes 65: expected 2 to 64")):
            self.assertIn(part, self.refused("make", "shapes", "--to", "shapes", *arguments, code=2))
        self.assertIn("squares", self.refused("make", "squares", "--count", 20, "--to", "shapes", code=2))
        self.assertIn("--to is required", self.refused("pack", "shapes", code=2))
        self.assertIn("--size 0px: expected 1px to", self.refused("pack", DIGITS, "--to", "x", "--size", "0px", code=2))
        self.assertIn("subcommand is required", self.refused(code=2))
        self.assertEqual(self.entries(), [])

    def test_places_that_are_taken_or_missing(self):
        self.shapes()
        self.assertIn("shapes exists; choose another name, or replace it with --force",
                      self.refused("make", "shapes", "--size", "24px", "--count", 20, "--to", "shapes"))
        self.shapes("--force", "--seed", 2)
        mine = self.folder / "mine"
        mine.write_text("my own")
        for arguments in (["pack", "shapes", "--to", "mine"], ["pack", "shapes", "--to", "mine", "--force"]):
            self.assertIn("mine exists", self.refused(*arguments))
        self.assertEqual(mine.read_text(), "my own")
        self.assertIn("is not a file", self.refused("pack", "shapes", "--to", "shapes", "--force"))
        self.data("pack", "shapes", "--to", "p")
        self.assertIn("p exists; choose another name, or replace it with --force", self.refused("pack", "shapes", "--to", "p"))
        self.data("pack", "shapes", "--to", "p", "--size", "20px", "--force")
        self.assertIn("20 x 20", self.data("info", "p").stdout)
        self.assertIn("nowhere/p: No such file or directory", self.refused("pack", "shapes", "--to", "nowhere/p"))
        for command in ("info", "verify"):
            self.assertIn("gone: no such file or folder", self.refused(command, "gone"))
            self.assertIn("expected train/CLASS/*.jpg", self.refused(command, "."))
            self.assertIn("mine: not a packed file of images", self.refused(command, "mine"))
        self.assertEqual(self.entries(), ["mine", "p", "shapes"])

    def test_damage_is_listed(self):
        self.shapes()
        self.data("pack", "shapes", "--to", "p")
        victim = next((self.folder / "shapes" / "train").rglob("*.jpg"))
        # Within its header: what a decoder keeps of it must not spoil the next one.
        victim.write_bytes(victim.read_bytes()[:300])
        name = str(victim.relative_to(self.folder))
        said = self.data("verify", "shapes", code=1).stdout.splitlines()
        self.assertTrue(said[0].startswith(f"{name}: damaged JPEG"), said)
        self.assertEqual(said[1], "shapes: 1 of 24 images cannot be decoded")
        self.assertEqual(len(json.loads(self.data("verify", "shapes", "--format", "json", code=1).stdout)["damaged"]), 1)
        self.assertIn("skip such images with --skip-corrupt", self.refused("pack", "shapes", "--to", "q"))
        result = self.data("pack", "shapes", "--to", "q", "--skip-corrupt")
        self.assertIn(f"skipped: {name}: damaged JPEG", result.stderr)
        self.assertIn("packed 19 training", result.stdout)
        packed = self.folder / "p"
        content = bytearray(packed.read_bytes())
        content[-1] ^= 4
        packed.write_bytes(content)
        said = self.data("verify", "p", code=1).stdout
        self.assertIn("p: test image 3 (class ", said)
        packed.write_bytes(content[:-1])
        self.assertIn("it was truncated", self.refused("verify", "p"))

    def test_interrupted_it_leaves_nothing(self):
        process = subprocess.Popen([OPTIONS.expc, "data", "make", "shapes", "--size", "300px", "--count", "1000000", "--to", "big"],
                                   cwd=self.folder, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while not any(self.folder.glob(".expc-*.tmp/train/*/*.jpg")) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        self.assertEqual((process.returncode, said), (130, "expc: error: interrupted\n"))
        self.assertEqual(self.entries(), [])

    def test_a_full_disk_leaves_nothing(self):
        self.shapes()
        limited = ["bash", "-c", "trap '' XFSZ; ulimit -f 16; exec \"$@\"", "bash", OPTIONS.expc, "data", "pack", "shapes", "--to", "p"]
        result = subprocess.run(limited, cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("expc: error: p: File too large", result.stderr)
        self.assertEqual(self.entries(), ["shapes"])


if __name__ == "__main__":
    main()
