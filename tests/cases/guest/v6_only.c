// Sockets of IPv4 and of IPv6 on one port: with IPV6_V6ONLY they are apart.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *failed(long result) { return result < 0 ? strerrorname_np(errno) : "ok"; }

static long bound(int fd, int family, int port) {
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    return family == AF_INET ? bind(fd, (void *)&four, sizeof four) : bind(fd, (void *)&six, sizeof six);
}

int main(void) {
    for (int only = 0; only < 2; only++)
        for (int first = 0; first < 2; first++) {
            int port = 23400 + 2 * only + first, on = 1;
            int families[] = {first ? AF_INET6 : AF_INET, first ? AF_INET : AF_INET6}, fds[2];
            for (int i = 0; i < 2; i++) {
                fds[i] = socket(families[i], SOCK_STREAM, 0);
                setsockopt(fds[i], SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
                if (families[i] == AF_INET6) setsockopt(fds[i], IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
                const char *said = failed(bound(fds[i], families[i], port));
                printf("only %d, family %d: bind %s", only, families[i] == AF_INET6 ? 6 : 4, said);
                printf(", listen %s\n", strcmp(said, "ok") ? "not" : failed(listen(fds[i], 4)));
            }
            // A connection over IPv4 reaches a listener for IPv6 only if that takes both.
            close(fds[families[0] == AF_INET ? 0 : 1]);
            int client = socket(AF_INET, SOCK_STREAM, 0);
            struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
            printf("connect %s\n", failed(connect(client, (void *)&to, sizeof to)));
            close(client);
            close(fds[families[0] == AF_INET ? 1 : 0]);
        }
    return 0;
}
