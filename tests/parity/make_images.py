#!/usr/bin/env python3
"""Writes golden/images: small JPEG and PNG files, what PIL decodes them to, and what torchvision's transforms make of them.

Needs torchvision and Pillow (`tools/setup --bench`, then `.deps/bench/bin/python tests/parity/make_images.py`); only needed to make the
committed files again. Colour images go through Resize, ToTensor, Normalize as PIL images, grey ones (MNIST's way) through ToTensor, Resize,
Normalize. PNG kinds that PIL does not write (interlaced, 16-bit colour, 2 bits a pixel) are encoded here.
"""
import json
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import PIL
import torch
import torchvision
from PIL import Image, features
from safetensors.torch import save_file
from torchvision import transforms as T

GOLDEN = Path(__file__).resolve().parent / "golden" / "images"
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
SIZES = [(24, 24), (50, 70), (36, 20)]  # rows, cols
GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def picture(rows, cols, seed):
    """Smooth colours with an edge and a little noise: all that a codec has paths for."""
    r = np.random.default_rng(seed)
    y, x = np.mgrid[0:rows, 0:cols]
    planes = [127 + 100 * np.sin(x / (3 + c) + y / (7 - c) + seed) for c in range(3)]
    image = np.stack(planes, -1) + r.normal(0, 6, (rows, cols, 3))
    image[rows // 3: 2 * rows // 3, cols // 2:] = (230, 20, 60)
    return image.clip(0, 255).astype(np.uint8)


def png(path, array, bits, colours, interlaced=False, chunks=()):
    """array: rows x cols x samples, values below 2**bits."""
    rows, cols = array.shape[:2]
    array = array.reshape(rows, cols, -1)

    def packed(part):
        lines = b""
        for line in part:
            values = line.reshape(-1)
            if bits == 16:
                data = values.astype(">u2").tobytes()
            elif bits == 8:
                data = values.astype(np.uint8).tobytes()
            else:
                each = np.unpackbits(values.astype(np.uint8)[:, None], axis=1)[:, 8 - bits:]
                data = np.packbits(each.reshape(-1)).tobytes()
            lines += b"\0" + data
        return lines

    if interlaced:
        parts = [array[y::dy, x::dx] for x, y, dx, dy in ADAM7]
        raw = b"".join(packed(part) for part in parts if part.size)
    else:
        raw = packed(array)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", cols, rows, bits, colours, 0, 0, int(interlaced))
    body = b"".join(chunk(kind, data) for kind, data in chunks)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + body + chunk(b"IDAT", zlib.compress(raw, 9)) +
                     chunk(b"IEND", b""))


def write_files():
    rgb = picture(36, 48, 1)
    odd = picture(23, 37, 2)
    grey = rgb[..., 0]
    r = np.random.default_rng(5)
    image = Image.fromarray(rgb)
    image.save(GOLDEN / "420.jpg", quality=85)
    image.save(GOLDEN / "444.jpg", quality=95, subsampling=0)
    Image.fromarray(odd).save(GOLDEN / "422_odd.jpg", quality=80, subsampling=1)
    Image.fromarray(odd).save(GOLDEN / "progressive_odd.jpg", quality=75, progressive=True)
    Image.fromarray(grey).save(GOLDEN / "grey.jpg", quality=90)
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees: nobody looks
    image.save(GOLDEN / "turned.jpg", quality=85, exif=exif)
    image.convert("CMYK").save(GOLDEN / "cmyk.jpg", quality=85)

    alpha = r.integers(0, 256, (36, 48, 1), dtype=np.uint8)
    image.save(GOLDEN / "rgb.png")
    Image.fromarray(np.concatenate([rgb, alpha], -1)).save(GOLDEN / "rgba.png")
    Image.fromarray(grey).save(GOLDEN / "grey.png")
    Image.fromarray(grey).convert("1").save(GOLDEN / "bits.png")
    image.quantize(17).save(GOLDEN / "palette.png")
    image.quantize(200).save(GOLDEN / "palette_clear.png", transparency=3)
    png(GOLDEN / "grey2.png", grey // 64, 2, GREY)
    png(GOLDEN / "grey4_interlaced.png", grey // 16, 4, GREY, interlaced=True)
    png(GOLDEN / "grey_alpha.png", np.concatenate([grey[..., None], alpha], -1), 8, GREY_ALPHA)
    wide = rgb.astype(np.uint16) * 257 - r.integers(0, 200, rgb.shape).astype(np.uint16).clip(0, rgb)
    png(GOLDEN / "rgb16.png", wide, 16, RGB)
    png(GOLDEN / "rgba16_interlaced.png", np.concatenate([wide, alpha.astype(np.uint16) * 255], -1), 16, RGBA, True)
    # Around what fits 8 bits, where PIL's conversion saturates.
    png(GOLDEN / "grey16.png", (grey.astype(np.uint16) * 2), 16, GREY)
    png(GOLDEN / "grey16_interlaced.png", (grey.astype(np.uint16) * 2), 16, GREY, interlaced=True)
    png(GOLDEN / "rgb_interlaced_odd.png", odd, 8, RGB, interlaced=True)
    png(GOLDEN / "rgb_clear.png", rgb, 8, RGB, chunks=[(b"tRNS", struct.pack(">HHH", 230, 20, 60)),
                                                       (b"gAMA", struct.pack(">I", 100000))])


def main():
    GOLDEN.mkdir(parents=True, exist_ok=True)
    write_files()
    tensors, names = {}, []
    normalise = T.Normalize(MEAN, STD)
    for path in sorted(GOLDEN.iterdir()):
        if path.suffix not in {".jpg", ".png"} or path.name == "cmyk.jpg":
            continue
        names.append(path.name)
        image = Image.open(path).convert("RGB")  # torchvision.datasets.folder.pil_loader
        tensors[f"{path.name}.decoded"] = torch.from_numpy(np.array(image))
    for name in ["420.jpg", "422_odd.jpg", "rgb.png"]:
        image = Image.open(GOLDEN / name).convert("RGB")
        for rows, cols in SIZES:
            made = T.Compose([T.Resize((rows, cols)), T.ToTensor(), normalise])(image)
            tensors[f"{name}.{rows}x{cols}"] = made.contiguous()
    digit = np.random.default_rng(9).integers(0, 256, (28, 28), dtype=np.uint8)
    tensors["digit"] = torch.from_numpy(digit)
    for size in [16, 28, 60]:
        made = T.Compose([T.ToTensor(), T.Resize((size, size), antialias=True)])(Image.fromarray(digit))
        tensors[f"digit.{size}"] = normalise(made.expand(3, -1, -1)).contiguous()
    save_file(tensors, GOLDEN / "images.safetensors")
    (GOLDEN / "images.json").write_text(json.dumps(
        {"made_with": {"torchvision": torchvision.__version__.split("+")[0], "pillow": PIL.__version__,
                       "libjpeg_turbo": features.version("libjpeg_turbo")},
         "decoded": names, "resized": ["420.jpg", "422_odd.jpg", "rgb.png"], "sizes": SIZES, "digits": [16, 28, 60]}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
