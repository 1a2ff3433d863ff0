# Calls of each Python function of a script, by sys.setprofile.
import collections
import sys

calls = collections.Counter()


def seen(frame, event, _):
    if event == 'call':
        calls[frame.f_code.co_qualname] += 1


name = sys.argv[1]
code = compile(open(name).read(), name, 'exec')
sys.setprofile(seen)
exec(code, {'__name__': '__main__'})
sys.setprofile(None)
for function, count in sorted(calls.items()):
    print(function, count)
