#!/usr/bin/env python3
"""Writes Fortran modules to standard output, from a C header and its lists:

    fortran/generate.py . macko > fortran/macko.f90
    fortran/generate.py . macko_cuda > fortran/macko_cuda.f90

The module whose name ends in _c is the header as it is: constants, structures, interfaces. The others are *.template, where a
block between "!@each NAME ..." and "!@end" appears once for every combination of the kinds below, @NAME standing for the kind's
short name and @NAME: for its declaration. Line "!@constants" stands for the names of all constants."""
import itertools
import re
import sys

SOURCES, TARGET = sys.argv[1:3]
HEADERS = {"macko": ["lib/macko.h"], "macko_cuda": ["lib/macko.h", "cuda/macko_cuda.h"]}  # the last one is made a module of
TEMPLATES = {"macko": ["base", "files", "macko"], "macko_cuda": ["cuda"]}
KINDS = {
    "ROW": {"i4": "integer(c_int32_t)", "i8": "integer(c_int64_t)"},
    "COL": {"i4": "integer(c_int32_t)", "i8": "integer(c_int64_t)"},
    "REAL": {"r4": "real(c_float)", "r8": "real(c_double)"},
    "RANK": {"1": "", "2": ""},
}
SCALARS = {"int64_t": "integer(c_int64_t)", "int": "integer(c_int)", "double": "real(c_double)", "size_t": "integer(c_size_t)"}


def read(path):
    with open(f"{SOURCES}/{path}", encoding="ascii") as file:
        return file.read()


def without_comments(path):
    return re.sub(r"/\*.*?\*/", "", read(path), flags=re.S)


KINDS["OPTION"] = {name: "" for name in re.findall(r"^MACKO_OPTION\((\w+)", read("lib/options.def"), flags=re.M)}


# What the options are unless something else is chosen: a variable has them from its declaration on.
USUAL = {field: usual if usual.isdigit() else f"macko_{names}_{usual}".lower() for field, names, usual in
         re.findall(r"^MACKO_(?:NUMBER_)?OPTION\((\w+), (\w+), (\w+)", read("lib/options.def"), flags=re.M)}


def expand_lists(text, macros):
    """What the preprocessor makes of the lists that a header includes: macros of one line, the lists' own only where the header
    has none of that name."""
    out = []
    for line in text.replace("\\\n", " ").splitlines():
        if define := re.match(r"\s*#define (\w+)\(([^)]*)\) ?(.*)", line):
            macros.setdefault(define[1], (define[2].split(", "), define[3]))
        elif undef := re.match(r"\s*#undef (\w+)", line):
            macros.pop(undef[1], None)
        elif include := re.match(r'\s*#include "(\w+\.def)"', line):
            out.append(expand_lists(without_comments(f"lib/{include[1]}"), macros))
        elif (call := re.match(r"\s*(\w+)\((.*)\)$", line)) and call[1] in macros:
            names, body = macros[call[1]]
            given = dict(zip(names, re.findall(r'"[^"]*"|[^,\s]+', call[2])))
            body = re.sub(r"(?<!#)#(\w+)", lambda m: f'"{given[m[1]]}"' if m[1] in given else m[0], body)
            body = re.sub(r"\w+", lambda m: given.get(m[0], m[0]), body).replace("##", "")
            out.append(expand_lists(body, macros))
        elif not re.match(r"\s*#(if|endif)", line):
            out.append(line)
    return "\n".join(out)


def read_code(path):
    return expand_lists(without_comments(path), {})


def wrap(line, indent="    "):
    """Breaks a statement after commas so that no line is longer than 132 columns."""
    lines, current = [], ""
    for part in re.split(r"(?<=,) ", line):
        if len(current) + len(part) > 125:
            lines.append(current + " &")
            current = indent + "  " + part
        else:
            current += (" " if current.strip() else "") + part
    return "\n".join(lines + [current])


def enum_names(body):
    if "=" in body:
        sys.exit(f"an enumerator with a value of its own is not understood: {body.strip()}")
    return re.findall(r"\w+", body)


