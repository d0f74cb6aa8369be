"""What test/petsc/suite.sh runs: reads the tests in the comments of PETSc's programs with PETSc's own parser, compiles the programs,
runs each test with the plain type (aij, or aijcusparse where a test names that) and with aijmacko, and compares what they print. One
line a test on stdout, counts on stderr."""
import collections, concurrent.futures, glob, itertools, os, re, shlex, shutil, signal, subprocess, sys, tempfile

GPU = os.environ.get("MACKO_SUITE_GPU") == "yes"
FOLDERS = ["mat/tests", "ksp/ksp/tests", "ksp/ksp/tutorials"]
FOLDERS += ["mat/tutorials", "snes/tests", "snes/tutorials", "ts/tutorials"] if GPU else []
MOST_RANKS = int(os.environ.get("MACKO_SUITE_RANKS", 8))
MOST_CASES = int(os.environ.get("MACKO_SUITE_CASES", 1000000))
SECONDS = int(os.environ.get("MACKO_SUITE_SECONDS", 120))
JOBS = int(os.environ.get("MACKO_SUITE_JOBS", 1))
OPTIONS = os.environ.get("MACKO_SUITE_OPTIONS", "")
KEEP = os.environ.get("MACKO_SUITE_KEEP")
# From the widest: every matrix whose type options choose and every AIJ that the code itself asks for; the latter alone. On a GPU what
# the code asks for would stand on AIJ, so that it is left out first.
CODE = "-mat_seqaij_type seqaij{0}"
SWAPS = {"options": "-mat_type aij{0} -dm_mat_type aij{0} " + ("" if GPU else CODE), "code": CODE}
# What aijmacko adds to views (petsc/view.c).
OUR_LINES = re.compile(r"^ *((off-)?diagonal block: +)?(format \w+, |because: |bytes \d.*CSR/this|a product: predicted |"
                       r"encoded \d+.* times in |encoding pays after |products are not faster than with csr|stored as csr itself: |"
                       r"\d+ products by \w+ instead|not encoded yet: |values have changed since this was encoded: |encoding would choose|"
                       r"nothing: |products on the |-mat_macko_\w+ changes nothing |rows, columns and values of \w+ in GPU memory|"
                       r"halo (from GPU|by MPI|through host) )")
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
TOLERANCE = 1e-6


def temporary_folder():
    """It goes at the end, also where a program that was stopped still writes there: from Python 3.10 on that is no failure."""
    return tempfile.TemporaryDirectory(**({"ignore_cleanup_errors": True} if sys.version_info >= (3, 10) else {}))


