"""The package against the command and the laboratory's own profilers."""

import faulthandler
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from bisect import bisect_right
from collections import Counter
from pathlib import Path

import hps
from hps._command import executable

HERE = Path(__file__).resolve().parent
LOOP = """
_start:
    li t0, 20000
loop:
    addi t0, t0, -1
    mul t1, t0, t0
    bnez t0, loop
    li a7, 93
    li a0, 0
    ecall
"""


def setUpModule():
    # A test that hangs says where.
    faulthandler.dump_traceback_later(300, exit=True)
    # What runs in the background of a shell ignores interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def chess():
    return hps.Program("chess", "small")


class Frames(unittest.TestCase):
    def test_json_becomes_columns(self):
        frame = hps.Frame.from_json('[{"a": 1, "b": {"c": "x", "d": null}}, {"a": 2, "e": 1.5, "b": {"d": true}}]')
        self.assertEqual(frame.columns, ["a", "b.c", "e", "b.d"])
        self.assertEqual(frame["a"].tolist(), [1, 2])
        self.assertEqual(frame["b.c"].tolist(), ["x", None])
        self.assertNotEqual(frame["e"][0], frame["e"][0])
        self.assertEqual(frame["e"][1], 1.5)
        # Rows may name their columns in any order, twice, and with escapes.
        mixed = hps.Frame.from_json('[{"a": 1, "b": 2}, {"b": 3, "a": 4, "a": 5}, {"\\u0062": 6}]')
        self.assertEqual(mixed["a"].tolist()[:2], [1.0, 5.0])
        self.assertEqual(mixed["b"].tolist(), [2, 3, 6])
        document = '{"format": "hps-x", "more": [{}], "rows": [{"n": 1}, {"n": 2}]}'
        table = hps.Frame.from_table(document, {"hps-x": {"n": ("cycles", "A number."), "m": ("", "None.")}})
        self.assertEqual((table.columns, table["n"].tolist(), table.units["n"]), (["n", "m"], [1, 2], "cycles"))
        with self.assertRaisesRegex(hps.LabError, "missing field `rows`"):
            hps.Frame.from_table('{"format": "hps-x"}', {})
        lines = hps.Frame.from_json('{"n": -1}\n{"n": 3}\n')
        self.assertEqual(lines["n"].tolist(), [-1, 3])
        with self.assertRaisesRegex(hps.LabError, "column"):
            hps.Frame.from_json("[{]")
        with self.assertRaisesRegex(hps.LabError, "row 1 is no object"):
            hps.Frame.from_json('[{"n": 1}, 2]')
        with self.assertRaisesRegex(KeyError, "there is no column x; there are n"):
            lines["x"]

    def test_numbers_lend_their_memory(self):
        frame = hps.Frame.from_json(json.dumps([{"n": n, "text": str(n)} for n in range(1000)]))
        view = memoryview(frame["n"])
        self.assertEqual((view.format, view.itemsize, view.shape, view.readonly), ("Q", 8, (1000,), True))
        self.assertEqual(list(view), list(range(1000)))
        with self.assertRaises(BufferError):
            memoryview(frame["text"])
        # The memory outlives its frame.
        del frame
        self.assertEqual(view[999], 999)

    def test_other_libraries_take_a_table_over(self):
        rows = [{"n": n, "x": n / 2, "text": str(n), "is": n % 2 == 0} for n in range(100)]
        frame = hps.Frame.from_json(json.dumps(rows))
        try:
            import pandas
        except ImportError:
            pandas = None
        if pandas is not None:
            table = frame.to_pandas()
            self.assertEqual(table.to_dict("records"), rows)
            self.assertEqual(str(table["n"].dtype), "uint64")
        try:
            import polars
        except ImportError:
            polars = None
        if polars is not None:
            self.assertEqual(polars.DataFrame(frame).to_dicts(), rows)

    def test_a_frame_says_units_and_meanings(self):
        frame = hps.profile(chess(), limit=100_000).functions()
        self.assertEqual(set(frame.columns), set(frame.descriptions))
        self.assertTrue(all(frame.descriptions.values()))
        self.assertEqual(frame.units["cycles"], "cycles")
        self.assertIn("<table>", frame._repr_html_())
        self.assertIn("inclusive_cycles", repr(frame))


