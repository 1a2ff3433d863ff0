# Redis serves a client of bash and its own benchmark, and ends.
redis-server --port 6400 --save '' --daemonize no --dir /tmp > /tmp/log 2>&1 & p=$!
for i in {1..200}; do exec 3<>/dev/tcp/127.0.0.1/6400 && break; sleep 0.002; done 2>/dev/null
printf 'PING\r\nSET a 1\r\nINCRBY a 41\r\nQUIT\r\n' >&3; cat <&3
redis-benchmark -p 6400 -n 40 -c 4 -t set,get -q | tr '\r' '\n' | grep -c 'requests per second'
redis-cli -p 6400 dbsize; redis-cli -p 6400 shutdown nosave; wait $p; echo $?