class Suite:
    def __init__(self, plugin, folder, programs):
        self.plugin, self.folder, self.programs = plugin, os.path.abspath(folder), programs
        self.cflags, self.libs = shlex.split(os.environ["PETSC_CFLAGS"]), shlex.split(os.environ["PETSC_LIBS"])
        self.configured = self.macros()
        sys.path.insert(0, self.folder + "/config")
        import testparse
        self.parse = testparse.parseTestFile
        self.results, self.skipped = collections.Counter(), collections.Counter()

    def macros(self):
        text = subprocess.run(["cc", *self.cflags, "-E", "-dM", "-include", "petscconf.h", "-x", "c", "/dev/null"],
                              capture_output=True, text=True, check=True).stdout
        return set(re.findall(r"^#define (\w+)", text, re.M))

    def home(self):
        """The folder whose share/petsc/datafiles the tests name."""
        for up in ("", "/../../.."):
            if os.path.isdir(self.folder + up + "/share/petsc/datafiles"):
                return self.folder + up
        return self.folder

    # ---- what a test asks for ----

    def lacks(self, requires):
        """The first requirement that is not met, or None."""
        for word in re.sub(r"#.*", "", requires or "").replace(",", " ").split():
            no, name = word.startswith("!"), word.lstrip("!")
            if name == "cuda":
                have = GPU
            elif name.startswith("defined("):
                have = name[8:-1] in self.configured
            elif name in ("double", "single", "__float128", "__fp16"):
                have = ("PETSC_USE_REAL_" + name.strip("_").upper()) in self.configured
            elif name == "complex":
                have = "PETSC_USE_COMPLEX" in self.configured
            elif name == "datafilespath":
                have = False  # not part of PETSc
            else:
                have = "PETSC_HAVE_" + name.upper() in self.configured
            if have == no:
                return word
        return None

    @staticmethod
    def cases(test):
        """Each combination of the values in {{...}} of the number of ranks and the arguments."""
        text = str(test.get("nsize", "1")).split("#")[0].strip() + "\n" + test.get("args", "")
        loops = re.findall(r"\{\{.*?\}[^}]*\}", text)
        values = [shlex.split(re.match(r"\{\{(.*?)\}", loop).group(1)) for loop in loops]
        for chosen in itertools.product(*values):
            filled = text
            for loop, value in zip(loops, chosen):
                filled = filled.replace(loop, " " + value + " ", 1)
            ranks, args = filled.split("\n", 1)
            yield int(ranks), " ".join(args.split())

    def some(self, cases):
        """MOST_CASES of them, spread evenly."""
        step = max(1, len(cases) / MOST_CASES)
        chosen = [cases[int(i * step)] for i in range(min(len(cases), MOST_CASES) - 1)] + cases[-1:]
        self.skipped["further values of a test's loops"] += len(cases) - len(chosen)
        return chosen

    @staticmethod
    def flat(test):
        """A test with its subtests' settings in place."""
        if "subtests" not in test:
            return [test]
        tests = []
        for name in test["subtests"]:
            whole = {key: value for key, value in test.items() if not key.startswith("test") and key != "subtests"}
            for key, value in test[name].items():
                whole[key] = whole.get(key, "") + " " + value if key in ("args", "requires", "env") else value
            tests.append(whole)
        return tests

    # ---- compile, run ----

    def compile(self, source, depends, into):
        folder = os.path.dirname(source)
        command = ["mpicc", "-O1", "-w", *self.cflags, "-I" + self.folder + "/include", "-I" + folder, source]
        command += [folder + "/" + name for name in depends.split()] + ["-o", into, *self.libs, "-lm"]
        return subprocess.run(command, capture_output=True, text=True)

    def run(self, program, ranks, arguments, test, source, products):
        """Status and output of one run in a folder of its own; products: that of ours, counted."""
        with temporary_folder() as folder:
            for name in test.get("localrunfiles", "").split():
                path = os.path.dirname(source) + "/" + name
                (shutil.copytree if os.path.isdir(path) else shutil.copy)(path, folder + "/" + name)
            launch = f"{os.environ.get('MPIEXEC', 'mpiexec')} -n {ranks} " if ranks > 1 else ""
            command = f"{test.get('env', '')} {launch}{program} {arguments} {OPTIONS} -options_left no -log_view :{folder}/log"
            with open(folder + "/out", "w") as out, open(folder + "/err", "w") as err:
                process = subprocess.Popen(command, shell=True, executable="/bin/bash", cwd=folder, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                                           env=dict(os.environ, wPETSC_DIR=self.home(), PETSC_DIR=self.home()),
                                           start_new_session=True)
                try:
                    status = process.wait(SECONDS)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    status = process.wait() and "time"
            text, errors = [open(folder + name, errors="replace").read() for name in ("/out", "/err")]
            filter = test.get("filter", "").strip()
            if filter.startswith("Error:"):
                text, filter, status = text + errors, filter[6:], 0
            text = "\n".join(line for line in text.splitlines() if not OUR_LINES.match(line))
            text = re.sub(r"\b(seq|mpi|)aij(macko|cusparse)\b", r"\1aij", text)
            if filter:
                text = subprocess.run(filter, shell=True, input=text, capture_output=True, text=True).stdout
            if os.path.exists(folder + "/log"):
                found = re.search(r"^MatMackoMult +(\d+)", open(folder + "/log").read(), re.M)
                products.append(int(found.group(1)) if found else 0)
            return status, text, errors

    # ---- compare ----

    @staticmethod
    def compare(plain, ours):
        """same, rounding or differs: rounding where words and whole numbers are the same, and other numbers nearly."""
        if plain.split() == ours.split():
            return "same"
        if NUMBER.sub("#", plain).split() != NUMBER.sub("#", ours).split():
            return "differs"
        for a, b in zip(NUMBER.findall(plain), NUMBER.findall(ours)):
            if a == b:
                continue
            whole = not re.search("[.e]", a + b)
            if whole or abs(float(a) - float(b)) > TOLERANCE * max(1e-3, abs(float(a)), abs(float(b))):
                return "differs"
        return "rounding"

    @staticmethod
    def complaint(errors):
        """What PETSc's message says and the innermost functions it names, or the first lines of another."""
        lines = [re.sub(r"^\[\d+\]PETSC ERROR: ", "", line) for line in errors.splitlines()]
        start = next((i for i, line in enumerate(lines) if "Error Message" in line), None)
        if start is None:
            return " | ".join(lines[:3])
        frames = [re.sub(r" at /.*/", " at ", line) for line in lines if re.match(r"#\d", line)]
        return " | ".join(lines[start + 1:start + 3] + frames[:6])

    @staticmethod
    def swapped(args):
        """Each swap's name, and the arguments for the plain type and for ours. A test that names PETSc's type for GPUs itself gets
        ours there and nowhere else."""
        if "aijcusparse" in args:
            return [("named", args, args.replace("aijcusparse", "aijmacko"))]
        return [(swap, args + " " + options.format(""), args + " " + options.format("macko")) for swap, options in SWAPS.items()]

    def one(self, program, ranks, args, test, source):
        """Result, swap, number of products, and the first lines that differ."""
        plugin = f" -dll_append {self.plugin} "
        for swap, plain_args, our_args in self.swapped(args):
            plain = self.run(program, ranks, plain_args + plugin, test, source, [])
            if plain[0] == 0:
                break
        else:
            return "skipped", swap, 0, "aij itself fails"
        products = []
        ours = self.run(program, ranks, our_args + plugin, test, source, products)
        if ours[0] != 0:
            return "fails", swap, sum(products), f"status {ours[0]}: " + self.complaint(ours[2])
        result = self.compare(plain[1], ours[1])
        lines = [] if result == "same" else [f"{a.strip()} | {b.strip()}" for a, b in
                                             itertools.zip_longest(plain[1].splitlines(), ours[1].splitlines(), fillvalue="")
                                             if a.split() != b.split()][:2]
        return result, swap, sum(products), " || ".join(lines)

    def tests(self, source):
        """What is to run of a program, and counts of what is not."""
        found = self.parse(source, 0)[os.path.basename(source)]
        for name, test in found.items():
            if not isinstance(test, dict):
                continue
            for whole in self.flat(test):
                reason = ("marked TODO or SKIP" if "TODO" in whole or "SKIP" in whole or "TODO" in found else
                          "command of its own" if "command" in whole else None)
                missing = self.lacks(whole.get("requires"))
                if reason or missing:
                    self.skipped[reason or "needs " + missing] += 1
                    continue
                for ranks, args in self.some(list(self.cases(whole))):
                    types = re.findall(r"-(?:dm_)?mat_type +(\S+)", args)
                    if any(not re.fullmatch("(seq|mpi)?aij" + "(cusparse)?" * GPU, t) for t in types):
                        self.skipped["asks for another matrix type"] += 1
                    elif ranks > MOST_RANKS:
                        self.skipped[f"more than {MOST_RANKS} ranks"] += 1
                    else:
                        yield name[3:], ranks, args, whole
        self.depends = found.get("depends", "")

    def compiled(self, source, name, folder):
        """The path of a compiled program, or None. Those that an earlier run has kept are taken."""
        program = f"{KEEP or folder}/{name.replace('/', '-')}"
        if not os.path.exists(program) and self.compile(source, self.depends, program).returncode:
            return None
        return program

    def started(self, source, name, folder, pool):
        """The tests of a program, with their runs, which others go on beside."""
        tests = list(self.tests(source))
        if not tests:
            return []
        program = self.compiled(source, name, folder)
        if not program:
            self.skipped["does not compile outside PETSc's build"] += len(tests)
            return []
        return [((name, label, ranks, args), pool.submit(self.one, program, ranks, args, test, source))
                for label, ranks, args, test in tests]

    def report(self, test, run):
        result, swap, products, text = run.result()
        if result == "skipped":
            self.skipped[text] += 1
            return
        self.results[result, products > 0] += 1
        print(*test, swap, result, products, text, sep="\t", flush=True)

    def sources(self):
        for folder in FOLDERS:
            for source in sorted(glob.glob(f"{self.folder}/src/{folder}/*.c")):
                name = folder + "/" + os.path.basename(source)[:-2]
                if not self.programs or name in self.programs:
                    yield source, name

    def everything(self):
        print("program", "test", "ranks", "arguments", "swap", "result", "products", "aij | aijmacko", sep="\t")
        runs = collections.deque()
        with temporary_folder() as folder, concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            for source, name in self.sources():
                runs.extend(self.started(source, name, folder, pool))
                while runs and runs[0][1].done():
                    self.report(*runs.popleft())
            for test in runs:
                self.report(*test)
        for (result, used), count in sorted(self.results.items()):
            print(f"{result:10} {'with products of aijmacko' if used else 'without any':26} {count}", file=sys.stderr)
        for reason, count in self.skipped.most_common():
            print(f"skipped    {reason:50} {count}", file=sys.stderr)
        return any(result in ("differs", "fails") for result, _ in self.results)


if __name__ == "__main__":
    sys.exit(Suite(sys.argv[1], sys.argv[2], sys.argv[3:]).everything())
