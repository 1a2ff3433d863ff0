# Simulated time of two functions, by the clock of the program itself.
import time
def work(n):
    s = 0
    for i in range(n):
        s += i * i
    return s
def other(n):
    return [str(i) for i in range(n)]
def timed(f, n):
    t = time.perf_counter_ns()
    f(n)
    return time.perf_counter_ns() - t
a = timed(work, 3000)
b = timed(other, 1500)
print(a, b)
