/* prog FILE: prints the working folder and the first line of a file. */
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char text[256];
    printf("cwd %s\n", getcwd(text, sizeof text));
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!file) {
        perror(argv[1]);
        return 1;
    }
    if (fgets(text, sizeof text, file))
        printf("%s", text);
    return 0;
}
