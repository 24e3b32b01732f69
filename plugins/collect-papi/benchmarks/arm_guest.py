"""Runs a program of this folder with a real PMU: in Debian for ARM, on a Cortex-A57 that QEMU emulates to the
instruction. Needs apt-get, dpkg-deb, cpio, qemu-system-aarch64, aarch64-linux-gnu-gcc, make and uv on Debian or Ubuntu,
no root, and 4 GB of memory.

    python benchmarks/arm_guest.py                      # real_pmu.py
    python benchmarks/arm_guest.py overhead.py --pairs 20
    python benchmarks/arm_guest.py --cpus 2             # with two CPUs instead of one
    python benchmarks/arm_guest.py --folder DIR         # where everything is kept, default ~/.cache/perfcore-ci/arm64

The packages come from Debian's mirror by apt-get, with lists of its own, and are unpacked, not installed; those of
Python by uv. All of it is the first file system of the guest, so that it needs no disk and no driver. python_papi has
no wheel for ARM: the guest builds it once, and says it on its console in base64. What it prints comes by its console.

QEMU counts retired instructions with `-icount` only, where an instruction takes a nanosecond and all CPUs share one
thread: counts of one CPU are exact, and times are those of no machine. With two, each CPU is given the count of both.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

PLUGIN = Path(__file__).resolve().parents[1]
PROJECT = PLUGIN.parents[1]
SUITE = "bookworm"  # whose Python is 3.11
MIRROR = "http://deb.debian.org/debian"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
PACKAGES = ("linux-image-arm64", "python3", "python3-dev", "gcc", "libc6-dev", "busybox-static")
RUN_IN_GUEST = ("perfcore-collect-papi", "perfcore-testing")  # what the programs of this folder import
PAPI = "6.0.0.2"
SITE = "opt/site"
UNUSED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/javascript", "lib/modules")
BEGIN, END = "=== output", "=== end"
SETUP = f"""#!/bin/busybox sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin:/busy HOME=/root PYTHONPATH=/{SITE} PYTHONDONTWRITEBYTECODE=1
busybox mkdir -p /busy /proc /sys /dev /tmp
for fs in proc:proc sysfs:sys devtmpfs:dev tmpfs:tmp; do busybox mount -t ${{fs%:*}} none /${{fs#*:}}; done
busybox --install -s /busy
echo 2 >/proc/sys/kernel/perf_event_paranoid  # Debian has 3, where PAPI counts nothing
ln -sf gcc /usr/bin/cc; ln -sf bash /bin/sh
"""
# What PAPI's configure would find out by running programs; of python_papi's own build this is all that is needed.
CONFIGURE = (
    *("--host=aarch64-linux-gnu", "--with-arch=aarch64", "--with-CPU=arm", "--with-ffsll", "--with-tls=__thread"),
    *("--with-walltimer=gettimeofday", "--with-virtualtimer=clock_thread_cputime_id", "--with-perf-events"),
    "--with-components=",
)
CROSS = "aarch64-linux-gnu-"
RUN = f"""cd /opt/benchmarks
echo {BEGIN}; python3 WORDS; echo "exit code $?"; echo {END}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path.home() / ".cache/perfcore-ci/arm64")
    parser.add_argument("--cpus", type=int, default=1)
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="PROGRAM [ARG]...")
    options = parser.parse_args()
    for tool in ("apt-get", "dpkg-deb", "cpio", "qemu-system-aarch64", f"{CROSS}gcc", "make", "uv"):
        if shutil.which(tool) is None:
            parser.error(f"there is no {tool}")
    guest = Guest(options.folder.resolve(), options.cpus)
    guest.prepare()
    code = 1
    for line in guest.run(RUN.replace("WORDS", " ".join(options.words or ["real_pmu.py"]))):
        print(line, flush=True)
        code = 0 if line == "exit code 0" else code
    return code


