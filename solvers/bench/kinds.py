#!/usr/bin/env python3
"""Matrices of kinds that macko-bench does not generate, as PETSc's binary files, for which no cost was fitted on a GPU:

    kinds.py FOLDER SCALE [KIND]...
    macko-bench --encodings auto,csr,slice,eccsr FOLDER/*

SCALE 1 makes 0.4 to 19 million nonzeros each, and they grow with it. Values are random but where a line says otherwise. Needs
NumPy and SciPy."""
import os, sys

if len(sys.argv) < 3: sys.exit(__doc__)
try:
    import numpy as np, scipy.sparse as sp
    from scipy.sparse.csgraph import reverse_cuthill_mckee
    from scipy.spatial import Delaunay
except ImportError as missing: sys.exit("kinds.py: %s; pip install numpy scipy" % missing)

MAT_FILE_CLASSID = 1211216  # begins a matrix in PETSc's binary files
random = np.random.default_rng(7)
kinds = {}


def kind(f):
    kinds[f.__name__] = f
    return f


def write(path, a):
    a = a.tocsr()
    a.sort_indices()
    with open(path, "wb") as f:
        np.array([MAT_FILE_CLASSID, *a.shape, a.nnz], ">i4").tofile(f)
        for array, type in (np.diff(a.indptr), ">i4"), (a.indices, ">i4"), (a.data, ">f8"): array.astype(type).tofile(f)
    return a


def with_random_values(a):
    a = a.tocsr().astype(float)
    a.data = random.standard_normal(a.nnz)
    return a


# ---- meshes of triangles and tetrahedra ----

def along_a_curve(points):
    """The order of points along Morton's curve."""
    places, code = (points * 1024).astype(np.uint64), np.zeros(len(points), np.uint64)
    for bit in range(10):
        for d in range(points.shape[1]):
            code |= ((places[:, d] >> np.uint64(bit)) & np.uint64(1)) << np.uint64(points.shape[1] * bit + d)
    return np.argsort(code, kind="stable")


def mesh(n, dim):
    """n random points and the simplices of their Delaunay triangulation, by numbers of points."""
    points = random.random((n, dim))
    points = points[along_a_curve(points)]
    return points, Delaunay(points).simplices


def couplings(elements):
    """The unknowns of an element are coupled with each other: a matrix of ones."""
    k, n = elements.shape[1], elements.max() + 1
    i, j = np.repeat(elements, k, axis=1).ravel(), np.tile(elements, (1, k)).ravel()
    return sp.coo_matrix((np.ones(len(i), np.int8), (i, j)), shape=(n, n)).tocsr().astype(bool)


