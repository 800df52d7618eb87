#!/usr/bin/env python3
"""Makes golden/text/chat.json: rows of messages, and the tokens that transformers' apply_chat_template makes of them with Llama 3.1's chat
template and the toy tokenizer. Needs transformers and jinja2; the template is the field chat_template of the tokenizer_config.json of
Llama 3.1 Instruct, as a file. The template itself is not kept here.

usage: python tests/parity/make_chat.py --template llama3.1.jinja
"""
import argparse
import json
import pathlib

import transformers

GOLDEN = pathlib.Path(__file__).parent / "golden/text"


def said(role, content, **more):
    return {"role": role, "content": content, **more}


def call(name, arguments):
    return {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}]}


WEATHER = {"type": "function", "function": {"name": "weather", "description": "The weather \"now\" in a città", "parameters": {
    "type": "object", "properties": {"zone": {"type": "string"}, "at": {"type": "number", "minimum": -0.5, "maximum": 1e5, "default": None},
                                     "list": {"type": "array", "items": {}, "enum": []}}, "required": ["zone", "at"]}}}
CLOCK = {"name": "clock", "parameters": {"b": True, "a": False}}
ROWS = [
    {"messages": [said("user", "hello"), said("assistant", "Hi there!")]},
    {"messages": [said("system", "  Be kind.\n"), said("user", " two  words \n"), said("assistant", "\tyes\n\nand no "), said("user", "?!"), said("assistant", "ok")]},
    {"messages": [said("system", ""), said("user", "1234567"), said("assistant", "don't\n")]},
    {"messages": [said("user", "in Lima?"), call("weather", {"zone": "Lima\u00a0\n", "at": 3}), said("tool", "21 \"degrees\""), said("assistant", "21 degrees")],
     "tools": [WEATHER]},
    {"messages": [said("system", "Use tools"), said("user", " now? "), call("clock", {}), said("ipython", "{\"t\": [1, 2.0]}"), call("clock", {"z": 1, "a": [None]}),
                  said("tool", "later"), said("assistant", "soon")], "tools": [CLOCK, WEATHER]},
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--template", required=True, type=pathlib.Path)
    template = parser.parse_args().template.read_text()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(GOLDEN / "toy_tokenizer.json"), bos_token="<|begin_of_text|>")
    cases = []
    for row in ROWS:
        how = dict(tools=row.get("tools"), chat_template=template)
        ids = tokenizer.apply_chat_template(row["messages"], tokenize=True, return_dict=False, **how)
        # The row is kept as text, since the order of its keys matters.
        cases.append({"row": json.dumps(row, ensure_ascii=False), "text": tokenizer.apply_chat_template(row["messages"], tokenize=False, **how), "ids": ids})
    lines = ",\n".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases)
    (GOLDEN / "chat.json").write_text(f'{{"transformers":"{transformers.__version__}","cases":[\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
