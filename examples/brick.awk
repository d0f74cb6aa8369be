# Writes an elasticity problem as Matrix Market: a brick of n x n x n cubes (8 nodes each, Poisson's ratio 0.3), clamped at the bottom.
# 3 unknowns a node, up to 81 entries a row.   usage: awk -v n=12 -f brick.awk >brick.mtx
function corner(node, axis) { return int(node / 2 ^ axis) % 2 }

# Derivative along axis of the shape function of a node, at the Gauss point s[0..2] of the unit cube.
function slope(node, axis, s,   d, a) {
  d = 1
  for (a = 0; a < 3; a++) {
    if (a == axis) d *= corner(node, a) ? 1 : -1
    else d *= corner(node, a) ? s[a] : 1 - s[a]
  }
  return d
}

# stiffness[i, a, j, b]: force on node i along a for a unit displacement of node j along b, 2 x 2 x 2 Gauss points.
function element(   g, a, b, c, i, j, s, d, dot) {
  lambda = 0.3 / (1.3 * 0.4); mu = 1 / 2.6
  for (g = 0; g < 8; g++) {
    for (a = 0; a < 3; a++) s[a] = 0.5 + (corner(g, a) ? 1 : -1) / sqrt(12)
    for (i = 0; i < 8; i++) for (a = 0; a < 3; a++) d[i, a] = slope(i, a, s)
    for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) {
      dot = 0
      for (c = 0; c < 3; c++) dot += d[i, c] * d[j, c]
      for (a = 0; a < 3; a++) for (b = 0; b < 3; b++)
        stiffness[i, a, j, b] += (lambda * d[i, a] * d[j, b] + mu * d[i, b] * d[j, a] + (a == b) * mu * dot) / 8
    }
  }
}

# The entry between unknown a of node (x, y, z) and b of its neighbour (x + dx, ...): a sum over the cubes that hold both.
function entry(x, y, z, dx, dy, dz, a, b,   i, j, v, ex, ey, ez) {
  v = 0
  for (ex = x - 1; ex <= x; ex++) for (ey = y - 1; ey <= y; ey++) for (ez = z - 1; ez <= z; ez++) {
    if (ex < 0 || ey < 0 || ez < 0 || ex >= n || ey >= n || ez >= n) continue
    if (x + dx < ex || x + dx > ex + 1 || y + dy < ey || y + dy > ey + 1 || z + dz < ez || z + dz > ez + 1) continue
    i = x - ex + 2 * (y - ey) + 4 * (z - ez)
    j = i + dx + 2 * dy + 4 * dz
    v += stiffness[i, a, j, b]
  }
  return v
}

function number(x, y, z) { return x + (n + 1) * (y + (n + 1) * (z - 1)) } # the clamped nodes, z = 0, have none

# The lower triangle, counted in the first pass and written in the second.
function walk(write,   x, y, z, dx, dy, dz, i, j, a, b, count) {
  for (z = 1; z <= n; z++) for (y = 0; y <= n; y++) for (x = 0; x <= n; x++)
    for (dz = -1; dz <= 0; dz++) for (dy = -1; dy <= 1; dy++) for (dx = -1; dx <= 1; dx++) {
      if (x + dx < 0 || x + dx > n || y + dy < 0 || y + dy > n || z + dz < 1) continue
      i = number(x, y, z); j = number(x + dx, y + dy, z + dz)
      for (a = 0; a < 3; a++) for (b = 0; b < 3; b++) {
        if (3 * j + b > 3 * i + a) continue
        count++
        if (write) printf "%d %d %.17g\n", 3 * i + a + 1, 3 * j + b + 1, entry(x, y, z, dx, dy, dz, a, b)
      }
    }
  return count
}

BEGIN {
  if (!n) n = 12
  element()
  size = 3 * n * (n + 1) * (n + 1)
  printf "%%%%MatrixMarket matrix coordinate real symmetric\n%d %d %d\n", size, size, walk(0)
  walk(1)
}