class Guest:
    """The machine whose files are in a folder."""

    def __init__(self, folder: Path, cpus: int) -> None:
        self.folder = folder
        self.cpus = cpus
        self.root = folder / "root"

    def prepare(self) -> None:
        """Everything that is not there yet, and what this project has now."""
        if not (self.root / "usr/bin/gcc").exists():
            self._unpack()
        site = self.root / SITE
        platform = ("--python-platform", "aarch64-manylinux_2_28", "--python-version", "3.11", "--target", str(site))
        own, third_party = distributions(RUN_IN_GUEST)
        if not (site / "cffi").exists():
            _call("uv", "pip", "install", *platform, "--only-binary", ":all:", *third_party, "cffi")
        _call("uv", "pip", "install", *platform, "--reinstall", "--no-deps", "--no-sources", *own, cwd=PROJECT)
        shutil.copytree(PLUGIN / "benchmarks", self.root / "opt/benchmarks", dirs_exist_ok=True)
        if not list(site.glob("pypapi/*.so")):
            self._build_papi(site)

    def run(self, script: str) -> Iterator[str]:
        """The lines that a script prints in the guest between the two marks."""
        init = self.root / "init"
        init.write_text(f"{SETUP}{script}busybox poweroff -f\n")
        init.chmod(0o755)
        image = self.folder / "root.cpio"
        with image.open("wb") as file:
            files = subprocess.run(["find", "."], cwd=self.root, stdout=subprocess.PIPE, check=True).stdout
            subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=self.root, input=files, stdout=file, check=True)
        (kernel,) = (self.root / "boot").glob("vmlinuz-*")
        words = ["qemu-system-aarch64", "-machine", "virt", "-cpu", "cortex-a57", "-smp", str(self.cpus), "-m", "4000"]
        words += ["-icount", "shift=0,sleep=off", "-nographic", "-nic", "none", "-no-reboot"]
        words += ["-kernel", str(kernel), "-initrd", str(image)]
        words += ["-append", "console=ttyAMA0 quiet rdinit=/init panic=-1"]
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            inside = False
            for line in map(str.rstrip, process.stdout):
                if line in (BEGIN, END):
                    inside = line == BEGIN
                elif inside:
                    yield line
                else:
                    print(line, file=sys.stderr)

    def _unpack(self) -> None:
        for archive in self._archives():
            _call("dpkg-deb", "-x", str(archive), str(self.root))
        for name in UNUSED:
            shutil.rmtree(self.root / name, ignore_errors=True)

    def _archives(self) -> Sequence[Path]:
        """The packages with all that they need."""
        apt = self.folder / "apt"
        for name in ("lists/partial", "archives/partial"):
            (apt / name).mkdir(parents=True, exist_ok=True)
        (apt / "sources.list").write_text(f"deb [arch=arm64 signed-by={KEYS}] {MIRROR} {SUITE} main\n")
        (apt / "status").touch()
        places = {
            "Dir::Etc::SourceList": apt / "sources.list",
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::State::Lists": apt / "lists",
            "Dir::State::Status": apt / "status",
            "Dir::Cache": apt,
            "Dir::Cache::Archives": apt / "archives",
            "APT::Architecture": "arm64",
            "APT::Architectures::": "arm64",
            "APT::Install-Recommends": "false",
            "Debug::NoLocking": "true",
        }
        options = [word for name, value in places.items() for word in ("-o", f"{name}={value}")]
        _call("apt-get", *options, "--quiet", "update")
        _call("apt-get", *options, "--quiet", "--yes", "--download-only", "install", *PACKAGES)
        return sorted((apt / "archives").glob("*.deb"))

    def _build_papi(self, site: Path) -> None:
        words = ("--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(self.folder))
        _call("uv", "tool", "run", "pip", "download", *words, f"python_papi=={PAPI}")
        shutil.unpack_archive(self.folder / f"python_papi-{PAPI}.tar.gz", self.root / "opt", filter="data")
        source = self.folder / f"python_papi-{PAPI}"
        shutil.unpack_archive(f"{source}.tar.gz", self.folder, filter="data")
        tools = [f"{name}={CROSS}{tool}" for name, tool in (("CC", "gcc"), ("AR", "ar"), ("RANLIB", "ranlib"))]
        papi, bindings = source / "papi/src", source / "pypapi"
        _call("env", *tools, "CFLAGS=-fPIC -O1 -w", "./configure", *CONFIGURE, cwd=papi)
        _call("make", "-j2", *tools, "ARCH=aarch64", "libpapi.a", cwd=papi)
        pfm = ("ARCH=arm64", "SYS=Linux", "CONFIG_PFMLIB_SHARED=n", "DBG=-fPIC -O1 -w", "libpfm.a")
        _call("make", "-j2", *tools, *pfm, cwd=papi / "libpfm4/lib")
        emit = "from papi_build import ffibuilder; ffibuilder.emit_c_code('_papi.c')"
        _call("uv", "run", "--no-project", "--with", "cffi,setuptools", "python", "-c", emit, cwd=bindings)
        include = self.root / "usr/include"
        folders = [f"-I{bindings}", f"-I{include}/python3.11", f"-I{include}/aarch64-linux-gnu/python3.11"]
        _call(
            *(f"{CROSS}gcc", "-shared", "-fPIC", "-O1", "-w", *folders, "-idirafter", str(include)),
            # Whole, because what python_papi does not bind is called by name.
            *("_papi.c", "-Wl,--whole-archive", str(papi / "libpapi.a"), "-Wl,--no-whole-archive"),
            *(str(papi / "libpfm4/lib/libpfm.a"), "-o", "_papi.abi3.so"),
            cwd=bindings,
        )
        shutil.copytree(bindings, site / "pypapi", dirs_exist_ok=True)


def distributions(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """(the folders of these distributions of the project and of all that they need, what they need of others)."""
    projects = {}
    for path in (PROJECT / "pyproject.toml", *sorted(PROJECT.glob("plugins/*/pyproject.toml"))):
        project = tomllib.loads(path.read_text())["project"]
        projects[project["name"]] = (path.parent, project.get("dependencies", ()))
    own: dict[str, str] = {}
    third_party: dict[str, None] = {}
    needed = list(names)
    while needed:
        requirement = needed.pop(0)
        name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
        if name not in projects:
            third_party[requirement] = None
        elif name not in own:
            folder, requirements = projects[name]
            own[name] = str(folder)
            needed += requirements
    return list(own.values()), list(third_party)


def _call(*words: str, cwd: Path | None = None) -> None:
    subprocess.run(words, cwd=cwd, check=True)


if __name__ == "__main__":
    sys.exit(main())
