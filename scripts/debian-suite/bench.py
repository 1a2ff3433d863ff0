"""Ten programs of the kinds that Python's benchmarks have; each prints a checksum. Run with the names of some of them."""
import collections
import hashlib
import heapq
import io
import json
import math
import pickle
import random
import re
import sys
import zlib


def nbody():
    sun = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4 * math.pi**2]
    bodies = [sun] + [
        [r, 0.1 * r, 0.01 * r, 0.0, 2 * math.pi / math.sqrt(r), 0.05, 1e-3 / r]
        for r in (1.0, 1.5, 5.2, 9.5)
    ]
    pairs = [(a, b) for i, a in enumerate(bodies) for b in bodies[i + 1 :]]
    for _ in range(1500):
        for a, b in pairs:
            dx, dy, dz = a[0] - b[0], a[1] - b[1], a[2] - b[2]
            pull = 0.001 / (dx * dx + dy * dy + dz * dz) ** 1.5
            for at, d in ((3, dx), (4, dy), (5, dz)):
                a[at] -= d * b[6] * pull
                b[at] += d * a[6] * pull
        for body in bodies:
            for at in range(3):
                body[at] += 0.001 * body[at + 3]
    return "%.12f" % sum(sum(map(abs, body)) for body in bodies)


def fannkuch(n=7):
    best, checksum = 0, 0
    from itertools import permutations

    for index, permutation in enumerate(permutations(range(n))):
        p, flips = list(permutation), 0
        while p[0]:
            k = p[0] + 1
            p[:k] = p[:k][::-1]
            flips += 1
        best = max(best, flips)
        checksum += flips if index % 2 == 0 else -flips
    return best, checksum


def queens(n=7):
    def place(row, columns, up, down):
        if row == n:
            return 1
        return sum(
            place(row + 1, columns | {c}, up | {row + c}, down | {row - c})
            for c in range(n)
            if c not in columns and row + c not in up and row - c not in down
        )

    return place(0, frozenset(), frozenset(), frozenset())


def mandelbrot(size=48):
    rows = []
    for y in range(size):
        row = ""
        for x in range(size):
            c = complex(3.0 * x / size - 2, 2.0 * y / size - 1)
            z, steps = 0, 0
            while steps < 40 and abs(z) < 2:
                z, steps = z * z + c, steps + 1
            row += " .:-=+*#%@"[steps % 10]
        rows.append(row)
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def pidigits(count=250):
    q, r, t, k, n, l, digits = 1, 0, 1, 1, 3, 3, []
    while len(digits) < count:
        if 4 * q + r - t < n * t:
            digits.append(str(n))
            q, r, n = q * 10, 10 * (r - n * t), 10 * (3 * q + r) // t - 10 * n
        else:
            q, r, t, k, n, l = q * k, (2 * q + r) * l, t * l, k + 1, (q * (7 * k + 2) + r * l) // (t * l), l + 2
    return "".join(digits)[-20:]


def words():
    random.seed(5)
    text = " ".join("".join(random.choice("abcdeiou") for _ in range(random.randint(1, 5))) for _ in range(20000))
    counts = collections.Counter(re.findall(r"\b[a-d]\w+[io]u?\b", text))
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:3], len(re.sub(r"(.)\1+", r"\1", text))


def documents():
    random.seed(6)
    made = [{"id": i, "values": [random.random() for _ in range(8)], "name": "n%d" % i, "none": None} for i in range(1200)]
    text = json.dumps(made, sort_keys=True)
    again = pickle.loads(pickle.dumps(json.loads(text)))
    return hashlib.md5(text.encode()).hexdigest(), again == made, len(zlib.compress(text.encode(), 6))


def paths(size=60):
    random.seed(7)
    cost = [[random.randint(1, 9) for _ in range(size)] for _ in range(size)]
    best, queue = {}, [(0, 0, 0)]
    while queue:
        sofar, x, y = heapq.heappop(queue)
        if (x, y) in best:
            continue
        best[x, y] = sofar
        for nx, ny in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if 0 <= nx < size and 0 <= ny < size and (nx, ny) not in best:
                heapq.heappush(queue, (sofar + cost[nx][ny], nx, ny))
    return best[size - 1, size - 1], sum(best.values())


class Task:
    def __init__(self, name, work, then):
        self.name, self.work, self.then = name, work, then

    def run(self, system):
        for _ in range(self.work):
            yield self.then
        system.ended.append(self.name)


class System:
    def __init__(self):
        self.ended, self.turns = [], collections.Counter()

    def go(self, tasks):
        ready = collections.deque((task, task.run(self)) for task in tasks)
        while ready:
            task, running = ready.popleft()
            self.turns[next(running, "end")] += 1
            if task.name not in self.ended:
                ready.append((task, running))


def scheduler():
    system = System()
    system.go([Task("t%d" % i, 40 + i * 7 % 50, "u%d" % (i % 4)) for i in range(200)])
    return sorted(system.turns.items()), system.ended[:3]


def text():
    out = io.StringIO()
    for i in range(6000):
        print(f"{i:08x} {i * 3.7:12.4f} {i!r:>10} {'ab' * (i % 5)}", file=out)
    value = out.getvalue()
    return zlib.crc32(value.encode("utf-16")), value.title().count("Ab"), len(value.splitlines())


for name in sys.argv[1:]:
    print(name, globals()[name]())