class Runs(unittest.TestCase):
    def test_a_run_is_the_commands(self):
        machine = hps.Machine("tiny-2wide")
        for core in ("cycle", "instruction"):
            run = hps.run(chess(), machine, core=core, limit=300_000)
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "run.json"
                words = ["run", "--machine", "tiny-2wide", "--core", core, f"--json={file}"]
                words += ["--max-instructions", "300000", "chess", "small"]
                subprocess.run([executable(), *words], check=True, capture_output=True)
                found = json.loads(file.read_text())
            self.assertEqual((run.instructions, run.cycles), (found["instructions"], found["cycles"]))
            self.assertEqual(run.counters, found["core"] | found["memory"])
            stack = {row["cause"]: row["cycles"] for row in run.cpi_stack().rows()}
            self.assertAlmostEqual(sum(stack.values()), run.cycles, delta=1e-3)

    def test_programs_have_output_and_ends(self):
        run = hps.run(hps.assemble(LOOP))
        self.assertEqual((run.exit_code, run.cycles, run.stdout), (0, None, b""))
        self.assertGreater(hps.run(chess()).instructions, 1_000_000)
        self.assertIn("chess", repr(hps.run(chess(), limit=1000)))
        # Names will do.
        self.assertEqual(hps.run("chess", "ev6", limit=1000).machine, "ev6")
        self.assertEqual(len(hps.profile("chess", with_="tip", limit=1000).errors()), 1)
        with self.assertRaisesRegex(hps.LabError, "chses"):
            hps.Program("chses")
        with self.assertRaisesRegex(hps.LabError, "line 2"):
            hps.assemble("nop\nbogus a0\n")
        with self.assertRaisesRegex(ValueError, "there are"):
            hps.Program("chess", isa="z80")

    def test_c_is_compiled(self):
        try:
            program = hps.compile('#include <stdio.h>\nint main(void) { puts("hello"); return 3; }\n')
        except hps.LabError as error:
            self.skipTest(str(error))
        run = hps.run(program)
        self.assertEqual((run.stdout, run.exit_code), (b"hello\n", 3))
        with self.assertRaisesRegex(hps.LabError, "error"):
            hps.compile("int main(void) {\n")

    def test_an_interrupt_keeps_what_has_run(self):
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(hps.Interrupted) as raised:
            hps.run(hps.Program("chess", "large"), hps.Machine())
        partial = raised.exception.result
        self.assertGreater(partial.instructions, 0)
        self.assertGreater(partial.cycles, 0)
        # What ran is what a run of that length is.
        self.assertEqual(hps.run(hps.Program("chess", "large"), hps.Machine(), limit=partial.instructions).cycles, partial.cycles)

    def test_other_threads_go_on(self):
        ticks = []
        done = threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.01)

        thread = threading.Thread(target=tick)
        thread.start()
        hps.run(chess(), hps.Machine(), limit=5_000_000)
        done.set()
        thread.join()
        self.assertGreater(len(ticks), 3)


class Machines(unittest.TestCase):
    def test_keys_are_keyword_arguments(self):
        machine = hps.Machine("ev6", window__rob_entries=40, window__commit_width=2, branch__predictor="Perfect")
        self.assertEqual((machine["window.rob_entries"], machine.window["commit_width"]), (40, 2))
        self.assertEqual(machine.with_(window__rob_entries=80), hps.Machine("ev6").with_(
            window__commit_width=2, branch__predictor="Perfect", window__rob_entries=80, name=machine.with_(window__rob_entries=80).name))
        self.assertIn("rob_entries=40", machine.name)
        with self.assertRaisesRegex(hps.LabError, "rob_entires"):
            hps.Machine(window__rob_entires=40)
        with self.assertRaisesRegex(hps.LabError, "rob_entries"):
            machine.with_(window__rob_entries=0)
        with self.assertRaisesRegex(AttributeError, "no key"):
            machine.nothing
        with self.assertRaisesRegex(hps.LabError, "hps-4wide"):
            hps.Machine("hps-4wid")
        with self.assertRaisesRegex(hps.LabError, "window.rob_entries=many.*integer"):
            hps.Machine(window__commit_width=2, window__rob_entries="many")
        copy = Path(tempfile.mkdtemp()) / "copy.ron"
        copy.write_text(machine.to_ron())
        self.assertEqual(hps.Machine(str(copy)), machine)

    def test_the_types_of_keys_are_those_of_today(self):
        text = (HERE.parent / "hps" / "_machine_keys.py")
        if not text.exists():
            text = Path(hps.__file__).parent / "_machine_keys.py"
        sys.path.insert(0, str(HERE))
        import machine_keys

        self.assertEqual(text.read_text(), machine_keys.module(), "write it anew by tests/machine_keys.py")


