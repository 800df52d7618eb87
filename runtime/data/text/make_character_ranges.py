#!/usr/bin/env python3
"""Writes character_ranges.inc: the letters, numbers and spaces of Unicode as tiktoken's regular expressions see them, found by asking
about each code point. Needs the bench environment (tools/setup --bench).

usage: .deps/bench/bin/python runtime/data/text/make_character_ranges.py
"""
import importlib.metadata
import pathlib

import tiktoken

OUTPUT = pathlib.Path(__file__).with_name("character_ranges.inc")
BYTES = {bytes([byte]): byte for byte in range(256)}


def ranges(pattern):
    """First and last of each run of code points that `pattern` matches. Text that no match covers gives no tokens."""
    encoding = tiktoken.Encoding(name="class", pat_str=pattern, mergeable_ranks=BYTES, special_tokens={})
    found = []
    for code_point in range(0x110000):
        if 0xD800 <= code_point < 0xE000 or not encoding.encode_ordinary(chr(code_point)):
            continue
        if found and found[-1][1] == code_point - 1:
            found[-1][1] = code_point
        else:
            found.append([code_point, code_point])
    return found


def main():
    lines = [f"// Made by make_character_ranges.py from tiktoken {importlib.metadata.version('tiktoken')}. clang-format off"]
    for macro, pattern in (("LETTERS", r"\p{L}"), ("NUMBERS", r"\p{N}"), ("SPACES", r"\s")):
        lines.append(f"#ifdef {macro}")
        row = ""
        for first, last in ranges(pattern):
            item = f"{macro}({first:#x}, {last:#x})"
            if len(row) + len(item) > 118:
                lines.append(row)
                row = ""
            row += (" " if row else "") + item
        lines += [row, f"#undef {macro}", "#endif"]
    OUTPUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
