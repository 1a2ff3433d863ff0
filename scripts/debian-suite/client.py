"""Asks a web server on the loopback for files, and prints what it says."""
import http.client
import sys
import time

for _ in range(200):
    try:
        client = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
        client.connect()
        break
    except OSError:
        time.sleep(0.05)
for path in ["/", "/data", "/none", "/data"]:
    client.request("GET", path)
    answer = client.getresponse()
    body = answer.read()
    print(path, answer.status, len(body), sum(body) if answer.status == 200 else "")