class Profiles(unittest.TestCase):
    def test_a_profile_is_the_commands(self):
        names = ["tip", "pebs", "lci"]
        profile = hps.profile(chess(), with_=names, period=101, limit=300_000)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "profile.json"
            words = ["profile", "--with", ",".join(names), "--period", "101", f"--json={file}"]
            subprocess.run(
                [executable(), *words, "--max-instructions", "300000", "chess", "small"], check=True, capture_output=True
            )
            found = json.loads(file.read_text())
        self.assertEqual(profile.cycles, found["cycles"])
        parts = found["units_per_cycle"]
        for mine, theirs in zip(profile.functions().rows(), found["functions"], strict=True):
            self.assertEqual((mine["name"], mine["calls"]), (theirs["name"], theirs["calls"]))
            self.assertAlmostEqual(mine["cycles"] * parts, theirs["own"]["units"], places=3)
        errors = {row["profiler"]: row for row in profile.errors().rows()}
        for opinion in found["profilers"]:
            row = errors[opinion["profiler"]]
            self.assertEqual(row["samples"], opinion["samples"])
            for level, error in opinion["errors"].items():
                self.assertEqual(row[level], error)
                self.assertEqual(profile.error(opinion["profiler"], level), error)
        total = sum(row["cycles"] for row in profile.instructions().rows())
        self.assertAlmostEqual(total, profile.cycles, places=3)
        with tempfile.TemporaryDirectory() as folder:
            profile.export(Path(folder) / "run.pb.gz")
            self.assertGreater((Path(folder) / "run.pb.gz").stat().st_size, 100)
            with self.assertRaisesRegex(ValueError, "flame-graph"):
                profile.export(Path(folder) / "run.unknown")
        self.assertIn("<svg", profile.flame().svg)
        with self.assertRaisesRegex(KeyError, "there is no such profiler"):
            hps.profile(chess(), with_=["tipp"])

    def test_a_profiler_in_python_is_its_twin_count_for_count(self):
        """The last committed instruction, sampled each 101 cycles."""
        period, samples, last = 101, Counter(), None
        due = period

        def probe(batch):
            nonlocal due, last
            cycles, addresses = batch["cycle"].tolist(), batch["address"].tolist()
            # The cycle of the batch's last commit may go on in the next one.
            while due < cycles[-1]:
                at = bisect_right(cycles, due)
                blamed = addresses[at - 1] if at else last
                if blamed is not None:
                    samples[blamed] += 1
                due += period
            last = addresses[-1]

        run = hps.watch(chess(), probe, limit=300_000, batch=1000)
        # Cycles behind the last commit belong to it.
        while due < run.cycles:
            samples[last] += 1
            due += period
        truth = hps.profile(chess(), with_=["lci"], period=period, limit=300_000)
        twin = {row["address"]: row["samples"] for row in truth.samples("lci").rows()}
        self.assertEqual(dict(samples), twin)
        for level in ("instruction", "block", "line", "function"):
            self.assertAlmostEqual(truth.error(samples, level), truth.error("lci", level), places=9)

    def test_a_probe_that_raises_ends_the_run(self):
        seen = []

        def probe(batch):
            seen.append(len(batch))
            raise ZeroDivisionError("mine")

        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            hps.watch(chess(), probe, batch=1000)
        self.assertEqual(seen, [1000])

    def test_columns_are_told(self):
        names = ["class", "events", "memory_address", "taken", "thread", "is_program", "target", "dispatch_cycle", "processor"]
        batches = []
        run = hps.watch(chess(), batches.append, columns=names, limit=10_000, batch=4096)
        self.assertEqual(sum(map(len, batches)), run.instructions)
        self.assertEqual(batches[0].columns, names)
        loads = hps.CLASSES.index("Load")
        self.assertIn(loads, batches[0]["class"].tolist())
        self.assertEqual(hps.EVENTS[0], "l1d_miss")
        with self.assertRaisesRegex(ValueError, "there is no such column"):
            hps.watch(chess(), batches.append, columns=["cycles"])