class Header:
    """What a header declares, and the types of those that it includes."""

    def __init__(self, text, included):
        typedef = r"typedef %s\s*\{(.*?)\}\s*(\w+)\s*;"
        self.known_enums = {name for header in included for name in header.enums}
        self.known_structs = {name: body for header in included for name, body in header.structs.items()}
        self.enums = {name: enum_names(body) for body, name in re.findall(typedef % "enum", text, flags=re.S)}
        self.structs = {name: body for body, name in re.findall(typedef % "struct", text, flags=re.S)}
        self.version = re.search(r'VERSION_STRING "(.*)"', text)
        code = re.sub(r"^\s*#.*$", "", re.sub(typedef % r"\w+", "", text, flags=re.S), flags=re.M)
        self.functions = re.findall(r"^([\w ]+?[ *]+)(macko_\w+)\(([^;]*?)\);", code, flags=re.M)

    def scalar(self, ctype):
        return "integer(c_int)" if ctype in self.enums or ctype in self.known_enums else SCALARS[ctype]

    def by_reference(self, ctype):
        """Structures travel by reference, except those that hold a callback: these may be left out, so they are c_ptr."""
        body = (self.known_structs | self.structs).get(ctype)
        return body is not None and "(*" not in body

    def component(self, declaration):
        if callback := re.match(r"(?:void|macko_status) \(\*(\w+)\)", declaration):
            return f"type(c_funptr) :: {callback[1]}"
        ctype, names = re.match(r"(?:const )?(\w+) (.*)", declaration).groups()
        if "*" in names:
            return f"type(c_ptr) :: {names.replace('*', '')}"
        if text := re.match(r"(\w+)\[(\d+)\]", names):
            return f"character(kind=c_char) :: {text[1]}({text[2]})"
        return f"{self.scalar(ctype)} :: {names}"

    def argument(self, declaration):
        const, ctype, stars, name = re.match(r"(const )?(?:struct )?(\w+) (\**)(\w+)$", declaration).groups()
        if not stars:
            return name, f"{self.scalar(ctype)}, value :: {name}"
        if stars == "**":
            return name, f"type(c_ptr), intent(inout) :: {name}"
        if ctype == "char":
            return name, f"character(kind=c_char), intent(in) :: {name}(*)"
        if self.by_reference(ctype):
            return name, f"type({ctype}), intent({'in' if const else 'inout'}) :: {name}"
        return name, f"type(c_ptr), value :: {name}"

    def interface(self, result, name, arguments):
        result = result.replace("const ", "").strip()
        split = [self.argument(" ".join(a.split())) for a in arguments.split(",")]
        head = f'{name}_c({", ".join(n for n, _ in split)}) bind(c, name="{name}")'
        kind = "subroutine" if result == "void" else "function"
        result = None if result == "void" else "type(c_ptr)" if "*" in result else self.scalar(result)
        lines = [wrap(f"    {kind} {head}", "    "), "      import"] + [f"      {d}" for _, d in split]
        return "\n".join(lines + ([f"      {result} :: {name}_c"] if result else []) + [f"    end {kind} {name}_c"])

    def module(self):
        out = [f"! The C interface as it is, for what module {TARGET} does not cover. {HEADERS[TARGET][-1]} says what each",
               "! function does; their names end in _c here. Pointers are c_ptr, text ends with c_null_char, and indices count",
               "! from 0.",
               f"module {TARGET}_c"] + (["  use macko_c"] if self.known_structs else ["  use, intrinsic :: iso_c_binding"])
        out += ["  implicit none", "  public"]
        if self.version:
            out += ["", f'  character(len=*), parameter :: macko_version_string = "{self.version[1]}"']
        for name, values in self.enums.items():
            out += ["", f"  ! {name}"] + [f"  integer(c_int), parameter :: {v.lower()} = {i}" for i, v in enumerate(values)]
        for name, body in self.structs.items():
            declarations = [" ".join(d.split()) for d in body.split(";") if d.strip()]
            out += ["", f"  type, bind(c) :: {name}"]
            lines = [f"    {self.component(d)}" for d in declarations]
            if name == "macko_options":
                lines = [f"{line} = {USUAL[line.split()[-1]]}" for line in lines]
            out += lines + [f"  end type {name}"]
        out += ["", "  interface"] + [self.interface(*f) for f in self.functions] + ["  end interface"]
        out += [f"end module {TARGET}_c", ""]
        return "\n".join(out)

    def constants(self):
        names = [v.lower() for values in self.enums.values() for v in values]
        return wrap("  public :: " + ", ".join(names), "  ")


def expand(block, names):
    for kinds in itertools.product(*(KINDS[n].items() for n in names)):
        text = block
        for name, (short, declaration) in zip(names, kinds):
            text = text.replace(f"@{name}:", declaration).replace(f"@{name}", short)
        yield text


def fill_template(text, header):
    text = text.replace("!@constants", header.constants())
    return re.sub(r"^ *!@each ([\w ]+)\n(.*?)^ *!@end\n", lambda m: "".join(expand(m[2], m[1].split())), text, flags=re.S | re.M)


headers = []
for path in HEADERS[TARGET]:
    headers.append(Header(read_code(path), headers))
parts = [headers[-1].module()]
parts += [fill_template(read(f"fortran/{template}.template"), headers[-1]) for template in TEMPLATES[TARGET]]
print(f"! Generated by fortran/generate.py from {HEADERS[TARGET][-1]} and fortran/*.template: change those.")
print("\n".join(parts), end="")
