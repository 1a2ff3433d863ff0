# nginx answers three requests, and ends.
mkdir /tmp/www; echo index > /tmp/www/index.html; seq 3000 > /tmp/www/data
nginx -c /home/user/suite/nginx.conf & p=$!
get() { exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /%s HTTP/1.0\r\nHost: a\r\n\r\n' $1 >&3 && cat <&3; }
for i in {1..500}; do get index.html && break; sleep 0.002; done 2>/dev/null
get data | cksum; get none | head -1
kill -QUIT $p; wait $p; echo $?