def second_order(n, dim):
    """The couplings of elements of the second order, with unknowns at corners and edges, and the numbers of the corners."""
    points, simplices = mesh(n, dim)
    pairs = [(a, b) for a in range(dim + 1) for b in range(a + 1, dim + 1)]
    all_edges = np.stack([np.sort(simplices[:, p], axis=1) for p in pairs], 1)
    edges, number = np.unique(all_edges.reshape(-1, 2), axis=0, return_inverse=True)
    order = along_a_curve(np.concatenate([points, points[edges].mean(1)]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    elements = np.concatenate([simplices, len(points) + number.reshape(len(simplices), len(pairs))], 1)
    return couplings(place[elements]), place[:len(points)]


def in_bands(a):
    order = reverse_cuthill_mckee(a.tocsr(), True)
    return a.tocsr()[order][:, order]


def blocks_of(a, n):
    return sp.kron(a, np.ones((n, n)), format="csr")


@kind
def p2_tets(scale): return with_random_values(second_order(int(60000 * scale), 3)[0])


@kind
def p2_triangles(scale): return with_random_values(second_order(int(200000 * scale), 2)[0])


@kind
def taylor_hood(scale):
    """Flow: three velocities a node of the second order, then pressures of the first; of both none is coupled with another kind of
    its own."""
    velocity, corners = second_order(int(16000 * scale), 3)
    divergence = sp.kron(velocity[np.sort(corners)], np.ones((1, 3)), format="csr")
    return with_random_values(sp.bmat([[sp.kron(velocity, np.eye(3)), divergence.T], [divergence, None]]))


@kind
def elasticity_fixed(scale):
    """Three unknowns a node, of which single ones are given and taken out."""
    a = blocks_of(in_bands(couplings(mesh(int(60000 * scale), 3)[1])), 3)
    free = random.random(a.shape[0]) > 0.03
    return with_random_values(a[free][:, free])


@kind
def elasticity_by_component(scale):
    """All first unknowns, then all second ones, then all third ones."""
    return with_random_values(sp.kron(np.ones((3, 3)), couplings(mesh(int(60000 * scale), 3)[1]), format="csr"))


@kind
def dg_tets(scale):
    """Discontinuous elements: four unknowns a tetrahedron, coupled across faces."""
    d = Delaunay(random.random((int(30000 * scale), 3)))
    n, i, j = len(d.simplices), np.repeat(np.arange(len(d.simplices)), 4), d.neighbors.ravel()
    a = sp.coo_matrix((np.ones((j >= 0).sum()), (i[j >= 0], j[j >= 0])), shape=(n, n)).tocsr() + sp.eye(n, format="csr")
    return with_random_values(blocks_of(in_bands(a), 4))


@kind
def kkt(scale):
    """Optimal control: states, controls and multipliers one behind the other."""
    p = couplings(mesh(int(120000 * scale), 2)[1])
    stiffness, mass = with_random_values(p), with_random_values(p)
    return sp.bmat([[mass, None, stiffness.T], [None, 0.01 * sp.eye(p.shape[0]), -mass], [stiffness, -mass, None]])


# ---- grids ----

def band(m, values, distances): return sp.diags([np.ones(m - abs(d)) * v for v, d in zip(values, distances)], distances)


def laplacian(m, dim):
    line = band(m, [-1, 2, -1], [-1, 0, 1])
    return (sp.kronsum(line, line) if dim == 2 else sp.kronsum(sp.kronsum(line, line), line)).tocsr()


def smoothed_aggregates(m):
    """A 7-point grid of m points a side, and a prolongator from aggregates of 27 points."""
    a, k, c = laplacian(m, 3), np.arange(m) // 3, m // 3
    to = (k[None, None, :] + c * (k[None, :, None] + c * k[:, None, None])).ravel()
    p = sp.csr_matrix((np.ones(m ** 3), (np.arange(m ** 3), to)), shape=(m ** 3, c ** 3))
    return a, p - (2 / 3 / 6) * (a @ p)


@kind
def dg_quads_order2(scale):
    """Nine unknowns a square, coupled across edges."""
    return with_random_values(blocks_of(laplacian(int(160 * scale ** .5), 2), 9))


@kind
def coarse_level(scale):
    """What algebraic multigrid makes of a 7-point grid; its own values."""
    a, p = smoothed_aggregates(int(80 * scale ** (1 / 3)) // 3 * 3)
    return p.T @ a @ p


@kind
def prolongator(scale):
    """Its own values."""
    return smoothed_aggregates(int(100 * scale ** (1 / 3)) // 3 * 3)[1]


@kind
def bilaplacian(scale):
    """Its own values."""
    a = laplacian(int(500 * scale ** .5), 2)
    return a @ a


@kind
def star_25(scale):
    """A star of eight more points in each direction; rows of the boundary have the diagonal alone."""
    m = int(70 * scale ** (1 / 3))
    line, one, at = band(m, np.ones(9), range(-4, 5)), sp.eye(m), np.arange(m)
    edge = (at == 0) | (at == m - 1)
    inner = ~(edge[:, None, None] | edge[None, :, None] | edge[None, None, :]).ravel()
    a = sp.kron(sp.kron(line, one), one) + sp.kron(sp.kron(one, line), one) + sp.kron(sp.kron(one, one), line)
    a = sp.diags(inner.astype(float)) @ a.tocsr() + sp.eye(m ** 3)
    a.eliminate_zeros()
    return with_random_values(a)


@kind
def holed_27(scale):
    """A 27-point grid out of which a ball is cut; constant coefficients."""
    m = int(80 * scale ** (1 / 3))
    line, at = band(m, [1, 4, 1], [-1, 0, 1]), np.linspace(-1, 1, m) ** 2
    kept = (at[:, None, None] + at[None, :, None] + at[None, None, :] > .5).ravel()
    return sp.kron(sp.kron(line, line), line).tocsr()[kept][:, kept]


def quadtree_leaves(levels):
    """Leaves {(level, x, y): number} of a tree that is refined along a circle, depth first."""
    leaves, stack = {}, [(0, 0, 0)]
    while stack:
        l, x, y = stack.pop()
        size = 1 / (1 << l)
        distance = abs(np.hypot((x + .5) * size - .5, (y + .5) * size - .5) - .3)
        if l < 5 or (l <= levels and distance < 1.5 * size) or (l < levels - 1 and distance < .1):
            stack += [(l + 1, 2 * x + a, 2 * y + b) for a, b in ((1, 1), (0, 1), (1, 0), (0, 0))]
        else: leaves[l, x, y] = len(leaves)
    return leaves


@kind
def quadtree(scale):
    """Cells of many sizes, coupled with their neighbours; four trees and more."""
    leaves, pairs = quadtree_leaves(int(9 + np.log2(max(scale, .25)) / 2)), []
    for (l, x, y), i in leaves.items():
        pairs.append((i, i))
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            j = next((n for up in range(l + 1) if (n := leaves.get((l - up, x + dx >> up, y + dy >> up))) is not None), i)
            pairs += [(i, j), (j, i)]
    i, j = np.array(pairs).T
    tree = sp.coo_matrix((np.ones(len(i)), (i, j))).tocsr()
    return with_random_values(sp.block_diag([tree] * max(1, int(4 * scale)), format="csr"))


# ---- others ----

@kind
def spin_chain(scale):
    """Heisenberg's chain of spins; two values and the diagonal's few."""
    n = int(round(18 + np.log2(scale)))
    state, rows, cols, diagonal = np.arange(1 << n), [], [], np.zeros(1 << n)
    for k in range(n - 1):
        apart = ((state >> k) ^ (state >> (k + 1))) & 1 == 1
        diagonal += np.where(apart, -.25, .25)
        rows.append(state[apart]), cols.append(state[apart] ^ (3 << k))
    i, j = np.concatenate(rows), np.concatenate(cols)
    return sp.coo_matrix((np.full(len(i), .5), (i, j)), shape=(1 << n,) * 2).tocsr() + sp.diags(diagonal)


@kind
def spin_ring(scale):
    """A ring of spins of which half point up, in a random field: one value and the diagonal's."""
    n = 20 if scale < 3 else 22
    state, bits = np.arange(1 << n), np.array([bin(x).count("1") for x in range(1 << 11)])
    state = state[bits[state & 2047] + bits[state >> 11] == n // 2]
    rows, cols = [], []
    for k in range(n):
        l = (k + 1) % n
        apart = ((state >> k) ^ (state >> l)) & 1 == 1
        rows.append(np.nonzero(apart)[0]), cols.append(np.searchsorted(state, state[apart] ^ (1 << k | 1 << l)))
    i, j = np.concatenate(rows), np.concatenate(cols)
    flips = sp.coo_matrix((np.full(len(i), .5), (i, j)), shape=(len(state),) * 2).tocsr()
    return flips + sp.diags(random.standard_normal(len(state)))


@kind
def web(scale):
    """A graph that grows by preferring what is old, in the order of arrival."""
    n, links = int(300000 * scale), 8
    i = np.repeat(np.arange(n), links)
    a = sp.coo_matrix((np.ones(len(i)), (i, (random.random(len(i)) ** 2.2 * i).astype(np.int64))), shape=(n, n)).tocsr()
    return with_random_values(a + a.T + sp.eye(n))


@kind
def least_squares(scale):
    """Five rows a column, of six entries near the diagonal and one anywhere."""
    n = int(200000 * scale)
    i, at = np.repeat(np.arange(5 * n), 7), np.arange(5 * n) // 5
    j = np.concatenate([at[:, None] + random.integers(-20, 21, (5 * n, 6)), random.integers(0, n, (5 * n, 1))], 1).ravel() % n
    return with_random_values(sp.coo_matrix((np.ones(len(i)), (i, j)), shape=(5 * n, n)).tocsr())


@kind
def bordered(scale):
    """Nine diagonals, and 40 rows and columns that are a third full."""
    n = int(250000 * scale)
    border = sp.random(40, n, .3, format="csr", random_state=random)
    diagonals = band(n, np.ones(9), [-100, -10, -2, -1, 0, 1, 2, 10, 100])
    return with_random_values(sp.bmat([[diagonals, border.T], [border, sp.eye(40)]]))


os.makedirs(sys.argv[1], exist_ok=True)
for name in sys.argv[3:] or kinds:
    if name not in kinds: sys.exit("kinds.py: no kind '%s'; there are %s" % (name, ", ".join(kinds)))
    a = write(os.path.join(sys.argv[1], name), kinds[name](float(sys.argv[2])))
    print("%-24s %9d x %d, %d nonzeros" % (name, *a.shape, a.nnz))