class Studies(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = Path(self.folder.name) / "out"

    def test_a_sweep_is_a_table(self):
        sweep = hps.sweep(
            ["chess"], kinds=["method"], bursts=[1], one_in=[100, 1000], timing=False, phases=3, out=self.out, progress=False
        )
        rows = sweep.df.rows()
        self.assertEqual([(row["program"], row["one_in"]) for row in rows], [("chess", 100), ("chess", 1000)])
        self.assertTrue(all(0 < row["phases_mean"] <= 1 for row in rows))
        self.assertTrue(sweep.answers)
        self.assertIn("<svg", sweep._repr_html_())
        self.assertEqual(len(hps.read_results(self.out)), 2)
        self.assertEqual(len(hps.read_results(self.out, "machines")), 1)
        table = sweep.df
        self.assertEqual(table.units["overhead"], "share")
        self.assertTrue(all(table.descriptions.values()))
        with self.assertRaisesRegex(hps.CommandError, "nowhere"):
            hps.read_results("nowhere")
        with self.assertRaisesRegex(ValueError, "no such kind"):
            hps.sweep(["chess"], kinds=["methods"])
        with self.assertRaisesRegex(hps.CommandError, "chses"):
            hps.sweep(["chses"], out=self.out, progress=False)

    def test_a_sweep_takes_own_programs_and_machines(self):
        program = hps.assemble(LOOP, name="loop")
        machine = hps.Machine("tiny-2wide", window__rob_entries=16)
        sweep = hps.sweep(
            [program], kinds=["method"], bursts=[1], one_in=[100], machines=[machine], phases=0, out=self.out, progress=False
        )
        [row] = sweep.df.rows()
        self.assertEqual(row["machine"], machine.name)
        self.assertEqual(row["instructions"], hps.run(program).instructions)

    def test_hps_collects(self):
        found = hps.collect(chess(), one_in=100, progress=False)
        self.assertGreater(found.accuracy, 0.9)
        self.assertIsNone(found.overhead)
        rows = found.df.rows()
        self.assertAlmostEqual(sum(row["exhaustive_share"] for row in rows), 1)
        self.assertTrue(rows[0]["name"])

    def test_profilers_have_a_board(self):
        board = hps.leaderboard(["chess"], with_=["tip", "lci"], samples=200, phases=1, out=self.out, progress=False)
        errors = {row["name"]: row["error_instruction"] for row in board.df.rows()}
        self.assertLess(errors["tip"], errors["lci"])
        self.assertIn("<svg", board.plot().svg)

    def test_a_loop_is_analyzed(self):
        analysis = hps.analyze(hps.assemble(LOOP))
        self.assertGreaterEqual(analysis.cycles, 1)
        self.assertTrue(analysis.limited_by)
        self.assertEqual(len(analysis.lines), 3)

    def test_the_page_is_a_frame(self):
        page = hps.teach(out=self.out.with_suffix(".html"), cycle=40)
        self.assertIn("<iframe", page._repr_html_())
        self.assertGreater(page.file.stat().st_size, 1_000_000)

    def test_an_interrupt_keeps_points(self):
        timer = threading.Timer(2, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(hps.Interrupted) as raised:
            hps.sweep(timing="all", out=self.out, progress=False)
        self.assertEqual(raised.exception.result.folder, self.out)

    def test_simulated_tools_are_tables(self):
        program = hps.assemble(LOOP)
        [samples] = hps.dcpi(program, progress=False).df.rows()
        self.assertAlmostEqual(samples["share"], 1)
        [shadows] = hps.shadow(program, end_to_end=True, progress=False).df.rows()
        self.assertEqual(shadows["instructions"], hps.run(program).instructions)
        observed = hps.shim(program, progress=False)
        [row] = observed.df.rows()
        self.assertGreaterEqual(row["cycles"], row["baseline_cycles"])
        self.assertEqual(observed.df.units["overhead"], "share")
        with self.assertRaisesRegex(hps.LabError, "not been asked"):
            hps.command("doctor").df

    def test_errors_are_the_commands(self):
        with self.assertRaisesRegex(hps.CommandError, "unrecognized|unexpected|nothing"):
            hps.command("run", "--nothing", "chess", progress=False)


if __name__ == "__main__":
    unittest.main()
