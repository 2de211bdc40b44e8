#!/usr/bin/env python3
"""Applies each mutation of tests/mutations/*.txt alone, and demands that the test it names fails.

    python3 .ci/mutations.py [--first] [WORD ...]     all, or those whose rule, file, text, proof or list holds one of
                                                      these words; --first: the first of each rule only

The format is described at the head of tests/mutations/spine.txt. The tree is copied once; every mutation is one
incremental build there. A mutation is broken, and the run fails, if its text is not found exactly once, if it does not
compile, or if its proof passes or does not exist. Before anything is changed, all proofs must pass.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# A mutated engine may wait forever; a proof takes seconds.
PATIENCE = 120
TARGETS = {
    "scenario": ["-p", "runloom-tests", "--test", "scenarios"],
    "core": ["-p", "runloom-tests", "--test", "core"],
    "agui": ["-p", "runloom-tests", "--test", "agui"],
    "observers": ["-p", "runloom-tests", "--test", "observers"],
    "keeper": ["-p", "runloom-tests", "--test", "keeper"],
    "stores": ["-p", "runloom-tests", "--test", "stores"],
    "unit": ["-p", "runloom-core", "--lib"],
}


def mutations():
    found = []
    for path in sorted((ROOT / "tests/mutations").glob("*.txt")):
        block = {}
        for line in path.read_text().splitlines() + [""]:
            if line.startswith("#"):
                continue
            if line.strip():
                key, _, value = line.partition(":")
                block[key] = value.strip()
            elif block:
                found.append(dict(block, list=path.name))
                block = {}
    return found


def copy(to):
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True
    )
    if listed.returncode:
        shutil.copytree(ROOT, to, dirs_exist_ok=True, ignore=shutil.ignore_patterns("target", ".git"))
        return
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to / name)


class Tree:
    def __init__(self, root):
        self.root = root
        # A folder of its own: cargo takes packages of one name in two copies of a workspace for the same.
        target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "mutations"
        self.env = dict(os.environ, CARGO_TARGET_DIR=str(target), CARGO_INCREMENTAL="1", RUST_BACKTRACE="0")
        self.env.pop("REWRITE", None)

    def build(self, kind):
        """The test program, or what the compiler says."""
        command = ["cargo", "test", *TARGETS[kind], "--no-run", "--message-format=json"]
        done = subprocess.run(command, cwd=self.root, env=self.env, capture_output=True, text=True)
        programs, complaints = [], []
        for line in done.stdout.splitlines():
            message = json.loads(line)
            if message.get("executable") and message["profile"]["test"]:
                programs.append(message["executable"])
            if message["reason"] == "compiler-message" and message["message"]["level"] == "error":
                complaints.append(message["message"]["rendered"])
        if done.returncode or not programs:
            return None, "".join(complaints) or done.stderr
        return programs[-1], ""

    def passes(self, program, kind, name):
        """Whether the proof passes; None if there is no such test."""
        folder = self.root / ("core" if kind == "unit" else "tests")
        env = dict(self.env, SCENARIO=name) if kind == "scenario" else self.env
        wanted = "scenarios" if kind == "scenario" else name
        try:
            done = subprocess.run(
                [program, wanted], cwd=folder, env=env, capture_output=True, text=True, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            return False
        if "running 0 tests" in done.stdout:
            return None
        if kind == "scenario" and not (self.root / f"tests/scenarios/{name}.txt").exists():
            return None
        return done.returncode == 0


def judge(tree, mutation):
    path = tree.root / mutation["file"]
    before = path.read_text()
    count = before.count(mutation["from"])
    if count != 1:
        return f"broken: its text stands there {count} times"
    kind, _, name = mutation["proof"].partition(" ")
    try:
        path.write_text(before.replace(mutation["from"], mutation.get("to", "")))
        program, complaint = tree.build(kind)
        if program is None:
            return "broken: it does not compile\n" + complaint
        return "SURVIVES" if tree.passes(program, kind, name) else "killed"
    finally:
        path.write_text(before)


def check_proofs(tree, chosen):
    programs = {kind: tree.build(kind) for kind in sorted({m["proof"].split()[0] for m in chosen})}
    for kind, (program, complaint) in programs.items():
        if program is None:
            sys.exit(f"the tree does not build for {kind}:\n{complaint}")
    for proof in sorted({m["proof"] for m in chosen}):
        kind, _, name = proof.partition(" ")
        passes = tree.passes(programs[kind][0], kind, name)
        if not passes:
            sys.exit(f"{proof}: " + ("there is no such test" if passes is None else "fails without a mutation"))


def main():
    words = [word for word in sys.argv[1:] if word != "--first"]
    chosen = [m for m in mutations() if not words or any(word in " ".join(m.values()) for word in words)]
    if "--first" in sys.argv:
        chosen = list({m["rule"]: m for m in reversed(chosen)}.values())[::-1]
    if not chosen:
        sys.exit("no mutation was chosen")
    started, wrong = time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copy(Path(folder))
        tree = Tree(Path(folder))
        check_proofs(tree, chosen)
        print(f"all proofs pass unchanged, {time.monotonic() - started:.0f} s", flush=True)
        for mutation in chosen:
            began = time.monotonic()
            verdict = judge(tree, mutation)
            took = time.monotonic() - began
            short = verdict.splitlines()[0]
            print(f"{mutation['rule']:4} {short:10} {took:5.1f} s  {mutation['what']}  [{mutation['proof']}]", flush=True)
            if verdict != "killed":
                wrong.append(f"{mutation['rule']}: {mutation['what']} ({mutation['file']}): {verdict}")
    rules = len({m["rule"] for m in chosen})
    print(f"{len(chosen)} mutations of {rules} rules, {len(wrong)} not killed, {time.monotonic() - started:.0f} s")
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
