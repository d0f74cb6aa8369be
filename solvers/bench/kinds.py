#!/usr/bin/env python3
"""Matrices of kinds that macko-bench does not generate, as PETSc's binary files, for which no cost was fitted on a GPU:

    kinds.py FOLDER SCALE [KIND]...
    macko-bench --encodings auto,csr,slice,eccsr FOLDER/*

SCALE 1 makes 0.4 to 19 million nonzeros each, and they grow with it. Values are random but where a line says otherwise. Needs
NumPy and SciPy."""
import functools, os, sys

if len(sys.argv) < 3: sys.exit(__doc__)
try:
    import numpy as np, scipy.sparse as sp
    from scipy.sparse.csgraph import reverse_cuthill_mckee
    from scipy.sparse.linalg import splu
    from scipy.spatial import Delaunay, cKDTree
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


def shuffled(a, n):
    """Rows and columns in any order within stretches of n."""
    order = np.argsort(np.arange(a.shape[0]) // n + random.random(a.shape[0]) * .999, kind="stable")
    return a[order][:, order]


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


# ---- kinds that came later, for which nothing was fitted ----

@kind
def shell(scale):
    """Six unknowns a node of a surface of triangles, in bands."""
    return with_random_values(blocks_of(in_bands(couplings(mesh(int(60000 * scale), 2)[1])), 6))


@kind
def mixed_nodes(scale):
    """One to four unknowns a node, of regions; nodes along a curve."""
    points, simplices = mesh(int(50000 * scale), 3)
    a, counts = couplings(simplices), 1 + np.minimum(3, (points[:, 0] * 4).astype(int))
    node = np.repeat(np.arange(len(counts)), counts)
    return with_random_values(a[node][:, node])


@kind
def flow_cells(scale):
    """Five unknowns a tetrahedron, coupled across faces, cells along a curve."""
    points = random.random((int(20000 * scale), 3))
    d = Delaunay(points)
    centres = points[d.simplices].mean(1)
    order = along_a_curve(centres)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    n, i, j = len(order), np.repeat(np.arange(len(order)), 4), d.neighbors.ravel()
    i, j = place[i[j >= 0]], place[j[j >= 0]]
    a = sp.coo_matrix((np.ones(len(i)), (i, j)), shape=(n, n)).tocsr() + sp.eye(n, format="csr")
    return with_random_values(blocks_of(a, 5))


@kind
def reservoir(scale):
    """Two unknowns a cell of a grid of which some cells are inactive, with faults and wells."""
    m = int(64 * scale ** (1 / 3))
    a = laplacian(m, 3)
    n = a.shape[0]
    i = random.integers(0, n, n // 50)
    fault = sp.coo_matrix((np.ones(len(i)), (i, np.minimum(n - 1, i + random.integers(1, 5, len(i)) * m * m))), shape=(n, n))
    a = (a + fault + fault.T).tocsr()
    active = random.random(n) > 0.2
    a = blocks_of(a[active][:, active], 2)
    k = a.shape[0]
    wells = sp.random(20, k, 2000 / k, format="csr", random_state=random)
    return with_random_values(sp.bmat([[a, wells.T], [wells, sp.eye(20)]]))


@kind
def circuit(scale):
    """Rows of two to seven entries near each other, and a few nets that many share."""
    n = int(400000 * scale)
    i = np.repeat(np.arange(n), 3)
    j = np.clip(i + (random.standard_cauchy(len(i)) * 20).astype(np.int64), 0, n - 1)
    nets = random.choice(n, 30)
    k = random.choice(n, n // 10)
    l = nets[(random.random(len(k)) ** 3 * 30).astype(int)]
    a = sp.coo_matrix((np.ones(len(i) + len(k)), (np.r_[i, k], np.r_[j, l])), shape=(n, n)).tocsr()
    return with_random_values(a + a.T + sp.eye(n))


@kind
def power_flow(scale):
    """Angles and voltages of a network of few neighbours, numbered at random within regions."""
    points, simplices = mesh(int(150000 * scale), 2)
    a = couplings(simplices).tocoo()
    keep = (random.random(a.nnz) < .3) | (a.row == a.col)
    a = sp.coo_matrix((np.ones(keep.sum()), (a.row[keep], a.col[keep])), shape=a.shape).tocsr()
    a = (a + a.T).tocsr()
    a = shuffled(a, 5000)
    return with_random_values(sp.bmat([[a, a], [a, a]]))


@kind
def lattice(scale):
    """Six unknowns a site of a periodic lattice of four dimensions, eight neighbours."""
    m = max(4, int(round(14 * scale ** .25 / 2)) * 2)
    ring, one = sp.diags([1, 1, 1, 1, 1], [0, 1, -1, m - 1, 1 - m], shape=(m, m)).tocsr(), sp.eye(m)
    along = lambda d: [ring if d == k else one for k in range(4)]
    a = sum(functools.reduce(sp.kron, along(d)) for d in range(4))
    return with_random_values(blocks_of(a.tocsr().astype(bool), 6))


@kind
def molecules(scale):
    """Three unknowns a particle, coupled with all within a radius, about 40 of them."""
    n = int(40000 * scale)
    p = random.random((n, 3))
    p = p[along_a_curve(p)]
    pairs = cKDTree(p).query_pairs((40 / n / 4.19) ** (1 / 3), output_type="ndarray")
    a = sp.coo_matrix((np.ones(len(pairs)), pairs.T), shape=(n, n)).tocsr()
    return with_random_values(blocks_of(a + a.T + sp.eye(n), 3))


@kind
def helmholtz(scale):
    """Real and imaginary parts, of which each is coupled with the other one of its own point alone; 27 points."""
    m = int(50 * scale ** (1 / 3))
    line = band(m, [1, 4, 1], [-1, 0, 1])
    a = sp.kron(sp.kron(line, line), line)
    return with_random_values(sp.kron(a, np.eye(2)) + sp.kron(sp.eye(m ** 3), [[0, 1], [1, 0]]))


@kind
def factor(scale):
    """The lower factor of a mesh in the plane, with its fill, by minimum degree."""
    a = couplings(mesh(int(60000 * scale), 2)[1]).astype(float)
    a = (a + sp.diags(np.asarray(a.sum(1)).ravel() + 1)).tocsc()
    return with_random_values(splu(a, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0, options=dict(SymmetricMode=True)).L)


@kind
def galerkin_unstructured(scale):
    """What algebraic multigrid makes of an unstructured mesh: aggregates by nearest seed, smoothed."""
    points, simplices = mesh(int(300000 * scale), 3)
    a = couplings(simplices).astype(float)
    a = (sp.diags(np.asarray(a.sum(1)).ravel()) - a).tocsr()
    seeds = points[::20]
    to = cKDTree(seeds).query(points)[1]
    p = sp.csr_matrix((np.ones(len(points)), (np.arange(len(points)), to)))
    p = p - .5 * sp.diags(1 / a.diagonal()) @ (a @ p)
    return (p.T @ a @ p).tocsr()


@kind
def spectral(scale):
    """Elements of 125 points each, coupled with all of their own; shared faces."""
    m = max(2, int(round(8 * scale ** (1 / 3))))
    n = 4 * m + 1
    line = np.zeros((n, n))
    for e in range(m): line[4 * e:4 * e + 5, 4 * e:4 * e + 5] = 1
    line = sp.csr_matrix(line)
    return with_random_values(sp.kron(sp.kron(line, line), line))


@kind
def hexahedra_shuffled(scale):
    """Three unknowns a node of hexahedra, nodes in any order within bricks of about 4000."""
    m = int(36 * scale ** (1 / 3))
    line = band(m, [1, 1, 1], [-1, 0, 1])
    a = sp.kron(sp.kron(line, line), line).tocsr()
    return with_random_values(blocks_of(shuffled(a, 4000), 3))


@kind
def p2_elasticity(scale):
    """Three unknowns a node of tetrahedra of the second order."""
    return with_random_values(blocks_of(second_order(int(12000 * scale), 3)[0], 3))


@kind
def transport(scale):
    """Upwind: a lower triangle of groups of 16 that are coupled in full, neighbours one by one."""
    m = int(30 * scale ** (1 / 3))
    down = band(m, [1, 1], [-1, 0])
    one = sp.eye(m)
    a = sp.kron(sp.kron(down, one), one) + sp.kron(sp.kron(one, down), one) + sp.kron(sp.kron(one, one), down)
    return with_random_values(sp.kron(a, np.eye(16)) + sp.kron(sp.eye(m ** 3), np.ones((16, 16))))


@kind
def ratings(scale):
    """Rectangular: rows and columns of very uneven numbers of entries."""
    n, m = int(200000 * scale), int(20000 * scale)
    k = int(4000000 * scale)
    i, j = (random.random(k) ** 2 * n).astype(np.int64), (random.random(k) ** 3 * m).astype(np.int64)
    return with_random_values(sp.coo_matrix((np.ones(k), (i, j)), shape=(n, m)).tocsr())


@kind
def markov(scale):
    """Rows of one to 30 entries, most near, some far, in no order."""
    n = int(200000 * scale)
    counts = random.integers(1, 31, n)
    i = np.repeat(np.arange(n), counts)
    j = np.where(random.random(len(i)) < .9, i + random.integers(-200, 201, len(i)), random.integers(0, n, len(i))) % n
    return with_random_values(sp.coo_matrix((np.ones(len(i)), (i, j)), shape=(n, n)).tocsr())


@kind
def p2_plane_strain(scale):
    """Two unknowns a node of triangles of the second order."""
    return with_random_values(blocks_of(second_order(int(70000 * scale), 2)[0], 2))


@kind
def p2_flow(scale):
    """Four unknowns a node of tetrahedra of the second order."""
    return with_random_values(blocks_of(second_order(int(10000 * scale), 3)[0], 4))


@kind
def p2_coarse(scale):
    """Three unknowns a node of few tetrahedra of the second order."""
    return with_random_values(blocks_of(second_order(int(3000 * scale), 3)[0], 3))


os.makedirs(sys.argv[1], exist_ok=True)
for name in sys.argv[3:] or kinds:
    if name not in kinds: sys.exit("kinds.py: no kind '%s'; there are %s" % (name, ", ".join(kinds)))
    a = write(os.path.join(sys.argv[1], name), kinds[name](float(sys.argv[2])))
    print("%-24s %9d x %d, %d nonzeros" % (name, *a.shape, a.nnz))
