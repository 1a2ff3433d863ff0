/* From the process entry to main and out again, and the argument that all programs share. */
#include "rt.h"

int main(int argc, char **argv);

typedef void init_function(int, char **, char **);
extern init_function *__init_array_start[] __attribute__((visibility("hidden")));
extern init_function *__init_array_end[] __attribute__((visibility("hidden")));

static const char *program_name = "program";

/* Called by _start with the stack as the kernel laid it out: argc, argv[], 0, environment[]. */
void rt_start(long *stack)
{
    int argc = (int)stack[0];
    char **argv = (char **)(stack + 1);
    char **environment = argv + argc + 1;
    if (argc > 0) {
        program_name = argv[0];
        for (const char *p = argv[0]; *p; p++)
            if (*p == '/')
                program_name = p + 1;
    }
    for (init_function **f = __init_array_start; f < __init_array_end; f++)
        (*f)(argc, argv, environment);
    exit(main(argc, argv));
}

void exit(int code)
{
    rt_flush();
    rt_sys_exit(code);
}

static void write_error(const char *text)
{
    rt_sys_write(2, text, strlen(text));
}

void rt_fail(const char *message)
{
    rt_flush();
    write_error(program_name);
    write_error(": ");
    write_error(message);
    write_error("\n");
    rt_sys_exit(1);
}

enum workload_size workload_size(int argc, char **argv)
{
    if (argc <= 1)
        return WORKLOAD_SMALL;
    if (argc == 2 && strcmp(argv[1], "small") == 0)
        return WORKLOAD_SMALL;
    if (argc == 2 && strcmp(argv[1], "large") == 0)
        return WORKLOAD_LARGE;
    write_error("usage: ");
    write_error(program_name);
    write_error(" [small|large]\n");
    rt_sys_exit(2);
}
