#!/usr/bin/env python3
"""How good automatic choice is, and the predictions that it goes by, from tables that macko-bench wrote:

    for i in 1 2 3; do
      macko-bench --device cpu --encodings auto,csr,slice,row,eccsr --tsv run$i.tsv MATRIX...
    done
    choice.py run*.tsv

Of each form the least time of all files counts: a machine that others use makes products longer and never shorter. Every second
matrix by name is for fitting predictions, the others are held out; both halves are reported, and where choice loses."""
import csv, sys

OURS, PEER = "csr", "petsc-aij"


def read(paths):
    """{matrix: {form: row}}, each row with the least time."""
    matrices = {}
    for path in paths:
        with open(path) as f:
            for row in csv.DictReader((line for line in f if line[0] != "#"), delimiter="\t"):
                row["us"] = float(row["us"])
                forms = matrices.setdefault(row["matrix"], {})
                if row["form"] not in forms or row["us"] < forms[row["form"]]["us"]: forms[row["form"]] = row
    return matrices


def share(marks):
    return "%d of %d (%.0f %%)" % (sum(marks), len(marks), 100 * sum(marks) / len(marks)) if marks else "none"


def judge(forms):
    """auto's time over the best form's, over csr's and over aij's (None where it was not measured)."""
    ours = {name: r for name, r in forms.items() if r["peer"] == "0" and r["lossy"] == "0"}
    auto = min(r["us"] for name, r in ours.items() if name == "auto" or stored(r) == stored(ours["auto"]))
    over = lambda row: auto / row["us"] if row else None
    best = min(ours.values(), key=lambda r: r["us"])
    return auto / best["us"], over(forms.get(OURS)), over(forms.get(PEER)), best["form"]


def stored(row):
    return row["format"], row["layout"], row["values"]


def report(title, matrices):
    verdicts = {name: judge(forms) for name, forms in matrices.items() if "auto" in forms}
    rows = [r for forms in matrices.values() for r in forms.values() if r["predicted_us"]]
    print("%s: %d matrices" % (title, len(verdicts)))
    print("  auto within 3 %% of the best of our forms: %s" % share([v[0] <= 1.03 for v in verdicts.values()]))
    for i, peer, bound in (1, OURS, 1.05), (2, PEER, 1.03):
        known = {name: v[i] for name, v in verdicts.items() if v[i]}
        if not known: continue
        worst = max(known, key=known.get)
        print("  auto at most %.2f times %s's: %s; worst %.2f (%s)"
              % (bound, peer, share([x <= bound for x in known.values()]), known[worst], worst))
    near = lambda r: 0.75 <= float(r["predicted_us"]) / r["us"] <= 1.25
    print("  predictions within 25 %% of what was measured: %s" % share([near(r) for r in rows]))
    for form in sorted({r["form"] for r in rows}):
        print("    %-6s %s" % (form, share([near(r) for r in rows if r["form"] == form])))
    for name, (best, csr_, aij, form) in sorted(verdicts.items(), key=lambda v: -v[1][0]):
        if best > 1.03 or (csr_ or 0) > 1.05 or (aij or 0) > 1.03:
            print("  %-32s auto is %-10s %.2f x best (%s), %s x %s, %s x %s" % (
                name, "/".join(s for s in stored(matrices[name]["auto"]) if s), best, form,
                "%.2f" % csr_ if csr_ else "-", OURS, "%.2f" % aij if aij else "-", PEER))


def main(paths):
    if not paths or paths[0].startswith("-"): sys.exit(__doc__)
    matrices = read(paths)
    names = sorted(matrices)
    for title, half in ("fitted", names[::2]), ("held out", names[1::2]):
        report(title, {name: matrices[name] for name in half})


main(sys.argv[1:])
