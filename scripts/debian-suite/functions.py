# Functions with recursion, generators, exceptions, classes, callbacks and `exec`, whose calls count-calls.py counts.
import time
def leaf(n):
    s = 0
    for i in range(n):
        s += i
    return s
def many(n):
    return leaf(n) + leaf(n) + leaf(2 * n)
def recurse(d):
    if d == 0:
        return leaf(2000)
    return recurse(d - 1) + 1
def gen(n):
    for i in range(n):
        yield i
def use_gen(n):
    return sum(gen(n))
class A:
    def __init__(self, x):
        self.x = x
    def key(self):
        return self.x
def sorting():
    return sorted([A(i * 7 % 31) for i in range(60)], key=lambda a: a.key())
def raising(d):
    if d == 0:
        raise ValueError
    raising(d - 1)
def catching():
    for i in range(20):
        try:
            raising(10)
        except ValueError:
            pass
def main():
    leaf(1000); many(1000); recurse(500); use_gen(300); sorting(); catching()
    exec("def made(n):\n    return [x * x for x in range(n)]\nmade(500)")
main()
